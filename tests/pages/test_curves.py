"""Curves of the diagrams and small multiples of them: points, bands, and one scale for each variable."""

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from everything import LEVELS, summary_of
from forecasts import heteroscedastic

from geouq.config import EQUAL_COUNT_10, Variable
from geouq.config.sections import GROUPS
from geouq.core.wording import for_people
from geouq.figures import group_coverage_figure, std_figure
from geouq.inference import Bands, Inference
from geouq.metrics import MetricOptions
from geouq.metrics.predicted_std import std_distributions
from geouq.pages.curves import Curves, Groups, curves_of
from geouq.pages.diagrams import UNIT, Frame, Scale, axes, banded, diagram, line, quantile_scale
from geouq.pages.multiples import multiples, of_region
from geouq.pipeline.curves import groups_of_unit
from geouq.regions import EvaluationUnit
from geouq.tables.rows import curve_rows

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
    assert found.pit_half_width == pytest.approx(3.0233 * np.sqrt(19 / 100), rel=1e-3)  # 1.96 for one bar
    assert found.by_group == (0.9, {})  # nothing is known of these groups


def test_without_bands_the_points_stand_alone_and_tiles_are_left_out():
    assert curves_of(*tables(("tile", "t", "v", "")), "b-3", lambda _: None) == {}
    (found,) = curves_of(*tables(WHOLE), "a-3", lambda _: None).values()
    assert found.reliability == [(1.0, 2.0), (3.0, 6.0)]
    assert found.pit_half_width is None


def places(svg, kind):
    """The points of a line of a diagram, from its path of relative moves."""
    (path,) = re.findall(rf'<path class="{kind}" d="([^"]*)"', svg)
    found = []
    for letter, numbers in re.findall(r"([MmlhvHV])([^MmlhvHVz]*)", path):
        own = [float(one) for one in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", numbers)]
        x, y = found[-1] if found else (0.0, 0.0)
        if letter == "M":
            found.append(tuple(own))
        elif own != [0.0] or letter != "h":  # which ends a dot
            found.append((x + own[0] * (letter in "mlh"), y + own[-1] * (letter in "mlv")))
    return np.array(found)


def test_all_regions_of_a_variable_share_one_scale():
    whole = Curves([(1.0, 1.0), (100.0, 100.0)])
    (found,) = multiples([VARIABLE], {"all": "", "east": "east.html"}, {WHOLE: whole, EAST: Curves([(10.0, 10.0)])})

    first, second = found.rows
    np.testing.assert_allclose(
        places(second.diagrams[0], "own"), places(first.diagrams[0], "own").mean(0, keepdims=True), atol=0.1
    )
    assert second.link == "east.html"
    assert found.headings == ["v"]


def test_diagrams_of_regions_take_axes_and_the_whole_from_the_first_row():
    whole = Curves([(1.0, 1.0), (100.0, 100.0)])
    (found,) = multiples([VARIABLE], {"all": "", "east": "e"}, {WHOLE: whole, EAST: Curves([(10.0, 10.0)])})

    (first,), (second,) = (row.diagrams for row in found.rows)
    wanted = re.findall(r'<use href="#([^"]+)"/>', second)
    assert len(wanted) == 2
    assert re.findall(r'<g id="([^"]+)">', first) == wanted
    np.testing.assert_allclose(places(first, "whole"), places(first, "own"))


def test_the_band_encloses_the_points():
    points, frame = [(0.2, 0.3, 0.1, 0.4), (0.8, 0.6, 0.5, 0.9)], Frame(UNIT, UNIT)
    own, band = places(line(points, frame, "own"), "own"), places(banded(points, frame, "own"), "band own")

    assert band[:2, 1].tolist() < own[:, 1].tolist() < band[:1:-1, 1].tolist()  # y is downwards


def test_a_band_leaves_out_points_without_limits():
    points = [(0.1, 0.5, 0.4, 0.6), (0.3, 0.5, 0.4, 0.6), (0.5, 0.5), (0.7, 0.5, 0.4, 0.6)]
    svg = banded(points, Frame(UNIT, UNIT), "own")

    assert np.ptp(places(svg, "band own")[:, 0]) == pytest.approx(0.2 * 138)
    assert svg.count("<path") == 2  # the last point alone is a line


def test_names_in_a_diagram_stay_text():
    assert "<b>" not in diagram([axes(Frame(UNIT, UNIT, title="<b>"))], Frame(UNIT, UNIT), '"<b>"')


def test_beyond_the_most_diagrams_the_last_regions_are_left_out():
    regions = {"all": ""} | {f"r{k}": "r.html" for k in range(9)}
    curves = {WHOLE: Curves([(1.0, 1.0)])}
    (found,) = multiples([VARIABLE], regions, curves, most=4)

    assert [row.name for row in found.rows] == ["all", "r0", "r1", "r2"]
    assert found.left_out == 6


def test_quantiles_have_one_diagram_and_classes_one_each_that_names_them():
    (found,) = multiples([VARIABLE], {"all": ""}, {WHOLE: Curves(others={"quantile_calibration": [(0.1, 0.2)]})})
    assert found.title == "Reliability of quantiles"
    assert found.caption.startswith(
        "Across: level of a quantile; up: share of the truth at most the quantile; both in per cent."
    )
    assert found.headings == ["v"]

    classes = Curves(others={f"reliability_{name}": [(0.1, k / 9)] for k, name in enumerate(("open", "dense"))})
    both = multiples([VARIABLE], {"all": ""}, {WHOLE: classes})
    assert [one.title for one in both] == ["Reliability of open", "Reliability of dense"]
    assert len({one.key for one in both}) == 2
    assert both[0].rows[0].diagrams != both[1].rows[0].diagrams

    many = Curves(others={f"reliability_{k}": [(0.1, 0.2)] for k in range(9)})
    shown = multiples([VARIABLE], {"all": ""}, {WHOLE: many})
    assert len(shown) == 8
    assert "Shown are the first 8 of 9 classes." in shown[0].caption
    assert multiples([VARIABLE], {"all": ""}, {WHOLE: Curves()}) == []


def test_shares_of_classes_have_the_bands_that_are_known():
    rows = [rows_of(WHOLE, curve="reliability_open", x=x, y=x / 2) for x in (0.25, 0.75)]
    bands = Bands(0.95, 9, np.empty((2, 0)), {}, np.nan, {"reliability_open": np.array([[0.1, np.nan], [0.2, 0.5]])})
    (found,) = curves_of([], rows, "b-3", lambda _: bands).values()

    assert found.shares == {"reliability_open": [(0.25, 0.125, 0.1, 0.2), (0.75, 0.375)]}


def test_the_band_of_a_single_point_is_an_error_bar():
    points = [(0.25, 0.5), (0.5, 0.5, 0.25, 0.75), (0.75, 0.5)]
    (found,) = multiples([VARIABLE], {"all": ""}, {WHOLE: Curves(others={"reliability_open": points})})

    svg = found.rows[0].diagrams[0]
    assert 'class="band' not in svg
    # caps of 6 pixels on the lower limit and on the upper one, and a line between them
    assert re.findall(r'class="own limits" d="([^"]+)"', svg) == ["M104 107.5h6m-3 0V38.5m-3 0h6"]


@pytest.mark.parametrize(("low", "high"), [(1.0, 9.0), (0.1, 30.0), (1e-6, 1e6)])
def test_labels_of_an_axis_lie_on_it_and_are_few(low, high):
    curves = {WHOLE: Curves([(low, low), (high, high)])}
    ((row,),) = (one.rows for one in multiples([VARIABLE], {"all": ""}, curves))

    assert 2 <= len(labels(row.diagrams[0], "end")) <= 6


@pytest.mark.parametrize(
    ("units", "title"), [("Mg/ha", ["(Mg/ha)²"]), ("m", ["m²"]), ("%", ["%²"]), ("1", []), ("", [])]
)
def test_axes_have_the_unit_of_a_variance(units, title):
    curves = {WHOLE: Curves([(1.0, 1.0)])}

    ((row,),) = (one.rows for one in multiples([VARIABLE.model_copy(update={"units": units})], {"all": ""}, curves))
    assert re.findall(r"<text[^>]*>([^<]*²)</text>", row.diagrams[0]) == title


def test_labels_below_a_diagram_do_not_touch():
    across = Scale(1000.0, 40_000.0, is_log=True, ticks=(1000.0, 1300.0, 3000.0, 9000.0, 10_000.0))
    svg = axes(Frame(across, UNIT))

    assert labels(svg, "middle") == ["1000", "3000", "9000"]


def test_an_axis_of_groups_has_the_values_between_them_and_begins_and_ends_with_them():
    svg = axes(Frame(quantile_scale([0.0, 1111.0, 3000.0, 5120.0, 40_000.0]), UNIT))

    assert labels_by_anchor(svg)[:3] == [("start", "0"), ("middle", "3000"), ("end", "40k")]


def test_values_beyond_a_scale_lie_on_its_ends():
    scale = Scale(1.0, 100.0, is_log=True, ticks=())

    assert [scale.place(value) for value in (-1.0, 0.5, 1.0, 10.0, 1e4)] == pytest.approx([0, 0, 0, 0.5, 1])
    assert replace(scale, is_log=False).place(50.5) == pytest.approx(0.5)


def grouped(by, points, level=0.9, edges=(), limits=None, unit=""):
    places = [point[0] for point in points]
    known = {} if limits is None else {level: np.array(limits).T}
    return Curves(
        [(1.0, 1.0)],
        others={f"coverage_{100 * level:g}_by_{by}": points},
        groups={by: Groups(places, edges, unit, known)},
    )


def labels(svg, *anchors):
    return [text for anchor, text in labels_by_anchor(svg) if not anchors or anchor in anchors]


def labels_by_anchor(svg, around="middle"):
    """Texts of a diagram or its parts, each with the anchor that it or what is around it has."""

    def below(element, anchor):
        anchor = element.get("text-anchor", anchor)
        if element.tag == "text":
            yield anchor, element.text
        for one in element:
            yield from below(one, anchor)

    return list(below(ET.fromstring(f"<svg>{svg}</svg>"), around))  # noqa: S314  the program wrote it


def test_coverage_by_group_stands_below_the_variable_that_it_describes():
    other = Variable(name="w", band=2)
    ordered = [(0.25, 0.8), (0.75, 0.9)]
    curves = {WHOLE: Curves(), ("all", "all", "w", ""): grouped("truth", ordered, 0.8, (1.0, 3.0, 9.0), unit="m")}
    curves[("region", "east", "w", "")] = grouped("truth", ordered, 0.8, (1.0, 2.0, 3.0))

    found = of_region([VARIABLE, other], "east", curves)

    reliability, coverage = found.rows  # v has no pixel, so that only w is drawn
    assert (len(reliability.diagrams), len(found.headings)) == (1, 1)
    assert coverage.name == "Coverage of 80 % intervals by truth"
    (svg,) = coverage.diagrams
    assert labels(svg)[:4] == ["1", "3", "9", "50"]
    assert "80" in labels(svg, "end")
    assert "truth, m" in labels(svg)


def test_groups_of_a_region_lie_where_their_values_lie_among_those_of_the_whole():
    ordered = [(0.25, 0.8), (0.75, 0.9)]
    curves = {WHOLE: grouped("truth", ordered, edges=(1.0, 3.0, 9.0))}
    curves[EAST] = grouped("truth", ordered, edges=(1.0, 2.0, 3.0))

    (*_, row) = of_region([VARIABLE], "east", curves).rows

    whole, own = (places(row.diagrams[0], kind)[:, 0] - 38 for kind in ("whole", "own"))
    np.testing.assert_allclose(whole / 138, [0.25, 0.75], atol=1e-3)
    np.testing.assert_allclose(own / 138, [0.125, 0.375], atol=1e-3)  # both lie in the lower group of the whole


def test_coverage_by_group_has_the_intervals_of_region_and_whole_in_per_cent():
    ordered, edges = [(0.25, 0.8), (0.75, 0.9)], (1.0, 3.0, 9.0)
    curves = {WHOLE: grouped("truth", ordered, edges=edges, limits=[(0.7, 0.9), (0.8, 1.0)])}
    curves[EAST] = grouped("truth", ordered, edges=edges, limits=[(0.6, 1.0), (np.nan, np.nan)])

    found = of_region([VARIABLE], "east", curves)

    svg = found.rows[-1].diagrams[0]
    band = places(svg, "band whole")
    up = (4 + 138 - band[:, 1]) / 138 * 0.5 + 0.5
    np.testing.assert_allclose(up, [0.9, 1.0, 0.8, 0.7], atol=1e-3)
    assert svg.count('class="own limits"') == 1  # of the only group that has some
    assert "No intervals" not in found.reading
    assert (
        "No intervals: too few independent tiles"
        in of_region([VARIABLE], "east", {WHOLE: grouped("truth", ordered, edges=edges)}).reading
    )


def test_classes_lie_side_by_side_under_their_codes():
    points = [(3.0, 0.9), (111.0, 0.5)]
    curves = {WHOLE: grouped("landcover", points), EAST: grouped("landcover", points[1:])}

    (*_, row) = of_region([VARIABLE], "east", curves).rows

    (svg,) = row.diagrams
    assert labels(svg, "middle")[:2] == ["3", "111"]
    whole, own = (places(svg, f"dots {kind}")[:, 0] for kind in ("whole", "own"))
    assert whole[1] - whole[0] > 60
    assert 0 < whole[1] - own[0] < 10
    assert 'class="own" d="M' not in svg


def test_the_histogram_of_pit_has_the_bands_of_region_and_whole():
    whole, own = (Curves(calibration=[(0.5, 0.5)], pit=[0.5, 1.5], pit_half_width=half) for half in (0.1, 0.3))

    (*_, row) = of_region([VARIABLE], "east", {WHOLE: whole, EAST: own}).rows

    assert row.name == "PIT"
    bands = re.findall(r'class="band (\w+)" d="M38 ([0-9.]+)h138V([0-9.]+)h', row.diagrams[0])
    assert [(role, round(float(low) - float(high))) for role, high, low in bands] == [
        ("whole", round(0.2 / 2 * 138)), ("own", round(0.6 / 2 * 138))
    ]  # fmt: skip


@pytest.fixture(scope="module")
def summary():
    return summary_of(*heteroscedastic((90, 110), 3))


def test_the_predicted_std_has_its_density_quantiles_and_rmse(summary):
    found = std_distributions({"all": summary})["all"]
    curves = {WHOLE: Curves([(1.0, 1.0)], std=found)}

    (*_, kind) = multiples([VARIABLE.model_copy(update={"units": "m"})], {"all": ""}, curves)

    assert kind.title == "Predicted std"
    svg = kind.rows[0].diagrams[0]
    box, whisker, area = (places(svg, name) for name in ("own box", "own", "area own"))
    scale = (found.edges[0], found.edges[-1])

    def at(x):
        return scale[0] + (x - 38) / 138 * (scale[1] - scale[0])

    tolerance = 0.1 / 138 * (scale[1] - scale[0])
    np.testing.assert_allclose(at(box[:, 0]), found.quantiles[[1, 3]], atol=tolerance)
    np.testing.assert_allclose(at(whisker[:, 0]), found.quantiles[[0, 4]], atol=tolerance)
    np.testing.assert_allclose(at(places(svg, "diamond own")[0, 0]), found.rmse, atol=tolerance)
    both = (
        (found.share[::2] + found.share[1::2])
        * (area[0, 1] - area[:, 1].min())
        / max(found.share[::2] + found.share[1::2])
    )
    np.testing.assert_allclose(heights_at(area, 38 + (np.arange(30) + 0.5) / 30 * 138), both, atol=0.2)


def heights_at(stairs, x):
    """Height of stairs above their first point, at places between their edges."""
    across = np.flatnonzero(np.diff(stairs[:, 0]) > 0)
    return stairs[0, 1] - stairs[across[np.searchsorted(stairs[across, 0], x) - 1], 1]


def test_pages_show_the_numbers_of_the_figures_of_groups_and_std(summary):
    limits = {("variance", 0.9): np.linspace(0.5, 1.0, 20).reshape(2, 10)}
    options = MetricOptions(LEVELS, (EQUAL_COUNT_10,), groups=GROUPS.model_copy(update={"by": ("variance",)}))
    inference = Inference((), (), None, 0.95, group_limits=limits)
    unit = EvaluationUnit("all", "all", ("a",), {"v": summary})
    rows = [row | {"model": ""} for row in curve_rows(unit, [VARIABLE], {"v": options})]
    groups = groups_of_unit(summary, options, inference, "m")
    (found,) = curves_of([], rows, "b-10", lambda _: None, groups_of=lambda _: groups).values()
    (axes_,) = group_coverage_figure(
        summary, title="t", groupings=["variance"], levels=[0.9], units="m", limits=limits
    ).axes

    ((level, by),) = [found.by_group]
    points = np.array(by["variance"].points)
    assert level == 0.9
    np.testing.assert_allclose(100 * points[:, 1], axes_.get_lines()[0].get_ydata())
    (bars,) = axes_.collections
    np.testing.assert_allclose(100 * points[:, 2:], [bar[:, 1] for bar in bars.get_segments()])
    shown = {round(t): text.get_text() for t, text in zip(axes_.get_xticks(), axes_.get_xticklabels(), strict=True)}
    assert {k: for_people(by["variance"].groups.edges[k]) for k in shown} == shown
    assert axes_.get_xlabel() == "variance (m²)"
    assert by["variance"].groups.unit == "m^2"

    drawn = std_figure({"all": summary}, title="t", units="m").axes[0]
    std = std_distributions({"all": summary})["all"]
    by_label = {one.get_label(): np.asarray(one.get_xdata()) for one in drawn.get_lines()}
    np.testing.assert_array_equal(by_label["5 to 95 %"], std.quantiles[[0, 4]])
    np.testing.assert_array_equal(by_label["25 to 75 %"], std.quantiles[[1, 3]])
    assert by_label["RMSE"][0] == std.rmse
