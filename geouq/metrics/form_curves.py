"""Curves of forms of the forecast, such as the ranks of the truth in an ensemble."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.summary import Summary

Floats = NDArray[np.float64]
Curve = tuple[str, Floats, Floats]
Curves = Callable[[Summary], Iterator[Curve]]


@dataclass(frozen=True)
class FormCurves:
    """The curves of a form. predicted, observed : labels of the axes if the curves are shares, else empty."""

    curves: Curves
    predicted: str = ""
    observed: str = ""


FORM_CURVES: dict[str, FormCurves] = {}


def curves_of(key: str, predicted: str = "", observed: str = "") -> Callable[[Curves], Curves]:
    """Return a decorator that registers a function as the curves of the form with this key.

    predicted, observed : labels of the axes, if the curves are shares.
    """

    def record(curves: Curves) -> Curves:
        """List the function as the curves of the form."""
        FORM_CURVES[key] = FormCurves(curves, predicted, observed)
        return curves

    return record


def form_curves(summary: Summary) -> Iterator[Curve]:
    """Yield name, x and y of the curves of the form of a summary."""
    if summary.kind in FORM_CURVES:
        yield from FORM_CURVES[summary.kind].curves(summary)
