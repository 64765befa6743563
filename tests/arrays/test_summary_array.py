"""Summaries side by side add as one does, place by place."""

import numpy as np
import pytest
import xarray as xr
from alike import same
from forecasts import heteroscedastic

from geouq.arrays.summary_array import SummaryArray
from geouq.arrays.validation import summarize
from geouq.core.errors import SummaryError


def stacked(seed, name="time", first=0):
    arrays = [np.reshape(layer, (3, 8, 10)) for layer in heteroscedastic((24, 10), seed)]
    coords = {name: np.arange(3) + first}
    return [xr.DataArray(layer, coords, (name, "y", "x")) for layer in arrays]


@pytest.fixture
def one():
    return summarize(*stacked(1), dim=("y", "x"))


def test_they_add_place_by_place(one):
    other = summarize(*stacked(2), dim=("y", "x"))

    total = one + other

    assert total.coords == one.coords
    for place in range(3):
        assert same(total.isel(time=place), one.isel(time=place) + other.isel(time=place))


def test_the_total_has_all_pixels(one):
    assert one.total().n == one.n.sum() == summarize(*stacked(1)).n


def test_a_part_keeps_its_coordinates():
    arrays = [np.reshape(layer, (2, 3, 40)) for layer in heteroscedastic((6, 40))]
    coords = {"variable": ["a", "b"], "time": [7, 8, 9], "both": (("variable", "time"), np.arange(6).reshape(2, 3))}
    found = summarize(*(xr.DataArray(a, coords, ("variable", "time", "x")) for a in arrays), dim="x")

    part = found.isel(time=1)

    assert part.dims == ("variable",)
    assert part.coords["variable"][1].tolist() == ["a", "b"]
    assert part.coords["both"][1].tolist() == [1, 4]
    assert same(part.isel(variable=1), found.isel(variable=1, time=1))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda a: a + summarize(*stacked(1, "year"), dim=("y", "x")), "along time: 3 and along year: 3"),
        (lambda a: a + summarize(*stacked(1, first=5), dim=("y", "x")), "different coordinates along time"),
        (lambda a: a.isel(year=1), "no dimension 'year'; the dimensions are time"),
        (lambda a: a.isel(time=3), "out of bounds"),
        (lambda _: SummaryArray(("time",), np.empty(0, object)).total(), "no summary"),
    ],
)
def test_what_does_not_fit_is_refused(one, fault, message):
    with pytest.raises(SummaryError, match=message):
        fault(one)


def test_it_shows_its_dimensions_and_pixels_also_as_html(one):
    assert repr(one) == f"<Summaries along time: 3, {one.n.sum()} pixels in all>"
    assert one._repr_html_() == f"<p>&lt;{repr(one)[1:-1]}&gt;</p>"
