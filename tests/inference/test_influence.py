"""Every number has influences of its own, and its long-run variance follows from them."""

import numpy as np
import pytest
from affine import Affine
from correlated import CHOICES, UTM, Tiles, forecast

from geouq.core.grid import Grid
from geouq.inference import Intervals
from geouq.inference.bootstrap import basis_of_cells, rows_of_cells
from geouq.inference.long_run import MOST, Positions, Squares, long_run, positions_of
from geouq.inference.resamples import FEWEST_EFFECTIVE, Probes, influences
from geouq.metrics import bias, crps, ence, evaluate_metrics, mae, nll, rmse, z_std, zms
from geouq.summary import TilePlace

SIDE = 256


@pytest.fixture(scope="module")
def arrays():
    return forecast(0, SIDE, 12)


@pytest.fixture(scope="module")
def tiles(arrays):
    return Tiles(arrays)


def of_cells(tiles, metric, *arguments):
    """Influences of the cells of one tile on a metric."""
    basis = basis_of_cells(tiles.whole, CHOICES)
    _, rows = rows_of_cells(tiles.cells_of("r0c0"), basis)
    probes = Probes.of(rows)
    gradient = probes.gradient(np.asarray(metric(basis.summary(probes.sums), *arguments)))
    return influences(rows, gradient[:, np.newaxis])[:, 0]


def by_cell(pixels):
    """Mean of pixels in each cell, less the mean of all, divided by the number of cells."""
    side = SIDE // 16
    means = pixels.reshape(side, 16, side, 16).mean((1, 3)).ravel()
    return (means - means.mean()) / means.size


@pytest.mark.parametrize("name", ["bias", "mae", "rmse", "zms", "z_std", "nll", "crps"])
def test_the_influence_of_a_cell_is_the_residual_of_the_number(tiles, arrays, name):
    mean, variance, truth = arrays
    error, z = mean - truth, (truth - mean) / np.sqrt(variance)
    root, spread = np.sqrt(np.mean(error**2)), z.std()
    expected = {
        "bias": (bias, error),
        "mae": (mae, np.abs(error)),
        "rmse": (rmse, error**2 / (2 * root)),
        "zms": (zms, z**2),
        "z_std": (z_std, (z - z.mean()) ** 2 / (2 * spread)),
        "nll": (nll, np.log(variance) / 2 + z**2 / 2),
    }
    metric, pixels = expected.get(name, (crps, None))
    found = of_cells(tiles, metric)

    if pixels is None:  # the sum of a score is its own residual
        rows = tiles.parts["r0c0"].cells.moments.mean("crps")
        np.testing.assert_allclose(found, (rows - rows.mean()) / len(rows), rtol=1e-4, atol=1e-9)
    else:
        np.testing.assert_allclose(found, by_cell(pixels), rtol=1e-4, atol=1e-8)
    assert found.sum() == pytest.approx(0, abs=1e-12)


def test_the_influence_on_a_norm_of_bins_is_that_of_its_change_when_a_cell_is_left_out():
    tiles = Tiles(forecast(0, SIDE, 12, 0.7))
    basis = basis_of_cells(tiles.whole, CHOICES)
    _, rows = rows_of_cells(tiles.cells_of("r0c0"), basis)
    (scheme,) = CHOICES.schemes
    edges = basis.edges[scheme.name]
    value = float(ence(basis.summary(rows.sum(0)[np.newaxis]), scheme, edges)[0])

    found = of_cells(tiles, ence, scheme, edges)

    without = ence(basis.summary(rows.sum(0) - rows), scheme, edges)
    assert np.corrcoef(found, value - without)[0, 1] > 0.98
    assert found.std() == pytest.approx((value - without).std(), rel=0.1)


def test_a_number_that_does_not_vary_has_no_influence(arrays):
    mean, variance, truth = arrays
    tiles = Tiles((mean, np.full_like(variance, 2.0), truth))

    found = {one.metric: one for one in tiles.infer(Intervals(resamples=100)).intervals}

    assert found["mean_std"].low == pytest.approx(found["mean_std"].high, rel=1e-9)
    assert found["mean_std"].effective == (SIDE // 16) ** 2


def test_each_number_has_as_many_effective_cells_as_its_own_residual():
    mean, variance, truth = forecast(1, 512, 6)
    far = np.exp(1.2 * forecast(2, 512, 40)[1])
    tiles = Tiles((mean, variance * far, truth * np.sqrt(far)))

    found = {one.metric: one.effective for one in tiles.infer(Intervals(resamples=100)).intervals}

    assert found["nll"] < 0.3 * found["zms"]
    assert found["crps"] < 0.3 * found["coverage_90"]
    values = [float(v.value) for v in evaluate_metrics(tiles.whole, CHOICES)]
    assert len(found) <= len(values)


def grid_of_squares(side=30):
    y, x = np.mgrid[:side, :side].reshape(2, -1) * 1.0
    return Squares.of(Positions(x, y, np.zeros(side**2, np.int64), float(side**2)), np.ones(side**2))


def smooth(rng, side, scale):
    """A field of correlation exp(-(distance / scale)^2)."""
    size = 2 * side
    squared = np.fft.fftfreq(size)[:, np.newaxis] ** 2 + np.fft.rfftfreq(size) ** 2
    root = np.exp(-((np.pi * scale) ** 2) * squared / 2)
    return np.fft.irfft2(np.fft.rfft2(rng.standard_normal((size, size))) * root, s=(size, size))[:side, :side]


@pytest.mark.parametrize(("scale", "effective"), [(1.5, 127), (3.0, 31.8), (4.5, 14.1)])
def test_effective_cells_are_those_of_the_field_and_limits_hold_its_mean(scale, effective):
    rng, side, simulations = np.random.default_rng(0), 30, 150
    squares, estimates, held = grid_of_squares(side), [], 0
    for _ in range(simulations):
        field = smooth(rng, side, scale).ravel()
        influence = (field - field.mean()) / field.size
        found = long_run(squares, squares.sums(influence), influence, influence)
        away = found.widening(0.95) * 1.959964 * found.drawn
        held += abs(field.mean()) <= away
        estimates.append(found.effective)

    assert effective / 4 < np.median(estimates) < 1.5 * effective  # fields without noise are taken for fewer cells
    # of intervals that hold 95 %, fewer than 90 % do once in 200 times
    assert held / simulations >= 0.9


def test_tails_make_degrees_of_freedom_fewer():
    squares, rng = grid_of_squares(), np.random.default_rng(0)
    pairs = [(rng.standard_normal(900), rng.standard_t(2, 900)) for _ in range(20)]

    found = [[long_run(squares, squares.sums(one - one.mean()), one, one).freedom for one in pair] for pair in pairs]

    normal, heavy = np.median(found, axis=0)
    assert normal > 0.8 * (len(squares.weight) - 1)
    assert heavy < 0.7 * normal


def placed(corners, crs=UTM, side=64):
    grids = [Grid((side, side), Affine(10, 0, 10 * x, 0, -10, -10 * y), crs) for x, y in corners]
    return [TilePlace(f"t{k}", grid, 16) for k, grid in enumerate(grids)]


def test_squares_cross_the_edges_of_tiles():
    places = placed([(64 * column, 64 * row) for row in range(6) for column in range(6)])
    positions = positions_of(places, [(4, 4)] * len(places))

    squares = Squares.of(positions, np.ones(36 * 16))

    assert 30 <= len(squares.weight) <= MOST
    assert any(len(set(np.flatnonzero(squares.number == k) // 16)) > 1 for k in range(len(squares.weight)))
    assert (positions.x.min(), positions.x.max()) == (8, 376)


@pytest.mark.parametrize("count", [16, 120])
def test_tiles_in_one_place_are_taken_to_be_independent(count):
    places = placed([(0, 0)] * count)

    squares = Squares.of(positions_of(places, [(4, 4)] * count), np.ones(16 * count))

    assert 16 <= len(squares.weight) <= MOST
    assert (
        len(squares.weight) < count
        or len(set(zip(squares.number, np.repeat(np.arange(count), 16), strict=True))) >= count
    )


def test_sparse_strips_have_no_more_squares_than_are_wanted():
    x, y = np.meshgrid(np.arange(200.0), np.arange(0, 200.0, 25))
    positions = Positions(x.ravel(), y.ravel(), np.zeros(x.size, np.int64), float(x.size))

    squares = Squares.of(positions, np.ones(x.size))

    assert 25 <= len(squares.weight) <= MOST


def test_fewer_effective_cells_than_are_needed_have_no_interval():
    found = Tiles(forecast(0, SIDE, 150)).infer(Intervals(resamples=100)).intervals

    refused = [one for one in found if one.reason == f"fewer than {FEWEST_EFFECTIVE} effective cells"]
    assert {one.metric for one in refused} >= {"bias"}
    assert all(one.effective < FEWEST_EFFECTIVE and one.low is None for one in refused)
    given = [one for one in found if not one.reason]
    assert all(one.effective >= FEWEST_EFFECTIVE for one in given)
