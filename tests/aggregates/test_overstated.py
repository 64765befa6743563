"""A stated error of the truth that is larger than the errors found is recognised, and a right one is not."""

import numpy as np
import pytest
from cell_maps import SIDE, cells_of, measured, mixed

from geouq.aggregates.estimation import error_correlation, is_truth_alone
from geouq.aggregates.overstated import LEAST, REASON, Overstated, overstated, warning_of
from geouq.aggregates.parameters import parameters_of, parameters_of_truth
from geouq.config import Variable

SHAPE = 256, 256
NUGGET, REACH = 0.4, 20  # of simulated errors; the range in cells


def cells(seed, stated, nugget=NUGGET, noise=1.0, size=1.0):
    rng = np.random.default_rng(seed)
    z = size * mixed(rng, SHAPE, (1 - nugget, REACH))
    return measured(rng, z, 1.0, noise, stated=stated)[0]


def test_the_errors_that_pixels_do_not_share_are_those_of_the_simulation():
    found = [overstated(cells(seed, 2.0)) for seed in range(4)]

    assert [one.stated for one in found] == pytest.approx([2.0] * 4)
    assert np.mean([one.factor for one in found]) == pytest.approx(2 / np.sqrt(1 + NUGGET), rel=0.03)


@pytest.mark.parametrize("nugget", [0.0, 0.4])
def test_a_right_statement_is_hardly_ever_called_wrong(nugget):
    found = [overstated(cells(seed, 1.0, nugget)) for seed in range(20)]

    assert sum(one is not None for one in found) <= 1


def test_a_little_too_much_is_no_warning():
    stated = np.sqrt((1 + NUGGET) / (1 - LEAST / 2))

    assert overstated(cells(0, stated)) is None


def test_without_an_error_of_the_truth_nothing_is_stated():
    assert overstated(cells_of(mixed(np.random.default_rng(0), SHAPE, (0.6, REACH)), 1.0)) is None


def test_the_parameter_that_is_cut_off_at_1_has_the_reason_in_the_place_of_an_interval():
    own = cells(1, 1.3)

    found = {one.name: one for one in parameters_of(error_correlation(own, SIDE), 0.95)}

    assert found["within_cell"].value == 1
    assert np.isnan(found["within_cell"].low)
    assert found["within_cell"].reason == REASON
    assert np.isfinite(found["truth_share"].low)


def test_a_statement_as_large_as_all_errors_is_in_the_table_without_a_model():
    own = cells(2, 4.0)

    assert is_truth_alone(own)
    assert error_correlation(own, SIDE) is None
    (share,) = parameters_of_truth(own)
    assert (share.name, share.reason) == ("truth_share", REASON)
    assert share.value == pytest.approx(own.z_noise.sum() / own.z_square.sum())
    assert share.value > 1


def test_the_warning_names_the_variable_both_errors_and_what_to_check():
    said = warning_of(Variable(name="AGB", band=1, units="Mg ha-1"), overstated(cells(3, 2.0)))

    assert said.startswith("AGB: the stated error of the truth, a std of 2 Mg ha-1, is too large. It is 1.")
    assert "times as large as the errors that pixels do not share, of truth and map together" in said
    assert "Check its unit, whether a std or a variance is given, and" in said


def test_without_errors_that_pixels_do_not_share_the_factor_is_not_known():
    said = warning_of(Variable(name="AGB", band=1), Overstated(2.0, np.inf))

    assert "a std of 2, is too large. It is larger than all of the errors that pixels do not share" in said
