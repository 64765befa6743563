"""Means of areas have intervals where the map tells the correlation, and the reason where it does not."""

from dataclasses import replace

import numpy as np
import pytest
from cell_maps import SIDE, cells_of, mixed
from scipy.stats import t

from geouq.aggregates.cells import APART, AreaCells
from geouq.aggregates.estimation import error_correlation
from geouq.aggregates.known import KnownCorrelation
from geouq.aggregates.means import area_mean, per_area


def known(cells):
    correlation = error_correlation(cells, SIDE)
    return None if correlation is None else KnownCorrelation.of(correlation)


@pytest.fixture(scope="module")
def cells():
    rng = np.random.default_rng(0)
    return cells_of(1.5 * mixed(rng, (128, 128), (0.5, 2)), rng.uniform(1, 2, (128, 128)))


def test_the_interval_is_that_of_student_around_the_predicted_mean(cells):
    found = area_mean(cells, known(cells), 0.9, SIDE)

    assert not found.reason
    assert found.mean == pytest.approx(10)
    assert (found.low + found.high) / 2 == pytest.approx(found.mean)
    assert found.high - found.mean == pytest.approx(t.ppf(0.95, found.freedom) * found.std, rel=5e-3)


def test_the_std_is_the_fitted_one_corrected_for_a_predicted_variance_that_is_too_small(cells):
    correlation = known(cells)
    found = area_mean(cells, correlation, 0.9, SIDE)

    assert found.std == pytest.approx(found.std_fitted * np.sqrt(correlation.model.zms))
    assert correlation.model.zms == pytest.approx(1.5**2, rel=0.15)
    assert found.std_independent < found.std_fitted < found.std_full


def test_uncorrelated_pixels_are_all_independent():
    cells = cells_of(np.random.default_rng(1).standard_normal((128, 128)), 1.0)

    found = area_mean(cells, known(cells), 0.9, SIDE)

    assert found.n_independent == pytest.approx(128 * 128, rel=0.3)


def test_a_map_with_one_constant_error_gives_no_interval_and_says_why():
    cells = cells_of(np.random.default_rng(2).standard_normal((64, 64)) * 0.2 + 1, 1.0)

    found = area_mean(cells, known(cells), 0.9, SIDE)

    assert np.isnan(found.low)
    assert "correlated over too much of the map" in found.reason


@pytest.mark.parametrize(("across", "is_known"), [(2, False), (3, False), (4, True)])
def test_a_small_area_that_cuts_its_cells_has_no_interval_and_the_reason(cells, across, is_known):
    """A square that contains half of each outer row and column of cells."""
    chosen = cells.some(np.flatnonzero((cells.row < across) & (cells.column < across)))
    on_edge = [1 - 0.5 * np.isin(own, (0, across - 1)) for own in (chosen.row, chosen.column)]
    part = np.multiply(*on_edge)
    found = area_mean(replace(chosen, n=chosen.n * part, part=part), known(cells), 0.9, SIDE)

    assert np.isfinite([found.low, found.std]).all() == is_known
    assert ("choose a smaller cell_size" in found.reason) is not is_known


def test_tiles_of_several_dates_count_once_in_the_area_and_have_no_interval(cells):
    later = replace(cells, position=cells.position + np.array([0, 0, APART]), tile=cells.tile + 1)

    one, two = (area_mean(own, known(cells), 0.9, SIDE) for own in (cells, AreaCells.joined([cells, later])))

    assert (two.area, two.mean) == pytest.approx((one.area, one.mean), rel=1e-12)
    assert np.isnan([two.low, two.std, two.std_fitted]).all()
    assert "several dates" in two.reason


def test_without_a_model_the_two_bounds_are_left():
    cells = cells_of(np.zeros((8, 8)), 1.0)

    found = area_mean(cells, known(cells), 0.9, SIDE)

    assert found.std_independent == pytest.approx(1 / 8)
    assert found.std_full == pytest.approx(1)
    assert np.isnan([found.std, found.low, found.high]).all()
    assert "too few" in found.reason


@pytest.mark.parametrize(
    ("units", "total"),
    [
        ("Mg/ha", ("Mg", 1e4)),
        ("Mg ha-1", ("Mg", 1e4)),
        ("t ha^-1", ("t", 1e4)),
        ("kg m-2", ("kg", 1.0)),
        ("kg/m2", ("kg", 1.0)),
        ("trees/km2", ("trees", 1e6)),
        ("m", ("m m2", 1.0)),
        ("m s-1", ("m s-1 m2", 1.0)),
        ("g m-3", ("g m-3 m2", 1.0)),
        ("1", ("m2", 1.0)),
        ("", ("m2", 1.0)),
    ],
)
def test_totals_have_the_unit_that_the_area_leaves(units, total):
    assert per_area(units) == total
