"""Several models in the configuration and in the catalog: what is read, and what is told to be wrong."""

import pytest
from configurations import SMALLEST, faults, written
from two_models import LISTED, MODELS, SHARED, config_of

from geouq.config import Variable, load_experiment, to_yaml
from geouq.core.failures import Failure
from geouq.core.naming import file_name
from geouq.rasters.catalog import find_tiles


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
        (
            LIST.replace("/t/", "/{model}/"),
            "3: data.truth: '/{model}/{tile}.tif': the only placeholders are {tile}, {variable} and {time}",
        ),
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
        (OF_A + "data: {mask: '{tile}'}", "5: data: missing key 'truth': truth (reference values)"),
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
    text = OF_A + "  b: {mean: '{tile}m', level: 2}\ndata: {mean: 'm', mask: '{x}'}\n"

    places = [line.split(": ")[1] for line in faults(tmp_path, text)]
    assert places == ["models.b.level", "data", "data.mask"]


def test_a_pattern_of_a_model_without_a_file_is_told_where_it_is_written(tmp_path, models_folder):
    models_folder()
    (tmp_path / "mean_ens_a.tif").unlink()
    listed = config_of(tmp_path, LISTED, "listed")
    own = OF_A.replace("{tile}m", "mean_base_{tile}.tif").replace("{tile}v", "variance_base_{tile}.tif")
    mapped = written(tmp_path, own + "  ens: {mean: 'mean_ens_{tile}.tif', std: 'variance_ens_{tile}.tif'}\n" + SHARED)

    with pytest.raises(Exception, match=r"listed\.yaml:4: data\.mean: no file matches .*mean_ens_\{tile\}\.tif"):
        find_tiles(load_experiment(listed))
    with pytest.raises(Exception, match=r"x\.yaml:5: models\.ens\.mean: no file matches"):
        find_tiles(load_experiment(mapped))


def test_a_tile_that_lacks_a_layer_of_one_model_fails_and_stops_no_other(tmp_path, models_folder):
    models_folder()
    models_folder(tile="b")
    (tmp_path / "variance_ens_b.tif").unlink()

    catalog = find_tiles(load_experiment(config_of(tmp_path, LISTED)))

    assert [tile.name for tile in catalog.tiles] == ["a"]
    (failure,) = catalog.failures
    assert failure == Failure("b", "catalog", "MissingLayer", f"there is no file {tmp_path / 'variance_ens_b.tif'}")
