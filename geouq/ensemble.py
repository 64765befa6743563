"""Forecasts that are given as ensembles: members, each a mean and perhaps a variance, of equal weight.

Beside all that is measured of a forecast by mean and variance, which is that of the mixture, stands what the mixture
itself is worth. Numbers are functions of the summary, here by name, or all at once by `geouq.table` and
`geouq.evaluate`.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from geouq.arrays.arguments import checked_levels, is_xarray, variance_of_layers
from geouq.arrays.forms import MORE, VALUE
from geouq.arrays.layers import in_front, labels_of, layers_of
from geouq.arrays.validation import Dim, of_layers
from geouq.config.model import LEVELS
from geouq.core.errors import DataError
from geouq.core.grid import SQUARE
from geouq.forms.ensemble import Ensemble
from geouq.forms.ensemble import fair_crps as fair_crps_of_arrays
from geouq.forms.split import Split
from geouq.metrics.ensemble import (
    ONE_VARIANCE,
    aleatoric_share,
    crps_ensemble,
    crps_mixture,
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
from geouq.summary import GROUPED_BY
from geouq.sweep.settings import Settings

__all__ = [
    "aleatoric_share",
    "crps_ensemble",
    "crps_mixture",
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
    std: Any = None,
    weights: Any = None,
    dim: Dim = None,
    levels: Sequence[float] = LEVELS,
    member_dim: Hashable | None = None,
) -> Any:
    """Return what pixels contribute, as `geouq.summarize` does, of an ensemble and its mixture.

    Parameters
    ----------
    members : array (members, ...), DataArray or sequence of arrays
        Means of the members. Of numpy and dask arrays, members are along the first dimension; of a DataArray, along
        `member_dim`, wherever it stands.
    truth : array (...)
        Truth, of the shape of a member.
    variance : array (members, ...), DataArray or sequence of arrays, optional
        Variance of each member, in the same way. Without it, members are draws: the mixture has no density, all its
        variance is epistemic, and pixels where members agree exactly do not count, as its variance is 0.
    std : array, DataArray or sequence of arrays, optional
        Standard deviation of each member, instead of the variance.
    weights, dim, levels : as in `geouq.summarize`
    member_dim : str, optional
        Name of the dimension of members. By default the one that the truth does not have; of several, that with a
        usual name, such as member, number or realization.

    Returns
    -------
    Summary, SummaryArray or delayed
        A pixel where one member has no value does not count.

    Raises
    ------
    DataError
        If there are fewer than two members, if the numbers of members and variances differ, or if it is not clear
        which dimension holds the members.

    Examples
    --------
    >>> summary = summarize([[1.0, 2, 3], [2.0, 2.5, 4]], [1.5, 3, 2])
    >>> float(crps_ensemble(summary))
    0.5
    """
    values, more, variance = layers_of(members, truth, "member", member_dim, dim), [], variance_of_layers(variance, std)
    if variance is not None:
        more = layers_of(variance, truth, "member", member_dim if is_xarray(variance) else None, dim)
        _require_one_order(members, variance, truth, member_dim)
    if len(values) < 2:
        raise DataError(f"there are {len(values)} members; an ensemble has at least two, along the first dimension")
    if more and len(more) != len(values):
        raise DataError(f"there are {len(values)} members and {len(more)} variances; give a variance for each member")
    own = checked_levels(levels)
    settings = Settings(own, SQUARE, groups=GROUPED_BY, form=Ensemble(len(values), own, bool(more)))
    named = {f"{VALUE}{i}": layer for i, layer in enumerate(values)} | {f"{MORE}{i}": v for i, v in enumerate(more)}
    return of_layers({"truth": truth, "weights": weights} | named, dim, settings)


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
    """Return the summary of a forecast whose variance is given in two parts, aleatoric and epistemic.

    All observations at one pixel share one epistemic error, so that the joint log-loss has a closed form.

    Parameters
    ----------
    mean, truth : array (...), DataArray or number
        Prediction and truth of the same pixels.
    aleatoric : array (...), DataArray or number
        Variance of the noise.
    epistemic : array (...), DataArray or number
        Variance of what the model does not know.
    weights, dim, levels : as in `geouq.summarize`

    Returns
    -------
    Summary, SummaryArray or delayed
        As from `geouq.summarize`.

    Raises
    ------
    DataError
        If one part is missing.

    Examples
    --------
    >>> summary = summarize_split([0.9, -0.9], [0.0, 0.0], aleatoric=[1.0, 1.0], epistemic=[0.49, 0.49])
    >>> float(epistemic_share(summary))
    0.328859060403
    """
    if aleatoric is None or epistemic is None:
        raise DataError(ONE_VARIANCE)
    settings = Settings(checked_levels(levels), SQUARE, groups=GROUPED_BY, form=Split())
    layers = {VALUE: mean, f"{MORE}0": aleatoric, f"{MORE}1": epistemic, "truth": truth, "weights": weights}
    return of_layers(layers, dim, settings)


def fair_crps(members: Any, truth: Any) -> Any:
    """Return the fair CRPS of each pixel, in the unit of the variable; NaN where a value is missing.

    Parameters
    ----------
    members : array (members, ...) or DataArray
        Members without variances. The dimension of members of a DataArray is the one that the truth does not have.
    truth : array (...) or DataArray
        Truth of the same pixels.

    Returns
    -------
    array (...)
        A DataArray where the truth is one.

    Raises
    ------
    DataError
        If there are fewer than two members, or if shapes or dimensions do not fit.

    Examples
    --------
    >>> fair_crps([[0.0], [2.0], [3.0]], [1.0]).tolist()
    [0.333333333333]
    """
    found = fair_crps_of_arrays(*in_front(members, truth, "member"))
    return truth.copy(data=found) if is_xarray(truth) else found


def _require_one_order(members: Any, variance: Any, truth: Any, along: Hashable | None) -> None:
    """Raise DataError where members and their variances have different labels."""
    one, other = (labels_of(stack, truth, "member", along) for stack in (members, variance))
    if one is not None and other is not None and not np.array_equal(one, other):
        raise DataError(f"members are labelled {list(one)} and variances {list(other)}; align them first")
