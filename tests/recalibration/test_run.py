"""A run is recalibrated: judged on other tiles, exactly, and its rasters are what was promised."""

import csv
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import rasterio
from affine import Affine
from faulty.servers import serving
from forecasts import heteroscedastic
from landscape import write_tiles

import geouq
from geouq.config import Recalibration, load_experiment
from geouq.core.wording import minus_in_text
from geouq.recalibration.fitting import Fits
from geouq.recalibration.recalibrate import notes_of
from geouq.runs.lock import owned

LISTS = "regions: {west: [a1, a2], east: [b1, b2]}"
REGIONS = f"{LISTS}\nintervals: {{resamples: 100}}\nvariables: [height]\n"
NAMES = ("a1", "a2", "b1", "b2")
LEVELS = (0.5, 0.8, 0.9, 0.95)


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def number(rows, column="after", **wanted):
    found = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    assert len(found) == 1, (wanted, len(found))
    return float(found[0][column])


def make(folder):
    """Four tiles of one variable, biased and over-confident alike, and a configuration."""
    for i, name in enumerate(NAMES):
        mean, variance, truth = heteroscedastic((64, 64), i, inflate=0.3, bias=1.0)
        variance[:2], mean[5, 5] = -9999, np.nan
        for path, band in {"p/{}_mean": mean, "p/{}_variance": variance, "t/{}": truth}.items():
            write(folder / f"{path.format(name)}.tif", band)
    text = "version: 1\nname: small\ncell_size: 16\n"
    text += "data: {mean: 'p/{tile}_mean.tif', variance: 'p/{tile}_variance.tif', truth: 't/{tile}.tif'}\n"
    (folder / "x.yaml").write_text(text + REGIONS)
    return folder


def write(path, band):
    path.parent.mkdir(exist_ok=True)
    profile = {"driver": "GTiff", "count": 1, "height": 64, "width": 64, "dtype": band.dtype, "nodata": -9999}
    if band.dtype == np.uint8:
        del profile["nodata"]
    with rasterio.open(path, "w", crs="EPSG:32633", transform=Affine(10, 0, 5e5, 0, -10, 7e6), **profile) as target:
        target.write(band, 1)
        target.set_band_description(1, "height")
        target.set_band_unit(1, "m")


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """A folder that a test may change, not evaluated yet."""
    monkeypatch.chdir(tmp_path)
    return make(tmp_path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of which there is a run in results/small."""
    found = make(tmp_path_factory.mktemp("run"))
    geouq.run(found / "x.yaml", geouq.Options(out=found / "results/small"))
    return found


def pixels(folder, name):
    found = []
    for path in (f"p/{name}_mean.tif", f"p/{name}_variance.tif", f"t/{name}.tif"):
        with rasterio.open(folder / path) as source:
            found.append(source.read(1, masked=True).filled(np.nan).astype(np.float64))
    return found


def summarized(folder, names, factor=1.0, bias=0.0):
    mean, variance, truth = (np.stack(arrays) for arrays in zip(*(pixels(folder, n) for n in names), strict=True))
    single = (factor * variance).astype(np.float32)
    return geouq.summarize(mean - bias, single, truth, levels=LEVELS)


def test_numbers_out_of_fold_are_those_of_the_pixels_of_other_tiles(folder, recalibrated):
    rows, outcome = recalibrated("scale")
    west, east = (geouq.zms(summarized(folder, names)) for names in (NAMES[:2], NAMES[2:]))

    for region, names, factor in (("west", NAMES[:2], east), ("east", NAMES[2:], west)):
        expected = summarized(folder, names, factor)
        of = {"name": region, "judged": "leave-one-region-out"}
        for metric in ("crps", "nll", "zms", "rmse"):
            assert number(rows, metric=metric, **of) == pytest.approx(float(getattr(geouq, metric)(expected)), rel=1e-6)
        assert number(rows, metric="coverage_90", **of) == geouq.coverage(expected)
        assert number(rows, "before", metric="zms", **of) == pytest.approx(geouq.zms(summarized(folder, names)))
    assert outcome.recalibrators["height"].correction.factor == pytest.approx(geouq.zms(summarized(folder, NAMES)))


def test_in_sample_numbers_are_told_apart(recalibrated):
    rows, outcome = recalibrated("scale")

    assert {row["judged"] for row in rows} == {"leave-one-region-out", "in-sample"}
    assert number(rows, metric="zms", name="all", judged="in-sample") == pytest.approx(1, abs=1e-6)
    assert "no evidence" in (outcome.folder / "recalibration.md").read_text()


@pytest.fixture
def recalibrated(folder, tmp_path, monkeypatch):
    """Recalibrate with the method: rows of the table, and the outcome in the test's folder."""
    monkeypatch.chdir(folder)

    def recalibrate(method, **wanted):
        outcome = geouq.recalibrate("results/small", Recalibration(method=method, **wanted), out=tmp_path / "out")
        return rows_of(tmp_path / "out/recalibration.csv"), outcome

    return recalibrate


def test_the_best_has_the_lowest_pinball_loss_out_of_fold(recalibrated):
    rows, outcome = recalibrated("best")

    own = {
        row["method"]: float(row["after"])
        for row in rows
        if (row["name"], row["judged"], row["metric"]) == ("all", "leave-one-region-out", "pinball_mean")
    }
    (best,) = outcome.best
    assert set(own) == {"scale", "scale_bias", "affine", "isotonic_variance", "isotonic", "conformal"}
    assert best.method == min(own, key=own.get) == outcome.recalibrators["height"].correction.method
    assert {row["method"] for row in rows if row["chosen"] == "yes"} == {best.method}
    assert best.method in ("scale_bias", "isotonic")
    assert f"height: {best.method}, mean pinball loss" in best.sentence()
    # with bias and factor known, what is left is the calibrated forecast
    assert number(rows, name="all", judged="leave-one-region-out", metric="coverage_90", method="scale_bias") == (
        pytest.approx(0.9, abs=0.02)
    )


def test_intervals_and_pit_of_what_is_not_normal_are_judged_as_such(folder, recalibrated):
    rows, outcome = recalibrated("isotonic", judge="k-fold")
    mean, variance, truth = (np.stack(a) for a in zip(*(pixels(folder, n) for n in NAMES), strict=True))
    correction = outcome.recalibrators["height"]
    valid = np.isfinite(mean + variance + truth) & (variance > 0)
    of = {"name": "all", "judged": "in-sample"}

    for level in LEVELS:
        low, high = (
            correction.quantile(p, mean, variance).astype(np.float32) for p in ((1 - level) / 2, (1 + level) / 2)
        )
        inside = ((truth >= low) & (truth <= high))[valid].mean()
        assert number(rows, metric=f"coverage_{100 * level:g}", **of) == pytest.approx(inside, abs=1e-9)
        assert number(rows, metric=f"width_{100 * level:g}", **of) == pytest.approx(
            (high - low)[valid].mean(), rel=1e-6
        )
    assert number(rows, metric="miscalibration_area", **of) < 0.002
    assert number(rows, "before", metric="miscalibration_area", **of) > 0.05
    assert number(rows, metric="pit_mean", **of) == pytest.approx(0.5, abs=0.002)


def test_the_configuration_beside_all_rasters_evaluates_them(recalibrated):
    rows, outcome = recalibrated("isotonic", judge="k-fold", apply=["all"])

    again = geouq.run(outcome.folder / "evaluate.yaml", geouq.Options(out=outcome.folder / "again")).metrics

    for region in ("all", "west", "east"):
        for metric in ("crps", "zms", "bias"):
            own = again[(again.name == region) & (again.metric == metric) & (again.group == "")].value.item()
            assert number(rows, name=region, metric=metric, judged="in-sample") == pytest.approx(own, abs=1e-6), metric
    recalibrated("scale", judge="k-fold", apply=["a1"])
    assert not (outcome.folder / "evaluate.yaml").exists()  # the other tiles are of another correction


def test_rasters_of_another_kind_of_correction_do_not_stay_beside_the_new_ones(recalibrated):
    _, outcome = recalibrated("isotonic", judge="k-fold", apply=["a1"])
    (outcome.folder / "rasters/a1_q.tif").touch()  # of no correction

    recalibrated("scale", judge="k-fold", apply=["a1"])

    assert {path.name for path in (outcome.folder / "rasters").iterdir()} == {"a1_variance.tif", "a1_q.tif"}


def test_the_folder_of_a_run_and_the_rasters_of_a_run_are_not_written_over(folder, recalibrated):
    _, outcome = recalibrated("scale", judge="k-fold", apply=["all"])
    geouq.run(outcome.folder / "evaluate.yaml", geouq.Options(out=outcome.folder / "again"))
    before = (folder / "results/small/summaries/a1.nc").read_bytes()
    wanted = Recalibration(method="scale", judge="k-fold", apply=["a1"])

    with pytest.raises(geouq.GeouqError, match=r"is the folder of a run"):
        geouq.recalibrate("results/small", wanted, out="results/small")
    assert (folder / "results/small/summaries/a1.nc").read_bytes() == before
    with pytest.raises(geouq.GeouqError, match=r"a1_variance\.tif is a raster of the run itself"):
        geouq.recalibrate(outcome.folder / "again", wanted, out=outcome.folder)


def test_what_cannot_be_fitted_on_a_fold_and_what_is_not_guaranteed_is_told(recalibrated):
    _, outcome = recalibrated("conformal", judge="k-fold")

    guarantee, note, means = outcome.notes  # of variances of 0.3, |z| of 0.8 intervals lies beyond 2.58 already
    assert note.startswith("height: conformal intervals at 0.8, 0.9, 0.95 lie beyond")
    assert "counts the 4 tiles fitted on" in guarantee
    assert means.endswith("gives no variance, so that means of areas have no std")
    assert note in (outcome.folder / "recalibration.md").read_text()
    everything, fold = (Fits((), {}, {}, notes) for notes in (("a: x",), ("a: x", "b: y")))
    assert notes_of(everything, [everything, fold, fold]) == (
        "a: x",
        "b: y (on the 0 tiles of a fold), so that it is not judged",
    )


def test_the_folder_has_one_owner(recalibrated, tmp_path):
    with owned(tmp_path / "out"), pytest.raises(geouq.GeouqError, match="out is being written to by process"):
        recalibrated("scale")


def evaluated(folder, out, layers):
    """Metrics of a run of other predictions of the same tiles."""
    layers = ", ".join(f"{key}: '{value}'" for key, value in layers.items())
    text = (folder / "x.yaml").read_text()
    (folder / "again.yaml").write_text(
        text.replace("mean: 'p/{tile}_mean.tif', variance: 'p/{tile}_variance.tif'", layers)
    )
    return geouq.run(folder / "again.yaml", geouq.Options(out=out)).metrics


@pytest.mark.parametrize("method", ["scale_bias", "isotonic_variance", "isotonic"])
def test_rasters_evaluated_again_give_the_numbers_promised(folder, recalibrated, method):
    rows, outcome = recalibrated(method, judge="k-fold", apply=["all"])
    rasters = outcome.folder / "rasters"
    written = {path.name for path in rasters.iterdir()}

    assert ("a1_mean.tif" in written) == (method != "isotonic_variance")
    assert ("a1_q97.5.tif" in written) == (method == "isotonic")
    mean = rasters / "{tile}_mean.tif" if method != "isotonic_variance" else "p/{tile}_mean.tif"
    layers = {"mean": mean, "variance": rasters / "{tile}_variance.tif"}
    again, of = evaluated(folder, outcome.folder / "again", layers), {"judged": "in-sample"}
    for region in ("all", "west", "east"):
        for metric in ("crps", "nll", "zms", "rmse", "bias", "ence"):
            own = again[(again.name == region) & (again.metric == metric) & again.bins.isin(["", "equal-count-10"])]
            # of some hundred pixels a bin, those next to an edge that is placed on the profile matter
            close = {"abs": 0.01} if metric == "ence" else {"rel": 1e-6, "abs": 1e-6}
            assert number(rows, name=region, metric=metric, **of) == pytest.approx(own.value.item(), **close), metric
            assert number(rows, "n", name=region, metric=metric, **of) == own.n.item()
    if method == "isotonic":
        ends = {"lower": rasters / "{tile}_q5.tif", "upper": rasters / "{tile}_q95.tif", "level": 0.9}
        found = evaluated(folder, outcome.folder / "ends", {"mean": mean, **ends})
        for metric in ("coverage_90", "width_90", "interval_score_90"):
            own = found[(found.name == "all") & (found.metric == metric)].value.item()
            assert number(rows, name="all", metric=metric, **of) == pytest.approx(own, rel=1e-6), metric


def test_rasters_keep_grid_names_and_masks_and_are_cloud_optimised(folder, recalibrated):
    _, outcome = recalibrated("scale", judge="k-fold", apply=["b1"])

    written = sorted((outcome.folder / "rasters").iterdir())
    assert [path.name for path in written] == ["b1_variance.tif"]
    with rasterio.open(written[0]) as after, rasterio.open(folder / "p/b1_variance.tif") as before:
        assert (after.crs, after.transform, after.shape) == (before.crs, before.transform, before.shape)
        assert after.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
        assert (after.descriptions, after.units, after.nodata is not None) == (("height",), ("m^2",), True)
        mean, variance, _ = pixels(folder, "b1")
        np.testing.assert_array_equal(np.isfinite(after.read(1)), np.isfinite(mean) & np.isfinite(variance))


def test_predictions_without_truth_are_written_too(folder, tmp_path):
    for layer in ("mean", "variance"):
        shutil.copy(folder / f"p/a1_{layer}.tif", tmp_path / f"z9_{layer}.tif")
    wanted = Recalibration(method="scale", judge="k-fold")
    patterns = (str(tmp_path / "{tile}_mean.tif"), str(tmp_path / "{tile}_variance.tif"))

    found = geouq.recalibrate(folder / "results/small", wanted, out=tmp_path / "out", predictions=patterns)

    (path,) = [path for path in found.files if path.suffix == ".tif"]
    mean, variance, _ = pixels(folder, "a1")
    assert path.name == "z9_variance.tif"
    with rasterio.open(path) as source:
        expected = found.recalibrators["height"].apply(mean, variance).variance
        np.testing.assert_array_equal(source.read(1), expected.astype(np.float32))


def test_a_fault_in_one_class_is_repaired_there_and_the_other_class_is_left_alone(fresh):
    rng = np.random.default_rng(0)
    for name in NAMES:
        mean, variance, truth = pixels(fresh, name)
        codes = (rng.random(mean.shape) < 0.5).astype(np.uint8) + 1
        calibrated = mean - 1 + (truth - mean + 1) * np.sqrt(0.3)  # the variances are 0.3 of what they should be
        truth = np.where(codes == 1, mean + 3 * (calibrated - mean + 1), calibrated + 1)
        write(fresh / f"t/{name}.tif", truth.astype(np.float32))
        write(fresh / f"c/{name}.tif", codes)
    cover = (
        "regions:\n  west: [a1, a2]\n  east: [b1, b2]\n  cover: {classes: 'c/{tile}.tif', names: {1: forest, 2: bog}}\n"
    )
    text = (fresh / "x.yaml").read_text().replace(LISTS + "\n", cover)
    (fresh / "x.yaml").write_text(text + "recalibration: {judge: leave-one-region-out, by: cover, apply: all}\n")
    geouq.run("x.yaml")

    rows = rows_of(fresh / "results/small/recalibration/recalibration.csv")
    fitted = geouq.load_recalibrator(fresh / "results/small/recalibration/height.json")
    assert fitted.correction.method == "by_group"
    page = (fresh / "results/small/report/index.html").read_text(encoding="utf-8")
    assert minus_in_text(fitted.notes[0]) in page
    assert (fresh / "results/small/recalibration/figures/west/height_before_after.png").exists()
    for name in ("height_correction", "all/height_cells_before", "all/height_cells_after"):
        assert (fresh / f"results/small/recalibration/figures/{name}.png").exists()
    write(fresh / "c/b2.tif", np.ones((64, 64), np.uint8))
    with pytest.raises(geouq.GeouqError, match="tile b2 was made from other files"):
        geouq.recalibrate("results/small")
    factors = {name: own.factor for name, own in fitted.correction.groups.items()}
    assert factors["forest"] == pytest.approx(9, rel=0.06)
    assert factors["bog"] == pytest.approx(1, rel=0.06)
    of = {"name": "all", "judged": "leave-one-region-out", "metric": "crps"}
    assert number(rows, method="by_group", **of) < number(rows, method="scale", **of)
    mean, variance, _ = pixels(fresh, "a1")
    with (
        rasterio.open(fresh / "c/a1.tif") as source,
        rasterio.open(fresh / "results/small/recalibration/rasters/a1_variance.tif") as after,
    ):
        expected = fitted.apply(mean, variance, source.read(1)).variance
        np.testing.assert_array_equal(after.read(1), expected.astype(np.float32))


def test_the_command_tells_what_is_best_and_what_is_wrong(fresh, geouq):
    geouq("run", "x.yaml", "--quiet")

    told = geouq("recalibrate", "results/small", "--method", "scale", "--judge", "k-fold", "--memory", "2GB", "--quiet")
    assert told.exit_code == 0, told.output
    assert "height: scale, mean pinball loss" in told.output
    plain = json.loads((fresh / "results/small/recalibration/height.json").read_text())
    assert plain["fitted_on"]["tiles"] == list(NAMES)
    for arguments, message in {
        ("results/none",): "holds no run",
        ("results/small", "--method", "magic"): "--method",
        ("results/small", "--method", "by_group"): "by_group needs by",
        ("results/small", "--by", "cover"): "'cover' is no key of regions",
        ("results/small", "--apply", "a3"): "--apply a3: there is no such tile",
        ("results/small", "--predictions", "new/x.tif", "new/{tile}.tif"): "needs {tile}",
        ("results/small", "--predictions", "new/{tile}_m.tif", "new/{tile}.tif"): "no file matches",
    }.items():
        found = geouq("recalibrate", *arguments, "--quiet")
        assert found.exit_code == 2, arguments
        assert message in found.output, found.output


def test_files_that_have_changed_since_the_run_are_refused(fresh, geouq):
    geouq("run", "x.yaml", "--quiet")
    write(fresh / "t/b2.tif", np.ones((64, 64), np.float32))

    found = geouq("recalibrate", "results/small", "--quiet")

    assert found.exit_code == 2
    assert "tile b2 was made from other files" in found.output


def test_what_cannot_be_judged_on_others_is_refused(fresh, geouq):
    (fresh / "x.yaml").write_text((fresh / "x.yaml").read_text() + "tiles: [a1]\n")
    text = (fresh / "x.yaml").read_text().replace(LISTS, "")
    (fresh / "x.yaml").write_text(text)
    geouq("run", "x.yaml", "--quiet")

    found = geouq("recalibrate", "results/small", "--quiet")

    assert found.exit_code == 2
    assert "needs two tiles" in found.output


def test_faults_of_the_configuration_are_told(fresh):
    for text, message in {
        "recalibration: {by: cover}": "'cover' is no key of regions",
        "recalibration: {method: scale, by: west}": "only by_group",
        "recalibration: magic": "'magic' is not known",
    }.items():
        path = fresh / "faulty.yaml"
        path.write_text((fresh / "x.yaml").read_text() + text + "\n")
        with pytest.raises(geouq.GeouqError, match=message):
            load_experiment(path)


SETTLES = """
from importlib import import_module

import geouq.rasters.remote_files as servers
from geouq.cli import main

end_of_run = import_module("geouq.recalibration.recalibrate")
servers.SETTLED = 10**9  # seconds: every file is too young for its time of change to identify it

def later(*arguments, recalibrate=end_of_run.recalibrate, **keywords):
    servers.SETTLED = 0
    return recalibrate(*arguments, **keywords)

end_of_run.recalibrate = later
main(["run", "experiment.yaml"])
"""


def test_a_run_is_recalibrated_where_files_on_a_server_grow_old_enough_to_be_identified_while_it_runs(tmp_path):
    config = write_tiles(tmp_path, ("a1", "b1"), shape=(64, 64), text="output: {maps: [cells]}\nrecalibration: scale\n")
    with serving(tmp_path) as (address, _):
        config.write_text(config.read_text().replace("truth/", f"/vsicurl/{address}/truth/"), encoding="utf-8")
        command = [sys.executable, "-c", SETTLES]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600)

    assert "2 of 2 tiles (a1, b1) are read again in each run" in done.stderr
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results/small/recalibration/recalibration.md").exists()
