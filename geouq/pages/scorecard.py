"""The scorecard of regions and variables: fill is the effect, a border significance, hatching an open question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from geouq.config import Variable
from geouq.core.wording import digits_from, true_minus, with_interval
from geouq.maps.scales import OVER_CONFIDENT_ABOVE, SIGNED, SKILL, Rgb, hexadecimal
from geouq.metrics import named
from geouq.pages.headline import certainty, effect_words, fewest_pixels, importance
from geouq.pages.marks import ELSEWHERE, HOLDS, MARKS, NOT_TESTED, OPEN
from geouq.pages.sheet import DASH, padded
from geouq.verdict import (
    NARROW,
    NARROW_GAP,
    NOT_DETECTED,
    Part,
    Place,
    Verdict,
    is_share,
    limit_of_bias,
    narrow_coverage,
    place_of,
)

SIGNIFICANT, UNCERTAIN, UNTESTED = "sig", "open", "untested"
SKILL_STEPS = (0.0, 0.33, 0.67)
SKILL_COLOURS = (SKILL[0], SKILL[1], SKILL[3], SKILL[5])  # those of the map of R² in the middle of each step
INLINE = 240  # cells on the page itself; further rows are loaded when they are needed
FEWEST_ROWS = 6


class Fill(NamedTuple):
    """How a tab is filled: prefix of the CSS classes, effect sizes at which they change, findings below and above."""

    colours: str
    limits: Sequence[float]
    findings: tuple[str, str]


CONFIDENCE = "under-confident", "over-confident"
SPREAD = Fill("f", (1.1, 1.25, 1.6), CONFIDENCE)  # factors
GAP = Fill("f", (0.01, 0.05, 0.1), CONFIDENCE)  # between confidence and accuracy
COVERAGE = Fill("f", (0.02, 0.05, 0.15), ("covers too much", "covers too little"))
BIAS = Fill("b", (0.1, 0.3, 0.75), ("under-prediction", "over-prediction"))
SHARES = BIAS._replace(limits=GAP.limits)  # between the predicted and the observed share of a class
COLOURS: Mapping[str, Sequence[Rgb]] = {"f": OVER_CONFIDENT_ABOVE, "b": SIGNED}  # of the fills -3 to 3


def fill_rules() -> str:
    """Return the style rules of the fills, in the colours of the maps."""
    fills = {
        f"{prefix}{step}": colour
        for prefix, colours in COLOURS.items()
        for step, colour in enumerate(colours, start=-3)
    } | {f"k{step}": colour for step, colour in enumerate(SKILL_COLOURS)}
    return "".join(f".card .{name} {{ background-color: {hexadecimal(colour)}; }}\n" for name, colour in fills.items())


class Mark(NamedTuple):
    """One tab of a cell: its number, CSS classes for fill and certainty, a number to sort by, and a sign."""

    text: str = DASH
    classes: str = "none"
    order: float = -1.0
    sign: str = ""


@dataclass(frozen=True)
class Tab:
    """A property that the scorecard shows: its name in the address of the page, its title, and how to read it.

    fill : whose signs and colours the key explains; None for a number that is not tested.
    """

    key: str
    title: str
    about: str
    fill: Fill | None = None

    @property
    def meaning(self) -> str:
        """Return what the numbers are, without how to read their colours."""
        return f"{self.about.partition('. ')[0]}."


@dataclass(frozen=True)
class CardCell:
    """A variable in a region: a mark for each tab, and the verdict in words."""

    marks: Sequence[Mark]
    words: str


@dataclass(frozen=True)
class CardRow:
    """A region with its page, a cell for each variable, and the importance of its largest effect."""

    name: str
    link: str
    cells: Sequence[CardCell]
    importance: tuple[bool, bool, float]


EXCLUDED_ALONE = "The interval of the coverage excludes"
WHY_OPEN = (
    "A ? or ✓ may stand where the interval alone excludes the level: p is multiplied by the number of tests of PIT and "
    "coverage."
)
TABS = (
    Tab(
        "coverage",
        "Coverage",
        "Share of the truth inside the predicted intervals, per cent. Orange, △: too little; purple, ▽: too much.",
        COVERAGE,
    ),
    Tab(
        "spread",
        "Spread",
        "Factor by which errors scatter more about their mean than predicted (std of z); their mean is under Bias. For "
        "classes, the confidence minus the accuracy, in percentage points. Orange, ▲: over-confident; purple, ▼: "
        "under-confident.",
        SPREAD,
    ),
    Tab(
        "bias",
        "Bias",
        "Mean of z: how far the truth is above the mean, in units of the predicted std. Red, ↑: predictions are too "
        "high; blue, ↓: too low. For "
        "classes, the predicted minus the observed share of the class that decides, in percentage points.",
        BIAS,
    ),
    Tab(
        "skill",
        "Skill",
        "Share of the variance of the truth that the mean explains (R²). Darkest: no more than a constant.",
    ),
)


def scorecard(
    variables: Sequence[Variable],
    regions: Mapping[str, str],
    verdicts: Mapping[Place, Verdict],
    skill: Mapping[Place, float | None],
) -> list[CardRow]:
    """Return a row for the whole and for each region, the whole first and then the worst.

    Parameters
    ----------
    regions : mapping
        Link of each region by its name.
    skill : mapping
        R² by place, for the last tab.
    """
    fewest = fewest_pixels(verdict for (level, *_), verdict in verdicts.items() if level == "region")
    links = {"all": "", **regions}
    rows = _aligned([_row(name, link, variables, verdicts, skill, fewest=fewest) for name, link in links.items()])
    return [rows[0], *sorted(rows[1:], key=lambda row: row.importance, reverse=True)]


def _aligned(rows: Sequence[CardRow]) -> list[CardRow]:
    """Return rows with the decimal points of each column and tab below each other."""
    columns = zip(*([[mark.text for cell in row.cells for mark in cell.marks] for row in rows]), strict=True)
    texts = zip(*map(padded, columns), strict=True) if rows[0].cells else [()] * len(rows)
    found = []
    for row, own in zip(rows, map(iter, texts), strict=True):
        cells = [replace(cell, marks=[mark._replace(text=next(own)) for mark in cell.marks]) for cell in row.cells]
        found.append(replace(row, cells=cells))
    return found


def skill_key() -> list[tuple[str, str]]:
    """Return the class of each fill of the skill, and up to which number it reaches."""
    ends = [f"up to {limit:g}" for limit in SKILL_STEPS]
    return [(f"k{step}", text) for step, text in enumerate([*ends, "above"])]


def shown_tabs(rows: Sequence[CardRow]) -> list[tuple[int, Tab]]:
    """Return the tabs that have a number in some cell, with their positions."""
    cells = [cell for row in rows for cell in row.cells]
    shown = [(k, tab) for k, tab in enumerate(TABS) if any(cell.marks[k].text != Mark().text for cell in cells)]
    if not any(EXCLUDED_ALONE in cell.words for cell in cells):
        return shown
    return [(k, replace(tab, about=f"{tab.about} {WHY_OPEN}") if tab.key == "coverage" else tab) for k, tab in shown]


def rows_inline(rows: Sequence[CardRow]) -> int:
    """Return the number of rows on the page itself."""
    cells = len(rows[0].cells) if rows else 1
    return len(rows) if len(rows) * cells <= INLINE else max(min(FEWEST_ROWS, len(rows)), INLINE // max(1, cells))


def as_record(rows: Sequence[CardRow]) -> list[list[object]]:
    """Return rows as plain values for a script: name, link, and the verdict and marks of each variable."""
    return [[row.name, row.link, [[cell.words, *map(list, cell.marks)] for cell in row.cells]] for row in rows]


def _row(
    name: str,
    link: str,
    variables: Sequence[Variable],
    verdicts: Mapping[Place, Verdict],
    skill: Mapping[Place, float | None],
    *,
    fewest: float,
) -> CardRow:
    own = [(verdicts.get(place), skill.get(place)) for place in (place_of(name, variable) for variable in variables)]
    cells = [_cell(verdict, number) for verdict, number in own]
    worst = max((importance(verdict, fewest) for verdict, _ in own), default=importance(None))
    return CardRow(name, link, cells, worst)


def _cell(verdict: Verdict | None, skill: float | None) -> CardCell:
    if verdict is None:
        return CardCell([Mark(), Mark(), Mark(), _skill(skill)], "no verdict")
    words = f"{effect_words(verdict)} ({certainty(verdict)}){_excluded_alone(verdict)}"
    marks = [_coverage(verdict), _spread(verdict), _bias(verdict)]
    if verdict.is_certain or any(SIGNIFICANT in mark.classes.split() for mark in marks):
        marks = [mark if SIGNIFICANT in mark.classes.split() else _pointing_elsewhere(mark) for mark in marks]
    return CardCell([*marks, _skill(skill)], words)


def _excluded_alone(verdict: Verdict) -> str:
    """Return why a coverage is not significant if its interval excludes the level; empty otherwise."""
    part, level = verdict.inside, verdict.coverage_level
    if level is None or part.ci_low is None or part.p_adjusted is None or part.is_significant or part.holds_ideal:
        return ""
    return (
        f". {EXCLUDED_ALONE} {100 * level:g} %, but not after p is multiplied by the number of "
        f"tests of PIT and coverage, and adjusted for the number of regions (p = {part.p_adjusted:.2g})"
    )


def _pointing_elsewhere(mark: Mark) -> Mark:
    """Return a mark that is not significant with a sign that another number has a significant effect."""
    if mark == Mark():
        return mark
    return mark._replace(sign=ELSEWHERE if mark.sign == HOLDS else mark.sign + ELSEWHERE)


def states(verdict: Verdict) -> dict[str, str]:
    """Return what the tests say of each number, by the key of its tab: significant, open, untested, or nothing.

    A number is open by the rule of the verdict: that of bias and spread also if its interval excludes the ideal before
    the adjustment, that of the coverage by the adjusted p alone, and never if no miscalibration is detected. Numbers
    that the forecast does not have are left out.
    """
    most, factor = limit_of_bias(verdict.bias), (1 / NARROW, NARROW)
    parts = {
        "spread": (verdict.spread, (-NARROW_GAP, NARROW_GAP) if verdict.gap is not None else factor),
        "bias": (verdict.bias, (-most, most)),
    }
    found = {
        tab: _state(part, is_fine=part.holds_ideal and part.lies_within(*ends))
        for tab, (part, ends) in parts.items()
        if _is_shown(part)
    }
    inside, level = verdict.inside, verdict.coverage_level
    if level is not None and _is_shown(inside):
        is_fine = verdict.findings == (NOT_DETECTED,) or inside.lies_within(*narrow_coverage(level))
        found["coverage"] = _state(inside, is_fine=is_fine)
    return found


def _is_shown(part: Part) -> bool:
    """Return whether a part has a value that the scorecard shows; the share of truth below the median has no tab."""
    found = named(part.metric)
    return part.value is not None and found is not None and (found[1] is None or found[0].part == "coverage")


def _spread(verdict: Verdict) -> Mark:
    part, factor, gap = verdict.spread, verdict.std_factor, verdict.gap
    state = states(verdict).get("spread", "")
    if gap is not None:
        return _mark(_signed(100 * gap, 1), GAP, abs(gap), state, is_above=gap > 0)
    if factor is None or factor <= 0:
        return Mark()
    text = with_interval(factor, part.ci_low, part.ci_high).split()[0]
    if state == SIGNIFICANT and float(text) == part.ideal:
        text = f"{factor:.{digits_from(2, part.ideal, [factor])}f}"
    return _mark(text, SPREAD, max(factor, 1 / factor), state, is_above=factor > 1)


def _coverage(verdict: Verdict) -> Mark:
    level, share = verdict.coverage_level, verdict.coverage
    if level is None or share is None:
        return Mark()
    state = states(verdict)["coverage"]
    digits = digits_from(0, 100 * level, [100 * share]) if state == SIGNIFICANT else 0
    return _mark(f"{100 * share:.{digits}f}", COVERAGE, abs(level - share), state, is_above=share < level)


def _bias(verdict: Verdict) -> Mark:
    part, state = verdict.bias, states(verdict).get("bias")
    if part.value is None or state is None:
        return Mark()
    if is_share(part.metric):
        return _mark(_signed(100 * part.value, 1), SHARES, abs(part.value), state, is_above=part.value > 0)
    digits = digits_from(2, part.ideal, [part.value]) if state == SIGNIFICANT else 2
    return _mark(_signed(part.value, digits), BIAS, abs(part.value), state, is_above=part.value < 0)


def _skill(value: float | None) -> Mark:
    if value is None:
        return Mark()
    step = sum(value > limit for limit in SKILL_STEPS)
    return Mark(true_minus(f"{value:.2f}"), f"k{step}", -value)


def _state(part: Part, *, is_fine: bool) -> str:
    if part.is_significant:
        return SIGNIFICANT
    if not part.is_tested:
        return UNTESTED
    return "" if is_fine else UNCERTAIN


def _mark(text: str, fill: Fill, size: float, state: str, *, is_above: bool) -> Mark:
    """Return a text with a sign, and the number of its fill, from -3 to 3."""
    step = sum(size > limit for limit in fill.limits)
    sign = {SIGNIFICANT: MARKS[fill.findings[is_above]], UNCERTAIN: OPEN, UNTESTED: NOT_TESTED}.get(state, HOLDS)
    return Mark(text, f"{fill.colours}{step if is_above else -step} {state}".rstrip(), size, sign)


def _signed(value: float, digits: int) -> str:
    """Return a number with its sign; a number that rounds to 0 is positive."""
    return true_minus(f"{round(value, digits) + 0.0:+.{digits}f}")
