"""The answer at the top of a page, in sentences: is the uncertainty right, where not, by how much, how certainly."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from geouq.aggregates.area import half_width
from geouq.config import Variable
from geouq.core.gaussian import quantile
from geouq.core.wording import digits_from, for_people, true_minus, with_interval
from geouq.inference import TOO_FEW
from geouq.metrics import class_in, deviation, heading_at, heading_of, named
from geouq.pages.percent import PERCENT
from geouq.verdict import INCONCLUSIVE, NARROW_GAP, NOT_ADJUSTED, Part, Place, Verdict, is_share, place_of

Tone = Literal["bad", "open", "fine"]

MATTERS = 1.0  # severity from which an effect is named
MOST_LINES = 4  # variables that are described
FEW_LINES = 3  # that fit on the screen of a phone above the scorecard
MOST_NAMES = 3
NARROW_INTERVAL = 0.02  # of a coverage: narrower ones have one digit after the point
NOTHING = "Nothing was evaluated: no variable has a valid pixel."
FEWEST_MEMBERS = 3  # whose z have no variance
CLEAR_SCATTER = 1.05  # of the errors of a perfect ensemble, from which it is named
FEWEST_PIXELS = 30  # of which 90 % intervals hold all by chance in 4 % of cases
SLIVER = 0.1  # of the pixels of the middle region
FEW_CELLS = "too few independent cells to test"


@dataclass(frozen=True)
class Line:
    """One variable of the whole or of a region: its name, the size of the effect, and how certain it is.

    besides : of a region, the same effect in the whole; of the worst region, another one that may be worse.
    """

    name: str
    effect: str
    certainty: str
    besides: str = ""


@dataclass(frozen=True)
class Headline:
    """A sentence that answers, a line for each variable (the worst first), and the worst region.

    more : number of variables that are left out. first : variable on which a map opens. limits : what the numbers in
    parentheses are. why : reasons of the verdicts in the lines, in words, and what few members of an ensemble explain.
    """

    tone: Tone
    sentence: str
    lines: Sequence[Line]
    worst: Line | None
    more: int = 0
    first: str = ""
    limits: str = "confidence intervals"
    why: str = ""

    @property
    def seen(self) -> int:
        """Return how many lines are seen at once: the others would push the map and its diagrams out of view."""
        return len(self.lines) if len(self.lines) <= MOST_LINES + 1 else MOST_LINES

    @property
    def is_short(self) -> bool:
        """Return whether all of it fits on a phone: few lines, which alone show sizes if no worst region does."""
        return self.worst is None and len(self.lines) <= FEW_LINES


def headline(variables: Sequence[Variable], verdicts: Mapping[Place, Verdict]) -> Headline:
    """Return the answer for the whole and its worst region."""
    whole = {
        variable.name: verdicts[place] for variable in variables if (place := place_of("all", variable)) in verdicts
    }
    names = {(variable.variable, variable.model): variable.name for variable in variables}
    regions = _regions(names, verdicts)
    ranked = sorted(whole, key=lambda name: rank(whole[name]))
    tone, sentence = _answer_with_empty(
        {name: whole[name] for name in ranked}, [one for one in regions if one[2].is_certain]
    )
    most = len(ranked) if len(ranked) == MOST_LINES + 1 else MOST_LINES  # "1 more" takes a line, too
    lines = [Line(name, effect_words(whole[name]), _in_short(whole[name])) for name in ranked[:most]]
    worst, first = _worst_region(regions)
    more, first = len(ranked) - len(lines), first or "".join(ranked[:1])
    why = reasons({name: whole[name] for name in ranked[:most]})
    return Headline(tone, sentence, lines, worst, more, first, _limits_of(verdicts.values()), why)


def _regions(names: Mapping[tuple[str, str], str], verdicts: Mapping[Place, Verdict]) -> list[tuple[str, str, Verdict]]:
    """Return the name of the variable, the region and the verdict of each; once where regions have the same pixels."""
    found: dict[tuple[object, ...], tuple[str, str, Verdict]] = {}
    for (level, region, variable, model), verdict in verdicts.items():
        if level == "region":
            name = names[variable, model]
            numbers = tuple(part.value for part in (*verdict.parts.values(), verdict.inside))
            found.setdefault(
                (name, *(numbers if any(own is not None for own in numbers) else (region,))), (name, region, verdict)
            )
    return list(found.values())


def _limits_of(verdicts: Iterable[Verdict]) -> str:
    """Return what the numbers in parentheses are, with the level of the intervals."""
    parts = (part for verdict in verdicts for part in (*verdict.parts.values(), verdict.inside))
    level = next((part.ci_level for part in parts if part.ci_level is not None), None)
    return "confidence intervals" if level is None else f"{100 * level:g} % confidence intervals"


def _worst_region(regions: Sequence[tuple[str, str, Verdict]]) -> tuple[Line | None, str]:
    """Return the region with the largest effect, significant ones first, and its variable; nothing if none matters.

    A larger effect that is not significant is named after it.
    """
    fewest = fewest_pixels(verdict for *_, verdict in regions)
    named = [one for one in regions if importance(one[2], fewest)[1]]
    if not named:
        return None, ""
    largest = max(named, key=lambda one: severity(one[2]))
    name, region, worst = max(named, key=lambda one: importance(one[2], fewest))
    other = f"{largest[0]} in {largest[1]} may be off by more: {certainty(largest[2])}"
    besides = "" if largest[2] is worst else other
    return Line(f"{name} in {region}", effect_words(worst), certainty(worst), besides), name


def importance(verdict: Verdict | None, fewest: float = 0) -> tuple[bool, bool, float]:
    """Return a sort key, the most important last: whether a significant effect matters, whether one is named, its size.

    An effect is named if it is significant, or if it matters and `fewest` pixels or more show it.
    """
    matters, is_certain = severity(verdict) >= MATTERS, verdict is not None and verdict.is_certain
    is_shown = matters and (verdict is None or verdict.n is None or verdict.n >= fewest)
    return is_certain and matters, is_certain or is_shown, severity(verdict)


def fewest_pixels(regions: Iterable[Verdict]) -> float:
    """Return how many pixels a region needs to be named for an effect that is not significant.

    Chance alone makes the effect of few pixels large: of many regions, the smallest ones would be the worst.
    """
    counts = [verdict.n for verdict in regions if verdict.n]
    return max(FEWEST_PIXELS, SLIVER * median(counts)) if counts else 0


def headline_of_region(
    variables: Sequence[Variable], region: str, verdicts: Mapping[Place, Verdict], most: int = 12
) -> Headline:
    """Return the answer for one region, with a line for each variable that compares it with the whole."""
    both = {
        variable.name: (verdicts[place], verdicts.get(place_of("all", variable)))
        for variable in variables
        if (place := place_of(region, variable)) in verdicts
    }
    ranked = sorted(both, key=lambda name: rank(both[name][0]))
    tone, sentence = _answer_with_empty({name: both[name][0] for name in ranked}, [])
    lines = [
        Line(name, effect_words(own), _in_short(own), compared(whole))
        for name, (own, whole) in ((name, both[name]) for name in ranked[:most])
    ]
    more, limits = len(ranked) - len(lines), _limits_of(own for own, _ in both.values())
    why = reasons({name: both[name][0] for name in ranked[:most]})
    return Headline(tone, sentence, lines, None, more, "".join(ranked[:1]), limits, why)


def compared(whole: Verdict | None) -> str:
    """Return a short text of the effect in the whole, next to that in a region; empty without a verdict."""
    if whole is None:
        return ""
    if whole.coverage is None:
        return f"the whole: {effect_words(whole)}"
    factor, part = whole.std_factor, whole.spread
    known = factor is not None and 0 < factor < math.inf
    spread = f" and {with_interval(factor, part.ci_low, part.ci_high).split()[0]} times" if known else ""
    return f"the whole: {100 * whole.coverage:.0f} %{spread}"


def severity(verdict: Verdict | None) -> float:
    """Return the severity of a verdict; -1 where it is unknown."""
    return -1.0 if verdict is None or verdict.severity is None else verdict.severity


def rank(verdict: Verdict) -> tuple[bool, float]:
    """Return a sort key: certain findings first, then by size, so that a short list hides no certain one."""
    return not verdict.is_certain, -severity(verdict)


def effect_words(verdict: Verdict) -> str:
    """Return the size of the effect in words: coverage, spread, and bias if it matters."""
    words = [
        one
        for one in (covered(verdict), spread_words(verdict), too_sure(verdict), shifted(verdict), misjudged(verdict))
        if one
    ]
    return "; ".join(words) or "no estimate"


def covered(verdict: Verdict) -> str:
    """Return the coverage and its interval in per cent, with a decimal if the interval is narrow; empty if missing."""
    if verdict.coverage is None or verdict.coverage_level is None:
        return ""
    few = ": too few independent cells" if verdict.inside.reason in TOO_FEW else ""
    limits, digits = f" (no interval{few})" if verdict.is_certain else "", 0
    if verdict.coverage_limits:
        low, high = verdict.coverage_limits
        digits = digits_from(int(high - low < NARROW_INTERVAL), 100 * verdict.coverage_level, [100 * low, 100 * high])
        limits = f" ({100 * low:.{digits}f} to {100 * high:.{digits}f} %)"
    share = f"{100 * verdict.coverage:.{digits}f} %"
    return f"{100 * verdict.coverage_level:g} % intervals cover {share} of the pixels{limits}"


def spread_words(verdict: Verdict) -> str:
    """Return how much the errors scatter about their mean, with the interval; empty without a std."""
    factor = verdict.std_factor
    if factor is None or not 0 < factor < math.inf:
        return ""
    return f"errors scatter {_with_limits(verdict.spread)} times as much as predicted"


def too_sure(verdict: Verdict) -> str:
    """Return by how much the confidence in classes is off; empty for other forecasts."""
    if verdict.gap is None:
        return ""
    sign, part = 1 if verdict.gap > 0 else -1, verdict.spread
    ends = sorted(100 * sign * end for end in (part.ci_low, part.ci_high) if end is not None)
    limits = f" ({ends[0]:.1f} to {ends[1]:.1f})" if len(ends) == 2 else ""
    points = f"{100 * abs(verdict.gap):.1f} percentage points{limits}"
    return true_minus(f"mean confidence {points} {'above' if sign > 0 else 'below'} the accuracy")


def shifted(verdict: Verdict) -> str:
    """Return the bias if it is significant or as large as half a predicted std; empty otherwise."""
    part = verdict.bias
    if verdict.std_factor is None or part.value is None or not (part.finding or abs(part.value) >= 0.5):
        return ""
    sign = 1 if part.value > 0 else -1
    ends = sorted(sign * end for end in (part.ci_low, part.ci_high) if end is not None)
    digits = digits_from(2, 0.0, [*ends, part.value])
    limits = f" ({ends[0]:.{digits}f} to {ends[1]:.{digits}f})" if len(ends) == 2 else ""
    chance = "" if part.finding else _not_found(verdict, is_excluded=bool(limits) and ends[0] > 0)
    side = "below" if part.value > 0 else "above"
    return true_minus(f"predictions {abs(part.value):.{digits}f} std{limits} {side} the truth{chance}")


def misjudged(verdict: Verdict) -> str:
    """Return by how much the share of a class is off, if that is significant or large; empty for other forecasts."""
    part = verdict.bias
    if not is_share(part.metric) or part.value is None or not (part.finding or abs(part.value) >= NARROW_GAP):
        return ""
    sign = 1 if part.value > 0 else -1
    ends = sorted(100 * sign * end for end in (part.ci_low, part.ci_high) if end is not None)
    limits = f" ({ends[0]:.1f} to {ends[1]:.1f})" if len(ends) == 2 else ""
    share = f"predicted share of {class_in(part.metric)} {100 * abs(part.value):.1f} percentage points{limits}"
    chance = "" if part.finding else _not_found(verdict, is_excluded=bool(limits) and ends[0] > 0)
    return true_minus(f"{share} {'above' if part.value > 0 else 'below'} the observed{chance}")


def _not_found(verdict: Verdict, *, is_excluded: bool) -> str:
    """Return what the tests say of a bias that is no finding; nothing where no part is one, as the verdict says so.

    is_excluded : whether its interval excludes 0.
    """
    if not verdict.bias.is_tested:
        return ", not tested" if verdict.is_certain else ""
    return ", not significant" + (" after the adjustment for the number of regions" if is_excluded else "")


def _with_limits(part: Part, *, in_percent: bool = False) -> str:
    """Return a value and its interval in words, those of a share in per cent."""
    factor, unit = (PERCENT, " %") if in_percent else (1, "")
    numbers = (None if number is None else factor * number for number in (part.value, part.ci_low, part.ci_high))
    value, _, limits = with_interval(*numbers).partition(" ")
    ends = limits.strip("[]").replace(", ", " to ")
    return true_minus(f"{value}{unit} ({ends}{unit})" if limits else f"{value}{unit}")


def certainty(verdict: Verdict) -> str:
    """Return what the tests say, in words."""
    parts = verdict.parts.values()
    if not verdict.is_certain and any(part.reason in TOO_FEW for part in parts):
        untested = [f"the {name}" for name, part in verdict.parts.items() if part.reason in TOO_FEW]
        return f"{verdict.word}: {FEW_CELLS} {listed(untested)}" if any(part.is_tested for part in parts) else FEW_CELLS
    return verdict.word if verdict.is_certain or not verdict.why else f"{verdict.word}: {verdict.why}"


def reasons(verdicts: Mapping[str, Verdict]) -> str:
    """Return why verdicts are as they are, a sentence for each reason; empty if the numbers in the lines show it.

    Variables with the same coverage can have different verdicts: these rest on the mean and std of z, the PIT and their
    intervals.
    """
    groups: dict[str, list[str]] = {}
    for name, one in verdicts.items():
        groups.setdefault(_reason(one), []).append(name)
    groups.pop("", None)
    return " ".join(f"{listed(names)}: {reason}." for reason, names in groups.items())


def of_few_members(members: int) -> str:
    """Return what an ensemble scores whose members and truth are drawn from one normal distribution; empty if near 1.

    The variance of K members is a sample variance. So z times sqrt((K - 1) / (K + 1)) has Student's distribution with
    K - 1 degrees of freedom, and the variance of z is (K + 1) / (K - 3).

    >>> of_few_members(9).removeprefix("Even a perfect ensemble of ")
    '9 members has 90 % intervals that cover 82 %, and errors that scatter 1.29 times as much.'
    >>> of_few_members(100)
    ''
    """
    if members <= FEWEST_MEMBERS or (scatter := math.sqrt((members + 1) / (members - 3))) < CLEAR_SCATTER:
        return ""
    half, low, high = quantile(0.95) * math.sqrt((members - 1) / (members + 1)), 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if half_width(middle, members - 1) < half else (low, middle)
    numbers = f"90 % intervals that cover {100 * low:.0f} %, and errors that scatter {scatter:.2f} times as much"
    return f"Even a perfect ensemble of {members} members has {numbers}."


def _reason(verdict: Verdict) -> str:
    """Return what a verdict rests on if the numbers in its line do not show that; empty otherwise."""
    held = _held_coverage(verdict)
    if verdict.is_certain:
        found = [_differs(part, name) for name, part in verdict.parts.items() if part.finding]
        return " and ".join(found) if held or verdict.shape.finding else ""
    if verdict.findings != (INCONCLUSIVE,) or any(part.reason for part in verdict.parts.values() if part.exists):
        return ""
    if verdict.why == NOT_ADJUSTED:
        return NOT_ADJUSTED
    return f"{held or 'the intervals include the ideal values'}: too few independent cells to conclude"


def _in_short(verdict: Verdict) -> str:
    """Return the verdict in words, without the reason if `reasons` gives one."""
    return verdict.word if _reason(verdict) else certainty(verdict)


def _differs(part: Part, of: str) -> str:
    """Return that a number differs from its ideal, and what that means; with the number if no line shows it.

    of : "bias" or "spread", which have lines, or "shape".
    """
    found = named(part.metric)
    if found is None or part.value is None:
        return part.finding
    heading = heading_of(part.metric) if class_in(part.metric) else heading_at(*found)
    side = deviation(found[0], is_above=part.value > part.ideal)
    name = heading if heading[:1].strip() else f"{found[0].symbol}{heading}"
    in_percent = found[0].percent == "%"
    own = f" is {_with_limits(part, in_percent=in_percent)} and" if of == "shape" else ""
    ideal = f"{for_people(PERCENT * part.ideal)} %" if in_percent else for_people(part.ideal)
    return f"{name}{own} differs from {ideal}{f' ({side})' if side else ''}"


def _held_coverage(verdict: Verdict) -> str:
    """Return that the interval of the coverage includes its level; empty where it does not."""
    if verdict.coverage_level is None or not verdict.inside.holds_ideal:
        return ""
    return f"the interval of the coverage includes {100 * verdict.coverage_level:g} %"


def _answer(whole: Mapping[str, Verdict], regions: Sequence[tuple[str, str, Verdict]]) -> tuple[Tone, str]:
    """Return the tone and the sentence. regions : variable, region and verdict of each significant finding."""
    certain = {name: one for name, one in whole.items() if one.is_certain}
    found, suspected = _found(certain, len(whole)), _suspected(whole, "by more")
    places = [(variable, region) for variable, region, one in regions if severity(one) >= MATTERS]
    if any(severity(one) >= MATTERS for one in certain.values()):
        return "bad", f"Not trustworthy as it is: {found}{_suspected(whole, 'too')}."
    if places:
        return "bad", f"Not trustworthy {_by_region(places)}{_on_the_whole(list(certain), whole)}."
    if certain and all(one.is_narrow for one in whole.values()):
        return "open", f"Nearly calibrated: {found}, but by little."
    if certain:
        return "open", f"Miscalibrated, but by little where certain: {found}{suspected}."
    return _without_findings(whole, [(variable, region) for variable, region, _ in regions])


def _answer_with_empty(whole: Mapping[str, Verdict], regions: Sequence[tuple[str, str, Verdict]]) -> tuple[Tone, str]:
    """Return the tone and the sentence of `_answer`; some variables may have no valid pixel."""
    empty = [name for name, one in whole.items() if one.is_empty]
    if not whole:
        return "open", "There is no verdict: nothing could be judged."
    if len(empty) == len(whole):
        return "open", NOTHING
    tone, sentence = _answer({name: one for name, one in whole.items() if name not in empty}, regions)
    if not empty:
        return tone, sentence
    return "open" if tone == "fine" else tone, f"{sentence} Not evaluated, for lack of valid pixels: {listed(empty)}."


def _by_region(places: Sequence[tuple[str, str]]) -> str:
    """Return where which variables are miscalibrated, such as "in some regions: AGB and Clay in east; AGB in west"."""
    regions: dict[str, list[str]] = {}
    for variable, region in places:
        regions.setdefault(region, []).append(variable)
    miscalibrated = f"{_are(len(places))} miscalibrated"
    if len(regions) == 1:
        ((region, variables),) = regions.items()
        return f"in {region}, where {listed(variables)} {miscalibrated}"
    parts = [f"{listed(variables)} in {region}" for region, variables in regions.items()]
    more = len(parts) - MOST_NAMES
    shown = "; ".join(
        [*parts[:MOST_NAMES], *([f"variables of {more} more region{'s' * (more > 1)}"] if more > 0 else [])]
    )
    return f"in some regions: {shown} {miscalibrated}"


def _without_findings(whole: Mapping[str, Verdict], places: Sequence[tuple[str, str]]) -> tuple[Tone, str]:
    """Return the tone and the sentence where no test of the whole finds a miscalibration.

    places : variable and region of each finding, none of which matters.
    """
    doubtful = [name for name, one in whole.items() if severity(one) >= MATTERS]
    if doubtful:
        return (
            "open",
            f"Not shown to be trustworthy: {listed(doubtful)} may be off, which the tests cannot settle.",
        )
    if all(one.findings == ("no miscalibration detected",) for one in whole.values()):
        if places:
            small = listed(f"{variable} in {region}" for variable, region in places)
            little = f"{small} {_are(len(places))} off by little"
            return "open", f"No miscalibration detected in {_any_of(whole)} on the whole; {little}."
        return "fine", f"No miscalibration detected in {_any_of(whole)}."
    return "open", "Not shown to be trustworthy: no test finds a miscalibration, but not all of them are conclusive."


def _found(certain: Mapping[str, Verdict], count: int) -> str:
    """Return which variables are what, such as "all 3 variables are over-confident"."""
    groups: dict[str, list[str]] = {}
    for name, one in certain.items():
        groups.setdefault(one.word, []).append(name)
    if len(groups) == 1 and len(certain) == count > 1:
        return f"all {count} variables are {next(iter(groups))}"
    return "; ".join(f"{listed(names)} {_are(len(names))} {word}" for word, names in groups.items())


def _suspected(whole: Mapping[str, Verdict], how: str) -> str:
    """Return a clause on the variables whose effect matters without being significant."""
    names = _doubtful(whole)
    return f"; {listed(names)} may be off {how}, which the tests cannot settle" if names else ""


def _on_the_whole(certain: Sequence[str], whole: Mapping[str, Verdict]) -> str:
    """Return how far variables are off in short, where no effect on the whole that matters is significant."""
    if not certain:
        return _suspected(whole, "on the whole")
    doubtful = _doubtful(whole)
    more = f", and {listed(doubtful)} may be off by more" if doubtful else ""
    return f"; on the whole, {listed(certain)} {_are(len(certain))} off by little{more}"


def _doubtful(whole: Mapping[str, Verdict]) -> list[str]:
    """Return the variables whose effect matters without being significant."""
    return [name for name, one in whole.items() if not one.is_certain and severity(one) >= MATTERS]


def _any_of(whole: Mapping[str, Verdict]) -> str:
    return next(iter(whole)) if len(whole) == 1 else f"any of {len(whole)} variables"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def listed(names: Iterable[str]) -> str:
    """Return names as a list in words; of many, the first and how many more.

    >>> listed("ab"), listed("abcde")
    ('a and b', 'a, b, c and 2 more')
    """
    all_names = list(names)
    if len(all_names) > MOST_NAMES + 1:
        return f"{', '.join(all_names[:MOST_NAMES])} and {len(all_names) - MOST_NAMES} more"
    return " and ".join(filter(None, (", ".join(all_names[:-1]), *all_names[-1:])))
