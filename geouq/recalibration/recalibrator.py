"""A fitted correction with where it comes from: one JSON file, applied to numpy, dask and xarray alike."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geouq.arrays.arguments import as_number, mapped, variance_of
from geouq.core.atomic import atomic_write
from geouq.core.errors import DataError, GeouqError, SummaryError, as_path
from geouq.recalibration.corrections import (
    SINGLE,
    ByGroup,
    Single,
    corrected_moments,
    corrected_quantile,
)
from geouq.version import __version__

FORMAT = "geouq recalibrator 1"
NO_GROUP = -1
WHAT = "mean, variance and group"
SMALLEST = float(np.finfo(np.float32).tiny)  # a corrected variance is no smaller, so that float32 keeps it positive
Compute = Callable[[NDArray[Any], NDArray[Any], NDArray[Any]], NDArray[Any]]


class Recalibrated(NamedTuple):
    """The corrected forecast, arrays of the kind that was given."""

    mean: Any
    variance: Any


@dataclass(frozen=True)
class Provenance:
    """What a correction was fitted on: run, SHA-256 of its configuration, tiles, pixels, start of the run, version."""

    run: str
    config_sha256: str
    tiles: tuple[str, ...]
    n: int
    started: str = ""
    version: str = __version__


@dataclass(frozen=True)
class Recalibrator:
    """A correction of a variable (of one model, where there are several)."""

    variable: str
    units: str
    correction: Single | ByGroup
    fitted_on: Provenance
    model: str = ""
    notes: tuple[str, ...] = field(default=())

    def apply(self, mean: Any, variance: Any = None, group: Any = None, *, std: Any = None) -> Recalibrated:
        """Return mean and variance of the corrected forecast; of the kind of what is given, dask staying lazy.

        mean, variance : numpy, dask or xarray, of one shape (or broadcast); where the variance is not positive and
        finite, the mean is not finite, or either is masked, both are NaN. float32 stays float32. group : of a
        correction by group, the code or the name of each pixel's class; a pixel of an unknown one is corrected like
        all together. std : instead of the variance. Raises SummaryError if a group is needed and not given, DataError
        for shapes that do not match.

        >>> from geouq.recalibration.corrections import Scale
        >>> fitted = Recalibrator("height", "m", Scale(4.0), Provenance("small", "", ("a1",), 100))
        >>> fitted.apply(np.array([10.0]), np.array([0.25])).variance
        array([1.])
        """
        arrays = self._arrays(mean, variance, group, std)
        return Recalibrated(*(mapped(self._part(part), arrays, WHAT) for part in (0, 1)))

    def quantile(
        self, probability: float, mean: Any, variance: Any = None, group: Any = None, *, std: Any = None
    ) -> Any:
        """Return the quantile of the corrected forecast; arguments as of `apply`.

        Of `conformal` there are those of the levels that it was fitted for.
        """
        arrays = self._arrays(mean, variance, group, std)

        def quantiles(m: NDArray[Any], v: NDArray[Any], place: NDArray[Any] | None) -> NDArray[Any]:
            """Return the corrected quantile of valid pixels."""
            return corrected_quantile(self.correction, as_number("probability", probability), m, v, place)

        return mapped(self._on_valid(quantiles), arrays, WHAT)

    def _arrays(self, mean: Any, variance: Any, group: Any, std: Any) -> tuple[Any, ...]:
        """Return the arrays that are corrected together; raise DataError if there is no variance."""
        self._require_group(group)
        spread = variance_of(variance, std)
        if spread is None:
            raise DataError("variance or std is missing; give mean and one of them")
        return (mean, spread) if group is None else (mean, spread, group)

    def _require_group(self, group: Any) -> None:
        if isinstance(self.correction, ByGroup):
            if group is None:
                raise SummaryError(f"this recalibration of {self.variable} is by {self.correction.layer}; give group=")
        elif group is not None:
            raise SummaryError(f"this recalibration of {self.variable} knows no groups; leave group out")

    def _part(self, part: int) -> Callable[..., NDArray[Any]]:
        def moments(m: NDArray[Any], v: NDArray[Any], place: NDArray[Any] | None) -> NDArray[Any]:
            """Return the corrected mean or variance of valid pixels."""
            found = corrected_moments(self.correction, m, v, place)
            return np.maximum(found[1], SMALLEST) if part else found[0]

        return self._on_valid(moments)

    def _on_valid(self, compute: Callable[..., NDArray[Any]]) -> Callable[..., NDArray[Any]]:
        """Return the function on arrays with pixels that do not count."""

        def on_block(mean: NDArray[Any], variance: NDArray[Any], group: NDArray[Any] | None = None) -> NDArray[Any]:
            """Apply the function to the valid pixels of arrays of numpy; others are NaN."""
            mean, variance = np.broadcast_arrays(mean, variance)
            kind = np.result_type(mean.dtype, variance.dtype, np.float32)
            found = np.full(variance.shape, np.nan, kind)
            valid = np.isfinite(mean) & np.isfinite(variance) & (variance > 0)
            place = None if group is None else self._places(np.broadcast_to(group, mean.shape)[valid])
            found[valid] = compute(mean[valid].astype(np.float64), variance[valid].astype(np.float64), place)
            return found

        return on_block

    def _places(self, group: NDArray[Any]) -> NDArray[np.int64]:
        """Place of the group of each pixel, by its name or its code."""
        places = np.full(group.shape, NO_GROUP, np.int64)
        if isinstance(self.correction, ByGroup):
            names = list(self.correction.groups)
            by_name: Mapping[Any, str] = dict(zip(names, names, strict=True))
            for label, name in by_name.items() if group.dtype.kind in "UO" else self.correction.codes.items():
                if name in names:
                    places[group == label] = names.index(name)
        return places


def save_recalibrator(recalibrator: Recalibrator, path: Path) -> None:
    """Write a recalibrator as readable JSON."""
    correction = recalibrator.correction
    plain = {
        "format": FORMAT,
        "variable": recalibrator.variable,
        "model": recalibrator.model,
        "units": recalibrator.units,
        "correction": _plain(correction),
        "beyond": correction.tails,
        "notes": recalibrator.notes,
        "fitted_on": asdict(recalibrator.fitted_on),
    }
    with atomic_write(path) as part:
        part.write_text(json.dumps(plain, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load_recalibrator(path: Path | str) -> Recalibrator:
    """Return the recalibrator in a JSON file that `geouq recalibrate` wrote.

    Parameters
    ----------
    path : path
        The file, such as `results/samples/recalibration/P95.json`.

    Returns
    -------
    Recalibrator
        `apply` corrects arrays, and `quantile` returns quantiles of the corrected forecast.

    Raises
    ------
    SummaryError
        If the file is missing or holds no recalibrator.
    """
    try:
        plain = json.loads(as_path("path", path, "give the path of a JSON file").read_text(encoding="utf-8"))
        if plain["format"] != FORMAT:
            raise SummaryError(f"{path} is a {plain['format']!r}, not a {FORMAT!r}; fit it again")
        fitted_on = plain["fitted_on"]
        return Recalibrator(
            plain["variable"],
            plain["units"],
            _correction(plain["correction"]),
            Provenance(**fitted_on | {"tiles": tuple(fitted_on["tiles"])}),
            plain["model"],
            tuple(plain["notes"]),
        )
    except GeouqError:
        raise
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SummaryError(f"{path} holds no recalibrator ({error!r}); geouq recalibrate writes one") from None


def _plain(correction: Single | ByGroup) -> dict[str, Any]:
    if not isinstance(correction, ByGroup):
        return {"method": correction.method, **asdict(correction)}
    groups = {name: _plain(own) for name, own in correction.groups.items()}
    return {
        "method": correction.method,
        "layer": correction.layer,
        "codes": {str(code): name for code, name in correction.codes.items()},
        "groups": groups,
        "otherwise": _plain(correction.otherwise),
    }


def _correction(plain: Mapping[str, Any]) -> Single | ByGroup:
    if plain["method"] == ByGroup.method:
        groups = {name: _single(own) for name, own in plain["groups"].items()}
        codes = {int(code): name for code, name in plain["codes"].items()}
        return ByGroup(plain["layer"], groups, _single(plain["otherwise"]), codes)
    return _single(plain)


def _single(plain: Mapping[str, Any]) -> Single:
    kinds: dict[str, Any] = {kind.method: kind for kind in SINGLE}
    values = {key: tuple(v) if isinstance(v, list) else v for key, v in plain.items() if key != "method"}
    found: Single = kinds[plain["method"]](**values)
    return found
