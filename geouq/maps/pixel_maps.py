"""Maps with a value for each pixel: a number in the unit of the variable, a score, or a code.

A map is one function with the decorator `pixel_map`. Configurations, files, styles, colours, pages and the reference
use its record.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from geouq.config import Variable
from geouq.core import gaussian
from geouq.core.errors import ConfigError
from geouq.core.validity import REASONS
from geouq.maps.geotiff import CODES, CONTINUOUS, BandLabel, Stored
from geouq.maps.scales import AMOUNT, FAULT, OVER_PREDICTED_BELOW, SIGNED, Scale, even, rounded, usable
from geouq.metrics import crps as mean_crps
from geouq.metrics import rmse, sharpness, sharpness_rms
from geouq.metrics.record import OF_VARIANCE, has
from geouq.summary import Summary
from geouq.summary.form import Form

Floats = NDArray[np.float64]
Scales = Callable[[Summary], Scale]
Unit = Literal["1", "unit"]

STATUS = "status"
OF_ALL = ("all",)  # forms
IN_PARTS = ("densities", "split")
POSITIVE: Mapping[str, str] = {"valid_min": "0"}
SHARE = {**POSITIVE, "valid_max": "1"}
OF_Z = 3.0  # a calibrated forecast has 99.7 % of its z within
NO_LAYERS: Floats = np.empty((0, 0))


class Forecast(NamedTuple):
    """Valid pixels, in one dimension.

    given : level and ends of the interval that the forecast provides. layers : float64 (layers, pixels), members,
    quantiles or probabilities. more : float64 (layers, pixels), variances of members, the two parts of a variance, or
    the number of the true class. scores : PIT, CRPS and negative log-likelihood of a forecast that is not normal.
    """

    mean: Floats
    variance: Floats
    truth: Floats
    given: tuple[float, Floats, Floats] | None = None
    layers: Floats = NO_LAYERS
    more: Floats = NO_LAYERS
    scores: tuple[Floats, Floats, Floats] | None = None


@dataclass(frozen=True)
class PixelMap:
    """The record of a map of pixels.

    Parameters
    ----------
    name : str
        In configurations and file names.
    function : callable
        Returns the value of each pixel of a `Forecast`. If `of_level`, it takes the level as well.
    long_name : str
        Description of the value. If `of_level`, it contains ``{percent}`` for the level.
    unit : {"1", "unit"}
        Unit of the values: "unit" is the unit of the variable.
    forms : tuple of str
        Forms of the forecast that have the map, as in the records of metrics, or `OF_ALL`.
    scale : callable, optional
        Returns the colours from the summary of all pixels of the run. Maps of codes have none.
    codes : tuple of str
        Meaning of each code, if the values are codes.
    limits : mapping
        Attributes `valid_min` and `valid_max` of the band.
    of_level : bool
        Whether there is a map for each level, such as covered_90.
    """

    name: str
    function: Callable[..., NDArray[Any]]
    long_name: str
    unit: Unit = "1"
    forms: tuple[str, ...] = OF_VARIANCE
    scale: Scales | None = None
    codes: tuple[str, ...] = ()
    limits: Mapping[str, str] = field(default_factory=dict)
    of_level: bool = False

    @property
    def stored(self) -> Stored:
        """Return the data type and nodata value."""
        return CODES if self.codes else CONTINUOUS

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the lowest and the highest value of the band."""
        return float(self.limits.get("valid_min", -math.inf)), float(self.limits.get("valid_max", math.inf))

    def label(self, variable: Variable) -> BandLabel:
        """Return name, unit, description and tags of the band of a variable."""
        tags = dict(self.limits)
        if self.codes:
            tags["flag_values"] = " ".join(map(str, range(len(self.codes))))
            tags["flag_meanings"] = " ".join(self.codes)
        units = variable.units if self.unit == "unit" else "1"
        return BandLabel(f"{self.name}_{variable.name}", units, self.long_name, tags)

    def at_level(self, percent: str) -> "PixelMap":
        """Return the map of one level, given in percent."""
        function = partial(self.function, level=round(float(percent) / 100, 12))
        long_name = self.long_name.format(percent=percent)
        return replace(self, name=f"{self.name}_{percent}", function=function, long_name=long_name)


F = TypeVar("F", bound=Callable[..., NDArray[Any]])
PIXEL_MAPS: dict[str, PixelMap] = {}


def pixel_map(
    long_name: str, *, scale: Scales | None = None, codes: tuple[str, ...] = (), **record: Any
) -> Callable[[F], F]:
    """Return a decorator that registers a function as a map of pixels. The map has the name of the function.

    Parameters
    ----------
    long_name, scale, codes, **record
        The fields of `PixelMap`. A map has either a scale or codes.

    Examples
    --------
    >>> @pixel_map("squared error", scale=lambda whole: Scale((0.0, 1.0), ((0, 0, 0), (255, 255, 255))))
    ... def squared_error(forecast):
    ...     return (forecast.mean - forecast.truth) ** 2
    >>> PIXEL_MAPS.pop("squared_error").long_name
    'squared error'
    """
    if (scale is None) == (not codes):
        raise TypeError(f"{long_name}: give either the scale of its colours or its codes")

    def registered(function: F) -> F:
        """Register the function and return it."""
        name = function.__name__
        PIXEL_MAPS[name] = PixelMap(name, function, long_name, scale=scale, codes=codes, **record)
        return function

    return registered


def has_map(one: PixelMap, form: Form) -> bool:
    """Return whether a map without level exists for a forecast of this form."""
    return not one.of_level and (one.forms == OF_ALL or has(form, one.forms))


def is_pixel_map(name: str) -> bool:
    """Return whether a map has a value for every pixel; any other is of cells."""
    return _found(name) is not None


def map_named(name: str) -> PixelMap:
    """Return the map of pixels with this name; raise ConfigError if there is none."""
    found = _found(name)
    if found is None:
        raise ConfigError(f"there is no map of pixels {name!r}; known are {', '.join(PIXEL_MAPS)}")
    return found


def _found(name: str) -> PixelMap | None:
    base, _, percent = name.rpartition("_")
    if name in PIXEL_MAPS and not PIXEL_MAPS[name].of_level:
        return PIXEL_MAPS[name]
    of_level = base in PIXEL_MAPS and PIXEL_MAPS[base].of_level and percent.replace(".", "", 1).isdecimal()
    return PIXEL_MAPS[base].at_level(percent) if of_level else None


def as_markdown(maps: Iterable[PixelMap]) -> str:
    """Return a list of maps as a Markdown table."""
    lines = ["| name | what | unit | values |", "|---|---|---|---|"]
    for one in maps:
        name, what = one.name + ("_<level>" if one.of_level else ""), one.long_name.format(percent="<level>")
        values = ", ".join(f"{code} {meaning}" for code, meaning in enumerate(one.codes)) or "numbers"
        lines.append(f"| `{name}` | {what.replace('|', chr(92) + '|')} | {one.unit} | {values} |")
    return "\n".join(lines) + "\n"


def _of_mean(whole: Summary) -> Scale:
    centre = float(whole.moments.mean("truth") + whole.moments.mean("error"))
    reach = 2 * usable(np.sqrt(whole.moments.product("truth", "truth")))
    middle = centre if math.isfinite(centre) else 0.0
    return rounded(middle - reach, middle + reach, AMOUNT)


def _of_nll(whole: Summary) -> Scale:
    """From a hit with the typical variance to |z| = 3."""
    hit = 0.5 * math.log(2 * math.pi * usable(sharpness(whole)))
    return rounded(hit, hit + OF_Z**2 / 2, FAULT)


def _of_errors(whole: Summary) -> Scale:
    return rounded(-2 * usable(rmse(whole)), 2 * usable(rmse(whole)), SIGNED)


def _of_share(_: Summary) -> Scale:
    return even(0, 1, AMOUNT)


@pixel_map("predicted mean", unit="unit", scale=_of_mean)
def mean(forecast: Forecast) -> Floats:
    """Return the predicted mean."""
    return forecast.mean


@pixel_map(
    "predicted standard deviation",
    unit="unit",
    limits=POSITIVE,
    scale=lambda whole: rounded(0, 2 * usable(sharpness_rms(whole)), AMOUNT),
)
def std(forecast: Forecast) -> Floats:
    """Return the predicted standard deviation."""
    return np.sqrt(forecast.variance)


@pixel_map("mean - truth", unit="unit", scale=_of_errors)
def error(forecast: Forecast) -> Floats:
    """Return the error."""
    return gaussian.error(forecast.mean, forecast.truth)


@pixel_map(
    "|mean - truth|",
    unit="unit",
    limits=POSITIVE,
    scale=lambda whole: rounded(0, 2 * usable(rmse(whole)), FAULT),
)
def abs_error(forecast: Forecast) -> Floats:
    """Return the size of the error."""
    return np.abs(gaussian.error(forecast.mean, forecast.truth))


@pixel_map("(truth - mean) / predicted std", scale=lambda _: even(-OF_Z, OF_Z, OVER_PREDICTED_BELOW))
def z(forecast: Forecast) -> Floats:
    """Return the error in units of the predicted standard deviation."""
    return gaussian.z_score(*forecast[:3])


@pixel_map(
    "predicted probability of a value below the truth", limits=SHARE, scale=lambda _: even(0, 1, OVER_PREDICTED_BELOW)
)
def pit(forecast: Forecast) -> Floats:
    """Return the probability integral transform."""
    return gaussian.pit(*forecast[:3]) if forecast.scores is None else forecast.scores[0]


@pixel_map("negative log-likelihood of the truth", scale=_of_nll)
def nll(forecast: Forecast) -> Floats:
    """Return the negative log-likelihood."""
    return gaussian.nll(*forecast[:3]) if forecast.scores is None else forecast.scores[2]


@pixel_map(
    "continuous ranked probability score",
    unit="unit",
    limits=POSITIVE,
    scale=lambda whole: rounded(0, 4 * usable(mean_crps(whole)), FAULT),
)
def crps(forecast: Forecast) -> Floats:
    """Return the continuous ranked probability score."""
    return gaussian.crps(*forecast[:3]) if forecast.scores is None else forecast.scores[1]


@pixel_map("why a pixel does not count; 0: it does", forms=OF_ALL, codes=("valid", *REASONS))
def status(forecast: Forecast) -> NDArray[np.uint8]:
    """Return 0 for each valid pixel. The writer adds the reasons of the excluded pixels."""
    return np.zeros(forecast.mean.shape, np.uint8)


@pixel_map("whether the truth lies in the central interval of {percent} %", codes=("missed", "covered"), of_level=True)
def covered(forecast: Forecast, level: float) -> NDArray[np.bool_]:
    """Return whether the truth lies in the interval or at its ends; a given interval of this level is used as it is."""
    if forecast.given is not None and forecast.given[0] == level:
        _, lower, upper = forecast.given
        return (lower <= forecast.truth) & (forecast.truth <= upper)
    if forecast.scores is not None:
        return np.abs(forecast.scores[0] - 0.5) <= level / 2
    return np.abs(gaussian.z_score(*forecast[:3])) <= gaussian.half_width(level)


@pixel_map(
    "share of the predicted variance that is noise, as of an ensemble its members predict",
    forms=IN_PARTS,
    limits=SHARE,
    scale=_of_share,
)
def aleatoric_share(forecast: Forecast) -> Floats:
    """Return the share of the variance that is noise."""
    return 1 - epistemic_share(forecast)


@pixel_map(
    "share of the predicted variance that is ignorance, as by what members differ",
    forms=IN_PARTS,
    limits=SHARE,
    scale=_of_share,
)
def epistemic_share(forecast: Forecast) -> Floats:
    """Return the share of the variance that comes from what the model does not know."""
    in_parts = len(forecast.layers) == 1
    return (forecast.more[1] if in_parts else forecast.layers.var(axis=0)) / forecast.variance


@pixel_map("probability of the most probable class", forms=("classes",), limits=SHARE, scale=_of_share)
def confidence(forecast: Forecast) -> Floats:
    """Return the probability of the most probable class."""
    return forecast.layers.max(0)


@pixel_map("whether the most probable class is the true one", forms=("classes",), codes=("wrong", "correct"))
def correct(forecast: Forecast) -> NDArray[np.bool_]:
    """Return whether the most probable class is the true one."""
    return forecast.layers.argmax(0) == forecast.more[0]


@pixel_map(
    "sum over classes of (p - o)^2",
    forms=("classes",),
    limits=POSITIVE,
    scale=lambda _: even(0, 2, FAULT),
)
def brier(forecast: Forecast) -> Floats:
    """Return the Brier score."""
    hit = np.arange(len(forecast.layers))[:, np.newaxis] == forecast.more[0]
    return ((forecast.layers - hit) ** 2).sum(0)
