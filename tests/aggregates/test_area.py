"""The variance of the mean of an area is the sum over all pairs of its pixels."""

from dataclasses import replace

import gstools
import numpy as np
import pytest
from cell_maps import PIXELS, SIDE, cells_of, mixed
from scipy.stats import t

from geouq.aggregates.area import DIRECT, AreaPairs, Certainty, half_width
from geouq.aggregates.correlation import CorrelationModel
from geouq.aggregates.estimation import error_correlation

MODEL = CorrelationModel((0.4, 0.2), (150.0, 900.0), 0.05, 0.1, 0.5, SIDE, 1.2)


def std_map(shape, seed=0):
    return np.random.default_rng(seed).uniform(0.5, 2.0, shape)


def dense(std, weight, model, tiles=(1, 1)):
    """Variance of the mean by gstools from the sums S and D of the cells, each pair by itself."""
    cells = cells_of(np.zeros(std.shape), std, weight, tiles)
    covariance = model.constant * np.ones((len(cells), len(cells)))
    apart = np.linalg.norm(cells.position[:, None] - cells.position, axis=-1)
    for sill, reach in zip(model.sills, model.ranges, strict=True):
        covariance += gstools.Exponential(dim=2, var=sill, len_scale=reach).covariance(apart)
    covariance += model.tile * (cells.tile[:, None] == cells.tile)
    np.fill_diagonal(covariance, model.within)
    own = (1 - model.within) * cells.variance.sum()
    return (cells.std @ covariance @ cells.std + own) / cells.weight.sum() ** 2


@pytest.mark.parametrize("tiles", [(1, 1), (2, 3)])
def test_the_variance_of_a_small_area_is_the_sum_of_all_covariances(tiles):
    std = std_map((12 * PIXELS, 18 * PIXELS))
    weight = np.random.default_rng(1).uniform(0.5, 1.5, std.shape)

    found = AreaPairs.of(cells_of(np.zeros(std.shape), std, weight, tiles), SIDE).variance(MODEL)

    assert found == pytest.approx(dense(std, weight, MODEL, tiles), rel=1e-9)


def test_the_variance_of_a_large_area_is_that_of_each_pair_to_a_thousandth():
    std = std_map((48 * PIXELS, 40 * PIXELS))
    cells = cells_of(np.zeros(std.shape), std)

    found = AreaPairs.of(cells, SIDE).variance(MODEL)

    assert len(cells) > DIRECT
    assert found == pytest.approx(dense(std, None, MODEL), rel=1e-3)


@pytest.mark.parametrize("reach", [30.0, 100.0, 400.0])
@pytest.mark.parametrize("scattered", [False, True])
def test_the_std_of_an_area_that_cuts_many_cells_is_not_too_small(reach, scattered):
    """The covariance of each pair of pixels in the upper left quarters of cells, or in quarters all over the cells."""
    size, across = 2 * PIXELS, 12  # pixels along a cell, and cells along the map
    row, column = np.mgrid[: size * across, : size * across].reshape(2, -1)
    quarter = (row % size < PIXELS) & (column % size < PIXELS)
    chosen = np.random.default_rng(0).random(len(row)) < 0.25 if scattered else quarter
    place = np.column_stack([column, row])[chosen] * SIDE / size
    true = np.exp(-np.linalg.norm(place[:, None] - place, axis=-1) / reach).mean()

    n = np.bincount((row // size * across + column // size)[chosen], minlength=across**2).astype(np.float64)
    of_area = dict.fromkeys(("n", "std", "variance", "weight"), n)
    cells = replace(cells_of(np.zeros((PIXELS * across, PIXELS * across)), 1.0), part=n / size**2, **of_area)
    model = CorrelationModel((1.0,), (reach,), 0, 0, 0.5, 1.0, 1.0).of_cells(SIDE)
    found = AreaPairs.of(cells, SIDE).variance(model)

    most = 1.7 if scattered else 1.4 if reach == 30 else 1.1  # 30 m is the shortest range that is tried
    assert 0.95 < np.sqrt(found / true) < most
    as_if_whole = AreaPairs.of(replace(cells, part=np.ones(len(cells))), SIDE).variance(model)
    assert as_if_whole < found


def test_means_of_uncorrelated_and_of_fully_correlated_pixels_have_closed_forms():
    std = std_map((8 * PIXELS, 8 * PIXELS))

    pairs = AreaPairs.of(cells_of(np.zeros(std.shape), std), SIDE)

    assert pairs.independent == pytest.approx((std**2).sum() / std.size**2, rel=1e-12)
    assert pairs.full == pytest.approx(std.mean() ** 2, rel=1e-12)
    assert pairs.variance(CorrelationModel((), (), 0, 0, 0, SIDE, 1)) == pytest.approx(pairs.independent, rel=1e-12)
    assert pairs.variance(CorrelationModel((), (), 1, 0, 1, SIDE, 1)) == pytest.approx(pairs.full, rel=1e-12)


def test_the_parts_of_the_variance_are_shares_of_it():
    pairs = AreaPairs.of(cells_of(np.zeros((32, 32)), std_map((32, 32))), SIDE)

    shares = pairs.shares(MODEL)

    assert len(shares) == 4
    assert (shares > 0).all()
    assert shares.sum() + (1 - MODEL.within) * pairs.own / pairs.weight**2 / pairs.variance(MODEL) < 1 + 1e-9


@pytest.mark.parametrize("freedom", [3.0, 5.5, 12.0, 80.0, np.inf])
def test_the_width_is_that_of_students_distribution(freedom):
    assert half_width(0.9, freedom) == pytest.approx(t.ppf(0.95, freedom), rel=5e-3)


def test_a_constant_error_of_the_whole_map_leaves_one_degree_of_freedom():
    rng = np.random.default_rng(0)
    z = 0.3 * rng.standard_normal((64, 64)) + 1.0
    correlation = error_correlation(cells_of(z, 1.0), SIDE)

    freedom = Certainty.of(correlation).freedom(
        AreaPairs.of(correlation.cells, SIDE), correlation.model, correlation.each_left_out
    )

    assert freedom == pytest.approx(1.0, abs=0.1)


def test_a_range_shorter_than_a_cell_leaves_as_many_parts_as_cells():
    z = np.random.default_rng(1).standard_normal((64, 64))
    correlation = error_correlation(cells_of(z, 1.0), SIDE)

    assert Certainty.of(correlation).parts(1e-3) == pytest.approx(256)
    assert Certainty.of(correlation).parts(1e9) == pytest.approx(1, abs=1e-3)


def test_more_maps_worth_of_correlation_leave_more_freedom():
    rng = np.random.default_rng(2)
    freedoms = []
    for reach in (2, 30):
        correlation = error_correlation(cells_of(mixed(rng, (128, 128), (1.0, reach)), 1.0), SIDE)
        pairs = AreaPairs.of(correlation.cells, SIDE)
        freedoms.append(Certainty.of(correlation).freedom(pairs, correlation.model, correlation.each_left_out))

    assert freedoms[0] > 2 * freedoms[1]
