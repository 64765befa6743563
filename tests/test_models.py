"""Several models of one truth in one run."""

from dataclasses import replace

import numpy as np
import pytest
import rasterio
from affine import Affine
from configurations import SMALLEST, faults, written
from csv_rows import rows_of
from forecasts import heteroscedastic

from geouq import metrics, reader
from geouq.catalog import Failure, find_tiles
from geouq.config import Variable, load_experiment, to_yaml
from geouq.experiment import settings_for
from geouq.grid import Window
from geouq.naming import file_name
from geouq.raster import gdal_options, opened
from geouq.reader import TileReader
from geouq.stack import open_stack
from geouq.store import key_of_tile, path_of_tile
from geouq.summary.file import load_tile, save_tile
from geouq.validity import REASONS

SHAPE = (300, 280)
NORTH_UP = Affine(10, 0, 500_000, 0, -10, 7_000_000)
MODELS = ("base", "ens")
SHARED = "tiles: [a]\ndata: {truth: 'truth_{tile}.tif'}\n"
LISTED = (
    "models: [base, ens]\n"
    "data: {mean: 'mean_{model}_{tile}.tif', variance: 'variance_{model}_{tile}.tif', truth: 'truth_{tile}.tif'}\n"
)
OTHER = REASONS.index("other_model")


def layers_of(seed=1):
    """Truth, and mean and variance of two models, for two variables each; models lack pixels of their own."""
    rng = np.random.default_rng(seed)
    bands = [heteroscedastic(SHAPE, seed + band) for band in range(2)]
    mean, variance, truth = (np.stack(layer) for layer in zip(*bands, strict=True))
    found = {"truth": truth, "mean_base": mean, "variance_base": variance}
    found["mean_ens"] = mean + rng.normal(0, 0.4, mean.shape).astype(np.float32)
    found["variance_ens"] = variance * np.float32(1.4)
    found["mean_base"][0, 20:60, 30:90] = np.nan
    found["variance_ens"][:, 150:170] = np.nan
    return found


@pytest.fixture
def folder(tmp_path, write_raster):
    """A folder with a tile of two models, and its layers as arrays."""

    def make(layers=None, tile="a", **profile):
        found = layers_of() if layers is None else layers
        place = {"transform": NORTH_UP @ Affine.translation("ab".index(tile) * SHAPE[1], 0)}
        for name, values in found.items():
            write_raster(tmp_path / f"{name}_{tile}.tif", values, names=("h", "c"), nodata=np.nan, **place, **profile)
        return found

    return make


def config_of(folder, text, name="x"):
    file = folder / f"{name}.yaml"
    file.write_text(f"version: 1\nname: {name}\n{text}", encoding="utf-8")
    return file


def one_alone(folder, model, more=""):
    layers = (
        f"mean: 'mean_{model}_{{tile}}.tif', variance: 'variance_{model}_{{tile}}.tif', truth: 'truth_{{tile}}.tif'"
    )
    return config_of(folder, f"data: {{{layers}}}\n{more}", f"only-{model}")


def valid(layers, model, band):
    mean, variance, truth = (layers[name][band] for name in (f"mean_{model}", f"variance_{model}", "truth"))
    return np.isfinite(mean + variance + truth) & (variance > 0)


def numbers(path, *left):
    """Rows of a table without some columns."""
    return [{key: value for key, value in row.items() if key not in left} for row in rows_of(path)]


# configuration


def test_models_are_named_in_paths_or_have_rasters_of_their_own(tmp_path):
    listed = load_experiment(config_of(tmp_path, LISTED))
    own = ", ".join(f"{m}: {{mean: 'mean_{m}_{{tile}}.tif', variance: 'variance_{m}_{{tile}}.tif'}}" for m in MODELS)
    mapped = load_experiment(config_of(tmp_path, f"models: {{{own}}}\n{SHARED}"))

    assert listed.patterns == mapped.patterns
    assert listed.patterns["models.ens.mean"] == str(tmp_path / "mean_ens_{tile}.tif")
    assert list(listed.predictions) == list(mapped.predictions) == list(MODELS)
    assert listed.compare_on == "common"


@pytest.mark.parametrize("text", [LISTED, f"models: {{v1.2: {{mean: '{{tile}}.tif', std: '{{tile}}'}}}}\n{SHARED}"])
def test_models_are_the_same_when_written_and_read_again(tmp_path, text):
    experiment = load_experiment(config_of(tmp_path, text + "compare_on: own\n"))
    (tmp_path / "again.yaml").write_text(to_yaml(experiment), encoding="utf-8")
    again = load_experiment(tmp_path / "again.yaml")

    assert again == experiment
    assert again.patterns == experiment.patterns
    assert again.compare_on == "own"


@pytest.mark.parametrize("name", ["AGB", "AGB ()", "AGB (ens)", "a@b"])
@pytest.mark.parametrize("model", ["", "ens", "v1.2"])
def test_a_variable_of_a_model_knows_the_name_that_all_models_share(name, model):
    variable = Variable(name=name, band=1).of_model(model)

    assert (variable.variable, variable.model) == (name, model)
    assert Variable(**variable.model_dump()) == variable
    assert variable.file_name == file_name(name) + (f"@{model}" if model else "")


def test_an_interval_of_a_model_adds_its_level(tmp_path):
    models = "models: {a: {mean: '{tile}m', std: '{tile}s'}, b: {mean: '{tile}m', lower: '{tile}l', upper: '{tile}u', "
    experiment = load_experiment(config_of(tmp_path, f"{models}level: 0.7}}}}\n{SHARED}"))

    assert experiment.levels == (0.5, 0.7, 0.8, 0.9, 0.95)


LIST = SMALLEST.replace("{tile}_m", "/{model}/{tile}_m").replace("{tile}_v", "/{tile}_v").replace("t/", "/t/")
OF_A = "version: 1\nname: x\nmodels:\n  a: {mean: '{tile}m', variance: '{tile}v'}\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (LIST, "3: data.mean: '/{model}/{tile}_m.tif': {model} needs a list of the models' names"),
        (LIST + "models: [a, b]", "3: data.variance: '/{tile}_v.tif' needs {model} where the name of the model"),
        (LIST.replace("/t/", "/{model}/"), "3: data.truth: '/{model}/{tile}.tif': the only placeholder is {tile}"),
        (SMALLEST + "models: [a, A]", "4: models.1: 'a' is given twice; remove one"),
        (SMALLEST + "models: []", "4: models: names no model; leave the key out where there is one prediction"),
        (SMALLEST + "models: ens", "4: models: needs a list of names for {model}, or a mapping"),
        (SMALLEST + "models: [a b]", "4: models.0: 'a b' cannot be part of file names; use up to 30 letters (A to Z)"),
        (SMALLEST + f"models: [{'m' * 31}]", "4: models.0: 'mmmm"),
        (OF_A + "  b/c: {mean: '{tile}m', std: '{tile}s'}\ndata: {truth: '{tile}'}", "5: models.b/c: 'b/c' cannot be"),
        (OF_A + "  A: {mean: '{tile}m', std: '{tile}s'}\ndata: {truth: '{tile}'}", "5: models.A: 'A' differs from"),
        (OF_A + "  b: {std: '{tile}s'}\ndata: {truth: '{tile}'}", "5: models.b: missing key 'mean': predicted mean"),
        (OF_A + "  b: {mean: '{tile}s'}\ndata: {truth: '{tile}'}", "5: models.b: missing key 'variance' (or 'std'"),
        (OF_A + "data: {truth: '{tile}', mean: '{tile}m'}", "5: data.mean: models gives the rasters of each"),
        (OF_A + "data: {mask: '{tile}'}", "5: data: missing key 'truth': reference values"),
        (OF_A + "data: {mean: '{tile}m', truth: '{tile}', colour: 1}", "5: data.colour: unknown key"),
        (OF_A + "data: {truth: '{tile}'}\ncompare_on: all", "6: compare_on: 'all' is not known; known are common, own"),
        (
            OF_A + "  b: {mean: '{tile}m', lower: '{tile}l', upper: '{tile}u', level: 0.9}\n"
            "data: {truth: '{tile}', truth_variance: '{tile}'}",
            "6: data.truth_variance: model b: an interval is taken as it was given",
        ),
        (
            OF_A + "  b: {mean: '{tile}m', lower: '{tile}l', upper: '{tile}u', level: 0.9}\n"
            "data: {truth: '{tile}'}\nvariables: {v: {truth_variance: 2}}",
            "7: variables.v: truth_variance of 'v': models gives lower already; leave one out",
        ),
        (
            OF_A + "data: {truth: '{tile}'}\ngates: [{metric: zms, variable: v, model: c, max: 1}]",
            "6: gates.0.model: 'c' is not known; known are a",
        ),
        (SMALLEST + "gates: [{metric: zms, variable: v, model: c, max: 1}]", "4: gates.0.model: 'c' is not known"),
    ],
)  # fmt: skip
def test_a_fault_of_models_is_told_at_its_place(tmp_path, text, fault):
    found = faults(tmp_path, text)

    assert any(line.startswith(f"x.yaml:{fault}") for line in found), found


def test_all_faults_of_models_and_data_are_told_at_once(tmp_path):
    text = OF_A + "  b: {mean: '{tile}m', level: 2}\ndata: {mean: 'm', mask: 'x'}\n"

    places = [line.split(": ")[1] for line in faults(tmp_path, text)]
    assert places == ["models.b.level", "data", "data.mask"]


def test_a_pattern_of_a_model_without_a_file_is_told_where_it_is_written(tmp_path, folder):
    folder()
    (tmp_path / "mean_ens_a.tif").unlink()
    listed = config_of(tmp_path, LISTED, "listed")
    own = OF_A.replace("{tile}m", "mean_base_{tile}.tif").replace("{tile}v", "variance_base_{tile}.tif")
    mapped = written(tmp_path, own + "  ens: {mean: 'mean_ens_{tile}.tif', std: 'variance_ens_{tile}.tif'}\n" + SHARED)

    with pytest.raises(Exception, match=r"listed\.yaml:4: data\.mean: no file matches .*mean_ens_\{tile\}\.tif"):
        find_tiles(load_experiment(listed))
    with pytest.raises(Exception, match=r"x\.yaml:5: models\.ens\.mean: no file matches"):
        find_tiles(load_experiment(mapped))


def test_a_tile_that_lacks_a_layer_of_one_model_fails_and_stops_no_other(tmp_path, folder):
    folder()
    folder(tile="b")
    (tmp_path / "variance_ens_b.tif").unlink()

    catalog = find_tiles(load_experiment(config_of(tmp_path, LISTED)))

    assert [tile.name for tile in catalog.tiles] == ["a"]
    (failure,) = catalog.failures
    assert failure == Failure("b", "catalog", "MissingLayer", f"there is no file {tmp_path / 'variance_ens_b.tif'}")


# numbers


def test_each_on_its_own_pixels_gives_the_numbers_of_runs_on_their_own(tmp_path, folder, geouq):
    folder()
    text = "output: {maps: none}\n"
    assert geouq("run", config_of(tmp_path, LISTED + "compare_on: own\n" + text), "--quiet").exit_code == 0

    for model in MODELS:
        assert geouq("run", one_alone(tmp_path, model, text), "--quiet").exit_code == 0
        for name in ("metrics", "bins", "curves", "tests", "correlograms", "blocks", "excluded"):
            together = tmp_path / f"results/x/tables/{name}.csv"
            alone = numbers(tmp_path / f"results/only-{model}/tables/{name}.csv", "model", "compare_on", "p_adjusted")
            own = [row for row in rows_of(together) if row["model"] == model]
            found = [{key: row[key] for key in alone[0]} for row in own]
            assert sorted(map(repr, found)) == sorted(map(repr, alone))
    assert {row["compare_on"] for row in rows_of(tmp_path / "results/x/tables/metrics.csv")} == {"own"}


@pytest.mark.parametrize("interleave", ["band", "pixel"])
def test_on_common_pixels_the_numbers_are_those_of_the_pixels_that_all_have(tmp_path, folder, sweep_one, interleave):
    layers = folder(interleave=interleave)
    found = sweep_one(config_of(tmp_path, LISTED))["a"].variables

    assert list(found) == ["h (base)", "h (ens)", "c (base)", "c (ens)"]
    for band, variable in enumerate("hc"):
        common = valid(layers, "base", band) & valid(layers, "ens", band)
        for model in MODELS:
            own = valid(layers, model, band)
            part = found[f"{variable} ({model})"]
            mean, variance, truth = (
                layers[name][band][common].astype(np.float64)
                for name in (f"mean_{model}", f"variance_{model}", "truth")
            )
            assert part.whole.n == common.sum() < max(valid(layers, m, band).sum() for m in MODELS)
            assert part.excluded[OTHER] == own.sum() - common.sum()
            assert part.excluded.sum() == common.size - common.sum()
            assert metrics.rmse(part.whole) == pytest.approx(np.sqrt(((mean - truth) ** 2).mean()), rel=1e-12)
            assert metrics.zms(part.whole) == pytest.approx(((mean - truth) ** 2 / variance).mean(), rel=1e-9)
            inside = abs(truth - mean) <= 1.6448536269514722 * np.sqrt(variance)
            assert metrics.coverage(part.whole, 0.9) == pytest.approx(inside.mean(), abs=1e-15)


def test_a_reason_of_its_own_goes_before_that_of_another_model(tmp_path, folder, sweep_one):
    layers = layers_of()
    layers["variance_base"][0, 100, 100] = 0
    layers["mean_ens"][0, 100, 100] = np.inf
    folder(layers)
    base, ens = (sweep_one(config_of(tmp_path, LISTED))["a"].variables[f"h ({model})"] for model in MODELS)

    assert base.excluded[REASONS.index("variance_not_positive")] == 1
    assert ens.excluded[REASONS.index("not_finite")] == 1


def test_a_negative_variance_names_the_file_of_its_model(tmp_path, folder, sweep_one):
    layers = layers_of()
    place = tuple(np.argwhere(np.isfinite(layers["truth"][1] + layers["mean_ens"][1]))[99])
    layers["variance_ens"][1][place] = -2
    folder(layers)

    message = sweep_one(config_of(tmp_path, LISTED))["a"].message
    assert f"variance_ens_a.tif, c: the predicted variance is -2 at row {place[0]}, column {place[1]}" in message


def test_intervals_of_one_model_and_the_variance_of_another_are_judged_as_each_is_given(tmp_path, folder, sweep_one):
    layers = layers_of()
    std = np.sqrt(layers["variance_ens"])
    layers |= {"lower_ens": layers["mean_ens"] - std, "upper_ens": layers["mean_ens"] + 3 * std}
    folder(layers)
    models = (
        "models:\n  base: {mean: 'mean_base_{tile}.tif', variance: 'variance_base_{tile}.tif'}\n"
        "  ens: {mean: 'mean_ens_{tile}.tif', level: 0.8, "
        "lower: 'lower_ens_{tile}.tif', upper: 'upper_ens_{tile}.tif'}\n"
    )
    swept = sweep_one(config_of(tmp_path, models + SHARED))["a"]
    save_tile(swept, tmp_path / "a.nc", "key")
    common = valid(layers, "base", 0) & valid(layers, "ens", 0)
    truth, low, high = (layers[name][0][common] for name in ("truth", "lower_ens", "upper_ens"))

    for part in (swept.variables, load_tile(tmp_path / "a.nc").variables):
        assert [part[f"h ({model})"].whole.given for model in MODELS] == [None, 0.8]
        covered = metrics.coverage(part["h (ens)"].whole, 0.8)
        assert covered == pytest.approx(((low <= truth) & (truth <= high)).mean(), abs=1e-15)


def test_weights_noise_mask_and_groups_are_shared_by_the_models(tmp_path, folder, sweep_one, write_raster):
    layers = folder()
    rng = np.random.default_rng(5)
    weight, slope = rng.uniform(0.5, 2, SHAPE).astype(np.float32), rng.uniform(0, 40, SHAPE).astype(np.float32)
    mask = (rng.random(SHAPE) < 0.9).astype(np.uint8)
    for name, values in {"weight": weight, "slope": slope, "mask": mask}.items():
        write_raster(tmp_path / f"{name}_a.tif", values)
    more = ", weights: 'weight_{tile}.tif', mask: 'mask_{tile}.tif', covariates: {slope: 'slope_{tile}.tif'}}"
    text = LISTED.replace("}\n", more + "\n") + "variables: {h: {truth_variance: 0.25}}\n"
    found = sweep_one(config_of(tmp_path, text), groups=("slope",))["a"].variables
    counts = valid(layers, "base", 0) & valid(layers, "ens", 0) & (mask > 0)

    for model in MODELS:
        whole = found[f"h ({model})"].whole
        squared = (layers[f"mean_{model}"][0] - layers["truth"][0])[counts].astype(np.float64) ** 2
        noisy = layers[f"variance_{model}"][0][counts].astype(np.float64) + 0.25
        w = weight[counts].astype(np.float64)
        assert metrics.zms(whole) == pytest.approx((w * squared / noisy).sum() / w.sum(), rel=1e-6)
        assert whole.groups["slope"].counts.sum() == pytest.approx(w.sum(), rel=1e-12)


# reading


@pytest.fixture
def decoded(monkeypatch):
    """Names of the rasters whose bands are decoded, in order."""
    found = []

    class Watched:
        def __init__(self, source, path):
            self._source, self._name = source, path.rpartition("/")[2].removesuffix("_a.tif")

        def __getattr__(self, name):
            return getattr(self._source, name)

        def read(self, numbers, **options):
            found.append(self._name)
            return self._source.read(numbers, **options)

    def watched(raster):
        class Opening:
            def __enter__(self):
                self.inner = opened(raster)
                return Watched(self.inner.__enter__(), raster.path)

            def __exit__(self, *error):
                return self.inner.__exit__(*error)

        return Opening()

    monkeypatch.setattr(reader, "opened", watched)
    return found


@pytest.mark.parametrize("compare_on", ["common", "own"])
@pytest.mark.parametrize(("interleave", "times"), [("band", 2), ("pixel", 1)])
def test_truth_and_mask_are_decoded_once_for_all_models(
    tmp_path, folder, sweep_one, write_raster, decoded, interleave, times, compare_on
):
    folder(interleave=interleave)
    write_raster(tmp_path / "mask_a.tif", np.ones(SHAPE, np.uint8))
    data = LISTED.replace("}\n", ", mask: 'mask_{tile}.tif'}\n")
    sweep_one(config_of(tmp_path, f"{data}compare_on: {compare_on}\n"))

    counts = {name: decoded.count(name) for name in decoded}
    layers = {f"{layer}_{model}": times for layer in ("mean", "variance") for model in MODELS}
    assert counts == layers | {"truth": times, "mask": 2}


def test_without_truth_no_model_is_read(tmp_path, folder, sweep_one, decoded):
    layers = layers_of()
    layers["truth"][:] = np.nan
    folder(layers, interleave="band")
    found = sweep_one(config_of(tmp_path, LISTED))["a"].variables

    assert decoded == ["truth", "truth"]
    assert all(part.excluded.tolist() == [SHAPE[0] * SHAPE[1], *[0] * 7] for part in found.values())


def test_blocks_of_truth_that_are_absent_are_read_for_no_model(tmp_path, folder, sweep_one, decoded):
    blocks = {"tiled": True, "blockxsize": 16, "blockysize": 16, "sparse_ok": True, "interleave": "band"}
    layers = layers_of()
    layers["truth"][:] = np.nan
    folder(layers, **blocks, crs="EPSG:32633")
    with rasterio.open(
        tmp_path / "truth_a.tif", "w", driver="GTiff", count=2, height=SHAPE[0], width=SHAPE[1], dtype="float32",
        nodata=np.nan, SPARSE_OK=True, crs="EPSG:32633", transform=NORTH_UP,
    ):  # fmt: skip
        pass
    found = sweep_one(config_of(tmp_path, LISTED + "variables: [h, c]\n"))["a"].variables

    assert decoded == []
    assert [part.excluded[0] for part in found.values()] == [SHAPE[0] * SHAPE[1]] * 4


def test_the_order_of_reading_changes_nothing(tmp_path, folder):
    """Whichever model and window comes first, each window holds the same pixels."""
    folder()
    (tile,) = find_tiles(load_experiment(config_of(tmp_path, LISTED))).tiles
    windows = (Window(0, 0, 200, 280), Window(200, 0, 100, 280))
    with gdal_options():
        fresh = {
            (variable.name, window): TileReader(tile, reuse=False).read(variable, window)
            for variable in tile.variables
            for window in windows
        }
        one = TileReader(tile, reuse=True)
        for i in np.random.default_rng(3).integers(0, len(fresh), 40):
            name, window = list(fresh)[i]
            variable = next(variable for variable in tile.variables if variable.name == name)
            found, expected = one.read(variable, window), fresh[name, window]
            for layer in ("mean", "variance", "truth", "status"):
                np.testing.assert_array_equal(getattr(found, layer), getattr(expected, layer))


# the whole run


def test_a_run_of_models_gives_tables_figures_maps_pages_and_gates(tmp_path, folder, geouq):
    folder()
    folder(layers_of(7), "b")
    gates = "gates: [{metric: coverage_90, variable: h, model: ens, min: 0.99}, {metric: n_x, variable: h, max: 1}]\n"
    text = LISTED + "regions: {west: [a]}\noutput: {maps: [cells, z]}\n"
    refused = geouq("run", config_of(tmp_path, text + gates))
    assert refused.exit_code == 2
    config = config_of(tmp_path, text + gates.replace(", {metric: n_x, variable: h, max: 1}", ""))

    done = geouq("run", config, "--quiet")

    run = tmp_path / "results/x"
    assert done.exit_code == 1
    assert "gate failed: coverage_90 of h (ens) in all is" in done.output
    rows = rows_of(run / "tables/metrics.csv")
    assert {(row["variable"], row["model"]) for row in rows} == {(v, m) for v in "hc" for m in MODELS}
    assert {row["compare_on"] for row in rows} == {"common"}
    n = {(row["name"], row["variable"], row["model"]): row["n"] for row in rows}
    assert all(n[name, variable, "base"] == n[name, variable, "ens"] for name, variable, _ in n)
    compared = [
        row for row in rows_of(run / "tables/comparison.csv") if row["variable"] == "h" and row["name"] == "all"
    ]
    (wider,) = (row for row in compared if row["metric"] == "mean_std")
    values = {
        row["model"]: row["value"]
        for row in rows
        if (row["name"], row["variable"], row["metric"]) == ("all", "h", "mean_std")
    }
    assert (wider["model"], wider["against"]) == ("ens", "base")
    assert (wider["value"], wider["baseline"]) == (values["ens"], values["base"])
    assert (wider["better"], wider["significant"], wider["verdict"]) == ("", "yes", "wider")
    assert float(wider["difference"]) == float(values["ens"]) - float(values["base"])
    assert 0 < float(wider["ci_low"]) < float(wider["difference"]) < float(wider["ci_high"])
    figures = {path.name for path in (run / "figures/west").iterdir()}
    assert {f"{v}@{m}_{figure}.png" for v in "hc" for m in MODELS for figure in ("pit", "reliability")} <= figures
    with rasterio.open(run / "maps/a_z.tif") as source:
        assert source.descriptions == tuple(f"z_{v} ({m})" for v in "hc" for m in MODELS)
        base, ens = np.isfinite(source.read((1, 2)))
    np.testing.assert_array_equal(base, ens)
    assert {path.name for path in run.glob("maps/cells*.tif")} == {f"cells_{v}@{m}.tif" for v in "hc" for m in MODELS}
    page = (run / "report/index.html").read_text(encoding="utf-8")
    assert "h (ens)" in page
    assert "Models of a variable are evaluated on the pixels that count for all of them." in page
    assert "figures/all/h@ens_pit.png" in page
    assert "| h (base) | west |" in (run / "tables/metrics.md").read_text(encoding="utf-8")
    before = (run / "tables/metrics.csv").read_bytes()
    assert geouq("report", run, "--quiet").exit_code == 1
    assert (run / "tables/metrics.csv").read_bytes() == before


def test_a_gate_that_fits_several_models_asks_for_one(tmp_path, folder, geouq):
    folder()
    done = geouq("check", config_of(tmp_path, LISTED + "gates: [{metric: zms, variable: h, max: 2}]\n"))

    assert done.exit_code == 2
    assert "gates.0.metric: zms is given more than once; add one of model: base, ens" in done.output


def test_the_plan_names_the_models_and_counts_variables_once(tmp_path, folder, geouq):
    folder()
    text = geouq("check", config_of(tmp_path, LISTED)).output

    assert "variables  2: h, c" in text
    assert "models     2: base, ens; on the pixels that count for all of them" in text
    own = geouq("check", config_of(tmp_path, LISTED + "compare_on: own\n")).output
    assert "each on the pixels that count for it" in own


def test_any_number_of_workers_gives_the_same_bits(tmp_path, folder, geouq):
    folder()
    folder(layers_of(9), "b")
    config = config_of(tmp_path, LISTED + "variables: [h]\noutput: {maps: none}\nbins: {exact: true}\n")
    found = []
    for workers in (1, 3):
        assert geouq("run", config, "--quiet", "--workers", workers, "--out", tmp_path / str(workers)).exit_code == 0
        found.append(
            [(path.name, path.read_bytes()) for path in sorted((tmp_path / str(workers) / "tables").iterdir())]
        )

    assert found[0] == found[1]
    bins = rows_of(tmp_path / "1/tables/bins.csv")
    assert {row["edges"] for row in bins} == {"exact"}


def test_zones_are_summed_for_each_model(tmp_path, folder, geouq, write_raster):
    layers = folder()
    codes = np.ones(SHAPE, np.uint8)
    codes[:, 140:] = 2
    write_raster(tmp_path / "cover_a.tif", codes)
    zones = "regions: {cover: {classes: 'cover_{tile}.tif', names: {1: left, 2: right}}}\n"
    text = LISTED + zones + "variables: [h]\noutput: {maps: none}\n"
    assert geouq("run", config_of(tmp_path, text), "--quiet").exit_code == 0

    common = valid(layers, "base", 0) & valid(layers, "ens", 0)
    for row in rows_of(tmp_path / "results/x/tables/metrics.csv"):
        if row["name"] == "right":
            assert int(row["n"]) == common[:, 140:].sum()


def test_summaries_serve_again_until_models_or_their_pixels_change(tmp_path, folder, geouq):
    folder()
    quick = "variables: [h]\noutput: {maps: none}\n"
    assert geouq("run", config_of(tmp_path, LISTED + quick)).exit_code == 0
    first = load_experiment(tmp_path / "x.yaml")
    assert "1 of 1 tiles are summarised already" in geouq("run", tmp_path / "x.yaml").output
    keys = set()
    for text in (LISTED, LISTED + "compare_on: own\n", LISTED.replace("[base, ens]", "[ens, base]")):
        experiment = load_experiment(config_of(tmp_path, text))
        catalog = find_tiles(experiment)
        keys.add(key_of_tile(catalog.tiles[0], settings_for(experiment, catalog)))

    assert len(keys) == 3
    assert path_of_tile(tmp_path / "results/x", "a").exists()
    assert first.models == MODELS


def test_a_stack_holds_each_variable_of_each_model(tmp_path, folder):
    layers = folder()
    stack = open_stack(load_experiment(config_of(tmp_path, LISTED)), "a").load()
    common = valid(layers, "base", 1) & valid(layers, "ens", 1)

    assert stack["variable"].values.tolist() == ["h (base)", "h (ens)", "c (base)", "c (ens)"]
    assert stack["model"].values.tolist() == [*MODELS, *MODELS]
    np.testing.assert_array_equal(stack["mean"].sel(variable="c (ens)"), layers["mean_ens"][1])
    np.testing.assert_array_equal(stack["valid"].sel(variable="c (base)"), common)


def test_checksums_are_put_into_the_rasters_of_their_models(tmp_path, folder):
    folder()
    (tile,) = find_tiles(load_experiment(config_of(tmp_path, LISTED))).tiles
    marked = {key: replace(raster, compression=key) for key, raster in tile.rasters.items()}

    again = tile.with_rasters(marked)
    assert again.rasters == marked
    assert again.predictions["ens"].variance.compression == "models.ens.variance"
