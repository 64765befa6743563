"""`geouq compare`: what it writes, what it says, how it ends."""

import os
import re
import shutil
import unicodedata
from importlib import import_module
from itertools import product

import numpy as np
import pytest
import rasterio
from csv_rows import rows_of
from landscape import NAMES, REGIONS, SHORT, scaled

import geouq as package
from geouq.core.errors import ConfigError

WIDE = 'data: {variance: "wide/{tile}_variance.tif"}\n'


def table(folder):
    return rows_of(folder / "comparison" / "comparison.csv")


def test_equal_runs_do_not_differ(runs, geouq, tmp_path):
    done = geouq("compare", *runs(same=""), "--quiet")

    assert done.exit_code == 0
    rows = table(tmp_path / "results")
    assert {row["difference"] for row in rows} == {"0.0"}
    assert {row["better"] for row in rows} == {""}
    assert {row["significant"] for row in rows if row["p_value"]} == {"no"}
    assert {(row["ci_low"], row["ci_high"], row["p_value"]) for row in rows if row["p_value"]} == {
        ("0.0", "0.0", "1.0")
    }
    verdicts = {re.split(r"\s{2,}", line)[-1] for line in done.stdout.splitlines()[1:-1]}
    assert verdicts == {"no difference"}


def test_a_run_with_too_wide_a_variance_is_worse_calibrated_everywhere(runs, geouq, tmp_path):
    done = geouq("compare", *runs(wide=WIDE), "--quiet")

    rows = table(tmp_path / "results")
    found = {(row["name"], row["variable"], row["metric"], row["bins"]): row for row in rows if not row["group"]}
    for region in ("all", "west"):
        for metric in ("zms", "coverage_90"):
            row = found[region, "height", metric, ""]
            assert (row["run"], row["better"], row["significant"]) == ("wide", "small", "yes")
        assert float(found[region, "height", "rmse", ""]["difference"]) == 0
    # the variance is smooth over all tiles, and its root smoother: few cells are independent
    for region, metric in product(("all", "west"), ("sharpness", "width_90")):
        row = found[region, "height", metric, ""]
        assert float(row["difference"]) > 0
        assert (row["significant"], row["verdict"]) == ("", "not tested: fewer than 8 effective cells"), (
            region,
            metric,
        )
    assert re.search(r"height +all +zms .* worse", done.stdout)
    assert re.search(r"height +all +sharpness_rms .* not tested: fewer than 8", done.stdout)
    assert {row["level"] for row in rows} == {"all", "region"}
    assert float(found["all", "height", "zms", ""]["difference"]) == pytest.approx(
        float(found["all", "height", "zms", ""]["baseline"]) * (1 / 1.5 - 1), rel=1e-6
    )


def test_values_are_those_of_the_runs(runs, geouq, tmp_path):
    folders = runs(wide=WIDE)
    geouq("compare", *folders, "--quiet")

    keys = ("level", "name", "variable", "metric", "bins", "group")
    own = [
        {tuple(row[key] for key in keys): row["value"] for row in rows_of(folder / "tables/metrics.csv")}
        for folder in folders
    ]
    rows = table(tmp_path / "results")
    assert len(rows) == sum(key[0] != "tile" for key in own[0])
    for row in rows:
        key = tuple(row[key] for key in keys)
        assert float(row["baseline"]) == pytest.approx(float(own[0][key]), rel=1e-12)
        assert float(row["value"]) == pytest.approx(float(own[1][key]), rel=1e-12)


def test_what_cells_do_not_keep_has_a_difference_without_an_interval(runs, geouq, tmp_path):
    geouq("compare", *runs(wide=WIDE), "--quiet")

    groups = [row for row in table(tmp_path / "results") if row["metric"] == "rmscd_90"]
    assert {row["ci_method"] for row in groups} == {"not kept by cell"}
    assert all(row["difference"] and not row["p_value"] and not row["significant"] for row in groups)


@pytest.mark.parametrize(
    ("gate", "code", "said"),
    [
        ("zms", 1, "worse: wide is worse in zms of height in all"),
        ("zms:height:west", 1, "worse: wide is worse in zms of height in west"),
        ("rmse", 0, ""),
        ("zmz", 2, "no metric 'zmz'; did you mean 'zms'"),
        ("zms:hight", 2, "no variable 'hight' in all runs; did you mean 'height'"),
        ("zms:height:wset", 2, "no region 'wset' in all runs; did you mean 'west'"),
        ("ence_null", 2, "no value of ence_null is better"),
        ("width_90", 2, "no value of width_90 is better"),
        ("rmscd_90", 1, ": not kept by cell"),
    ],
)
def test_a_run_that_is_worse_is_the_exit_code(runs, geouq, gate, code, said):
    done = geouq("compare", *runs(wide=WIDE), "--fail-if-worse", gate, "--quiet")

    assert done.exit_code == code
    assert said in done.stderr


def test_what_must_not_be_worse_is_looked_up_before_the_work(runs, geouq, monkeypatch):
    monkeypatch.setattr(import_module("geouq.comparison.compare"), "paired_rows", None)
    folders = runs(wide=WIDE)

    for gate in ("zmz", "zms:hight", "zms:height:wset", "ence_null"):
        assert geouq("compare", *folders, "--fail-if-worse", gate, "--quiet").exit_code == 2


def test_a_run_that_is_better_fails_no_gate(runs, geouq):
    small, wide = runs(wide=WIDE)

    assert geouq("compare", wide, small, "--fail-if-worse", "zms", "--fail-if-worse", "rce", "--quiet").exit_code == 0


def test_many_runs_are_compared_with_the_first(runs, geouq, tmp_path):
    geouq("compare", *runs(wide=WIDE, same=""), "--quiet", "--out", tmp_path / "elsewhere")

    rows = rows_of(tmp_path / "elsewhere" / "comparison.csv")
    assert [
        row["run"] for row in rows if (row["name"], row["variable"], row["metric"]) == ("all", "height", "bias")
    ] == [
        "wide",
        "same",
    ]
    assert {row["significant"] for row in rows if row["run"] == "same" and row["p_value"]} == {"no"}


def test_another_truth_is_refused(runs, geouq, tmp_path):
    folders = runs()
    (tmp_path / "reference").mkdir()
    for path in (tmp_path / "truth").iterdir():
        with rasterio.open(path) as old, rasterio.open(tmp_path / "reference" / path.name, "w", **old.profile) as new:
            new.write(old.read() + np.float32(path.stem == "a2"))
    other = tmp_path / "other.yaml"
    other.write_text('extends: experiment.yaml\nname: other\ndata: {truth: "reference/{tile}.tif"}\n')
    geouq("run", other, "--quiet")

    done = geouq("compare", *folders, tmp_path / "results/other")

    assert done.exit_code == 2
    assert "tile a1" in done.stderr
    assert "/truth/a1.tif" in done.stderr
    assert str(tmp_path / "reference/a1.tif") in done.stderr
    assert "checksum" in done.stderr


def test_copies_of_the_truth_are_the_same_by_checksum_and_others_are_not(runs, geouq, tmp_path):
    text = SHORT + "fingerprint: checksum\n"
    shared = 'data: {truth: "copy/{tile}.tif"}\n'
    folders = runs(text=text)
    shutil.copytree(tmp_path / "truth", tmp_path / "copy")
    for path in (tmp_path / "copy").iterdir():
        os.utime(path, (1, 1))
    (tmp_path / "copied.yaml").write_text(f"extends: experiment.yaml\nname: copied\n{shared}")
    geouq("run", tmp_path / "copied.yaml", "--quiet")

    assert geouq("compare", *folders, tmp_path / "results/copied", "--quiet").exit_code == 0

    with rasterio.open(tmp_path / "copy/a2.tif", "r+") as file:
        file.write(file.read() + 1)
    geouq("run", tmp_path / "copied.yaml", "--quiet")
    done = geouq("compare", *folders, tmp_path / "results/copied", "--quiet")
    assert done.exit_code == 2
    assert "tile a2" in done.stderr


def test_another_band_of_the_truth_is_another_truth(runs, geouq):
    folders = runs(
        text="variables: [height]\noutput: {maps: none, figures: none}\n",
        other="variables: {height: {band: 2}}\nband_descriptions: ignore\n",
    )

    done = geouq("compare", *folders, "--quiet")

    assert done.exit_code == 2
    assert "variable height is band 1" in done.stderr


def test_tiles_in_common_are_compared_and_that_is_said(runs, geouq, tmp_path):
    folders = runs(part="tiles: [a1, b1]\nregions: {west: [a1], north: [b1]}\n" + WIDE)

    done = geouq("compare", *folders, "--quiet")

    assert done.exit_code == 0
    assert "only the 2 tiles in common are compared; small has 1 more, left aside: a2" in done.stderr
    assert "only the 2 tiles in common" in (tmp_path / "results/comparison/comparison.md").read_text()
    rows = {(row["name"], row["variable"], row["metric"]): row for row in table(tmp_path / "results")}
    alone = {
        (row["name"], row["variable"], row["metric"]): row["value"]
        for row in rows_of(tmp_path / "results/small/tables/metrics.csv")
    }
    assert float(rows["west", "height", "rmse"]["baseline"]) == pytest.approx(float(alone["a1", "height", "rmse"]))
    assert "region north is no list of tiles in small, and is left aside" in done.stderr
    assert ("north", "height", "rmse") not in rows


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ("tiles: [b1]\nregions: {}\n", "no tiles in common"),
        ("cell_size: 32\n", "set `cell_size: 16` in both"),
        ("variables: {gini: {band: 3}}\n", "no variables in common"),
        ("levels: [0.7]\n", "no levels in common"),
    ],
)
def test_runs_that_cannot_be_compared_say_why(runs, geouq, other, said, tmp_path):
    config = "tiles: [a1, a2]\nregions: {}\n" + SHORT if "tiles" in other else SHORT + REGIONS
    folders = runs(text=config, other=other)

    done = geouq("compare", *folders, "--quiet")

    assert done.exit_code == 2
    assert said in done.stderr
    assert not (tmp_path / "results/comparison").exists()


def test_variables_in_common_are_compared_and_the_others_told(runs, geouq, tmp_path):
    done = geouq("compare", *runs(other="variables: [height, cover]\n"), "--quiet")

    assert done.exit_code == 0
    assert {row["variable"] for row in table(tmp_path / "results")} == {"height"}
    assert "only the 1 variables in common are compared; other has 1 more, left aside: cover" in done.stderr


def test_levels_and_bins_in_common_are_compared(runs, geouq, tmp_path):
    other = "levels: [0.5, 0.9]\nbins: [{scheme: equal-count, count: 10}, {scheme: log-width, count: 5}]\n"
    done = geouq("compare", *runs(other=other), "--quiet")

    rows = table(tmp_path / "results")
    assert {row["bins"] for row in rows} == {"", "equal-count-10"}
    assert {row["metric"] for row in rows if row["metric"].startswith("width_")} == {"width_50", "width_90"}
    assert "only the 2 levels in common are compared" in done.stderr
    assert "only the bins in common are compared: equal-count-10" in done.stderr
    # edges of bins that one run did not foresee stand on its profile
    assert all(row["bins"] or float(row["difference"]) == 0 for row in rows)


def test_pixels_that_one_run_alone_counts_are_told(runs, geouq, tmp_path):
    folders = runs()
    scaled(tmp_path, "mean", "holes", lambda bands: np.where(np.arange(96) < 20, np.nan, bands).astype(np.float32))
    (tmp_path / "holes.yaml").write_text(
        'extends: experiment.yaml\nname: holes\ndata: {mean: "holes/{tile}_mean.tif"}\n'
    )
    geouq("run", tmp_path / "holes.yaml", "--quiet")

    done = geouq("compare", *folders, tmp_path / "results/holes", "--quiet")

    assert done.exit_code == 0
    assert "height, west: runs do not count the same pixels" in done.stderr
    (row,) = (
        r for r in table(tmp_path / "results") if (r["name"], r["variable"], r["metric"]) == ("all", "height", "zms")
    )
    assert int(row["n"]) < int(row["n_baseline"])


def test_regions_of_classes_are_compared(runs, geouq, tmp_path, write_raster):
    cover = np.repeat(np.array([1, 2], np.uint8), 48)[np.newaxis, :].repeat(96, 0)
    for index, name in enumerate(NAMES):
        moved = rasterio.Affine(10, 0, 500_000 + 960 * index, 0, -10, 7_000_000)
        write_raster(tmp_path / f"cover/{name}.tif", cover, transform=moved)
    regions = 'regions: {cover: {classes: "cover/{tile}.tif", names: {1: forest, 2: bog}}}\n'
    only_one = 'regions: {cover: {classes: "cover/{tile}.tif", names: {1: forest}}}\n'
    folders = runs(text=SHORT, one=regions + WIDE, two=regions, three=only_one)

    geouq("compare", folders[2], folders[1], "--quiet")
    rows = {row["name"]: row for row in table(tmp_path / "results") if row["metric"] == "zms"}
    assert set(rows) == {"all", "forest", "bog"}
    assert {row["better"] for row in rows.values()} == {"two"}

    done = geouq("compare", folders[2], folders[3], "--quiet")
    assert {row["name"] for row in table(tmp_path / "results")} == {"all", "forest"}
    assert "region bog is not in three, and is left aside" in done.stderr


def test_tables_and_figures_hold_hostile_names(runs, geouq, tmp_path):
    text = 'variables: {"he|i$gh_t%": {band: 1}}\noutput: {figures: none}\nregions: {"w&s#{t}~^\\\\": [a1, a2]}\n'
    done = geouq("compare", *runs(text=text, wide=WIDE), "--quiet")

    assert done.exit_code == 0
    folder = tmp_path / "results/comparison"
    markdown, latex = ((folder / f"comparison.{kind}").read_text(encoding="utf-8") for kind in ("md", "tex"))
    assert r"he\|i\$gh\_t%" in markdown
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in rows}) == 1
    assert r"he\textbar{}i\$gh\_t\%" in latex
    assert r"w\&s\#\{t\}\textasciitilde{}\textasciicircum{}\textbackslash{}" in latex
    body = latex[latex.index("\\midrule") : latex.index("\\bottomrule")]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in body.splitlines()[1:]} == {8}
    (figure,) = folder.glob("*.png")
    assert figure.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert all(unicodedata.category(char) != "Cc" or char == "\n" for char in markdown + latex)


def test_the_same_comparison_gives_the_same_bytes(runs, geouq, tmp_path):
    folders = runs(wide=WIDE)
    for name in ("one", "two"):
        geouq("compare", *folders, "--quiet", "--out", tmp_path / name)

    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert {"comparison.csv", "comparison.md", "comparison.tex", "comparison_height.png"} <= set(files)
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_folders_that_are_no_runs_and_runs_named_twice_are_told(runs, geouq, tmp_path):
    (folder,) = runs()

    for arguments, said in (
        ((folder, tmp_path / "nothing"), "nothing holds no run"),
        ((folder, folder), "is given twice"),
        ((folder,), "needs two runs or more"),
        ((folder, folder.parent / "../results/small"), "is given twice"),
    ):
        done = geouq("compare", *arguments)
        assert done.exit_code == 2
        assert said in done.stderr


def test_a_folder_of_a_run_is_not_written_to(runs, geouq):
    one, two = runs(wide=WIDE)

    done = geouq("compare", one, two, "--out", two)

    assert done.exit_code == 2
    assert "is the folder of a run" in done.stderr


def test_runs_of_one_name_are_told_apart_by_their_folders(runs, geouq, tmp_path):
    one, _ = runs(wide=WIDE)
    shutil.copytree(one, tmp_path / "copy")

    geouq("compare", one, tmp_path / "copy", "--quiet")

    assert {row["run"] for row in table(tmp_path / "results")} == {str(tmp_path / "copy")}


def test_from_python_the_rows_are_at_hand(runs):
    comparison = package.compare(runs(wide=WIDE), fail_if_worse=["zms:height"])

    (failed,) = comparison.worse
    assert failed.row["variable"] == "height"
    assert all(path.is_file() for path in comparison.files)
    assert comparison.baseline == "small"
    with pytest.raises(ConfigError, match="no metric 'x'"):
        package.compare([comparison.folder.parent / "small", comparison.folder.parent / "wide"], None, ["x"])
