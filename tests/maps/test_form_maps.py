"""Maps of cells and figures of predictions in other forms than mean and variance."""

from itertools import chain

import numpy as np
import pytest
import rasterio
from form_files import CLASSES, ENSEMBLES, LEVELS, PARTS, QUANTILES, TRUTH, experiment_of, options, write_forms

import geouq as gq
from geouq.config import load_experiment
from geouq.core.errors import ConfigError
from geouq.forms.classes import Classes
from geouq.forms.ensemble import Ensemble
from geouq.forms.quantiles import Quantiles
from geouq.forms.split import Split
from geouq.maps.names import problem_of_map, unknown_maps
from geouq.metrics import metrics_of
from geouq.pipeline.run import run
from geouq.summary.form import GAUSSIAN

FORMS = {
    "members": Ensemble(3, (0.9,), densities=True),
    "quantiles": Quantiles((0.1, 0.5, 0.9)),
    "probabilities": Classes((1, 2), ("a", "b")),
    "variance_aleatoric": Split(),
}
DATA = {
    "members": ENSEMBLES["files"] | TRUTH,
    "quantiles": QUANTILES | TRUTH,
    "probabilities": CLASSES,
    "variance_aleatoric": PARTS,
}
OF_LEVELS = ("level", "quantile", "pair")


@pytest.fixture
def folder(tmp_path, write_raster):
    return write_forms(tmp_path, write_raster)


@pytest.mark.parametrize("key", FORMS)
def test_every_number_of_a_form_that_cells_keep_has_a_map(key):
    form = FORMS[key]
    of_pixels = () if isinstance(form, Split) else [one for one in metrics_of(form) if one.of_pairs]
    own = [metric for metric in metrics_of(form) if metric not in (*metrics_of(GAUSSIAN), *of_pixels)]
    levels = {"level": form.interval_levels, "quantile": form.quantile_levels, "pair": form.pairs}
    of_levels = [f"{one.name}_{100 * p:g}" for one in own if one.choice in levels for p in levels[one.choice]]
    plain = [one.name for one in own if one.choice not in levels]

    assert own
    for name in (*plain, *of_levels):
        assert problem_of_map(name, form, form.interval_levels) == "", name
    for one in of_pixels:
        assert list(unknown_maps([one.name])) or problem_of_map(one.name, form, ())


def cells_of(folder, variable):
    """Bands of the map of cells by their names."""
    with rasterio.open(folder / "maps" / f"cells_{variable}.tif") as file:
        return dict(zip(file.descriptions, file.read().astype(np.float64), strict=True)), file.transform


def finished(folder, key, text=""):
    variable = "forest" if key == "probabilities" else "height"
    variables = "variables: [forest]\n" if key == "probabilities" else ""
    run(
        experiment_of(folder, DATA[key], f"{variables}{text}output: {{maps: [cells], figures: none}}\n"),
        options(folder),
    )
    return cells_of(folder, variable)


def test_a_cell_of_quantiles_is_the_number_of_its_pixels(folder):
    bands, transform = finished(folder, "quantiles")
    with rasterio.open(folder / "truth/a1.tif") as file:
        truth = file.read(1)[16:32, :16]
    values = [rasterio.open(folder / f"quantiles/a1_{p}.tif").read(1)[16:32, :16] for p in LEVELS]
    own = gq.quantiles.summarize(values, LEVELS, truth)

    row, column = int(16 * 10 / -transform.e), 0
    for name, expected in (
        ("crps_quantiles", gq.quantiles.crps_quantiles(own)),
        ("coverage_80", gq.quantiles.pair_coverage(own, 0.8)),
        ("pinball_10", gq.quantiles.pinball(own, 0.1)),
        ("n", own.n),
    ):
        assert bands[name][row, column] == pytest.approx(float(expected), rel=1e-6)


def test_a_cell_of_classes_is_the_number_of_its_pixels(folder):
    bands, _ = finished(folder, "probabilities")
    with rasterio.open(folder / "classes/a1_p.tif") as p, rasterio.open(folder / "classes/a1.tif") as codes:
        truth = codes.read(1)[:16, :16].astype(float)
        own = gq.classes.summarize(p.read()[:, :16, :16], np.where(truth == 0, np.nan, truth), codes=(3, 7, 9))

    for name in ("brier", "accuracy", "ece", "log_loss", "brier_resolution"):
        assert bands[name][0, 0] == pytest.approx(float(getattr(gq.classes, name)(own)), rel=1e-6)
    assert bands["n"][0, 0] == own.n < 256


def test_cells_of_an_ensemble_hold_the_numbers_of_the_mixture_and_none_of_the_joint_loss(folder):
    bands, _ = finished(folder, "members")

    assert {"zms", "crps_mixture", "mixture_coverage_90", "epistemic_share", "marginal_log_loss"} <= set(bands)
    assert "joint_log_loss" not in bands


def test_maps_of_cells_can_be_asked_for_by_name_and_drawn_by_figures(folder, geouq):
    text = "variables: [forest]\noutput: {maps: [accuracy, n], figures: [calibration]}\n"
    run(experiment_of(folder, CLASSES, text), options(folder / "out"))
    bands, _ = cells_of(folder / "out", "forest")
    done = geouq("figures", folder / "out", "--only", "cells", "--metric", "accuracy", "--region", "all", "--quiet")

    assert list(bands) == ["accuracy", "n"]
    assert done.exit_code == 0, done.output
    assert (folder / "out/figures/all/forest_cells_accuracy.png").exists()
    wrong = geouq("figures", folder / "out", "--only", "cells", "--metric", "zms", "--quiet")
    assert "--metric zms: the run has no such name" in wrong.output


@pytest.mark.parametrize(
    ("key", "name", "said"),
    [
        ("quantiles", "coverage_90", "is of none of the levels; did you mean 'coverage_80'"),
        ("quantiles", "pinball_80", "is of none of the levels"),
        ("quantiles", "zms", "of predictions that have a variance"),
        ("probabilities", "wis", "is a map of quantiles; give these"),
        ("quantiles", "ece", "is a map of class probabilities"),
        ("quantiles", "mixture_coverage_80", "is a map of ensembles"),
    ],
)
def test_a_map_that_a_form_does_not_have_is_told(folder, key, name, said):
    with pytest.raises(ConfigError, match=said):
        experiment_of(folder, DATA[key], f"output: {{maps: [{name}]}}\n")


def test_a_map_that_needs_variances_of_members_is_told(folder):
    with pytest.raises(ConfigError, match="needs a variance of each member; give member_variance"):
        experiment_of(folder, {"members": "by_variable/{tile}.tif"} | TRUTH, "output: {maps: [epistemic_share]}\n")


def test_maps_by_name_are_those_of_the_levels_that_are_given(folder):
    names = ["coverage_80", "pinball_10", "quantile_coverage_50", "crossing"]
    experiment = experiment_of(folder, DATA["quantiles"], f"output: {{maps: [{', '.join(names)}]}}\n")

    assert list(load_experiment(experiment.source).output.maps) == names


def test_ranks_are_drawn_of_ensembles_alone(folder, geouq):
    text = "levels: [0.9]\noutput: {maps: none, figures: [ranks, regions]}\nregions: {west: [a1]}\n"
    for key in ("members", "quantiles"):
        run(experiment_of(folder, DATA[key], text), options(folder / key))
    drawn = {
        key: {path.name for path in (folder / key / "figures/all").glob("*.png")} for key in ("members", "quantiles")
    }

    assert drawn["members"] == {"height_ranks.png", "height_regions.png", "cover_ranks.png", "cover_regions.png"}
    assert drawn["quantiles"] == {"height_regions.png", "cover_regions.png"}
    told = geouq("figures", folder / "quantiles", "--only", "ranks", "--quiet")
    assert "ranks needs members of an ensemble" in told.output


def test_the_figure_of_ranks_shows_them():
    from geouq.figures import ranks_figure

    rng = np.random.default_rng(0)
    members = rng.standard_normal((3, 4000))
    summary = gq.ensemble.summarize(members, rng.standard_normal(4000), variance=np.ones_like(members))
    first, second = ranks_figure(summary, title="t").axes

    heights = chain.from_iterable(axes.patches[0].get_data().values for axes in (first, second))
    assert sum(heights) == pytest.approx(4 + 20)
    assert np.allclose(first.patches[0].get_data().values, 4 * gq.ensemble.rank_histogram(summary))
