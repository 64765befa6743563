"""A band of a layer as it was decoded, and what is made of it before pixels are judged."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geouq.core.distribution import Distribution, lowest_mean, real_moments
from geouq.core.gaussian import half_width
from geouq.core.validity import MEAN_NODATA, NOT_A_DISTRIBUTION, VARIANCE_NODATA, unify_nodata
from geouq.rasters.raster import Band

Values = NDArray[np.floating]
Doubles = NDArray[np.float64]
Status = NDArray[np.uint8]

NO_STATUS: Status = np.empty((0, 0), np.uint8)
ALMOST_LARGEST = 3.39e38


@dataclass(frozen=True)
class Decoded:
    """One band of a layer, its nodata (None if it is dealt with in the status), and its status."""

    values: Values
    nodata: float | None
    status: Status


def scaled(raw: NDArray[np.generic], band: Band) -> Doubles:
    """Return raw * scale + offset, as GDAL defines it for every band, whatever the band holds."""
    return raw.astype(np.float64) * band.scale + band.offset


def variance_of_interval(lower: Decoded, upper: Decoded, level: float) -> tuple[Decoded, tuple[Doubles, ...]]:
    """Variance of the normal forecast whose central interval is as wide, negative where the ends are reversed."""
    low, high = lower.values.astype(np.float64), upper.values.astype(np.float64)
    nodata = [status_where(equals(end.values, end.nodata), VARIANCE_NODATA) for end in (lower, upper)]
    std = (high - low) / (2 * half_width(level))
    return Decoded(std * np.abs(std), None, merged(lower.status, upper.status, *nodata)), (low, high)


def with_more(variance: Decoded, more: Doubles | np.float64) -> Decoded:
    """Return the variance with what is added to it, but where it is none: what is wrong there is to be noticed."""
    values, none = variance.values.astype(np.float64), equals(variance.values, variance.nodata)
    status = merged(variance.status, status_where(none, VARIANCE_NODATA))
    return Decoded(np.where((values > 0) & ~none, values + more, values), None, status)


def squared(std: Decoded) -> Decoded:
    """Variance from a std; a negative std stays negative, so that it is noticed, and nodata goes to the status."""
    status = merged(std.status, status_where(equals(std.values, std.nodata), VARIANCE_NODATA))
    values = std.values.astype(np.float64)
    return Decoded(values * np.abs(values), None, status)


def variance_of_relative(relative: Decoded, mean: Decoded) -> Decoded:
    """Variance from a std relative to the mean; a negative one stays negative, and nodata goes to the status."""
    share = squared(relative)
    return Decoded(share.values * np.square(mean.values, dtype=np.float64), None, share.status)


def on_real_scale(distribution: Distribution, mean: Decoded, variance: Decoded) -> tuple[Decoded, Decoded]:
    """Return mean and variance of a distribution; the status marks nodata and values that define none."""
    if not distribution.of_normal:
        return _with_low_means(distribution, mean, variance), variance
    missing = status_where(equals(mean.values, mean.nodata), MEAN_NODATA)
    unknown = status_where(equals(variance.values, variance.nodata), VARIANCE_NODATA)
    stored, spread = mean.values.astype(np.float64), variance.values.astype(np.float64)
    real, own = real_moments(distribution, stored, spread)
    status = merged(mean.status, missing)
    none = np.isnan(real)
    if none.any():
        none &= np.isfinite(stored) & np.isfinite(spread) & (spread > 0)
        status = merged(status, status_where(none, NOT_A_DISTRIBUTION))
        real, own = np.where(none, stored, real), np.where(none, spread, own)
    return Decoded(real, None, status), Decoded(own, None, merged(variance.status, unknown))


def _with_low_means(distribution: Distribution, mean: Decoded, variance: Decoded) -> Decoded:
    """Return the mean, with a status where it is too low for the distribution; values stay as they are."""
    low = mean.values <= lowest_mean(distribution)
    if not low.any():
        return mean
    for layer in (mean, variance):
        low &= np.isfinite(layer.values) & ~equals(layer.values, layer.nodata)
    return replace(mean, status=merged(mean.status, status_where(low & (variance.values > 0), NOT_A_DISTRIBUTION)))


def with_one_nodata(raw: NDArray[np.generic], band: Band) -> NDArray[np.generic]:
    """Treat all roundings of the lowest float32, such as -3.4e38, as nodata if one of them is declared."""
    if band.dtype != "float32" or band.nodata is None or not ALMOST_LARGEST < abs(band.nodata) < np.inf:
        return raw
    values = raw.astype(np.float32, copy=False)
    unify_nodata(values.ravel(), np.float32(band.nodata), np.float32(ALMOST_LARGEST))
    return values


def equals(raw: NDArray[np.generic], nodata: float | None) -> NDArray[np.bool_]:
    """Return where stored values are nodata, which may be NaN; None for none."""
    if nodata is None:
        return np.zeros(raw.shape, np.bool_)
    return np.isnan(raw) if np.isnan(nodata) else raw == nodata


def status_where(excluded: NDArray[np.bool_], reason: int) -> Status:
    """Return a status with this reason where pixels are excluded."""
    return excluded.astype(np.uint8) * np.uint8(reason + 1)


def merged(*parts: Status) -> Status:
    """Return the first reason of several statuses, 0 where none has one."""
    present = [part for part in parts if part.size]
    if not present:
        return NO_STATUS
    # 0 wraps to 255, behind every reason
    return np.minimum.reduce([part - np.uint8(1) for part in present]) + np.uint8(1)
