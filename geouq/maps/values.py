"""What a map of pixels shows: a function of one pixel each, in the unit of the variable, of its score, or a code."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geouq import gaussian
from geouq.config import Variable
from geouq.maps.geotiff import CODES, CONTINUOUS, BandLabel, Stored
from geouq.validity import REASONS

Floats = NDArray[np.float64]

VALID = 0  # status of a pixel that counts; any other is its reason + 1
STATUS = "status"
NO_LAYERS: Floats = np.empty((0, 0))


class Forecast(NamedTuple):
    """Pixels that count, in one dimension; given : level and ends of the interval that the forecast gives itself.

    layers : float64 (layers, pixels) of members, quantiles or probabilities. more : the same of variances of members,
    of the two parts of a variance, or of the number of the true class.
    """

    mean: Floats
    variance: Floats
    truth: Floats
    given: tuple[float, Floats, Floats] | None = None
    layers: Floats = NO_LAYERS
    more: Floats = NO_LAYERS


@dataclass(frozen=True)
class PixelMap:
    """A value for each pixel that counts; has_unit : whether it is in that of the variable.

    codes : meaning of each code, where values are such.
    """

    function: Callable[[Forecast], NDArray[Any]]
    has_unit: bool
    long_name: str
    codes: tuple[str, ...] = ()
    limits: Mapping[str, str] = field(default_factory=dict)

    @property
    def stored(self) -> Stored:
        """How it is stored."""
        return CODES if self.codes else CONTINUOUS

    def label(self, name: str, variable: Variable) -> BandLabel:
        """Return what the band of a variable says of itself."""
        tags = dict(self.limits)
        if self.codes:
            tags["flag_values"] = " ".join(map(str, range(len(self.codes))))
            tags["flag_meanings"] = " ".join(self.codes)
        return BandLabel(f"{name}_{variable.name}", variable.units if self.has_unit else "1", self.long_name, tags)


def _epistemic_share(forecast: Forecast) -> Floats:
    in_parts = len(forecast.layers) == 1
    return (forecast.more[1] if in_parts else forecast.layers.var(axis=0)) / forecast.variance


def _brier(forecast: Forecast) -> Floats:
    hit = np.arange(len(forecast.layers))[:, np.newaxis] == forecast.more[0]
    return ((forecast.layers - hit) ** 2).sum(0)


POSITIVE = {"valid_min": "0"}
SHARE = POSITIVE | {"valid_max": "1"}
_MAPS: Mapping[str, PixelMap] = {
    "mean": PixelMap(lambda f: f.mean, has_unit=True, long_name="predicted mean"),
    "std": PixelMap(
        lambda f: np.sqrt(f.variance), has_unit=True, long_name="predicted standard deviation", limits=POSITIVE
    ),
    "error": PixelMap(lambda f: gaussian.error(f.mean, f.truth), has_unit=True, long_name="mean - truth"),
    "abs_error": PixelMap(
        lambda f: np.abs(gaussian.error(f.mean, f.truth)), has_unit=True, long_name="|mean - truth|", limits=POSITIVE
    ),
    "z": PixelMap(lambda f: gaussian.z_score(*f[:3]), has_unit=False, long_name="(truth - mean) / predicted std"),
    "pit": PixelMap(
        lambda f: gaussian.pit(*f[:3]),
        has_unit=False,
        long_name="predicted probability of a value below the truth",
        limits=SHARE,
    ),
    "nll": PixelMap(lambda f: gaussian.nll(*f[:3]), has_unit=False, long_name="negative log-likelihood of the truth"),
    "crps": PixelMap(
        lambda f: gaussian.crps(*f[:3]),
        has_unit=True,
        long_name="continuous ranked probability score",
        limits=POSITIVE,
    ),
    "aleatoric_share": PixelMap(
        lambda f: 1 - _epistemic_share(f),
        has_unit=False,
        long_name="share of the predicted variance that is noise, as of an ensemble its members predict",
        limits=SHARE,
    ),
    "epistemic_share": PixelMap(
        _epistemic_share,
        has_unit=False,
        long_name="share of the predicted variance that is ignorance, as by what members differ",
        limits=SHARE,
    ),
    "confidence": PixelMap(
        lambda f: f.layers.max(0), has_unit=False, long_name="probability of the most probable class", limits=SHARE
    ),
    "correct": PixelMap(
        lambda f: f.layers.argmax(0) == f.more[0],
        has_unit=False,
        long_name="whether the most probable class is the true one",
        codes=("wrong", "correct"),
    ),
    "brier": PixelMap(_brier, has_unit=False, long_name="sum over classes of (p - o)^2", limits=POSITIVE),
    STATUS: PixelMap(
        lambda f: np.full(f.mean.shape, VALID, np.uint8),
        has_unit=False,
        long_name="why a pixel does not count; 0: it does",
        codes=("valid", *REASONS),
    ),
}


def pixel_map(name: str) -> PixelMap:
    """Return the map of a name that a configuration accepts for maps of pixels."""
    if name in _MAPS:
        return _MAPS[name]
    percent = name.rpartition("_")[2]
    level = round(float(percent) / 100, 12)
    return PixelMap(
        partial(_covered, level=level),
        has_unit=False,
        long_name=f"whether the truth lies in the central interval of {percent} %",
        codes=("missed", "covered"),
    )


def _covered(forecast: Forecast, level: float) -> NDArray[np.bool_]:
    """Whether the truth lies in the interval, ends included; of the level of a given interval, in that one."""
    if forecast.given is not None and forecast.given[0] == level:
        _, lower, upper = forecast.given
        return (lower <= forecast.truth) & (forecast.truth <= upper)
    return np.abs(gaussian.z_score(*forecast[:3])) <= gaussian.half_width(level)
