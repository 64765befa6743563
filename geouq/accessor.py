"""The accessor `geouq` of every xarray Dataset, which `import geouq` registers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import pandas as pd
import xarray as xr

from geouq.api.areas import evaluate_areas
from geouq.api.curves import (
    binned,
    calibration_curve,
    group_coverage,
    interval_curve,
    pit_histogram,
    sparsification_curve,
)
from geouq.api.intervals import intervals
from geouq.api.pixel_scores import pixel_scores
from geouq.arrays.datasets import evaluate, table
from geouq.arrays.metric_functions import measure, measure_names
from geouq.arrays.validation import summarize
from geouq.core.errors import DataError

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        binned,
        calibration_curve,
        evaluate_areas,
        group_coverage,
        intervals,
        interval_curve,
        pit_histogram,
        pixel_scores,
        sparsification_curve,
    )
}
OF_PIXELS = ("pixel_scores",)  # without weights


@dataclass(frozen=True)
class GeouqAccessor:
    """Summaries and metrics of a Dataset whose variables are `mean`, `variance` and `truth`, as `open_stack` gives.

    Every metric is a method: `ds.geouq.uce(bins=20)` is `geouq.uce(ds["mean"], ds["variance"], ds["truth"], bins=20)`.
    So are scores of pixels, curves, bins, intervals and means of areas: `ds.geouq.calibration_curve()`.

    Examples
    --------
    >>> layers = {"mean": ("x", [0.0, 0.0]), "variance": ("x", [1.0, 1.0]), "truth": ("x", [1.0, 3.0])}
    >>> xr.Dataset(layers).geouq.rmse()
    2.2360679775
    """

    dataset: xr.Dataset
    mean: str = "mean"
    variance: str = "variance"
    truth: str = "truth"
    weights: str | None = None
    std: str | None = None

    def named(
        self,
        *,
        mean: str = "mean",
        variance: str = "variance",
        truth: str = "truth",
        weights: str | None = None,
        std: str | None = None,
    ) -> Self:
        """Return the accessor for variables with other names, such as `ds.geouq.named(truth="lidar", weights="area")`.

        std : name of the variable that replaces the variance.
        """
        return replace(self, mean=mean, variance=variance, truth=truth, weights=weights, std=std)

    def summarize(self, **options: Any) -> Any:
        """Return the summary of the pixels; options as in `geouq.summarize`."""
        return self._called(summarize, options)

    def evaluate(self, **options: Any) -> xr.Dataset:
        """Return every metric as a Dataset; options as in `geouq.evaluate`."""
        return self._called(evaluate, options)

    def table(self, **options: Any) -> pd.DataFrame:
        """Return every metric as a tidy table; options as in `geouq.table`."""
        return self._called(table, options)

    def __getattr__(self, name: str) -> Any:
        if name in FUNCTIONS:
            named = replace(self, weights=None) if name in OF_PIXELS else self
            return partial(named._called, FUNCTIONS[name])  # noqa: SLF001  of the same class
        if name not in measure_names():
            raise AttributeError(f"ds.geouq has no {name!r}")
        return partial(self._called, measure(name))

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *FUNCTIONS, *measure_names()]

    def _called(self, function: Callable[..., Any], options: Any = None, **more: Any) -> Any:
        options = (options or {}) | more
        if self.weights is not None:
            options = {"weights": self._variable(self.weights)} | options
        if self.std is not None:
            spread = {"std": self._variable(self.std)}
            return function(self._variable(self.mean), truth=self._variable(self.truth), **spread, **options)
        return function(*map(self._variable, (self.mean, self.variance, self.truth)), **options)

    def _variable(self, name: str) -> xr.DataArray:
        if name not in self.dataset:
            there = ", ".join(map(str, self.dataset.data_vars)) or "nothing"
            raise DataError(f"the Dataset has no variable {name!r} but {there}; name yours: ds.geouq.named(truth=...)")
        return self.dataset[name]
