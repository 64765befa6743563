"""Numbers that are norms of signed gaps between what is predicted and what is observed: too large, however calibrated.

Gaps of the variance are told as log(MSE / MV) of each bin, whose noise is alike on both sides and wherever it stands;
those of the calibration curve as differences of shares.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geouq.config import BinScheme
from geouq.metrics import Choices, Value, binned, calibration_curve
from geouq.metrics.curve import area_to_diagonal, squared_error
from geouq.summary import Binned, Summary

Floats = NDArray[np.float64]
Norm = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Gaps:
    """Signed gaps, float64 (..., gaps), NaN where a bin is empty; and the number that they give, less `subtracted`.

    whole : False where errors of exactly 0 fill a bin, so that its gap is infinite.
    """

    signed: Floats
    norm: Norm
    subtracted: float = 0.0
    whole: bool = True


def is_folded(value: Value) -> bool:
    """Whether a number is a norm of gaps."""
    return value.metric.name in _VARIANCE or value.metric.name in _CURVE


def gaps_of(value: Value, whole: Summary, resamples: Summary, choices: Choices) -> tuple[Gaps, Floats]:
    """Gaps of the whole pool, and those of its resamples."""
    name = value.metric.name
    if name in _CURVE:
        levels = choices.calibration_levels
        own, others = (calibration_curve(summary, levels) - levels for summary in (whole, resamples))
        return Gaps(own, _CURVE[name](choices)), others
    scheme = next(scheme for scheme in choices.schemes if scheme.name == value.bins)
    per_bin = _binned(whole, scheme, choices)
    own, others = (_log_ratio(_binned(summary, scheme, choices)) for summary in (whole, resamples))
    norm = _VARIANCE[name](per_bin)
    subtracted = float(norm(own) - value.value) if name == "ence_excess" else 0.0
    return Gaps(own, norm, subtracted, bool((per_bin.squared_error[per_bin.n > 0] > 0).all())), others


def rests_on_few_blocks(value: Value, whole: Summary, resamples: Summary, choices: Choices) -> bool:
    """Whether a number is of bins, one of which lies in so few blocks that a resample drew none of them."""
    if not value.bins:
        return False
    scheme = next(scheme for scheme in choices.schemes if scheme.name == value.bins)
    own, others = (_binned(summary, scheme, choices).n > 0 for summary in (whole, resamples))
    return bool((own & ~others).any())


def _binned(summary: Summary, scheme: BinScheme, choices: Choices) -> Binned:
    return binned(summary, scheme, (choices.shared_edges or {})[scheme.name])


def _log_ratio(per_bin: Binned) -> Floats:
    ratio = per_bin.mse / per_bin.mean_variance
    return np.log(np.where(ratio > 0, ratio, np.nan))


def _uce(per_bin: Binned) -> Norm:
    scale = np.nan_to_num(per_bin.share * per_bin.mean_variance)
    return lambda gaps: np.nansum(scale * np.abs(np.expm1(gaps)), axis=-1)


def _ence(_: Binned) -> Norm:
    def norm(gaps: Floats) -> Floats:
        used = np.isfinite(gaps).sum(-1)
        return np.nansum(np.abs(np.expm1(gaps / 2)), axis=-1) / np.maximum(used, 1)

    return norm


_VARIANCE: Mapping[str, Callable[[Binned], Norm]] = {"uce": _uce, "ence": _ence, "ence_excess": _ence}
_CURVE: Mapping[str, Callable[[Choices], Norm]] = {
    "mace": lambda _: lambda gaps: np.abs(gaps).mean(-1),
    "rmsce": lambda _: lambda gaps: np.sqrt(np.square(gaps).mean(-1)),
    "calibration_error": lambda c: (
        lambda gaps: squared_error(gaps + c.calibration_levels, c.calibration_levels, c.calibration_weights)
    ),
    "miscalibration_area": lambda c: lambda gaps: area_to_diagonal(gaps + c.calibration_levels, c.calibration_levels),
}
