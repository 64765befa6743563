"""The verdict separates bias, spread and shape, and never praises for lack of evidence."""

import numpy as np
import pytest
from correlated import Tiles, gaussian_field

from geouq.config import Variable
from geouq.inference import Intervals, adjusted, with_intervals
from geouq.inference import test_rows as rows_of_tests
from geouq.regions import EvaluationUnit
from geouq.tables.rows import metric_rows
from geouq.verdict import verdict_of, verdicts_of

QUICK = Intervals(resamples=200)
OF = {"level": "all", "name": "all", "variable": "v", "model": ""}
LIMITS = {"z_mean": (0.0, -0.1, 0.1), "z_std": (1.0, 0.9, 1.1), "coverage_90": (0.9, 0.88, 0.92), "pit_std": (0.3,) * 3}


def verdict(p_values, limits=LIMITS, reason=""):
    rows = [
        {"metric": name, "value": value, "ci_low": low, "ci_high": high, "ci_level": 0.95, "ci_method": reason, "n": 9}
        for name, (value, low, high) in limits.items()
    ]
    return verdict_of(rows, [{"metric": name, "p_adjusted": p} for name, p in p_values.items()])


FINE = dict.fromkeys(LIMITS, 0.5)


@pytest.mark.parametrize(
    ("p_values", "limits", "word"),
    [
        ({}, {}, "no miscalibration detected"),
        ({"z_mean": 0.01}, {"z_mean": (1.2, 1.0, 1.4)}, "biased"),
        ({"z_std": 0.01}, {"z_std": (1.5, 1.3, 1.7)}, "over-confident"),
        ({"z_std": 0.01}, {"z_std": (0.5, 0.4, 0.7)}, "under-confident"),
        ({"z_mean": 0.01, "z_std": 0.01}, {"z_std": (1.5, 1.3, 1.7)}, "biased and over-confident"),
        ({"coverage_90": 0.02}, {}, "badly shaped"),
        ({"coverage_90": 0.03}, {}, "no miscalibration detected"),  # two tests of the shape: 0.06
        ({"coverage_90": 0.001, "z_std": 0.01}, {"z_std": (1.5, 1.3, 1.7)}, "over-confident"),
        ({}, {"z_std": (1.0, 0.7, 1.2)}, "inconclusive"),
        ({}, {"z_mean": (0.0, -1.0, 1.0)}, "inconclusive"),
        ({"z_std": 0.06}, {"z_std": (1.1, 1.02, 1.2)}, "inconclusive"),  # excludes 1 but for the number of regions
    ],
)
def test_the_verdict_follows_the_rule(p_values, limits, word):
    assert verdict(FINE | p_values, LIMITS | limits).word == word


def test_without_any_test_the_verdict_gives_the_reason_and_the_estimates():
    none = {name: (value, None, None) for name, (value, *_) in LIMITS.items()}
    found = verdict({}, none, "fewer than 8 cells")

    assert (found.word, found.why) == ("cannot be tested", "fewer than 8 cells")
    assert "90 % intervals cover 90.0 %; std of z 1" in found.effect


def test_the_coverage_has_its_interval():
    assert verdict(FINE).covered == "90 % intervals cover 90.0 % (88.0 to 92.0 %)"
    assert verdict(FINE).effect.startswith(verdict(FINE).covered)


def test_where_only_a_part_can_be_tested_nothing_is_praised():
    found = verdict({"z_mean": 0.5}, LIMITS | {"z_std": (1.0, None, None)}, "few blocks")

    assert found.word == "inconclusive"
    assert "spread not tested: few blocks" in found.why


QUANTILES = {"quantile_coverage_50": (0.5, 0.45, 0.55), "coverage_90": (0.9, 0.88, 0.92)}


@pytest.mark.parametrize(
    ("p_values", "limits", "word"),
    [
        ({"quantile_coverage_50": 0.01}, {"quantile_coverage_50": (0.7, 0.6, 0.8)}, "biased"),
        (
            {"quantile_coverage_50": 0.01, "coverage_90": 0.01},
            {"coverage_90": (0.7, 0.6, 0.8)},
            "biased and over-confident",
        ),
        ({"coverage_90": 0.01}, {"coverage_90": (0.7, 0.6, 0.8)}, "over-confident"),  # in the place of the std of z
        ({"coverage_90": 0.01}, {"coverage_90": (0.97, 0.96, 0.98)}, "under-confident"),
        ({"quantile_coverage_5": 0.01}, {"quantile_coverage_5": (0.1, 0.08, 0.12)}, "badly shaped"),
        ({}, {}, "no miscalibration detected"),
        ({}, {"quantile_coverage_50": (0.5, 0.2, 0.8)}, "inconclusive"),
        ({}, {"coverage_90": (0.9, 0.75, 0.95)}, "inconclusive"),
        ({}, {"coverage_90": (0.9, None, None)}, "inconclusive"),
    ],
)
def test_quantiles_are_judged_by_their_median_and_coverage(p_values, limits, word):
    assert verdict(dict.fromkeys(QUANTILES, 0.5) | p_values, QUANTILES | limits).word == word


@pytest.mark.parametrize(
    ("p", "gap", "word"),
    [
        (0.01, (0.04, 0.02, 0.06), "over-confident"),
        (0.01, (-0.04, -0.06, -0.02), "under-confident"),
        (0.5, (0.01, -0.02, 0.04), "no miscalibration detected"),
        (0.5, (0.01, -0.06, 0.08), "inconclusive"),
    ],
)
def test_classes_are_judged_by_the_confidence_less_the_accuracy(p, gap, word):
    found = verdict({"overconfidence": p}, {"overconfidence": gap})

    assert found.word == word
    assert found.gap == gap[0]
    assert found.std_factor is None


CLASSES = {
    "overconfidence": (0.0, -0.01, 0.01),
    "share_bias_open": (0.01, -0.01, 0.03),
    "share_bias_tall forest": (-0.01, -0.03, 0.01),
}


@pytest.mark.parametrize(
    ("p_values", "limits", "word", "metric"),
    [
        ({}, {}, "no miscalibration detected", "share_bias_open"),
        ({"share_bias_open": 0.01}, {"share_bias_open": (0.1, 0.05, 0.2)}, "biased", "share_bias_open"),
        ({"share_bias_open": 0.03}, {"share_bias_open": (0.02, 0.01, 0.03)}, "inconclusive", "share_bias_open"),  # 0.06
        ({}, {"share_bias_tall forest": (0.0, -0.08, 0.08)}, "inconclusive", "share_bias_tall forest"),
    ],
)
def test_classes_are_judged_by_the_share_of_the_class_that_leaves_most_open(p_values, limits, word, metric):
    found = verdict(dict.fromkeys(CLASSES, 0.5) | p_values, CLASSES | limits)

    assert (found.word, found.bias.metric) == (word, metric)
    assert found.as_record()["effect"]["z_mean"] is None


def test_a_class_without_a_test_leaves_the_verdict_open():
    tested = {"overconfidence": 0.5, "share_bias_open": 0.5}
    found = verdict(tested, CLASSES | {"share_bias_tall forest": (0.0, None, None)}, "few blocks")

    assert found.word == "inconclusive"
    assert found.bias.metric == "share_bias_tall forest"


def test_a_form_without_any_part_cannot_be_tested():
    found = verdict({}, {"brier": (0.1, 0.05, 0.2)})

    assert found.word == "cannot be tested"
    assert "neither a std nor a median" in found.why


def test_single_tiles_have_no_verdict_and_no_pixels_is_said():
    row = {"level": "tile", "name": "t", "variable": "v", "model": "", "metric": "z_std", "value": None, "n": 0}

    assert not verdicts_of([row], [])
    (found,) = verdicts_of([row | {"level": "all", "name": "all"}], []).values()
    assert found.word == "no pixels"


def simulated(seed, shift=0.0, factor=1.0):
    """Return the verdict of a forecast whose z has mean `shift` and std `factor` over a map of 512 px."""
    rng = np.random.default_rng(seed)
    z = np.sqrt(0.5) * gaussian_field(rng, 512, 12) + np.sqrt(0.5) * rng.standard_normal((512, 512))
    variance = np.exp(0.3 * gaussian_field(rng, 512, 12))
    tiles = Tiles((np.zeros_like(z), variance, np.sqrt(variance) * (shift + factor * z)))
    variable = Variable(name="v", band=1)
    found = {"v": tiles.infer(QUICK)}
    rows = metric_rows(EvaluationUnit("all", "all", (), {"v": tiles.whole}), [variable], {"v": tiles.choices})
    place = OF["level"], OF["name"], OF["variable"]
    tests = adjusted(rows_of_tests(OF, found["v"]), {place: int(tiles.whole.n)})
    return verdict_of(list(with_intervals(rows, found)), tests)


@pytest.mark.parametrize(
    ("shift", "factor", "word"),
    [
        (1.19, 1.0, "biased"),  # land surface temperature: mean z^2 is 2.4, but the spread is perfect
        (0.0, 1.6, "over-confident"),
        (0.0, 0.6, "under-confident"),
        (0.8, 1.6, "biased and over-confident"),
        (0.0, 1.0, "no miscalibration detected"),
    ],
)
def test_a_simulated_forecast_gets_the_verdict_that_is_true(shift, factor, word):
    found = simulated(1, shift, factor)

    assert found.word == word
    assert found.std_factor == pytest.approx(factor, rel=0.1)
    assert found.bias.value == pytest.approx(shift, abs=0.15)


def test_calibrated_forecasts_are_seldom_called_miscalibrated():
    words = [simulated(seed).word for seed in range(20, 40)]

    # three parts of 5 % each: 3 of 20 at most; 8 or more happen once in 150 times
    assert sum(word in ("no miscalibration detected", "inconclusive") for word in words) > 12


def test_a_verdict_knows_of_how_many_pixels_it_is():
    row = {"metric": "z_mean", "bins": "", "group": "", "value": 0.2, "ci_low": None, "ci_high": None, "n": 17}
    unknown = row | {"metric": "z_std", "value": None, "n": None}
    assert (verdict_of([row, unknown], []).n, verdict_of([], []).n) == (17, 0)
