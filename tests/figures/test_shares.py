"""Curves of quantiles and of classes, with the bands of their inference."""

import numpy as np
import pytest
from form_files import CLASSES, QUANTILES, TRUTH, experiment_of, options, write_forms

import geouq
from geouq.drawing import Selection, draw_saved
from geouq.figures import shares_figure
from geouq.figures.style import notes_of
from geouq.inference import Bands
from geouq.metrics import form_curves
from geouq.pipeline.run import run
from geouq.runs.progress import Silent


def bands_of(limits):
    return Bands(0.95, 9, np.empty((2, 0)), {}, np.nan, limits)


def classes(kinds):
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.full(kinds, 0.7), 4000)
    truth = (rng.random((4000, 1)) > probabilities.cumsum(1)).sum(1)
    return geouq.classes.summarize(probabilities.T, np.minimum(truth, kinds - 1).astype(float))


def bars_of(axes):
    """Ends of the error bars of each curve, (points, 2)."""
    drawn = [own for own in axes.collections if hasattr(own, "get_segments")]
    return [np.array([bar[:, 1] for bar in own.get_segments() if len(bar)]) for own in drawn]


def test_each_class_has_an_error_bar_of_its_limits_where_these_are_known():
    summary = classes(3)
    limits = {name: np.stack([y - 0.1, y + 0.1])[:, np.isfinite(y)] for name, _, y in form_curves(summary)}
    first = next(iter(limits))
    limits[first][:, 0] = np.nan

    figure = shares_figure(summary, title="t", bands=bands_of(limits))
    (axes,) = figure.axes
    found = bars_of(axes)
    assert len(axes.collections) == len(found) == 3  # no fills, which would hide each other
    for bars, expected in zip(found, limits.values(), strict=True):
        np.testing.assert_allclose(bars, expected.T[np.isfinite(expected[0])])
    assert "bands: 95 % of each point, bootstrap of 9 blocks" in notes_of(figure)


def test_error_bars_of_classes_lie_side_by_side_within_a_marker():
    summary = classes(4)
    limits = {name: np.stack([y - 0.1, y + 0.1])[:, np.isfinite(y)] for name, _, y in form_curves(summary)}
    (axes,) = shares_figure(summary, title="t", bands=bands_of(limits)).axes

    right = axes.transData.transform((0.5, 0.5))[0]
    aside = [own.get_transform().transform((0.5, 0.5))[0] - right for own in axes.collections]
    steps = np.diff(aside) / axes.figure.dpi * 72
    assert (steps > 1).all()
    assert np.ptp(aside) / axes.figure.dpi * 72 <= 6
    assert sum(aside) == pytest.approx(0, abs=1e-6)


def test_the_curve_of_quantiles_has_a_filled_band():
    rng = np.random.default_rng(0)
    truth, levels = rng.standard_normal(2000), (0.05, 0.5, 0.95)
    values = np.quantile(truth, levels)[:, np.newaxis] + np.zeros(2000)
    summary = geouq.quantiles.summarize(values, levels, truth)
    limits = np.array([[0.02, 0.4, 0.9], [0.08, 0.6, 0.99]])
    figure = shares_figure(summary, title="t", bands=bands_of({"quantile_calibration": limits}))

    (axes,) = figure.axes
    area, _ = axes.collections
    np.testing.assert_allclose(sorted(set(area.get_paths()[0].vertices[:, 1])), sorted(limits.ravel()))
    np.testing.assert_allclose(bars_of(axes)[0], limits.T)


def test_a_figure_says_why_it_has_no_bands():
    summary = classes(2)
    unknown = {name: np.full((2, int(np.isfinite(y).sum())), np.nan) for name, _, y in form_curves(summary)}

    assert "no bands: too few effective cells" in notes_of(shares_figure(summary, title="t", bands=bands_of(unknown)))
    assert "band" not in notes_of(shares_figure(summary, title="t"))


@pytest.mark.parametrize("data", [QUANTILES | TRUTH, CLASSES], ids=["quantiles", "classes"])
def test_figures_of_a_run_have_the_bands_of_its_inference(tmp_path, write_raster, monkeypatch, data):
    text = "output: {maps: none, figures: none}\n" + ("variables: [forest]\n" if data is CLASSES else "")
    run(experiment_of(write_forms(tmp_path, write_raster), data, text), options(tmp_path / "out"))
    drawn = []
    monkeypatch.setattr("geouq.drawing.saved.save_figure", lambda figure, *_: drawn.append(figure))

    draw_saved(tmp_path / "out", Selection(only=["calibration"], regions=["all"]), Silent())

    assert drawn
    for figure in drawn:
        assert "bands: 95 % of each point, bootstrap of" in notes_of(figure)
        assert any(bars.size for bars in bars_of(figure.axes[0]))
