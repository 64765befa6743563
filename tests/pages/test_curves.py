"""Curves of the diagrams and small multiples of them: points, bands, and one scale for each variable."""

import re
from dataclasses import replace

import numpy as np
import pytest

from geouq.config import Variable
from geouq.inference import Bands
from geouq.pages.curves import Curves, curves_of
from geouq.pages.multiples import ORDERED, UNIT, Frame, Scale, diagram, multiples, of_region

WHOLE, EAST = ("all", "all", "v", ""), ("region", "east", "v", "")
VARIABLE = Variable(name="v", band=1, units="Mg ha-1")


def rows_of(place, **more):
    return dict(zip(("level", "name", "variable", "model"), place, strict=True)) | more


def tables(place):
    bins = [
        rows_of(place, bins=scheme, n=n, mean_variance=k + 1.0, mse=2.0 * (k + 1))
        for scheme in ("a-3", "b-3")
        for k, n in enumerate((5, 0, 7))
    ]
    curves = [rows_of(place, curve="calibration", x=x, y=x / 2) for x in (0.25, 0.75)]
    curves += [
        rows_of(place, curve="pit_histogram", x=0.5, y=1.5),
        rows_of(place, curve="coverage_90_by_truth", x=0, y=1),
    ]
    return bins, curves


BANDS = Bands(0.95, 9, np.array([[0.1, 0.3], [0.2, 0.5]]), {"b-3": np.array([[1.0, 2, np.nan], [3, 4, 5]])}, 100.0)


def test_points_are_those_of_the_bins_shown_with_the_bands_that_are_known():
    (found,) = curves_of(*tables(EAST), "b-3", lambda _: BANDS).values()

    assert found.reliability == [(1.0, 2.0, 1.0, 3.0), (3.0, 6.0)]  # the second bin holds no pixel, the third no band
    assert found.calibration == [(0.25, 0.125, 0.1, 0.2), (0.75, 0.375, 0.3, 0.5)]
    assert found.pit == [1.5]
    assert found.pit_half_width == pytest.approx(1.96 * np.sqrt(19 / 100), rel=1e-3)
    assert found.by_group == (0.9, {"truth": [(0, 1)]})


def test_without_bands_the_points_stand_alone_and_tiles_are_left_out():
    assert curves_of(*tables(("tile", "t", "v", "")), "b-3", lambda _: None) == {}
    (found,) = curves_of(*tables(WHOLE), "a-3", lambda _: None).values()
    assert found.reliability == [(1.0, 2.0), (3.0, 6.0)]
    assert found.pit_half_width is None


def places(svg, kind):
    """The points of a line of a diagram."""
    (path,) = re.findall(rf'<path class="{kind}" d="M([^"]*)"', svg)
    return np.array([one.split() for one in re.split("[LZ]", path) if one], float)


def test_all_regions_of_a_variable_share_one_scale():
    whole = Curves([(1.0, 1.0), (100.0, 100.0)])
    found = multiples([VARIABLE], {"all": "", "east": "east.html"}, {WHOLE: whole, EAST: Curves([(10.0, 10.0)])})

    (_, _, (first,)), (_, link, (second,)) = found.rows
    np.testing.assert_allclose(places(second, "own"), places(first, "own").mean(0, keepdims=True), atol=0.1)
    np.testing.assert_allclose(places(second, "whole"), places(first, "own"))
    assert link == "east.html"
    assert found.headings == ["v, (Mg ha-1)²"]


def test_the_band_encloses_the_points():
    svg = diagram([(0.2, 0.3, 0.1, 0.4), (0.8, 0.6, 0.5, 0.9)], None, Frame(UNIT, UNIT, "v, all"))
    line, band = places(svg, "own"), places(svg, "band")

    assert band[:2, 1].tolist() < line[:, 1].tolist() < band[:1:-1, 1].tolist()  # y is downwards


def test_names_in_a_diagram_stay_text():
    assert "<b>" not in diagram([], None, Frame(UNIT, UNIT, '"<b>"'))


def test_beyond_the_most_diagrams_the_last_regions_are_left_out():
    regions = {"all": ""} | {f"r{k}": "r.html" for k in range(9)}
    curves = {WHOLE: Curves([(1.0, 1.0)])}
    found = multiples([VARIABLE], regions, curves, most=4)

    assert [name for name, *_ in found.rows] == ["all", "r0", "r1", "r2"]
    assert found.left_out == 6


def test_forms_without_a_variance_show_the_curve_of_their_levels():
    found = multiples([VARIABLE], {"all": ""}, {WHOLE: Curves(others={"quantiles": [(0.1, 0.2), (0.9, 0.8)]})})

    assert "predicted probability" in found.caption
    assert found.headings == ["v"]
    assert multiples([VARIABLE], {"all": ""}, {WHOLE: Curves()}) is None


@pytest.mark.parametrize(("low", "high"), [(1.0, 9.0), (0.1, 30.0), (1e-6, 1e6)])
def test_labels_of_an_axis_lie_on_it_and_are_few(low, high):
    curves = {WHOLE: Curves([(low, low), (high, high)])}
    (row,) = multiples([VARIABLE], {"all": ""}, curves).rows

    labels = re.findall(r'text-anchor="end">([^<]+)<', row[2][0])
    assert 2 <= len(labels) <= 6


@pytest.mark.parametrize(
    ("units", "heading"), [("Mg/ha", "v, (Mg/ha)²"), ("m", "v, m²"), ("%", "v, %²"), ("1", "v"), ("", "v")]
)
def test_headings_have_the_unit_of_a_variance(units, heading):
    curves = {WHOLE: Curves([(1.0, 1.0)])}

    assert multiples([VARIABLE.model_copy(update={"units": units})], {"all": ""}, curves).headings == [heading]


def test_labels_below_a_diagram_do_not_touch():
    across = Scale(1000.0, 40_000.0, is_log=True, ticks=(1000.0, 1300.0, 3000.0, 9000.0, 10_000.0))
    svg = diagram([], None, Frame(across, UNIT, "v"))

    assert re.findall(r'text-anchor="middle">([^<]+)</text>', svg) == ["1000", "3000", "9000", "no pixels"]


def test_words_below_a_diagram_end_with_it():
    svg = diagram([], None, Frame(ORDERED, UNIT, "v"))

    assert re.findall(r'text-anchor="(start|end)">(low|high)<', svg) == [("start", "low"), ("end", "high")]


def test_values_beyond_a_scale_lie_on_its_ends():
    scale = Scale(1.0, 100.0, is_log=True, ticks=())

    assert [scale.place(value) for value in (-1.0, 0.5, 1.0, 10.0, 1e4)] == pytest.approx([0, 0, 0, 0.5, 1])
    assert replace(scale, is_log=False).place(50.5) == pytest.approx(0.5)


def grouped(by, points, level=0.9):
    return Curves([(1.0, 1.0)], others={f"coverage_{100 * level:g}_by_{by}": points})


def test_coverage_by_group_stands_below_the_variable_that_it_describes():
    other = Variable(name="w", band=2)
    ordered = [(0.25, 0.8), (0.75, 0.9)]
    curves = {WHOLE: Curves(), ("all", "all", "w", ""): grouped("truth", ordered, 0.8)}
    curves[("region", "east", "w", "")] = grouped("truth", ordered[:1], 0.8)

    found = of_region([VARIABLE, other], "east", curves)

    (_, _, reliability), (name, _, (coverage,)) = found.rows  # v has no pixel, so that only w is drawn
    assert (len(reliability), len(found.headings)) == (1, 1)
    assert name == "coverage of 80 % intervals by truth"
    assert len(places(coverage, "whole")) == 2
    assert re.findall(r">(low|high)<", coverage) == ["low", "high"]


def test_classes_lie_side_by_side_under_their_codes():
    points = [(3.0, 0.9), (111.0, 0.5)]
    curves = {WHOLE: grouped("landcover", points), EAST: grouped("landcover", points[1:])}

    (*_, (_, _, (svg,))) = of_region([VARIABLE], "east", curves).rows

    assert re.findall(r'text-anchor="middle">([^<]+)<', svg) == ["3", "111"]
    dots = [re.search(rf'class="dots {kind}" d="([^"]*)"', svg)[1] for kind in ("whole", "own")]
    whole, own = ([float(x) for x in re.findall(r"M(\S+) ", one)] for one in dots)
    assert whole[1] - whole[0] > 60
    assert own == whole[1:]
    assert 'class="own" d="M' not in svg
