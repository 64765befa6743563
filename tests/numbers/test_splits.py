"""Splits in and out of distribution: what is wrong with them, the tables of both sides, and the shift between them."""

import html
import re

import pytest
import rasterio
from configurations import SMALLEST, faults, loaded, written
from csv_rows import rows_of
from landscape import NAMES, evaluate, write_tiles

from geouq.config import load_experiment, to_yaml

QUICK = "variables: [height]\noutput: {maps: none}\nintervals: {resamples: 200}\n"
SPLITS = "regions: {west: [a1, a2]}\nsplits: {in: [west], out: [b1]}\n"


def test_both_sides_are_lists_of_tiles(tmp_path):
    experiment = loaded(tmp_path, "regions: {west: [a, b]}\nsplits: {in: [west, c, a], out: [d]}\n")

    assert experiment.tile_lists == {"west": ("a", "b"), "in": ("a", "b", "c"), "out": ("d",)}
    assert experiment.zone_layers == ()
    assert load_experiment(written(tmp_path, to_yaml(experiment), "again.yaml")) == experiment


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("splits: {in: [a]}", "splits: missing key 'out'"),
        ("splits: {in: [a], out: []}", "splits.out: is too short; give 1 or more"),
        ("splits: {in: [a], outt: [b]}", "splits.outt: 'outt' is not known; did you mean 'out'?"),
        ("splits: [a, b]", "splits: needs a mapping"),
        ("splits: {in: [a], out: [b, a]}", "splits.out.1: tile 'a' is in in too"),
        ("regions: {west: [a]}\nsplits: {in: [a], out: [west]}", "tile 'a' of region 'west' is in in too"),
        ("regions: {out: [a]}\nsplits: {in: [a], out: [b]}", "splits.out: there is a region 'out' already"),
        (
            "regions: {x: {classes: c.tif, names: {1: in}}}\nsplits: {in: [a], out: [b]}",
            "there is a region 'in' already",
        ),
        ("regions: {x: {of: all}}\nsplits: {in: [a], out: [x]}", "region 'x' is no list of tiles"),
        (
            "tiles: [a, b]\nsplits: {in: [a], out: [bb]}",
            "splits.out.0: 'bb' is not one of the tiles; did you mean 'b'?",
        ),
    ],
)
def test_what_is_wrong_with_splits_is_told(tmp_path, text, said):
    found = faults(tmp_path, SMALLEST + text + "\n")

    assert any(said in line for line in found), found


def test_a_gate_may_be_about_either_side(tmp_path):
    text = "variables: [v]\nsplits: {in: [a], out: [b]}\ngates: [{metric: zms, variable: v, region: out, max: 2}]\n"

    assert loaded(tmp_path, text).gates[0].region == "out"


def test_a_tile_without_a_file_is_told(tile_folder, geouq):
    done = geouq("check", tile_folder(text="splits: {in: [a1], out: [b2]}\n"))

    assert done.exit_code == 2
    assert "splits.out: no layer has a file for tile 'b2'; known are a1, a2, b1\n" in done.stderr


@pytest.fixture(scope="module")
def split_folder(tmp_path_factory):
    """A folder of tiles, of which b1 has a tenth of its variance, with a run of them."""
    folder = tmp_path_factory.mktemp("split")
    config = write_tiles(folder, NAMES, (96, 96), QUICK + SPLITS)
    with rasterio.open(folder / "predictions/b1_variance.tif", "r+") as file:
        file.write(file.read() / 10)
    evaluate(config, folder / "results/small")
    return folder


@pytest.fixture
def split_run(split_folder):
    """The folder of that run."""
    return split_folder / "results/small"


def test_both_sides_are_evaluated_and_the_shift_between_them_is_shown(split_run):
    metrics = {
        (row["name"], row["metric"], row["bins"], row["group"]): row
        for row in rows_of(split_run / "tables/metrics.csv")
    }
    shift = {(row["metric"], row["bins"], row["group"]): row for row in rows_of(split_run / "tables/shift.csv")}

    assert {key[1:] for key in metrics} == set(shift)
    for key, row in shift.items():
        assert row["in"] == metrics["in", *key]["value"] == metrics["west", *key]["value"]
        assert row["out"] == metrics["out", *key]["value"] == metrics["b1", *key]["value"]
        assert float(row["difference"]) == pytest.approx(float(row["out"]) - float(row["in"]))
    assert shift["z_std", "", ""]["verdict"] == "over-confident out of distribution"
    assert shift["zms", "", ""]["verdict"] == "errors larger than predicted out of distribution"
    assert shift["coverage_90", "", ""]["verdict"] == "covers too little out of distribution"
    assert shift["ence", "equal-count-10", ""]["verdict"] == "worse out of distribution"
    assert shift["bias", "", ""]["verdict"] == "no significant shift"
    # the variance of these maps varies over the whole of a tile, so that few cells tell of its mean
    assert shift["sharpness", "", ""]["verdict"] == "not tested: fewer than 8 effective cells"
    assert not [row for (name, *_), row in shift.items() if name == "ence_null" and "better" in row["verdict"]]
    assert shift["rmscd_90", "", "truth"]["verdict"] == "not tested: not kept by cell"
    few = "a bin in few blocks; equal-count bins all hold pixels"
    reasons = {"not kept by cell", few, "fewer than 8 effective cells"}
    assert {row["ci_method"] for row in shift.values()} == {"unpaired", *reasons}
    assert int(shift["zms", "", ""]["n_in"]) == int(metrics["in", "zms", "", ""]["n"])


def test_the_page_shows_the_shift(split_run):
    page = html.unescape((split_run / "report/index.html").read_text(encoding="utf-8"))

    (section,) = re.findall(r"<h2>Shift</h2>(.*?)</table>", page, re.DOTALL)
    assert "over-confident out of distribution" in section
    assert 'href="../tables/shift.csv"' in section
    assert section.count("<tr>") == 11
    assert (split_run / "report/out.html").exists()


def test_without_splits_there_is_no_shift(tile_folder, geouq, tmp_path):
    (tmp_path / "results/small/tables").mkdir(parents=True)
    (tmp_path / "results/small/tables/shift.csv").write_text("of an earlier run")
    geouq("run", tile_folder(("a1",), text=QUICK), "--quiet")

    assert not (tmp_path / "results/small/tables/shift.csv").exists()
    assert "In and out" not in (tmp_path / "results/small/report/index.html").read_text(encoding="utf-8")


def test_sides_that_are_alike_show_no_shift(tile_folder, geouq, tmp_path):
    geouq("run", tile_folder(NAMES, (96, 96), QUICK + SPLITS), "--quiet")

    rows = rows_of(tmp_path / "results/small/tables/shift.csv")
    shown = [row for row in rows if row["metric"] in ("bias", "zms", "coverage_90", "rmse", "crps", "nll")]
    few = "not tested: fewer than 8 effective cells"
    assert {row["verdict"] for row in shown} - {few} == {"no significant shift"}


@pytest.mark.parametrize(
    ("only", "shift", "regions"), [(("in",), False, {"in", "west"}), (("a1", "out"), True, {"in", "out", "west"})]
)
def test_only_some_tiles_of_splits_are_evaluated_and_reported_again(tile_folder, geouq, tmp_path, only, shift, regions):
    config = tile_folder(text=QUICK + SPLITS)

    done = geouq("run", config, "--quiet", *(word for name in only for word in ("--only", name)))

    assert done.exit_code == 0
    tables = tmp_path / "results/small/tables"
    assert {row["name"] for row in rows_of(tables / "metrics.csv") if row["level"] == "region"} == regions
    assert (tables / "shift.csv").exists() == shift
    assert geouq("report", tmp_path / "results/small", "--quiet").exit_code == 0


def test_polygons_of_that_name_are_a_fault(tile_folder, geouq, tmp_path):
    pytest.importorskip("pyogrio")
    ring = "[[[500000, 6999000], [500900, 6999000], [500900, 7000000], [500000, 7000000], [500000, 6999000]]]"
    (tmp_path / "p.geojson").write_text(
        '{"type": "FeatureCollection", "crs": {"type": "name", "properties": {"name": "EPSG:32633"}}, "features": '
        '[{"type": "Feature", "properties": {"n": "out"}, "geometry": {"type": "Polygon", "coordinates": '
        f"{ring}}}}}]}}"
    )
    text = "regions: {p: {polygons: p.geojson, name: n}}\nsplits: {in: [a1], out: [b1]}\n"

    done = geouq("check", tile_folder(text=QUICK + text))

    assert done.exit_code == 2
    assert "names a region 'out', and so does splits.out" in done.stderr


def test_runs_with_splits_are_compared_on_both_sides(split_folder, split_run, geouq, tmp_path):
    (split_folder / "other.yaml").write_text("extends: experiment.yaml\nname: other\n")
    evaluate(split_folder / "other.yaml", tmp_path / "other")

    done = geouq("compare", split_run, tmp_path / "other", "--quiet", "--out", tmp_path / "comparison")

    assert done.exit_code == 0
    rows = rows_of(tmp_path / "comparison/comparison.csv")
    assert {row["name"] for row in rows} == {"all", "west", "in", "out"}
    assert not done.stderr
