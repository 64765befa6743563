"""The answer at the top: worst first, the effect in words, and never praise for lack of evidence."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from large_report import large_content

from geouq.config import Variable
from geouq.pages import write_report
from geouq.pages.headline import (
    FEW_CELLS,
    compared,
    covered,
    effect_words,
    headline,
    headline_of_region,
    listed,
    of_few_members,
    reasons,
    shifted,
)
from geouq.verdict import NOT_ADJUSTED, Part, Verdict

VARIABLES = [Variable(name="AGB", band=1), Variable(name="Clay", band=2)]
FEW = "fewer than 8 effective cells"


def verdict(std=1.0, mean=0.0, coverage=0.9, finding="", reason="", word="inconclusive"):
    p = None if reason else 0.5
    spread = Part("z_std", std, p_adjusted=p, finding=finding, reason=reason)
    bias, shape = Part("z_mean", mean, p_adjusted=p, reason=reason), Part("pit_std", 0.3, p_adjusted=p, reason=reason)
    limits = (None, None) if reason else (0.68, 0.9)
    return Verdict((finding or word,), bias, spread, shape, Part("coverage_90", coverage, *limits))


def answer(whole, regions=()):
    found = {("all", "all", name, ""): one for name, one in whole.items()}
    found |= {("region", region, name, ""): one for region, name, one in regions}
    return headline(VARIABLES, found)


OVER = "over-confident"


@pytest.mark.parametrize(
    ("whole", "regions", "tone", "sentence"),
    [
        (
            {"AGB": verdict(1.3, finding=OVER), "Clay": verdict(2.0, finding=OVER)},
            [],
            "bad",
            "Not trustworthy as it is: all 2 variables are over-confident.",
        ),
        (
            {"AGB": verdict(1.3), "Clay": verdict(2.0, finding=OVER)},
            [],
            "bad",
            "Not trustworthy as it is: Clay is over-confident; AGB may be off too, which the tests cannot settle.",
        ),
        (
            {"AGB": verdict(), "Clay": verdict(1.1, finding=OVER)},
            [],
            "open",
            "Miscalibrated, but by little where certain: Clay is over-confident.",
        ),
        (
            {"AGB": verdict(), "Clay": verdict()},
            [("east", "Clay", verdict(2.0, finding=OVER))],
            "bad",
            "Not trustworthy in east, where Clay is miscalibrated.",
        ),
        (
            {"AGB": verdict(), "Clay": verdict(1.1, finding=OVER)},
            [("east", "AGB", verdict(2.0, finding=OVER)), ("west", "AGB", verdict(1.1, finding=OVER))],
            "bad",
            "Not trustworthy in east, where AGB is miscalibrated; on the whole, Clay is off by little.",
        ),
        (
            {"AGB": verdict(1.4), "Clay": verdict()},
            [],
            "open",
            "Not shown to be trustworthy: AGB may be off, which the tests cannot settle.",
        ),
        (
            {"AGB": verdict(word="no miscalibration detected"), "Clay": verdict(word="no miscalibration detected")},
            [],
            "fine",
            "No miscalibration detected in any of 2 variables.",
        ),
        (
            {"AGB": verdict(word="no miscalibration detected"), "Clay": verdict()},
            [],
            "open",
            "Not shown to be trustworthy: no test finds a miscalibration, but not all of them are conclusive.",
        ),
        ({}, [], "open", "There is no verdict: nothing could be judged."),
    ],
)
def test_the_sentence_answers(whole, regions, tone, sentence):
    found = answer(whole, regions)

    assert (found.tone, found.sentence) == (tone, sentence)


def tight(std=1.0, std_limits=(0.995, 1.005), mean=0.0, mean_limits=(-0.01, 0.01), shape="", bias=""):
    """A verdict whose intervals are far inside the limits of what matters."""
    findings = tuple(filter(None, (bias, shape))) or ("no miscalibration detected",)
    parts = (
        Part("z_mean", mean, *mean_limits, 0.95, 0.01 if bias else 0.5, bias),
        Part("z_std", std, *std_limits, 0.95, 0.5),
        Part("coverage_90", 0.89916, 0.89856, 0.89974, 0.95, 0.02 if shape else 0.5, shape),
    )
    return Verdict(findings, *parts, Part("coverage_90", 0.89916, 0.89856, 0.89974, 0.95, 0.02))


def test_a_significant_difference_that_is_known_to_be_small_is_called_nearly_calibrated():
    small = tight(shape="badly shaped")

    assert answer({"AGB": small, "Clay": tight()}).sentence == "Nearly calibrated: AGB is badly shaped, but by little."
    assert answer({"AGB": small, "Clay": tight()}).tone == "open"
    wide = {"AGB": small, "Clay": verdict()}
    assert answer(wide).sentence == "Miscalibrated, but by little where certain: AGB is badly shaped."


def test_a_small_finding_in_a_region_is_not_called_no_finding():
    found = answer({"AGB": tight(), "Clay": tight()}, [("east", "Clay", tight(mean=0.02, bias="biased"))])

    assert (
        found.sentence
        == "No miscalibration detected in any of 2 variables on the whole; Clay in east is off by little."
    )
    assert found.tone == "open"


def test_numbers_have_the_digits_that_tell_them_from_the_ideal():
    small = tight(shape="badly shaped", mean=-0.0004, mean_limits=(-0.0007, -0.0001), bias="biased")

    assert covered(small) == "90 % intervals cover 89.92 % of the pixels (89.86 to 89.97 %)"
    assert shifted(small) == "predictions 0.0004 std (0.0001 to 0.0007) above the truth"


def test_the_worst_variable_comes_first_with_its_effect_in_words():
    found = answer({"AGB": verdict(1.32, coverage=0.82), "Clay": verdict(2.2, mean=0.9, coverage=0.63)})

    assert [line.name for line in found.lines] == ["Clay", "AGB"]
    assert found.lines[0].effect.endswith(
        "errors scatter 2.2 times as much as predicted; predictions 0.90 std below the truth, not significant"
    )
    assert found.lines[1].effect == (
        "90 % intervals cover 82 % of the pixels (68 to 90 %); errors scatter 1.32 times as much as predicted"
    )


def test_an_effect_that_may_be_chance_says_so():
    none, spread = Part(""), Part("z_std", 1.0)
    sure, unsure, adjusted = (
        shifted(Verdict((OVER,), Part("z_mean", 0.9, *limits, 0.95, p, finding), spread, none, none))
        for limits, p, finding in (((0.2, 1.6), 0.001, "biased"), ((-0.5, 2.3), 0.2, ""), ((0.1, 1.7), 0.06, ""))
    )

    assert sure == "predictions 0.90 std (0.20 to 1.60) below the truth"
    assert unsure == "predictions 0.90 std (−0.50 to 2.30) below the truth, not significant"  # noqa: RUF001
    assert adjusted == (
        "predictions 0.90 std (0.10 to 1.70) below the truth, not significant after the adjustment for the "
        "number of regions"
    )


def test_a_bias_without_a_test_says_so_where_the_verdict_names_another_finding():
    none, spread = Part(""), Part("z_std", 2.0, 1.4, 3.2, 0.95, 0.001, OVER)
    bias = Part("z_mean", -1.08, reason=FEW)

    assert shifted(Verdict((OVER,), bias, spread, none, none)) == "predictions 1.08 std above the truth, not tested"
    assert shifted(Verdict(("cannot be tested",), bias, Part("z_std", 2.0), none, none)) == (
        "predictions 1.08 std above the truth"
    )


def test_the_whole_has_the_digits_in_a_region_that_it_has_on_the_first_page():
    none = Part("")
    spread = Part("z_std", 2.1634, 1.3, 3.9, 0.95, 0.001, OVER)
    whole = Verdict((OVER,), none, spread, none, Part("coverage_90", 0.63))

    assert "errors scatter 2.2 (1.3 to 3.9) times" in effect_words(whole)
    assert compared(whole) == "the whole: 63 % and 2.2 times"


def judged(findings, inside, shape=("pit_std", 0.2887), limits=(0.95, 1.2), ends=(0.29, 0.31)):
    none = Part("z_mean", 0.1, -0.2, 0.4, 0.95, 0.5)
    parts = {
        "biased": ("bias", Part("z_mean", -0.33, -0.66, -0.01, 0.95, 0.04, "biased")),
        "over-confident": ("spread", Part("z_std", 1.3, 1.1, 1.6, 0.95, 0.01, "over-confident")),
        "badly shaped": ("shape", Part(*shape, *ends, 0.95, 0.01, "badly shaped")),
    }
    own = {
        "bias": none,
        "spread": Part("z_std", 1.07, *limits, 0.95, 0.2),
        "shape": Part("pit_std", 0.3, None, None, 0.95, 0.5),
    }
    own |= dict(parts[finding] for finding in findings if finding in parts)
    return Verdict(findings, *own.values(), Part("coverage_90", 0.85, *inside, 0.95, 0.2))


HOLDS_90 = (0.77, 0.91)


def test_a_shape_that_differs_by_little_has_the_digits_of_its_interval():
    part = Part("coverage_50", 0.49876, 0.4978, 0.4997, 0.95, 0.01, "badly shaped")
    found = replace(judged(("badly shaped",), HOLDS_90), shape=part)

    reason = "v: coverage of 50 % is 49.88 % (49.78 to 49.97 %) and differs from 50 % (covers too little)."
    assert reasons({"v": found}) == reason


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        (judged(("biased",), HOLDS_90), "v: mean of z differs from 0 (over-prediction)."),
        (
            judged(("badly shaped",), HOLDS_90, ("pit_std", 0.301)),
            "v: std PIT is 0.301 (0.290 to 0.310) and differs from 0.289 (truth too often in the tails).",
        ),
        (
            judged(("badly shaped",), (0.8, 0.88), ("coverage_50", 0.41), ends=(0.36, 0.46)),
            "v: coverage of 50 % is 41 % (36 to 46 %) and differs from 50 % (covers too little).",
        ),
        (
            judged(("inconclusive",), HOLDS_90),
            "v: the interval of the coverage includes 90 %: too few independent cells to conclude.",
        ),
        (
            judged(("inconclusive",), (0.8, 0.88)),
            "v: the intervals include the ideal values: too few independent cells to conclude.",
        ),
        (judged(("inconclusive",), HOLDS_90, limits=(1.01, 1.2)), f"v: {NOT_ADJUSTED}."),
        # the numbers in the line show these
        (judged(("over-confident",), (0.8, 0.88)), ""),
        (judged(("no miscalibration detected",), HOLDS_90), ""),
        (verdict(reason=FEW, word="cannot be tested"), ""),
    ],
)
def test_a_verdict_that_the_coverage_does_not_show_has_a_reason(verdict, reason):
    assert reasons({"v": verdict}) == reason


def test_a_forecast_without_a_std_has_a_reason_by_its_coverage_too():
    bias, shape = (
        Part("quantile_coverage_50", 0.55, 0.4, 0.7, 0.95, 0.3),
        Part("coverage_90", 0.85, *HOLDS_90, 0.95, 0.4),
    )
    unsure = Verdict(("inconclusive",), bias, Part("", reason="the forecast has no std"), shape, shape)

    assert reasons({"v": unsure}).startswith("v: the interval of the coverage includes 90 %: too few independent cells")


def test_variables_with_the_same_coverage_and_different_verdicts_have_different_reasons():
    biased, unsure = judged(("biased",), HOLDS_90), judged(("inconclusive",), HOLDS_90)
    variables = [Variable(name=name, band=1) for name in ("AGB", "Clay", "OCS")]
    own = {"AGB": unsure, "Clay": biased, "OCS": unsure}
    found = headline(variables, {("all", "all", name, ""): one for name, one in own.items()})
    of_region = headline_of_region(variables, "a", {("region", "a", name, ""): one for name, one in own.items()})

    assert {line.effect.partition(";")[0] for line in found.lines} == {
        "90 % intervals cover 85 % of the pixels (77 to 91 %)"
    }
    assert [line.certainty for line in found.lines] == ["biased", "inconclusive", "inconclusive"]
    assert (
        found.why
        == of_region.why
        == (
            "Clay: mean of z differs from 0 (over-prediction). "
            "AGB and OCS: the interval of the coverage includes 90 %: too few independent cells to conclude."
        )
    )


def test_an_over_wide_std_is_as_bad_as_one_that_is_too_small_by_the_same_factor():
    found = answer({"AGB": verdict(1 / 2.2), "Clay": verdict(2.1)})

    assert [line.name for line in found.lines] == ["AGB", "Clay"]
    assert "errors scatter 0.455 times as much as predicted" in found.lines[0].effect


def sized(n, *choice, **choices):
    return replace(verdict(*choice, **choices), n=n)


@pytest.mark.parametrize(
    ("n", "worst"), [(1, "AGB in west"), (29, "AGB in west"), (900, "AGB in west"), (1100, "AGB in p1")]
)
def test_a_sliver_is_not_the_worst_region(n, worst):
    sliver = sized(n, 9.0, coverage=0.0, reason=FEW, word="cannot be tested")
    others = [sized(10_000, 1.5), sized(12_000), sized(10_000)]
    found = answer(
        {"AGB": verdict()}, [("p1", "AGB", sliver), *zip(("west", "b", "c"), ["AGB"] * 3, others, strict=True)]
    )

    assert found.worst.name == worst
    assert "p1" not in found.worst.certainty


def test_no_region_is_the_worst_where_all_have_a_few_pixels():
    regions = [(f"p{n}", "AGB", sized(n, 9.0, coverage=0.0, reason=FEW, word="cannot be tested")) for n in (1, 5, 20)]
    assert answer({"AGB": verdict()}, regions).worst is None


def test_a_sliver_with_a_significant_effect_is_named():
    found = answer({"AGB": verdict()}, [("p1", "AGB", sized(25, 2.0, finding=OVER)), ("p2", "AGB", sized(10_000, 1.5))])
    assert found.worst.name == "AGB in p1"


def test_the_worst_region_is_named_although_it_cannot_be_tested():
    worst = verdict(2.5, coverage=0.46, reason=FEW, word="cannot be tested")
    found = answer({"AGB": verdict(), "Clay": verdict()}, [("east", "Clay", worst), ("west", "AGB", verdict(1.1))])

    assert (found.worst.name, found.worst.certainty) == ("Clay in east", FEW_CELLS)
    assert "cover 46 % of the pixels;" in found.worst.effect


def test_a_significant_region_is_named_before_one_with_a_larger_effect_that_is_not():
    larger = verdict(2.5, coverage=0.46, reason=FEW, word="cannot be tested")
    sure, little = verdict(1.6, finding=OVER), verdict(1.1, finding=OVER)

    found = answer({"AGB": verdict()}, [("east", "Clay", larger), ("west", "AGB", sure)]).worst
    assert found.name == "AGB in west"
    assert found.certainty == "over-confident"
    assert found.besides == f"Clay in east may be off by more: {FEW_CELLS}"
    # an effect that does not matter is named only if no other does
    assert answer({"AGB": verdict()}, [("east", "Clay", larger), ("west", "AGB", little)]).worst.name == "Clay in east"


def test_a_bias_and_a_small_spread_that_cancel_in_the_mean_square_of_z_stay_severe():
    assert verdict(0.7, mean=0.7).severity == pytest.approx(math.log(1 / 0.7) / math.log(1.25))
    assert verdict(1.0, mean=-1.5).severity == pytest.approx(2.0)


def test_without_a_std_the_severity_follows_from_coverage_and_median():
    no_std = Part("", reason="the forecast has no std")
    calibrated, short = (Verdict(("x",), no_std, no_std, no_std, Part("coverage_90", share)) for share in (0.9, 0.6827))
    shifted = Verdict(("x",), Part("quantile_coverage_50", 0.9), no_std, no_std, Part("coverage_90", 0.9))

    assert calibrated.severity == pytest.approx(0.0)
    assert short.severity == pytest.approx(math.log(1.645) / math.log(1.25), abs=1e-2)
    assert shifted.severity == pytest.approx(0.4 / 0.2734, abs=1e-3)


def test_a_verdict_without_numbers_has_no_severity():
    nothing = Part("", reason="the forecast has no std")

    assert Verdict(("x",), nothing, nothing, nothing).severity is None


def test_of_many_names_the_first_are_listed():
    assert listed(["a"]) == "a"
    assert listed(list("abcdef")) == "a, b, c and 3 more"


def test_a_certain_finding_comes_before_larger_effects_that_are_not_certain():
    found = answer({"AGB": verdict(1.05, finding=OVER), "Clay": verdict(2.0)})

    assert [line.name for line in found.lines] == ["AGB", "Clay"]


def test_the_sentence_names_each_region_once_and_not_too_many_of_them():
    stds = {region: 2 + number / 100 for number, region in enumerate("abcde")}
    regions = [(region, name, verdict(std, finding=OVER)) for region, std in stds.items() for name in ("AGB", "Clay")]

    assert answer({"AGB": verdict(), "Clay": verdict()}, regions).sentence == (
        "Not trustworthy in some regions: AGB and Clay in a; AGB and Clay in b; AGB and Clay in c; "
        "variables of 2 more regions are miscalibrated."
    )


def test_variables_that_may_be_off_by_more_are_not_said_to_be_off_by_little():
    found = answer(
        {"AGB": verdict(1.1, finding=OVER), "Clay": verdict(2.0)}, [("east", "AGB", verdict(2.0, finding=OVER))]
    )

    assert found.sentence == (
        "Not trustworthy in east, where AGB is miscalibrated; on the whole, AGB is off by little, "
        "and Clay may be off by more."
    )


def test_a_region_without_an_effect_that_matters_is_not_called_the_worst():
    fine = verdict(word="no miscalibration detected")

    assert answer({"AGB": fine}, [("east", "AGB", verdict(1.1))]).worst is None
    assert answer({"AGB": fine}, [("east", "AGB", verdict(1.1, finding=OVER))]).worst.name == "AGB in east"


def test_a_narrow_interval_of_the_coverage_has_a_digit_more():
    one = verdict(coverage=0.9004)
    narrow = replace(one, inside=replace(one.inside, ci_low=0.8991, ci_high=0.9012))

    assert covered(narrow) == "90 % intervals cover 90.0 % of the pixels (89.9 to 90.1 %)"


def test_the_level_of_the_limits_is_named():
    none, spread = Part(""), Part("z_std", 1.2, 1.0, 1.4, 0.95, 0.01, OVER)
    found = answer({"AGB": Verdict((OVER,), none, spread, none, none), "Clay": verdict()})

    assert found.limits == "95 % confidence intervals"
    assert answer({"Clay": verdict()}).limits == "confidence intervals"


def test_a_region_that_has_the_pixels_of_another_is_not_named_again():
    regions = [(region, name, verdict(2.0, finding=OVER)) for region in ("NORTH", "out") for name in ("AGB", "Clay")]

    found = answer({"AGB": verdict(), "Clay": verdict()}, regions).sentence

    assert found == "Not trustworthy in NORTH, where AGB and Clay are miscalibrated."


@pytest.mark.parametrize("members", [9, 15, 40])
def test_what_few_members_explain_is_what_a_perfect_ensemble_scores(members):
    rng = np.random.default_rng(members)
    drawn, truth = rng.normal(size=(members, 200_000)), rng.normal(size=200_000)
    z = (truth - drawn.mean(axis=0)) / drawn.std(axis=0)

    covered, scatter = re.search(
        r"cover (\d+) %, and errors that scatter ([\d.]+) times", of_few_members(members)
    ).groups()
    assert float(covered) == pytest.approx(100 * np.mean(np.abs(z) <= 1.6448536), abs=0.8)
    assert float(scatter) == pytest.approx(z.std(), rel=0.02)


@pytest.mark.parametrize("members", [0, 2, 3, 60])
def test_nothing_is_said_of_many_members_or_of_other_forecasts(members):
    assert of_few_members(members) == ""


def test_the_verdict_of_a_region_stands_before_the_numbers_of_the_whole(tmp_path):
    given = large_content(tiles=4, regions=1)
    write_report(given, tmp_path)
    html = next(tmp_path.glob("region*.html")).read_text(encoding="utf-8")
    (line,) = re.findall("<li><strong>.*?</li>", html)

    assert line.index("cannot be tested") < line.index("the whole: ")


def test_the_sentence_names_variables_in_the_order_of_the_lines():
    found = answer({"AGB": verdict(1.9, finding=OVER), "Clay": verdict(2.2, finding="biased", word="biased")})

    assert [line.name for line in found.lines] == ["Clay", "AGB"]
    assert found.sentence == "Not trustworthy as it is: Clay is biased; AGB is over-confident."
