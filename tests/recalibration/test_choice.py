"""The best correction is that whose delivered intervals score best, and it makes no other score worse."""

import numpy as np
import pytest
import rasterio
from affine import Affine
from csv_rows import rows_of

import geouq
from geouq.config import Recalibration
from geouq.recalibration.scores import best_of

NAMES = ("a1", "a2", "b1", "b2", "c1", "c2")
NEW = ("d1", "d2")
SIDE = 96


def skewed(seed):
    """Mean, variance and truth of a forecast whose std is right and whose errors have a long tail on one side."""
    rng = np.random.default_rng(seed)
    field = np.add.outer(np.sin(np.linspace(0, 3, SIDE)), np.cos(np.linspace(0, 3, SIDE)))
    mean, variance = 10 + field, np.exp(0.5 * field)
    draws = np.exp(1.2 * rng.standard_normal((SIDE, SIDE)))
    z = (draws - np.exp(0.72)) / np.sqrt(np.expm1(1.44) * np.exp(1.44))
    return mean, variance, mean + np.sqrt(variance) * z


def write(path, band):
    path.parent.mkdir(parents=True, exist_ok=True)
    where = {"crs": "EPSG:32633", "transform": Affine(10, 0, 5e5, 0, -10, 7e6), "nodata": np.nan}
    shape = {"count": 1, "height": SIDE, "width": SIDE, "dtype": "float32"}
    with rasterio.open(path, "w", driver="GTiff", **where, **shape) as target:
        target.write(band.astype(np.float32), 1)
        target.set_band_description(1, "height")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Six tiles with skewed errors in three regions, evaluated, and two new ones."""
    found = tmp_path_factory.mktemp("skewed")
    for i, name in enumerate((*NAMES, *NEW)):
        for layer, band in zip(("mean", "variance", "truth"), skewed(i), strict=True):
            write(found / f"{'new' if name in NEW else 'in'}/{name}_{layer}.tif", band)
    text = "version: 1\nname: skewed\ncell_size: 16\nvariables: [height]\nintervals: {resamples: 200}\n"
    text += "data: {mean: 'in/{tile}_mean.tif', variance: 'in/{tile}_variance.tif', truth: 'in/{tile}_truth.tif'}\n"
    text += "regions: {a: [a1, a2], b: [b1, b2], c: [c1, c2]}\noutput: {maps: none, figures: none}\n"
    (found / "x.yaml").write_text(text, encoding="utf-8")
    geouq.run(found / "x.yaml", geouq.Options(out=found / "run"))
    return found


@pytest.fixture(scope="module")
def chosen(folder, tmp_path_factory):
    """The outcome of the best method, and the rows of its table that were judged out of fold."""
    out = tmp_path_factory.mktemp("best")
    outcome = geouq.recalibrate(folder / "run", Recalibration(), out=out)
    rows = [row for row in rows_of(out / "recalibration.csv") if row["judged"] != "in-sample"]
    return outcome, rows


def after(rows, metric, name="all"):
    found = {row["method"]: row for row in rows if (row["metric"], row["name"]) == (metric, name)}
    return {method: float(row["after"]) for method, row in found.items()}


def test_with_skewed_errors_the_winner_makes_no_score_worse(chosen):
    outcome, rows = chosen
    correction = outcome.recalibrators["height"].correction
    crps = after(rows, "crps")

    assert min(crps, key=crps.get) == "conformal"  # by the CRPS of a normal forecast, which it does not deliver
    assert correction.method != "conformal"
    _, _, refused = outcome.best[0].sentence().partition("refused: conformal, which worsens ")
    assert "nll (" in refused
    for name in NEW:
        mean, variance, truth = skewed((*NAMES, *NEW).index(name))
        new_mean, new_variance = correction.moments(mean, variance)
        before, then = (geouq.summarize(m, v, truth) for m, v in ((mean, variance), (new_mean, new_variance)))
        assert geouq.zms(before) == pytest.approx(1, abs=0.25)
        assert geouq.zms(then) == pytest.approx(1, abs=0.25)
        assert geouq.nll(then) <= geouq.nll(before) + 0.02


def test_the_conformal_correction_of_skewed_errors_would_have_been_over_confident(chosen):
    _, rows = chosen

    assert after(rows, "zms")["conformal"] > 2
    assert after(rows, "nll")["conformal"] > after(rows, "nll")["scale"] + 0.1


def test_the_score_is_the_mean_pinball_loss_of_the_delivered_ends(folder, chosen, tmp_path):
    _, rows = chosen
    outcome = geouq.recalibrate(folder / "run", Recalibration(method="isotonic"), out=tmp_path)
    correction, levels = outcome.recalibrators["height"].correction, (0.5, 0.8, 0.9, 0.95)
    ends = sorted({round((1 + side * level) / 2, 12) for level in levels for side in (-1, 1)})
    losses = []
    for i in range(len(NAMES)):
        mean, variance, truth = (layer.astype(np.float32).astype(np.float64) for layer in skewed(i))
        for p in ends:
            away = truth - correction.quantile(p, mean, variance)
            losses.append(np.maximum(p * away, (p - 1) * away).mean())
    found = [row for row in rows_of(tmp_path / "recalibration.csv") if row["metric"] == "pinball_mean"]
    (own,) = [row for row in found if (row["judged"], row["name"]) == ("in-sample", "all")]

    assert float(own["after"]) == pytest.approx(np.mean(losses), rel=1e-5)
    assert {row["method"] for row in rows if row["metric"] == "pinball_mean"} == set(after(rows, "crps"))
    assert {row["judged"] for row in rows} == {"leave-one-region-out"}  # as there are regions


def row(method, metric, before, after, better, low=None, high=None):
    place = {"level": "all", "name": "all", "variable": "v", "judged": "k-fold", "method": method, "metric": metric}
    return place | {
        "before": before, "after": after, "difference": after - before, "better": better, "ci_low": low, "ci_high": high
    }  # fmt: skip


WINNER = row("a", "pinball_mean", 1.0, 0.5, "after", -0.6, -0.4)
SECOND = row("b", "pinball_mean", 1.0, 0.7, "after", -0.4, -0.2)


@pytest.mark.parametrize(
    ("guarded", "best"),
    [
        (row("a", "nll", 1.0, 1.5, "before", 0.3, 0.7), "b"),
        (row("a", "ence", 0.1, 0.3, "before", 0.1, 0.3), "b"),
        (row("a", "interval_score_90", 1.0, 1.5, "before", 0.3, 0.7), "b"),
        (row("a", "nll", 1.0, 1.1, "before"), "b"),  # chance is not known
        (row("a", "nll", 1.0, 1.1, "before", -0.1, 0.3), "a"),
        (row("a", "nll", 1.0, 0.5, "after", -0.7, -0.3), "a"),
        (row("a", "crps", 1.0, 1.5, "before", 0.3, 0.7), "a"),
    ],
)
def test_a_winner_that_worsens_another_score_beyond_chance_is_refused(guarded, best):
    found = best_of([WINNER, SECOND, guarded], "v", "k-fold")

    assert found.method == best
    assert ("refused: a, which worsens" in found.sentence()) == (best == "b")


def test_where_every_method_is_refused_the_forecast_stays_as_it_is():
    found = best_of([WINNER, row("a", "nll", 1.0, 1.5, "before", 0.3, 0.7)], "v", "k-fold")

    assert found.method == "none"
    assert found.sentence() == (
        "v: no method is better than the forecast as it is, mean pinball loss 1, by k-fold; "
        "refused: a, which worsens nll (1 to 1.5)"
    )


def test_conformal_prediction_delivers_bounds_and_no_variance(folder, tmp_path):
    wanted = Recalibration(method="conformal", apply=["all"])
    outcome = geouq.recalibrate(folder / "run", wanted, out=tmp_path)
    again = geouq.run(tmp_path / "evaluate.yaml", geouq.Options(out=tmp_path / "again")).metrics
    text = (tmp_path / "evaluate.yaml").read_text(encoding="utf-8")

    assert {path.name for path in (tmp_path / "rasters").iterdir()} == {
        f"{name}_{end}_{level}.tif" for name in NAMES for end in ("lower", "upper") for level in (50, 80, 90, 95)
    }
    assert "lower: rasters/{tile}_lower_90.tif" in text
    assert "upper: rasters/{tile}_upper_90.tif" in text
    rows = rows_of(tmp_path / "recalibration.csv")
    for metric in ("coverage_90", "zms"):
        own = again[(again.name == "all") & (again.metric == metric) & (again.group == "")].value.item()
        (row,) = [r for r in rows if (r["metric"], r["name"], r["judged"]) == (metric, "all", "in-sample")]
        assert float(row["after"]) == pytest.approx(own, rel=1e-4)
    assert any("counts the 6 tiles fitted on, and not their 55296 pixels" in note for note in outcome.notes)
    assert any("too few to guarantee 0.9 (needs 9), 0.95 (needs 19)" in note for note in outcome.notes)
