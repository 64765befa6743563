"""Arrays beside mean, variance and truth: intervals, the truth's own error, covariates and classes."""

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from alike import same

import geouq
from geouq.core.errors import DataError, GeouqError
from geouq.core.gaussian import half_width

RNG = np.random.default_rng(0)
TRUTH = RNG.normal(10, 3, (40, 50))
STD = RNG.lognormal(0, 0.4, (40, 50))
MEAN = TRUTH + STD * RNG.standard_normal((40, 50))
COVER = RNG.integers(0, 4, (40, 50))
SLOPE = RNG.uniform(0, 45, (40, 50)).astype(np.float32)


def inside(level):
    return abs(TRUTH - MEAN) <= half_width(level) * STD


def test_intervals_are_judged_as_they_are_given():
    lower, upper = MEAN - STD, MEAN + 2 * STD
    summary = geouq.summarize_intervals(MEAN, lower, upper, TRUTH, 0.85)
    below, above = np.maximum(lower - TRUTH, 0), np.maximum(TRUTH - upper, 0)
    score = upper - lower + 2 / (1 - 0.85) * (below + above)

    assert summary.levels == (0.5, 0.8, 0.85, 0.9, 0.95)
    assert geouq.coverage(summary, level=0.85) == pytest.approx(((lower <= TRUTH) & (upper >= TRUTH)).mean(), abs=1e-15)
    assert geouq.width(summary, level=0.85) == pytest.approx((upper - lower).mean(), rel=1e-13)
    assert geouq.interval_score(summary, level=0.85) == pytest.approx(score.mean(), rel=1e-13)
    assert geouq.mean_std(summary) == pytest.approx((upper - lower).mean() / (2 * half_width(0.85)), rel=1e-13)
    assert "coverage_85" in geouq.evaluate(summary)


def test_intervals_add_and_are_lazy_like_all_else():
    arrays = MEAN, MEAN - STD, MEAN + 2 * STD, TRUTH
    whole = geouq.summarize_intervals(*arrays, 0.9)
    north, south = (geouq.summarize_intervals(*(a[part] for a in arrays), 0.9) for part in np.s_[:20, 20:])
    lazy = geouq.summarize_intervals(*(da.from_array(a, chunks=(20, 50)) for a in arrays), 0.9)
    named = geouq.summarize_intervals(*(xr.DataArray(a, dims=("y", "x")) for a in arrays), 0.9, dim="x")

    assert geouq.coverage(north + south, level=0.9) == pytest.approx(geouq.coverage(whole, level=0.9), abs=1e-15)
    assert same(lazy.compute().moments, (north + south).moments)
    assert geouq.coverage(named, level=0.9).shape == (40,)
    with pytest.raises(GeouqError, match="do not add"):
        whole + geouq.summarize(MEAN, STD**2, TRUTH)


def test_reversed_ends_are_told():
    with pytest.raises(DataError, match="2000 intervals have their upper end below the lower one"):
        geouq.summarize_intervals(MEAN, MEAN + STD, MEAN - STD, TRUTH, 0.9)


def test_the_truths_own_error_is_added_to_the_variance():
    noise = np.full(TRUTH.shape, 0.5)
    noise[3, 4] = np.nan
    told = geouq.summarize(MEAN, STD**2, TRUTH, truth_variance=noise)

    assert told.n == 1999
    known = np.isfinite(noise)
    assert geouq.zms(told) == pytest.approx(((MEAN - TRUTH) ** 2 / (STD**2 + noise))[known].mean(), rel=1e-12)
    assert same(
        geouq.summarize(MEAN, STD**2, TRUTH, truth_variance=0.0).moments, geouq.summarize(MEAN, STD**2, TRUTH).moments
    )
    with pytest.raises(DataError, match="the lowest truth_variance is -1"):
        geouq.summarize(MEAN, STD**2, TRUTH, truth_variance=-1.0)
    with pytest.raises(DataError, match="predicted variances are negative"):
        geouq.summarize(MEAN, -(STD**2), TRUTH, truth_variance=100.0)


def test_coverage_by_classes_and_covariates():
    summary = geouq.summarize(MEAN, STD**2, TRUTH, covariates={"slope": SLOPE}, classes={"cover": COVER})
    expected = [inside(0.9)[code == COVER].mean() for code in range(4)]

    np.testing.assert_allclose(geouq.metrics.group_coverage(summary, 0.9, "cover"), expected, rtol=1e-12)
    assert geouq.rmscd(summary, level=0.9, by="cover") == pytest.approx(
        np.sqrt(np.mean((np.array(expected) - 0.9) ** 2))
    )
    found = geouq.evaluate(summary)
    assert list(found.rmscd_90.group.values) == ["truth", "mean", "variance", "slope", "cover"]
    assert 0.8 < geouq.lowest_group_coverage(summary, level=0.9, by="slope") < 0.9


@pytest.mark.parametrize(
    ("beside", "message"),
    [
        ({"classes": {"cover": COVER - 0.5}}, "classes cover: .* is no code"),
        ({"classes": {"cover": COVER - 1}}, "classes cover: -1 is no code"),
        ({"covariates": {"truth": SLOPE}}, "two have one name"),
        ({"covariates": {"slope": SLOPE[:3]}}, "slope of shape .* do not broadcast"),
        ({"truth_variance": SLOPE[:3]}, "different shapes"),
    ],
)
def test_what_cannot_be_is_told(beside, message):
    with pytest.raises(GeouqError, match=message):
        geouq.summarize(MEAN, STD**2, TRUTH, **beside)
