"""Groups of equal numbers of pixels are those of numpy.array_split of the sorted pixels."""

import numpy as np
import pytest
from forecasts import heteroscedastic
from hypothesis import given, settings
from hypothesis import strategies as st

import geouq
from geouq.config import BinScheme
from geouq.metrics import binned
from geouq.summary import RunningTotal
from geouq.summary.tail_pixels import FEW

LEVELS = (0.9,)


def restated(mean, variance, truth, count):
    """UCE and ENCE of numpy.array_split of the pixels by variance; those of one variance stay in their order."""
    v, e2 = variance.ravel().astype(float), (mean.astype(float) - truth).ravel() ** 2
    order = np.argsort(v, kind="stable")
    parts = [part for part in np.array_split(order, count) if len(part)]
    mv, mse = (np.array([of[part].mean() for part in parts]) for of in (v, e2))
    n = np.array([len(part) for part in parts])
    return {
        "uce": (n / n.sum() * np.abs(mv - mse)).sum(),
        "ence": (np.abs(np.sqrt(mv) - np.sqrt(mse)) / np.sqrt(mv)).mean(),
        "n": n,
    }


def published_like(n, seed=3):
    """A set of molecules as they are published: some thousand points, and variances that are rounded."""
    rng = np.random.default_rng(seed)
    variance = np.round(rng.lognormal(-2, 0.6, n), 3) + 0.001
    return np.zeros(n), variance, 1.2 * np.sqrt(variance) * rng.standard_normal(n)


@pytest.mark.parametrize("count", [7, 20, 100])
@pytest.mark.parametrize("n", [50, 1003, 4999])
def test_ence_is_that_of_array_split(n, count):
    """On 4999 points with ties, 100 bins by quantiles of the values differ from it by more than rounding."""
    layers = published_like(n)
    expected, summary = restated(*layers, count), geouq.summarize(*layers)
    scheme = BinScheme(scheme="equal-split", count=count)

    assert binned(summary, scheme).exact
    np.testing.assert_array_equal(binned(summary, scheme).n[: len(expected["n"])], expected["n"])
    for name in ("uce", "ence"):
        found = getattr(geouq, name)(summary, bins=f"equal-split-{count}")
        assert found == pytest.approx(expected[name], rel=1e-12)
    if n == 4999 and count == 100:
        assert abs(geouq.ence(summary, bins="equal-count-100") / expected["ence"] - 1) > 1e-4


@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_tiles_in_any_order_give_the_split_of_tiles_by_name_rows_and_columns(data):
    """Half of all pixels share their variance with others."""
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    shape = (3, 20, 30)
    mean, truth = rng.normal(size=(2, *shape))
    variance = rng.integers(1, 6, shape) / 4.0
    names = ["b", "a", "c"]
    tiles = {
        name: geouq.summarize_arrays(*(layer[i] for layer in (mean, variance, truth)), LEVELS, tile=name).whole
        for i, name in enumerate(sorted(names))
    }
    expected = restated(mean, variance, truth, 13)
    order = data.draw(st.permutations(names))
    running = RunningTotal(LEVELS)
    for name in order:
        running.add(tiles[name])

    for total in (running.summary(), sum((tiles[name] for name in order[1:]), tiles[order[0]])):
        assert geouq.ence(total, bins="equal-split-13") == pytest.approx(expected["ence"], rel=1e-12)
        assert binned(total, BinScheme(scheme="equal-split", count=13)).exact


def test_weights_count_in_the_sums_and_not_in_the_groups():
    mean, variance, truth = published_like(1003)
    weights = np.random.default_rng(0).integers(1, 5, 1003).astype(float)
    per_bin = binned(geouq.summarize(mean, variance, truth, weights=weights), BinScheme(scheme="equal-split", count=10))
    parts = np.array_split(np.argsort(variance, kind="stable"), 10)

    assert per_bin.n.tolist() == [101] * 3 + [100] * 7
    np.testing.assert_allclose(per_bin.weight, [weights[part].sum() for part in parts])
    np.testing.assert_allclose(per_bin.variance, [(weights * variance)[part].sum() for part in parts])


def test_of_many_pixels_the_groups_are_close_and_not_said_to_be_exact():
    layers = [np.tile(layer, 2).astype(np.float64) for layer in heteroscedastic((300, 300), seed=5, missing=0)]
    layers[1] *= np.random.default_rng(6).uniform(0.9, 1.1, layers[1].shape)
    summary = geouq.summarize(*layers)
    per_bin = binned(summary, BinScheme(scheme="equal-split", count=40))

    assert summary.n > FEW
    assert not per_bin.exact
    assert per_bin.n.sum() == summary.n
    assert geouq.ence(summary, bins="equal-split-40") == pytest.approx(restated(*layers, 40)["ence"], abs=5e-4)


def test_cells_and_empty_summaries_have_a_split():
    tile = geouq.summarize_arrays(*heteroscedastic((64, 64), seed=7), LEVELS, cell_size=16)
    per_bin = binned(tile.cells.summary(), BinScheme(scheme="equal-split", count=5))

    np.testing.assert_allclose(per_bin.n.sum(-1), tile.cells.moments.n)
    nothing = geouq.summarize(*np.full((3, 4), np.nan))
    assert np.isnan(geouq.ence(nothing, bins="equal-split"))
