"""Class probabilities against definitions in numpy and second implementations."""

import numpy as np
import pytest
import scoringrules
from hypothesis import given
from hypothesis import strategies as st

import geouq
from geouq import classes
from geouq.core.errors import ConfigError, DataError, SummaryError


def drawn(count=4000, kinds=4, seed=0):
    """Probabilities that are too sure, and truth drawn from milder ones."""
    rng = np.random.default_rng(seed)
    mild = rng.dirichlet(np.full(kinds, 0.7), count)
    sharp = mild**1.5 / (mild**1.5).sum(1, keepdims=True)
    truth = (rng.random((count, 1)) > mild.cumsum(1)).sum(1)
    return sharp.T.copy(), np.minimum(truth, kinds - 1).astype(float)


def restated(probabilities, truth):
    """Brier score and its parts, by class and bin."""
    total = np.zeros(5)
    for k, p in enumerate(probabilities):
        o, bins = (truth == k).astype(float), np.minimum((p * 10).astype(int), 9)
        total[0] += ((p - o) ** 2).mean()
        total[3] += o.mean() * (1 - o.mean())
        for b in np.unique(bins):
            own, share = bins == b, (bins == b).mean()
            total[1] += share * (p[own].mean() - o[own].mean()) ** 2
            total[2] += share * (o[own].mean() - o.mean()) ** 2
            total[4] += share * (p[own].var() - 2 * np.cov(p[own], o[own], bias=True)[0, 1])
    return total


def test_brier_and_its_parts_restated():
    probabilities, truth = drawn()
    found = classes.summarize(probabilities, truth)
    names = ("brier", "brier_reliability", "brier_resolution", "brier_uncertainty", "brier_within")

    np.testing.assert_allclose(
        [getattr(classes, name)(found) for name in names], restated(probabilities, truth), rtol=1e-10
    )


@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(1, 300))
def test_the_parts_of_brier_add_up_exactly(seed, kinds, count):
    found = classes.summarize(*drawn(count, kinds, seed))
    parts = classes.brier_reliability(found) - classes.brier_resolution(found) + classes.brier_uncertainty(found)

    assert classes.brier(found) == pytest.approx(float(parts + classes.brier_within(found)), abs=1e-12)


def test_scores_are_those_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    probabilities, truth = drawn()
    found = classes.summarize(probabilities, truth)

    assert classes.log_loss(found) == pytest.approx(metrics.log_loss(truth, probabilities.T), rel=1e-12)
    assert classes.accuracy(found) == pytest.approx(metrics.accuracy_score(truth, probabilities.argmax(0)))
    two, of_two = drawn(kinds=2)
    expected = metrics.brier_score_loss(of_two, two[1])
    assert classes.brier(classes.summarize(two, of_two)) == pytest.approx(2 * expected, rel=1e-12)
    assert scoringrules.brier_score(of_two, two[1]).mean() == pytest.approx(expected, rel=1e-12)


def test_the_overconfidence_is_the_mean_confidence_less_the_accuracy():
    probabilities, truth = drawn()
    expected = probabilities.max(0).mean() - np.mean(probabilities.argmax(0) == truth)

    assert classes.overconfidence(classes.summarize(probabilities, truth)) == pytest.approx(expected, rel=1e-10)


def test_the_bias_of_a_share_is_that_of_the_pixels_and_adds_up_to_0():
    probabilities, truth = drawn()
    found = classes.summarize(probabilities, truth)
    biases = [classes.share_bias(found, place) for place in range(4)]

    expected = [p.mean() - np.mean(truth == k) for k, p in enumerate(probabilities)]
    np.testing.assert_allclose(biases, expected, rtol=0, atol=1e-12)
    assert sum(biases) == pytest.approx(0, abs=1e-12)


def test_expected_calibration_errors_restated():
    probabilities, truth = drawn()
    found = classes.summarize(probabilities, truth)

    def gap(p, o):
        bins = np.minimum((p * 10).astype(int), 9)
        return sum(abs((p - o)[bins == b].sum()) for b in range(10)) / len(p)

    top = probabilities.max(0)
    assert classes.ece(found) == pytest.approx(gap(top, probabilities.argmax(0) == truth), rel=1e-10)
    each = [gap(p, (truth == k).astype(float)) for k, p in enumerate(probabilities)]
    assert classes.ece_classwise(found) == pytest.approx(np.mean(each), rel=1e-10)
    assert classes.confidence(found) == pytest.approx(top.mean(), rel=1e-12)


def test_a_probability_of_one_is_counted():
    """The last bin is closed."""
    found = classes.summarize([[1.0, 1.0, 0.2], [0.0, 0.0, 0.8]], [0, 1, 1])
    weight, probability, frequency = classes.reliability(found)

    assert weight.sum() == 6
    assert (weight[0, 9], probability[0, 9], frequency[0, 9]) == (2, 1, 0.5)
    assert classes.log_loss(found) == np.inf
    assert classes.impossible(found) == pytest.approx(1 / 3)
    assert classes.brier(found) == pytest.approx((0 + 2 + 0.08) / 3)


def test_a_calibrated_forecast_is_reliable_and_an_over_confident_one_is_not():
    rng = np.random.default_rng(5)
    p = rng.random(50_000)
    truth = (rng.random(50_000) < p).astype(int)
    calibrated = classes.summarize([1 - p, p], truth)
    sure = classes.summarize([1.0 * (p < 0.5), 1.0 * (p >= 0.5)], truth)

    assert classes.ece(calibrated) < 0.01
    assert classes.ece(sure) > 0.2
    assert classes.brier_reliability(calibrated) < 0.001
    assert classes.brier_reliability(sure) > 0.1


def test_what_is_no_distribution_or_of_no_class_does_not_count():
    probabilities, truth = drawn(10)
    probabilities[:, 0] *= 1.01
    probabilities[:2, 1] = -0.1, 1.1 - probabilities[2:, 1].sum()
    probabilities[3, 2] = np.nan
    truth[3], truth[4] = np.nan, 77
    found = classes.summarize(probabilities, truth)
    kept = classes.summarize(probabilities[:, 5:], truth[5:])

    assert found.n == 5
    assert geouq.table(found).equals(geouq.table(kept))


def test_within_a_thousandth_of_one_is_a_distribution():
    found = classes.summarize([[0.5004, 0.502], [0.5, 0.5]], [0, 0])

    assert found.n == 1


def test_codes_tell_which_class_is_which():
    probabilities, truth = drawn()
    codes = np.array([11, 42, 7, 300])
    found = classes.summarize(probabilities, codes[truth.astype(int)], codes=codes)

    own, plain = geouq.table(found), geouq.table(classes.summarize(probabilities, truth))
    assert own.drop(columns="metric").equals(plain.drop(columns="metric"))
    shares = own[own.metric != plain.metric].metric.tolist()  # names of classes are their codes
    assert shares == ["share_bias_11", "share_bias_42", "share_bias_7", "share_bias_300"]


def test_odd_classes_are_refused():
    with pytest.raises(DataError, match="two or more"):
        classes.summarize([[1.0]], [0])
    with pytest.raises(ConfigError, match="give one for each"):
        classes.summarize([[0.5], [0.5]], [0], codes=[1, 1])
    found = classes.summarize([[0.5], [0.5]], [0])
    with pytest.raises(SummaryError, match="rmse is of a forecast with a variance"):
        geouq.rmse(found)
    with pytest.raises(SummaryError, match="is of quantiles forecasts"):
        geouq.quantiles.pinball(found, 0.5)


@pytest.mark.parametrize("weights", [None, 2.0])
def test_log_loss_of_probabilities_whose_product_is_too_small_for_a_number(weights):
    probabilities = np.array([np.full(21, 1e-200), np.ones(21)])
    summary = classes.summarize(probabilities, np.zeros(21), weights=weights)
    assert classes.log_loss(summary) == pytest.approx(200 * np.log(10), rel=1e-14)
    assert classes.impossible(summary) == 0


def test_a_missing_probability_is_told_before_a_code_of_no_class():
    from geouq.core.validity import REASONS, Nodata, classify
    from geouq.forms.classes import Classes
    from geouq.reading.form_pixels import form_pixels

    truth = np.array([99.0, 99.0, 1.0])
    pixels = form_pixels(Classes((0, 1), ("a", "b")), np.array([[np.nan, 0.5, 0.5]] * 2), np.empty((0, 3)), truth)
    rows = (layer[np.newaxis] for layer in (pixels.mean, pixels.variance, pixels.truth, pixels.status))
    found = classify(*rows, Nodata.of(None, None, None))[0]

    assert [REASONS[reason] for reason in found[:2]] == ["not_finite", "class_not_mapped"]
    assert found[2] == -1
