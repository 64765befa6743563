"""The truth's own error is no error of the map: where it is known, it is in no model, and no std of a mean."""

import numpy as np
import pytest
from cell_maps import CELLS, PIXELS, SIDE, TILES, cells_of, measured, mixed, places

from geouq.aggregates.area import AreaPairs
from geouq.aggregates.blocks import block_means, blocks_of_areas
from geouq.aggregates.estimation import error_correlation, is_truth_alone
from geouq.aggregates.known import KnownCorrelation
from geouq.aggregates.parameters import parameters_of

SHAPE = TILES[0] * CELLS * PIXELS, TILES[1] * CELLS * PIXELS
NUGGET, REACH = 0.4, 4  # of simulated errors; the range in cells


def stds(shape):
    """Predicted std, and the std of the truth's error, whose ratio varies over the map."""
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    return 1 + 0.5 * np.sin(rows / 40), 0.5 + 2.0 * columns / shape[1]


def simulated(seed, shape=(256, 256), size=1.0):
    rng = np.random.default_rng(seed)
    std, noise = stds(shape)
    z = size * mixed(rng, shape, (1 - NUGGET, REACH))
    cells, error = measured(rng, z, std, noise)
    return cells, error, z, std, noise


def test_without_an_error_of_the_truth_the_model_is_that_of_z():
    rng = np.random.default_rng(0)
    z, std = mixed(rng, SHAPE, (0.5, 4)), rng.uniform(1, 2, SHAPE)

    plain, known = cells_of(z, std, tiles=TILES), measured(rng, z, std, 0.0, tiles=TILES)[0]

    one, other = (error_correlation(own, SIDE).model for own in (plain, known))
    for name in ("sills", "ranges", "nugget", "constant", "tile", "within", "zms"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-9), name
    assert np.isnan(known.truth_share)


def test_mean_z_square_and_the_correlogram_are_those_of_pixels_without_the_truths_error():
    cells, error, _, std, noise = simulated(1, (128, 128))
    own, total = std**2, std**2 + noise**2
    share, seen = own / total, -error * std / total

    correlation = error_correlation(cells, SIDE)

    excess = (seen**2 - share * (1 - share)).sum() / (share**2).sum()
    assert correlation.model.zms == pytest.approx(excess, rel=1e-9)
    by_cell = [own.reshape(32, 4, 32, 4).sum((1, 3)) for own in (seen, share, seen**2, share**2)]
    within = (by_cell[0] ** 2 - by_cell[2]).sum() / (by_cell[1] ** 2 - by_cell[3]).sum()
    assert correlation.correlogram.correlation[0] == pytest.approx(within / excess, rel=1e-9)
    neighbours = sum((x[:, 1:] * x[:, :-1]).sum() + (x[1:] * x[:-1]).sum() for x in by_cell[:1])
    weights = sum((x[:, 1:] * x[:, :-1]).sum() + (x[1:] * x[:-1]).sum() for x in by_cell[1:2])
    diagonal = [(x[1:, 1:] * x[:-1, :-1]).sum() + (x[1:, :-1] * x[:-1, 1:]).sum() for x in by_cell[:2]]
    first = (neighbours + diagonal[0]) / (weights + diagonal[1]) / excess  # up to 1.5 cells apart
    assert correlation.correlogram.correlation[1] == pytest.approx(first, rel=1e-9)


def test_the_nugget_and_the_share_of_the_truth_are_those_of_the_simulation():
    found, shares, expected, plain = [], [], [], []
    for seed in range(8):
        cells, error, _, std, noise = simulated(seed)
        found.append({one.name: one for one in parameters_of(error_correlation(cells, SIDE), 0.95)})
        own, total = std**2, std**2 + noise**2
        expected.append((own * noise**2 / total**2).sum() / (error**2 * own / total**2).sum())
        shares.append(found[-1]["truth_share"].value)
        plain.append(error_correlation(cells_of(-error / np.sqrt(total), np.sqrt(total)), SIDE).model.nugget)

    assert shares == pytest.approx(expected, rel=1e-9)
    assert np.mean([one["nugget"].value for one in found]) == pytest.approx(NUGGET, abs=0.1)
    assert np.mean([one["zms"].value for one in found]) == pytest.approx(1, abs=0.1)
    assert np.mean([one["nugget"].low <= NUGGET <= one["nugget"].high for one in found]) >= 0.75
    assert np.mean(plain) > NUGGET + 0.2  # if the truth's error is left in


def test_a_std_too_small_by_a_half_is_seen_behind_the_truths_error():
    zms = [error_correlation(simulated(seed, size=2.0)[0], SIDE).model.zms for seed in range(6)]

    assert np.mean(zms) == pytest.approx(4, rel=0.15)


def test_the_variance_of_a_block_is_that_of_the_map_plus_that_of_the_measured_truth():
    rng = np.random.default_rng(3)
    std, noise = stds(SHAPE)
    z = mixed(rng, SHAPE, (0.5, 4))
    cells, error = measured(rng, z, std, noise, tiles=TILES)
    correlation = error_correlation(cells, SIDE)

    found = block_means(correlation, places(), CELLS)

    def mean(values):
        high = SHAPE[0] // TILES[0]
        return values.reshape(TILES[0], high, TILES[1], high).mean((1, 3)).ravel()

    pixels = (CELLS * PIXELS) ** 2
    np.testing.assert_allclose(found.error, mean(error), atol=1e-12)
    np.testing.assert_allclose(found.noise, mean(noise**2) / pixels, rtol=1e-12)
    np.testing.assert_allclose(found.independent, mean(std**2 + noise**2) / pixels, rtol=1e-12)
    np.testing.assert_allclose(found.full, mean(std) ** 2 + found.noise, rtol=1e-12)
    one = correlation.cells.tile == 0
    model = correlation.without(np.unique(correlation.fold[one]).tolist())
    alone = AreaPairs.of(cells_of(z, std, tiles=TILES).some(one), SIDE).variance(model)
    assert found.fitted[0] == pytest.approx(alone + found.noise[0], rel=1e-9)
    assert found.calibrated[0] == pytest.approx(model.zms * alone + found.noise[0], rel=1e-9)
    tiles = [(cells.some(cells.tile == own), correlation.fold[cells.tile == own]) for own in range(6)]
    for name in ("fitted", "full", "calibrated", "noise"):
        same = getattr(blocks_of_areas(correlation, tiles), name)
        np.testing.assert_allclose(same, getattr(found, name), rtol=1e-9, err_msg=name)


def test_a_truth_as_uncertain_as_all_errors_leaves_nothing_to_estimate():
    rng = np.random.default_rng(4)
    cells, _ = measured(rng, 1e-3 * rng.standard_normal((128, 128)), 1.0, 3.0)

    assert is_truth_alone(cells)
    assert error_correlation(cells, SIDE) is None
    assert not is_truth_alone(simulated(0, (128, 128))[0])


def test_the_removed_share_is_kept_with_the_model():
    correlation = error_correlation(simulated(0, (128, 128))[0], SIDE)
    plain = KnownCorrelation.of(correlation).as_json()

    assert plain["truth_error_share_removed"] == pytest.approx(correlation.cells.truth_share)
    assert KnownCorrelation.from_json(plain).truth_share == plain["truth_error_share_removed"]
