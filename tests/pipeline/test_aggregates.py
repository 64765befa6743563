"""A run writes means and totals of its regions, which are those of the pixels."""

import csv
import json

import numpy as np
import pytest
import rasterio
from area_maps import CLASSES, TILES, write
from landscape import NORTH_UP
from scipy.stats import norm


def pixels(folder, tiles=TILES, chosen=None):
    """Mean, std and error of the valid pixels of some tiles, in float64."""
    found = []
    for name in tiles:
        layers = [
            rasterio.open(folder / layer / f"{name}.tif").read(1) for layer in ("mean", "std", "truth", "classes")
        ]
        mean, std, truth = (own.astype(float) for own in layers[:3])
        valid = np.isfinite(truth) & ((layers[3] == chosen) if chosen else True)
        found.append(np.stack([mean, std, mean - truth])[:, valid])
    return np.concatenate(found, axis=1)


def table(folder, name):
    with (folder / "results/small/tables" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def ran(geouq, tmp_path):
    def run(text="", **where):
        result = geouq("run", write(tmp_path, text, **where), "--quiet")
        assert result.exit_code == 0, result.output
        return tmp_path

    return run


def test_means_of_the_whole_of_lists_and_of_classes_are_those_of_their_pixels(ran):
    folder = ran(CLASSES)

    rows = {row["name"]: row for row in table(folder, "areas")}

    each = {"all": pixels(folder), "west": pixels(folder, ("a1", "b1")), "forest": pixels(folder, chosen=1)}
    assert rows.keys() == each.keys()
    for name, (mean, std, error) in each.items():
        row = {
            key: float(rows[name][key])
            for key in ("mean", "std_independent", "std_full", "mean_error", "total", "area")
        }
        assert int(rows[name]["n"]) == len(mean)
        assert row["mean"] == pytest.approx(mean.mean(), rel=1e-12)
        assert row["mean_error"] == pytest.approx(error.mean(), rel=1e-9)
        assert row["std_independent"] == pytest.approx(np.sqrt((std**2).sum()) / len(std), rel=1e-12)
        assert row["std_full"] == pytest.approx(std.mean(), rel=1e-12)
        assert row["area"] == len(mean) * 100
        assert row["total"] == pytest.approx(mean.sum() / 100, rel=1e-12)  # a pixel is a hundredth of a hectare
        assert rows[name]["total_units"] == "Mg"


def test_each_interval_surrounds_its_mean_and_its_total(ran):
    for row in table(ran(CLASSES), "areas"):
        low, high = float(row["ci_low"]), float(row["ci_high"])
        assert row["ci_method"] == "student"
        assert row["ci_level"] == "0.9"
        assert low < float(row["mean"]) < high
        assert float(row["std_independent"]) < float(row["std_fitted"]) < float(row["std_full"])
        ratio = float(row["total_high"]) / float(row["total"])
        assert ratio == pytest.approx(high / float(row["mean"]), rel=1e-9)


def test_the_area_above_a_threshold_is_that_of_the_pixels(ran):
    folder = ran(CLASSES, thresholds="[100, 1000]")

    rows = {row["name"]: row for row in table(folder, "areas") if row["threshold"] == "100.0"}
    each = {"all": pixels(folder), "west": pixels(folder, ("a1", "b1")), "forest": pixels(folder, chosen=1)}
    assert rows.keys() == each.keys()
    for name, (mean, std, error) in each.items():
        row, p, above = rows[name], norm.sf(100, mean, std), mean - error > 100
        assert float(row["mean"]) == pytest.approx(p.mean(), rel=1e-12)
        assert float(row["mean_error"]) == pytest.approx(p.mean() - above.mean(), rel=1e-9)
        assert float(row["std_independent"]) == pytest.approx(np.sqrt((p * (1 - p)).sum()) / len(p), rel=1e-12)
        assert float(row["std_full"]) == pytest.approx(np.sqrt(p * (1 - p)).mean(), rel=1e-12)
        assert float(row["total"]) == pytest.approx(p.sum() / 100, rel=1e-12)  # a pixel is a hundredth of a hectare
        assert (row["units"], row["total_units"], row["ci_method"]) == ("1", "ha", "student")
        assert 0 <= float(row["ci_low"]) < float(row["mean"]) < float(row["ci_high"]) <= 1
    models = json.loads((folder / "results/small/tables/error_correlation.json").read_text(encoding="utf-8"))
    assert list(models) == ["height", "height > 100"]


def test_areas_above_a_threshold_are_judged_by_the_size_of_the_areas(ran):
    folder = ran(CLASSES, thresholds="[100]")

    rows = [row for row in table(folder, "aggregates") if row["threshold"] == "100.0"]
    assert {row["kind"] for row in rows} == {"block", "tile", "region"}
    found = {row["metric"]: row for row in rows if row["kind"] == "tile"}
    z = []
    for name in TILES:
        mean, std, error = pixels(folder, (name,))
        p, above = norm.sf(100, mean, std), mean - error > 100
        z.append((p - above).sum() / np.sqrt((p * (1 - p)).sum()))
    zms = found["aggregate_zms_independent"]
    assert float(zms["value"]) == pytest.approx(np.mean(np.square(z)), rel=1e-9)
    assert (int(zms["n_areas"]), zms["units"]) == (6, "1")
    cells = {row["metric"]: float(row["value"]) for row in rows if row["side_cells"] == "1"}
    assert cells["aggregate_zms_independent"] > 3
    assert cells["aggregate_zms_fitted"] == pytest.approx(1, abs=0.35)
    assert cells["aggregate_coverage_calibrated_90"] == pytest.approx(0.9, abs=0.07)
    assert cells["aggregate_crps_fitted"] < cells["aggregate_crps_independent"]


def test_there_is_no_interval_above_a_threshold_that_hardly_a_pixel_reaches(ran):
    rows = [row for row in table(ran(thresholds="[1000]"), "areas") if row["threshold"]]

    assert {row["ci_method"] for row in rows} == {
        "too few pixels of which it is uncertain whether they belong to the area"
    }
    assert all(row["ci_low"] == "" and float(row["mean"]) < 1e-6 for row in rows)


def test_calibration_is_given_by_the_size_of_the_areas(ran):
    rows = table(ran(CLASSES), "aggregates")

    sizes = list(dict.fromkeys((row["kind"], row["side_cells"]) for row in rows))
    assert sizes == [("block", "1"), ("block", "2"), ("block", "4"), ("tile", ""), ("region", "")]
    of_cells = {row["metric"]: float(row["value"]) for row in rows if row["side_cells"] == "1"}
    assert of_cells["aggregate_zms_independent"] > 5
    assert of_cells["aggregate_zms_calibrated"] == pytest.approx(1, abs=0.3)
    assert of_cells["aggregate_coverage_calibrated_90"] == pytest.approx(0.9, abs=0.06)


def test_the_correlation_is_written_for_other_programs(ran):
    folder = ran()

    model = json.loads((folder / "results/small/tables/error_correlation.json").read_text(encoding="utf-8"))["height"]
    parameters = {row["parameter"]: float(row["value"]) for row in table(folder, "error_correlation")}
    assert model["units"] == "Mg/ha"
    assert model["nugget"] == pytest.approx(parameters["nugget"])
    assert model["nugget"] + sum(model["sills"]) + model["constant"] + model["tile"] == pytest.approx(1)
    assert sum(int(row["pairs"]) > 0 for row in table(folder, "error_correlogram")) > 5


def test_areas_on_the_ellipsoid_are_weighted_and_summed_exactly(ran):
    degrees = NORTH_UP.__class__(0.01, 0, 10, 0, -0.01, 60)
    folder = ran("", crs="EPSG:4326", transform=degrees)
    plain = table(folder, "areas")[0]
    config = folder / "experiment.yaml"
    config.write_text(config.read_text().replace("data:\n", "data:\n  weights: area\n"), encoding="utf-8")

    folder = ran_again(folder, config)

    weighted = table(folder, "areas")[0]
    assert float(weighted["area"]) == pytest.approx(float(plain["area"]), rel=1e-5)
    assert float(weighted["mean"]) == pytest.approx(float(plain["mean"]), rel=1e-2)
    assert float(weighted["total"]) == pytest.approx(float(weighted["mean"]) * float(weighted["area"]) / 1e4)


def ran_again(folder, config):
    import geouq

    assert geouq.run(config).outcome["success"]
    return folder


def test_without_aggregates_there_are_no_tables(ran):
    tables = {path.name for path in (ran("aggregates: none\n") / "results/small/tables").iterdir()}

    assert not {"areas.csv", "aggregates.csv", "error_correlation.csv", "error_correlation.json"} & tables


def test_a_run_without_aggregates_has_none_when_it_is_reported_again(ran, geouq):
    folder = ran("aggregates: none\n") / "results/small"

    done = geouq("report", folder, "--quiet")

    assert done.exit_code == 0, done.output
    assert "aggregates: none\n" in (folder / "config.yaml").read_text(encoding="utf-8")
    assert not list((folder / "tables").glob("a[rg]*.csv"))


def test_a_run_without_aggregates_removes_those_of_the_run_before(ran, geouq):
    folder = ran()
    config = folder / "experiment.yaml"
    config.write_text(config.read_text(encoding="utf-8") + "aggregates: none\n", encoding="utf-8")

    assert geouq("run", config, "--quiet").exit_code == 0

    assert not list((folder / "results/small/tables").glob("a[rg]*.csv"))
    assert not list((folder / "results/small/tables").glob("error_*"))


def test_the_level_of_the_intervals_is_that_of_the_configuration(ran):
    folder = ran("aggregates: {level: 0.5}\n")

    assert {row["ci_level"] for row in table(folder, "areas")} == {"0.5"}


def test_any_number_of_workers_gives_the_same_bytes(geouq, tmp_path):
    config = write(tmp_path, CLASSES)
    names = ("areas", "aggregates", "error_correlation", "error_correlogram")
    written = []
    for workers in (1, 2):
        assert geouq("run", config, "--quiet", "--fresh", "--workers", workers).exit_code == 0
        written.append([(tmp_path / "results/small/tables" / f"{name}.csv").read_bytes() for name in names])

    assert written[0] == written[1]


def test_tiles_without_a_crs_have_means_and_no_total(ran):
    row = table(ran("", crs=None), "areas")[0]

    assert float(row["mean"]) > 0
    assert row["area"] == row["total"] == ""


def gate(metric, areas, more):
    return f"gates: [{{metric: aggregate_{metric}, variable: height, areas: {areas}, {more}}}]\n"


def test_a_gate_on_the_coverage_of_means_passes_and_fails_by_its_bound(geouq, tmp_path):
    config = write(tmp_path, gate("coverage_calibrated_90", 2, "min: 0.7"))
    assert geouq("run", config, "--quiet").exit_code == 0
    [judged] = json.loads((tmp_path / "results/small/gates.json").read_text(encoding="utf-8"))
    wanted = next(
        row
        for row in table(tmp_path, "aggregates")
        if row["side_cells"] == "2" and row["metric"] == "aggregate_coverage_calibrated_90"
    )
    assert judged["value"] == pytest.approx(float(wanted["value"]))
    assert judged["areas"] == "2 x 2 cells"

    failed = geouq("run", write(tmp_path, gate("zms_independent", 2, "max: 2")), "--quiet")
    assert failed.exit_code == 1
    assert "aggregate_zms_independent of height of 2 x 2 cells is" in failed.stderr


def test_a_gate_on_a_share_is_on_the_area_above_that_threshold(geouq, tmp_path):
    text = gate("zms_independent", "1, share: 100", "min: 2")
    config = write(tmp_path, text, thresholds="[100, 105]")

    assert geouq("run", config, "--quiet").exit_code == 0

    [judged] = json.loads((tmp_path / "results/small/gates.json").read_text(encoding="utf-8"))
    rows = [row for row in table(tmp_path, "aggregates") if row["side_cells"] == "1"]
    wanted = {row["threshold"]: float(row["value"]) for row in rows if row["metric"] == judged["metric"]}
    assert judged["value"] == wanted["100.0"] != wanted[""]
    assert judged["share"] == "> 100"


def test_a_gate_on_areas_of_a_size_that_there_is_not_fails_and_names_the_sizes(geouq, tmp_path):
    done = geouq("run", write(tmp_path, gate("zms_full", 64, "max: 2")), "--quiet")

    assert done.exit_code == 1
    assert "there are only areas of 1 x 1 cells, 2 x 2 cells, 4 x 4 cells, tiles" in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (gate("zms_fited", 1, "max: 2"), "there is no aggregate_zms_fited"),
        (gate("zms_fitted", 1, "max: 2") + "aggregates: none\n", "there is no aggregate_zms_fitted"),
        ("gates: [{metric: aggregate_zms_full, variable: height, max: 2}]\n", "areas belongs to metrics of means"),
        ("gates: [{metric: zms, variable: height, areas: 1, max: 2}]\n", "areas belongs to metrics of means"),
        ("gates: [{metric: zms, variable: height, share: 1, max: 2}]\n", "share belongs to metrics of means"),
        (
            gate("zms_full", "1, share: 100", "max: 2"),
            "of share 100 for variable height; it has neither thresholds nor classes",
        ),
    ],
)
def test_a_gate_on_means_that_there_cannot_be_is_refused_before_the_work(geouq, tmp_path, text, said):
    done = geouq("run", write(tmp_path, text))

    assert done.exit_code == 2
    assert said in done.stderr
    assert not (tmp_path / "results").exists()
