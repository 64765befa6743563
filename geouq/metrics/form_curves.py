"""Curves of forms: ranks of the truth, coverage of quantiles, reliability of classes."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from geouq.metrics import classes, ensemble, quantiles
from geouq.summary import Summary
from geouq.summary.form import PIT_BINS, Classes, Ensemble, Quantiles

Floats = NDArray[np.float64]


def form_curves(summary: Summary) -> Iterator[tuple[str, Floats, Floats]]:
    """Name, x and y of the curves of a form: ranks of the truth, coverage of quantiles, reliability of classes."""
    match summary.given_as:
        case Ensemble() as form:
            shares = ensemble.rank_histogram(summary)
            yield "rank_histogram", np.arange(form.members + 1.0), (form.members + 1) * shares
            pit = ensemble.mixture_pit(summary)
            yield "mixture_pit_histogram", (np.arange(PIT_BINS) + 0.5) / PIT_BINS, PIT_BINS * pit
        case Quantiles() as form:
            shares = np.array([quantiles.quantile_calibration(summary, level) for level in form.levels])
            yield "quantile_calibration", np.array(form.levels), shares
        case Classes() as form:
            _, probability, frequency = classes.reliability(summary)
            for name, x, y in zip(form.names, probability, frequency, strict=True):
                yield f"reliability_{name}", x, y
