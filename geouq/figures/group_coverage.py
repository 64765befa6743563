"""Coverage by group."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from geouq.figures.style import (
    MARKERS,
    NARROW,
    PALETTE,
    WIDE,
    dress,
    key,
    new_figure,
    note,
    percent,
    pixels,
    without_pixels,
)
from geouq.metrics import group_coverage, group_places
from geouq.summary import ClassCoverage, Summary

MOST_LEVELS = 4


def group_coverage_figure(
    summary: Summary,
    *,
    title: str,
    groupings: Sequence[str],
    levels: Sequence[float],
    groups: int = 10,
    classes: Mapping[str, Mapping[int, str]] | None = None,
) -> Figure:
    """Share of the truth inside the intervals in each group of pixels, a panel for each way of grouping.

    Groups hold equal numbers of pixels in the order of what they are grouped by, or are classes, by their codes (or the
    names in `classes`, by grouping and code). Dashed lines are the levels. Of more than four levels those nearest to
    50, 68, 90 and 95 % are drawn. Groups by truth blame even a perfect forecaster where noise grows with the truth.
    Raises SummaryError where coverage by that was not kept.
    """
    across = min(len(groupings), 3)
    down = -(-len(groupings) // across)
    figure = new_figure(title, NARROW if across == 1 else WIDE, 0.9 + 2.8 * down)
    if not summary.n:
        return without_pixels(figure)
    panels = list(figure.subplots(down, across, squeeze=False, sharey=True).ravel())
    for by, axes in zip(groupings, panels, strict=False):
        draw_groups(axes, summary, by, levels=_shown(levels), groups=groups, classes=(classes or {}).get(by, {}))
    panels[0].set_ylim(max(0.0, panels[0].get_ylim()[0]), min(102.0, panels[0].get_ylim()[1]))
    for axes in panels[::across]:
        axes.set_ylabel("covered (%)")
    for axes in panels[len(groupings) :]:
        axes.remove()
    note(panels[0], pixels(summary.n), width=30)
    key(figure, panels[:1], columns=4)
    return figure


def draw_groups(
    axes: Axes, summary: Summary, by: str, *, levels: Sequence[float], groups: int, classes: Mapping[int, str]
) -> None:
    """Coverage of each group, and the levels dashed."""
    by_class = isinstance(summary.coverage_by(by), ClassCoverage)
    places = group_places(summary, by, groups)
    x = np.arange(len(places)) if by_class else 100 * places
    for number, level in enumerate(levels):
        axes.plot(
            x, 100 * group_coverage(summary, level, by, groups), color=PALETTE[number], marker=MARKERS[number],
            markersize=3.5, linewidth=1.2, linestyle="none" if by_class else "-", label=percent(level),
        )  # fmt: skip
        axes.axhline(100 * level, color=PALETTE[number], linewidth=1, linestyle="--")
    if by_class:
        axes.set_xticks(x, [classes.get(int(code), f"{code:g}") for code in places], rotation=90 if len(x) > 8 else 0)
        dress(axes, f"{by} (class)")
    else:
        axes.set_xlim(0, 100)
        dress(axes, f"pixels in the order of {by} (%)")


def _shown(levels: Sequence[float]) -> list[float]:
    if len(levels) <= MOST_LEVELS:
        return list(levels)
    return sorted({min(levels, key=lambda level: abs(level - wanted)) for wanted in (0.5, 0.6827, 0.9, 0.95)})
