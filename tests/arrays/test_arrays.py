"""Points in memory: the numbers of a raster of the same pixels, and bits that no shape changes."""

import numpy as np
import pytest
from alike import same
from forecasts import heteroscedastic

from geouq.arrays.points import Points, summarize_arrays, summarize_points
from geouq.core.errors import DataError
from geouq.core.validity import WEIGHT_ZERO
from geouq.metrics import MetricOptions, evaluate_metrics
from geouq.summary import empty_summary
from geouq.sweep.settings import Settings

LEVELS = (0.5, 0.9)
SETTINGS = Settings(LEVELS, 256)


def numbers(summary):
    return {(v.name, v.bins, v.group): float(v.value) for v in evaluate_metrics(summary, MetricOptions(LEVELS, ()))}


@pytest.mark.parametrize("shape", [(1, 1), (3, 100), (256, 256), (257, 300), (1100, 2003)])
def test_points_give_the_numbers_of_the_raster(shape):
    arrays = heteroscedastic(shape)
    weight = np.linspace(0, 2, arrays[0].size).reshape(shape)

    raster = summarize_arrays(*arrays, LEVELS, weight=weight).whole
    points = summarize_points(Points(*(layer.ravel() for layer in (*arrays, weight))), SETTINGS)

    assert points.n == raster.n
    np.testing.assert_allclose(points.z.counts, raster.z.counts, rtol=1e-12)
    expected = numbers(raster)
    for name, value in numbers(points).items():
        near = 2e-5 if name[0].startswith("pit") else 1e-9
        assert value == pytest.approx(expected[name], rel=near, nan_ok=True), name


def test_what_fills_up_the_last_row_does_not_count():
    points = [layer.ravel() for layer in heteroscedastic((1, 255), missing=0)]

    assert summarize_points(Points(*points), SETTINGS).n == 255
    assert summarize_points(Points(*points, np.ones(255)), SETTINGS).n == 255


def test_no_point_gives_the_empty_summary():
    nothing = summarize_points(Points(*[np.empty(0)] * 3), SETTINGS)

    assert nothing.n == 0
    assert same(nothing.z, empty_summary(LEVELS).z)


def test_a_point_without_weight_does_not_count():
    points = [layer.ravel() for layer in heteroscedastic((1, 300), missing=0)]
    weight = np.ones(300)
    weight[:7], weight[7] = 0, np.nan

    assert summarize_points(Points(*points, weight), SETTINGS).n == 292
    assert summarize_arrays(*points, LEVELS, weight=weight[np.newaxis]).excluded[WEIGHT_ZERO] == 8


def test_a_negative_weight_is_refused():
    points = [layer.ravel() for layer in heteroscedastic((1, 30))]

    with pytest.raises(DataError, match="lowest weight is -1"):
        summarize_points(Points(*points, np.full(30, -1.0)), SETTINGS)
