"""Bands around the observed shares of quantiles and of classes."""

from types import SimpleNamespace

import numpy as np
import pytest
from form_files import CLASSES, FOREST, LEVELS, QUANTILES, TRUTH, experiment_of, options, write_forms

from geouq.inference import infer
from geouq.inference.intervals import bands_of_shares
from geouq.metrics import form_curves
from geouq.metrics.form_curves import FORM_CURVES, FormCurves
from geouq.numbers.run_metrics import forecast_samples_of, metric_options_of
from geouq.pipeline.run import run
from geouq.regions import EvaluationUnit
from geouq.runs.store import SavedSummaries
from geouq.summary import add_all

QUIET = "output: {maps: none, figures: none}\n"


@pytest.fixture
def inferred(tmp_path, write_raster):
    """Return a function: the summary of the first variable of a run, and what is inferred of it."""
    folder = write_forms(tmp_path, write_raster)

    def of(data, text=QUIET):
        experiment = experiment_of(folder, data, text)
        record = run(experiment, options(folder / "out")).record
        saved = SavedSummaries(folder / "out", record.tiles, experiment.levels)
        name = record.variables[0].name
        wholes = {name: add_all(tile.variables[name].whole for tile in saved.wholes())}
        choices = metric_options_of(experiment, record.variables[:1], saved)
        unit = EvaluationUnit("all", "all", record.tiles, wholes)
        one = forecast_samples_of(unit, choices, list(map(saved.part, record.tiles)), saved)[name]
        settings = experiment.intervals
        found = infer("all", one.whole, one.metric_options, places=one.places, cells_of=one.cells_of, settings=settings)
        return one.whole, found

    return of


def test_bands_of_quantiles_are_about_the_intervals_of_the_tables(inferred):
    whole, found = inferred(QUANTILES | TRUTH)
    (low, high), ((_, _, shares),) = found.bands.shares["quantile_calibration"], form_curves(whole)

    assert (low < shares).all()
    assert (shares < high).all()
    intervals = {one.metric: one for one in found.intervals if one.low is not None}
    compared = [k for k, level in enumerate(LEVELS) if f"quantile_coverage_{100 * level:g}" in intervals]
    assert compared
    for k in compared:
        own = intervals[f"quantile_coverage_{100 * LEVELS[k]:g}"]
        assert (low[k], high[k]) == pytest.approx((own.low, own.high), abs=own.high - own.low)


def test_each_class_has_a_band_where_resamples_differ(inferred):
    whole, found = inferred(CLASSES, "variables: [forest]\n" + QUIET)
    shares = {name: y[np.isfinite(y)] for name, _, y in form_curves(whole)}

    assert set(found.bands.shares) == {f"reliability_{name}" for name in FOREST}
    for name, (low, high) in found.bands.shares.items():
        known = np.isfinite(low)
        assert low.shape == shares[name].shape
        assert known.any()
        assert (low[known] < high[known]).all()
        assert ((low <= shares[name]) & (shares[name] <= high))[known].all()


def test_forms_whose_curves_take_one_summary_have_no_bands(monkeypatch):
    choices = SimpleNamespace(form=SimpleNamespace(key="other"))
    assert bands_of_shares(None, None, choices, None, 0.95, resamples=1000) is None
    monkeypatch.setitem(FORM_CURVES, "other", FormCurves(form_curves, "predicted", "observed"))
    assert bands_of_shares(None, None, choices, None, 0.95, resamples=1000) is None
