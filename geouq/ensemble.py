"""Forecasts that are given as ensembles: members, each a mean and perhaps a variance, of equal weight.

Beside all that is measured of a forecast by mean and variance, which is that of the mixture, stands what the mixture
itself is worth. Numbers are functions of the summary, here by name, or all at once by `geouq.table` and
`geouq.evaluate`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from geouq.arrays.forms import MORE, VALUE
from geouq.arrays.inputs import Dim, checked_levels, of_layers
from geouq.config.model import LEVELS
from geouq.errors import DataError, GeouqError
from geouq.kernel import SQUARE
from geouq.metrics.ensemble import (
    ONE_VARIANCE,
    aleatoric_share,
    crps_ensemble,
    epistemic_share,
    joint_log_loss,
    joint_log_loss_gain,
    marginal_log_loss,
    mixture_coverage,
    mixture_coverage_above,
    mixture_coverage_below,
    mixture_pit,
    rank_histogram,
    spread_skill,
    variance_aleatoric,
    variance_epistemic,
)
from geouq.reading.form_pixels import fair_crps
from geouq.summary import GROUPED_BY
from geouq.summary.form import Ensemble, Split
from geouq.sweep.settings import Settings

__all__ = [
    "aleatoric_share",
    "crps_ensemble",
    "epistemic_share",
    "fair_crps",
    "joint_log_loss",
    "joint_log_loss_gain",
    "marginal_log_loss",
    "mixture_coverage",
    "mixture_coverage_above",
    "mixture_coverage_below",
    "mixture_pit",
    "rank_histogram",
    "spread_skill",
    "summarize",
    "summarize_split",
    "variance_aleatoric",
    "variance_epistemic",
]


def summarize(
    members: Any,
    truth: Any,
    *,
    variance: Any = None,
    weights: Any = None,
    dim: Dim = None,
    levels: Sequence[float] = LEVELS,
) -> Any:
    """What pixels contribute, as of `geouq.summarize`, of an ensemble and its mixture.

    members : means, along the first dimension or one after the other in a list; each, and truth, of one shape.
    variance : of each member, in the same way; without, members are draws: the mixture has no density, all its
    variance is epistemic, and pixels where members agree exactly do not count, as its variance is 0. weights, dim,
    levels : as in `geouq.summarize`. A pixel of which one member says nothing does not count.

    Raises DataError for fewer than two members, or other numbers of members and variances.

    >>> summary = summarize([[1.0, 2, 3], [2.0, 2.5, 4]], [1.5, 3, 2])
    >>> float(crps_ensemble(summary))
    0.5
    """
    values, more = _layers(members, VALUE), {} if variance is None else _layers(variance, MORE)
    if len(values) < 2:
        raise DataError(f"there are {len(values)} members; an ensemble has at least two, along the first dimension")
    if more and len(more) != len(values):
        raise DataError(f"there are {len(values)} members and {len(more)} variances; give a variance for each member")
    own = checked_levels(levels)
    settings = Settings(own, SQUARE, groups=GROUPED_BY, form=Ensemble(len(values), own, bool(more)))
    return of_layers({"truth": truth, "weights": weights} | values | more, dim, settings)


def summarize_split(
    mean: Any,
    truth: Any,
    *,
    aleatoric: Any = None,
    epistemic: Any = None,
    weights: Any = None,
    dim: Dim = None,
    levels: Sequence[float] = LEVELS,
) -> Any:
    """The same of a forecast by mean and variance, the latter in two parts: of noise, and of ignorance of the model.

    All observations at one pixel share one epistemic error, so that the joint log-loss has a closed form. Raises
    GeouqError where one part is missing.

    >>> summary = summarize_split([0.9, -0.9], [0.0, 0.0], aleatoric=[1.0, 1.0], epistemic=[0.49, 0.49])
    >>> float(epistemic_share(summary))
    0.328859060403
    """
    if aleatoric is None or epistemic is None:
        raise GeouqError(ONE_VARIANCE)
    settings = Settings(checked_levels(levels), SQUARE, groups=GROUPED_BY, form=Split())
    layers = {VALUE: mean, f"{MORE}0": aleatoric, f"{MORE}1": epistemic, "truth": truth, "weights": weights}
    return of_layers(layers, dim, settings)


def _layers(layers: Any, name: str) -> dict[str, Any]:
    """Layers by name, in their order."""
    if np.ndim(layers) == 0:
        raise DataError(f"{layers!r} is one number; give members along the first dimension, or in a list")
    return {f"{name}{i}": layer for i, layer in enumerate(layers)}
