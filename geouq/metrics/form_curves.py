"""Curves of forms of the forecast, such as the ranks of the truth in an ensemble."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.summary import Summary

Floats = NDArray[np.float64]
Curve = tuple[str, Floats, Floats]
Curves = Callable[[Summary], Iterator[Curve]]

QUANTILE_CURVE, CLASS_CURVE = (
    "quantile_calibration",
    "reliability_",
)  # name of the curve, and how names of classes begin


@dataclass(frozen=True)
class FormCurves:
    """The curves of a form.

    predicted, observed : labels of the axes if the curves are shares, else empty. of_many : whether the function takes
    a summary with leading dimensions, which y then has too; curves of shares need it for bands.
    """

    curves: Curves
    predicted: str = ""
    observed: str = ""
    of_many: bool = False


FORM_CURVES: dict[str, FormCurves] = {}


def curves_of(
    key: str, predicted: str = "", observed: str = "", *, of_many: bool = False
) -> Callable[[Curves], Curves]:
    """Return a decorator that registers a function as the curves of the form with this key.

    predicted, observed : labels of the axes, if the curves are shares. of_many : whether it takes a summary with
    leading dimensions.
    """

    def record(curves: Curves) -> Curves:
        """List the function as the curves of the form."""
        FORM_CURVES[key] = FormCurves(curves, predicted, observed, of_many)
        return curves

    return record


def curve_label(name: str) -> str:
    """Return what people call a curve of shares: the class or, for all of them, the quantiles.

    >>> curve_label("reliability_forest"), curve_label("quantile_calibration")
    ('forest', 'quantiles')
    """
    return "quantiles" if name == QUANTILE_CURVE else name.removeprefix(CLASS_CURVE)


def form_curves(summary: Summary) -> Iterator[Curve]:
    """Yield name, x and y of the curves of the form of a summary."""
    if summary.kind in FORM_CURVES:
        yield from FORM_CURVES[summary.kind].curves(summary)
