"""Laws of every number of the registry: partitions, order and empty parts, ties, and data of any size and offset."""

from functools import partial

import numpy as np
import pytest
from everything import CHOICES, LEVELS, SCHEMES, numbers_of, summary_of, values_of
from hypothesis import given, settings
from hypothesis import strategies as st
from restatement import binned_metrics, calibration_metrics, group_metrics, level_metrics, plain_metrics, valid
from scipy.stats import norm, spearmanr

from geouq import metrics
from geouq.metrics import level_name, metrics_of
from geouq.summary import GROUPED_BY, add_all, empty_summary
from geouq.summary.form import GAUSSIAN

# Numbers that are counts of pixels, and so the same whatever the order of the sums.
COUNTED = {
    metric.name for metric in metrics_of(GAUSSIAN) if metric.choice in ("group", "calibration", "calibration_weights")
}
COUNTED |= {"coverage", "coverage_above", "coverage_below", "spearman"}
# Differences between nearly equal pixels lose digits. PIT is that of the mean z of the pixels in a 128th of a unit of
# z, which moves by half of that where they are few, and of unlike std.
LOOSE = {"r2": 1e-9, "error_width_corr": 1e-9, "pit_mean": 2e-3, "pit_std": 2e-3}
NOT_RESTATED = {("ause", "", ""): 0.0}
POWERS = {"1": 0, "unit": 1, "unit^2": 2}


def drawn(shape, seed, *, missing=0.0, offset=10.0, size=1.0, dtype=np.float64):
    """A forecast whose variances are log-normal: mean, variance, truth; truth is NaN where missing."""
    rng = np.random.default_rng(seed)
    variance, mean = rng.lognormal(0, 0.8, shape), 3 * rng.standard_normal(shape)
    truth = mean + 1.3 * np.sqrt(variance) * rng.standard_normal(shape)
    truth[rng.random(shape) < missing] = np.nan
    layers = offset + size * mean, size**2 * variance, offset + size * truth
    return tuple(layer.astype(dtype) for layer in layers)


def restated(mean, variance, truth):
    """Every number of the registry on whole arrays, in the words of `numbers_of`, but AUSE, which has no short one."""
    layers = valid(mean, variance, truth)
    s, e = np.sqrt(layers[1]), layers[0] - layers[2]
    pit = norm.cdf(-e / s)
    rank = spearmanr(np.abs(e), s).statistic if np.ptp(s) else np.nan
    found = plain_metrics(*layers) | calibration_metrics(*layers, CHOICES.calibration_levels)
    found |= {"pit_mean": pit.mean(), "pit_std": pit.std(), "spearman": rank}
    numbers = {(name, "", ""): value for name, value in found.items()}
    for scheme in SCHEMES:
        binned = binned_metrics(*layers, scheme.scheme, scheme.count)
        numbers |= {(name, scheme.name, ""): value for name, value in binned.items()}
    for level in LEVELS:
        at_level = level_metrics(*layers, level)
        numbers |= {(level_name(name, level), "", ""): value for name, value in at_level.items()}
        for by in GROUPED_BY:
            grouped = group_metrics(*layers, level, by, CHOICES.groups.count)
            numbers |= {(level_name(name, level), "", by): value for name, value in grouped.items()}
    return numbers


def assert_alike(found, expected, tolerance):
    """Numbers with their metrics are those expected; tolerance(metric, bins, group) says how close, None for any."""
    unknown = sorted({name for name, *_ in set(found) - set(expected)})
    assert not unknown, "numbers that `restated` does not know: restate them there"
    wrong = {}
    for (name, bins, group), (metric, value) in found.items():
        wanted = expected[name, bins, group]
        allowed = tolerance(metric, bins, group)
        if allowed is not None and value != pytest.approx(wanted, rel=allowed[0], abs=allowed[1], nan_ok=True):
            wrong[name, bins, group] = (value, wanted)
    assert not wrong


def rounded(size, metric, _bins, _group):
    """Relative and absolute tolerance of what is summed in another order: none for counts."""
    if metric.name in COUNTED:
        return 0, 0
    close = LOOSE.get(metric.name, 1e-12)
    return close, close * size ** POWERS[metric.unit]


def close_to_whole_arrays(size, metric, bins, group):
    """Of sums and bins of equal width 1e-9; bins and groups whose edges split a key have some pixels of other ones."""
    power = size ** POWERS[metric.unit]
    if metric.choice == "ordering":
        return (0, 5e-3) if metric.name == "spearman" else None
    if group or (bins and not bins.startswith("equal-width")):
        return 0, 0.01 * power
    close = 1e-5 if metric.name in ("pit_mean", "pit_std") else 1e-9
    return close, close * power


def test_every_metric_is_asked_for_and_restated():
    arrays = drawn((9, 9), 1)
    found = values_of(summary_of(*arrays))

    own_laws = {
        metric.name for metric in metrics_of(GAUSSIAN) if metric.choice == "threshold"
    }  # stand with their thresholds
    not_asked_for = (
        {metric.name for metric in metrics_of(GAUSSIAN)} - {metric.name for metric, _ in found.values()} - own_laws
    )

    assert not not_asked_for, "metrics of which CHOICES in everything.py asks no number"
    assert_alike(found, restated(*arrays) | NOT_RESTATED, lambda *_: None)


@given(data=st.data(), dtype=st.sampled_from([np.float32, np.float64]))
@settings(max_examples=40, deadline=None)
def test_any_partition_and_order_of_parts_gives_the_same_numbers(data, dtype):
    """Of any shape and mask, each pixel in a part of its own choice: counts exactly, sums to 1e-12."""
    shape = data.draw(st.tuples(st.integers(1, 40), st.integers(1, 40)))
    seed, missing = data.draw(st.integers(0, 2**32 - 1)), data.draw(st.sampled_from([0, 0.1, 0.5, 0.95]))
    count = data.draw(st.integers(1, 7))
    mean, variance, truth = drawn(shape, seed, missing=missing, dtype=dtype)
    label = np.random.default_rng(seed).integers(0, count, shape)
    order = data.draw(st.permutations(range(count + 1)))  # one more than there are: a part without pixels

    parts = [summary_of(mean, variance, np.where(label == part, truth, np.nan)) for part in order]

    assert_alike(values_of(add_all(parts)), numbers_of(summary_of(mean, variance, truth)), partial(rounded, 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_order_of_pixels_changes_no_number(dtype):
    arrays = drawn((70, 80), 3, missing=0.2, dtype=dtype)
    order = np.random.default_rng(4).permutation(arrays[0].size)

    mixed = values_of(summary_of(*(array.ravel()[order] for array in arrays)))

    assert_alike(mixed, numbers_of(summary_of(*arrays)), partial(rounded, 1))


def test_empty_parts_change_no_bit():
    whole = summary_of(*drawn((30, 30), 5))
    nothing = summary_of(*np.full((3, 4, 4), np.nan))
    expected = {name: np.float64(value).tobytes() for name, value in numbers_of(whole).items()}

    for parts in ([nothing, whole], [whole, nothing], [empty_summary(LEVELS), whole, nothing, nothing]):
        found = numbers_of(add_all(parts))
        assert {name: np.float64(value).tobytes() for name, value in found.items()} == expected


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the restatement, which divides by no spread
def test_one_pixel_has_every_number_but_those_of_spread():
    expected = restated([1.0], [4.0], [2.0])
    expected |= dict.fromkeys([(name, "", "") for name in ("r2", "error_width_corr", "spearman", "cv")], np.nan)

    found = values_of(summary_of([1.0], [4.0], [2.0]))

    assert_alike(found, expected | NOT_RESTATED, lambda *_: (1e-12, 1e-5))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_constant_std_has_no_dispersion_and_no_correlation(dtype):
    mean, variance, truth = drawn((60, 70), 6, dtype=dtype)
    arrays = mean, np.full_like(variance, 0.7), truth

    found, expected = values_of(summary_of(*arrays)), restated(*arrays)

    assert found["cv", "", ""][1] == pytest.approx(0, abs=1e-15)
    assert np.isnan(found["error_width_corr", "", ""][1])
    assert np.isnan(found["spearman", "", ""][1])
    gone = [(name, "", "") for name in ("cv", "error_width_corr", "spearman")]
    rest = {name: value for name, value in found.items() if name not in gone}
    assert_alike(rest, expected | NOT_RESTATED, lambda metric, _, group: close_to_whole_arrays(1, metric, "", group))


def test_ties_are_counted_exactly():
    """Of few values of truth, mean and variance a key holds one: groups and bins of all kinds are exact.

    Rank correlation is left out: it puts errors in order by their variance and |z|, and sees no tie among them.
    """
    mean, variance, truth = (np.round(layer) for layer in drawn((80, 90), 7, offset=5))
    arrays = mean, variance.clip(1, 5), truth

    found = values_of(summary_of(*arrays))

    rest = {name: value for name, value in found.items() if name[0] != "spearman"}
    assert_alike(rest, restated(*arrays) | NOT_RESTATED, lambda metric, *_: close_to_whole_arrays(1, metric, "", ""))


def test_an_offset_of_100_000_std_in_float32_costs_no_digits():
    """Groups by truth and by mean are left out: a key of them is 1 part in 512 of the value, here 20."""
    arrays = drawn((90, 90), 8, offset=1e4, size=0.1, dtype=np.float32)
    found = values_of(summary_of(*arrays))

    kept = {name: value for name, value in found.items() if name[2] not in ("truth", "mean")}

    assert_alike(kept, restated(*arrays) | NOT_RESTATED, partial(close_to_whole_arrays, 0.1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("variance", [1e-30, 1e30])
def test_variances_of_any_size_are_summed(variance, dtype):
    size = np.sqrt(variance)
    arrays = drawn((90, 90), 9, offset=0, size=size, dtype=dtype)

    found = values_of(summary_of(*arrays))

    assert_alike(found, restated(*arrays) | NOT_RESTATED, partial(close_to_whole_arrays, size))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exponent", [-50, -7, 7, 50])
def test_another_unit_changes_the_numbers_by_their_unit(exponent, dtype):
    """Powers of two lose no digit, whatever the edges: every number to 1e-12, but nll, which gains log(factor)."""
    arrays = drawn((70, 70), 10, dtype=dtype)
    factor = dtype(2.0) ** exponent
    one = values_of(summary_of(*arrays))

    other = values_of(summary_of(factor * arrays[0], factor**2 * arrays[1], factor * arrays[2]))

    powers = {name: float(factor) ** POWERS[metric.unit] for name, (metric, _) in one.items()}
    expected = {name: value * powers[name] for name, (_, value) in one.items()}
    expected["nll", "", ""] += exponent * np.log(2)
    assert_alike(other, expected, partial(rounded, float(factor)))


@pytest.mark.parametrize("factor", [1e-30, 1e30])
def test_variances_that_have_nothing_to_do_with_the_errors_are_summed(factor):
    """|z| is then 1e15, or 1e-15; the order of errors is not told by |z| that far out, and is left out."""
    mean, variance, truth = drawn((60, 70), 11)
    arrays = mean, variance * factor, truth
    found, expected = numbers_of(summary_of(*arrays)), restated(*arrays)

    for name in ("zms", "z_mean", "z_std", "rce", "cv", "sharpness", "bias", "rmse", "r2", "error_width_corr", "nll"):
        assert found[name, "", ""] == pytest.approx(expected[name, "", ""], rel=1e-9), name
    for name in ("uce", "ence", "uce_normalized", "ence_normalized"):
        where = name, "equal-width-10", ""
        assert found[where] == pytest.approx(expected[where], rel=1e-9), name
    s = np.sqrt(arrays[1])
    allowed = 5e-9 * s.mean()
    assert found["crps", "", ""] == pytest.approx(expected["crps", "", ""], rel=1e-9, abs=allowed)
    for level in LEVELS:
        assert found[level_name("coverage", level), "", ""] == (factor > 1)
        width = found[level_name("width", level), "", ""]
        assert width == pytest.approx(2 * norm.ppf((1 + level) / 2) * s.mean(), rel=1e-12)


@pytest.mark.parametrize("factor", [1e-6, 0.3, 3, 1e6])
def test_the_order_of_errors_does_not_ask_how_large_the_variances_are(factor):
    mean, variance, truth = drawn((100, 100), 12)
    one, other = summary_of(mean, variance, truth), summary_of(mean, factor * variance, truth)

    assert metrics.spearman(other) == pytest.approx(metrics.spearman(one), abs=5e-3)
    assert metrics.ause(other) == pytest.approx(metrics.ause(one), abs=5e-3)
