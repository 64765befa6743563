"""Numbers side by side: of regions, of groups of pixels, and in and out of distribution."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from geouq.core.units import squared
from geouq.core.wording import for_people
from geouq.figures.style import (
    DATA,
    GREEN,
    IDEAL,
    INK,
    LETTERS,
    MARKERS,
    MINUS,
    PALETTE,
    decades,
    dress,
    key,
    new_figure,
    note,
    percent,
    pixels,
    plain,
    readable_name,
    shortened,
    size_of,
    tiling,
    width_of,
    with_units,
    without_pixels,
)
from geouq.metrics import (
    group_coverage,
    group_edges,
    group_places,
    ideal_value,
    named,
    shown_in,
    unit_of_groups,
    usual_name,
)
from geouq.metrics.record import Around, Ratio
from geouq.summary import ClassCoverage, Summary
from geouq.tables.rows import Row

Floats = NDArray[np.float64]

MOST = 60
ROW = 3.8  # mm
SLIM = 110  # points: axes that are narrower have shorter names next to them
Panel = tuple[str, str]


def region_figure(rows: Sequence[Row], *, title: str, width: float | None = None) -> Figure:
    """Return a figure with a dot and interval for each region, a panel for each variable and metric of the rows.

    rows : of the table of metrics, of the whole and of regions. The whole comes first; the dashed line is the ideal
    value, where there is one. A dot without an interval is empty. Of more than 60 regions the 30 lowest and the 30
    highest are drawn.
    """
    panels = list(dict.fromkeys((row["variable"], row["metric"]) for row in rows if row["value"] is not None))
    names = sorted_names(rows, panels)
    shown = names if len(names) <= MOST + 1 else [*names[: MOST // 2 + 1], *names[-MOST // 2 :]]
    width, across, down = tiling(len(panels), width, 2)
    figure = new_figure(title, width, down * (12 + ROW * max(4, len(shown))))
    if not names:
        figure.text(0.5, 0.5, "no region has a value", ha="center", va="center", fontsize=LETTERS, color=INK)
        return figure
    several = len({variable for variable, _ in panels}) > 1
    axes = list(figure.subplots(down, across, squeeze=False, sharey=True).ravel())
    for panel, own in zip(panels, axes, strict=False):
        found = [row for row in rows if (row["variable"], row["metric"]) == panel]
        draw_regions(own, {row["name"]: row for row in found}, shown, several=several)
    for own in axes[len(panels) :]:
        own.remove()
    axes[0].set_ylim(len(shown) - 0.4, -0.6)
    _describe(figure, rows, names, shown, panels)
    key(figure, axes[:1])
    return figure


def sorted_names(rows: Sequence[Row], panels: Sequence[Panel]) -> list[str]:
    """Return the whole, then the regions from the lowest value of the first panel to the highest; missing ones last."""
    values = {row["name"]: row["value"] for row in rows if (row["variable"], row["metric"]) in panels[:1]}
    whole = {row["name"]: 0 if row["level"] == "all" else 1 for row in rows}
    return sorted(values, key=lambda name: (whole[name], np.inf if values[name] is None else values[name]))


def draw_regions(axes: Axes, found: Mapping[str, Row], names: Sequence[str], *, several: bool = False) -> None:
    """Draw the dot and the interval of each region."""
    any_row = next(iter(found.values()))
    draw_ideal(axes, any_row["metric"])
    for y, name in enumerate(names):
        row = found.get(name)
        if row is None or row["value"] is None:
            continue
        colour = INK if row["level"] == "all" else DATA
        known = row["ci_low"] is not None
        if known:
            axes.plot([row["ci_low"], row["ci_high"]], [y, y], color=colour, linewidth=1.5)
        axes.plot(
            row["value"], y, color=colour, marker="s" if row["level"] == "all" else "o", markersize=4,
            markerfacecolor=colour if known else "white", zorder=3, linestyle="none",
            label="the whole" if row["level"] == "all" else "region",
        )  # fmt: skip
    metric = with_units(any_row["metric"], any_row["units"])
    dress(axes, f"{shortened(any_row['variable'], 22)}\n{metric}" if several else metric)
    ends = [row[of] for row in found.values() for of in ("value", "ci_low", "ci_high") if row[of] is not None]
    if is_ratio(any_row["metric"]) and min(ends) > 0 and max(ends) > 10 * min(ends):
        decades(axes, max(ends) / min(ends), y=False)
    else:
        axes.locator_params(axis="x", nbins=4)
    longest = 16 if size_of(axes)[0] < SLIM else 24
    axes.set_yticks(range(len(names)), [plain(name, longest) for name in names])
    axes.tick_params(axis="y", length=0)


def draw_ideal(axes: Axes, metric: str) -> None:
    """Draw a dashed line at the ideal value, unless it is a limit that numbers cannot pass."""
    ideal = ideal_of(metric)
    if ideal is not None and (ideal or is_signed(metric)):
        axes.axvline(ideal, color=IDEAL, linewidth=1.2, linestyle="--", label="ideal", zorder=1)


def region_panels() -> list[str]:
    """Return the names of the numbers with a panel by default. The first, a ratio, sorts the regions."""
    shown = sorted(shown_in("regions"), key=lambda metric: not isinstance(metric.scale, Ratio))
    return list(dict.fromkeys(map(usual_name, shown)))


def ideal_of(name: str) -> float | None:
    """Return the ideal value of a number by its name in the tables; None where it is small or large.

    >>> ideal_of("zms"), ideal_of("coverage_90"), ideal_of("crps")
    (1.0, 0.9, None)
    """
    found = named(name)
    return ideal_value(*found) if found else None


def is_ratio(name: str) -> bool:
    """Return whether a number by its name in the tables is a ratio about 1."""
    found = named(name)
    return found is not None and isinstance(found[0].scale, Ratio)


def is_signed(name: str) -> bool:
    """Return whether a number by its name in the tables lies on either side of an ideal of 0."""
    found = named(name)
    return found is not None and isinstance(found[0].scale, Around) and ideal_value(*found) == 0


def _describe(
    figure: Figure, rows: Sequence[Row], names: Sequence[str], shown: Sequence[str], panels: Sequence[Panel]
) -> None:
    whole = [row for row in rows if row["level"] == "all"]
    levels = [row["ci_level"] for row in rows if row["ci_low"] is not None]
    lacking = levels and any(row["ci_low"] is None for row in rows if row["value"] is not None)
    parts = [
        f"{pixels(whole[0]['n'])} in all" if whole else "",
        f"intervals: {percent(levels[0])}, block bootstrap" if levels else "no intervals: too few blocks",
        "empty: no interval" if lacking else "",
        f"sorted by {readable_name(panels[0][1])}",
        f"{len(shown)} of {len(names)} rows" if len(shown) < len(names) else "",
    ]
    note(figure, ", ".join(part for part in parts if part))


MOST_LEVELS = 4
APART = 0.1  # of a group, between levels whose intervals would lie on each other
VARIANCE = "variance"  # what has squared units
GroupLimits = Mapping[tuple[str, float], Floats]


def group_coverage_figure(
    summary: Summary,
    *,
    title: str,
    groupings: Sequence[str],
    levels: Sequence[float],
    groups: int = 10,
    classes: Mapping[str, Mapping[int, str]] | None = None,
    units: str = "",
    limits: GroupLimits | None = None,
    confidence: float = 0.95,
    width: float | None = None,
) -> Figure:
    """Return the share of the truth inside the intervals in each group of pixels, a panel for each way of grouping.

    Groups hold equal numbers of pixels in the order of what they are grouped by, or are classes, by their codes (or the
    names in `classes`, by grouping and code). Dashed lines are the levels. Of more than four levels those nearest to
    50, 68, 90 and 95 % are drawn. Groups by truth blame even a perfect forecaster where noise grows with the truth.
    limits : of the coverage of the groups, (2, groups), by grouping and level, at the level `confidence`. Raises
    SummaryError where coverage by that was not kept.
    """
    width, across, down = tiling(len(groupings), width, 1)
    figure = new_figure(title, width, 58 * down)
    if not summary.n:
        return without_pixels(figure)
    panels, own = list(figure.subplots(down, across, squeeze=False, sharey=True).ravel()), _shown(levels)
    for by, axes in zip(groupings, panels, strict=False):
        known = {level: limits[by, level] for level in own if limits and (by, level) in limits}
        names = (classes or {}).get(by, {})
        draw_groups(axes, summary, by, levels=own, groups=groups, classes=names, units=units, limits=known)
    low, high = panels[0].get_ylim()  # without room for the lines of the levels
    panels[0].set_ylim(max(0.0, min(low, 100 * min(own) - 2)), min(102.0, max(high, 100 * max(own) + 2)))
    for axes in panels[::across]:
        axes.set_ylabel("covered (%)")
    for axes in panels[len(groupings) :]:
        axes.remove()
    equal = not all(isinstance(summary.coverage_by(by), ClassCoverage) for by in groupings)
    size = ", groups of equal numbers of pixels" if equal else ""
    note(figure, f"{pixels(summary.n)}{size}", _certainty(limits, confidence))
    key(figure, panels[:1])
    return figure


def _certainty(limits: GroupLimits | None, confidence: float) -> str:
    if limits is None:
        return ""
    known = [np.isfinite(one).all(axis=0) for one in limits.values()]
    if not known or not np.concatenate(known).any():
        return "no intervals: too few independent tiles"
    lacking = "" if np.concatenate(known).all() else "; none where tiles tell too little"
    return f"intervals: {percent(confidence)}, bootstrap of tiles{lacking}"


def draw_groups(
    axes: Axes,
    summary: Summary,
    by: str,
    *,
    levels: Sequence[float],
    groups: int,
    classes: Mapping[int, str],
    units: str = "",
    limits: Mapping[float, Floats] | None = None,
) -> None:
    """Draw the coverage of each group, its limits by level, and the levels dashed."""
    by_class = isinstance(summary.coverage_by(by), ClassCoverage)
    places = group_places(summary, by, groups)
    x = np.arange(len(places)) + 0.5
    for number, level in enumerate(levels):
        share, colour = 100 * group_coverage(summary, level, by, groups), PALETTE[number]
        own = limits[level] if limits and np.isfinite(limits.get(level, np.nan)).any() else None
        here = x if own is None else x + APART * (number - (len(levels) - 1) / 2)
        axes.plot(
            here, share, color=colour, marker=MARKERS[number], markersize=3.5, linewidth=1.2,
            linestyle="none" if by_class else "-", label=percent(level),
        )  # fmt: skip
        axes.axhline(100 * level, color=IDEAL, linewidth=1, linestyle="--")
        if own is not None:
            axes.vlines(here, *(100 * own), color=colour, linewidth=1.6, alpha=0.5)
    axes.set_xlim(0, len(x))
    if by_class:
        axes.set_xticks(x, [classes.get(int(code), f"{code:g}") for code in places], rotation=90 if len(x) > 8 else 0)
        dress(axes, f"{by} (class)")
    else:
        _mark_values(axes, group_edges(summary, by, groups))
        dress(axes, with_units(by, squared(units) if by == VARIANCE else unit_of_groups(by, units)))


def _mark_values(axes: Axes, edges: Floats) -> None:
    """Write the values at the edges of the groups, as many as have room."""
    labels = [for_people(float(edge)).replace("-", MINUS) for edge in edges]
    room = size_of(axes)[0] / len(edges)
    step = next(
        (k for k in range(1, len(edges)) if max(map(_width, labels[::k])) + LETTERS / 2 <= k * room), len(edges)
    )
    axes.set_xticks(range(len(edges)), minor=True)
    axes.set_xticks(range(0, len(edges), step), labels[::step])


def _width(label: str) -> float:
    return width_of(label, LETTERS)


def _shown(levels: Sequence[float]) -> list[float]:
    if len(levels) <= MOST_LEVELS:
        return list(levels)
    return sorted({min(levels, key=lambda level: abs(level - wanted)) for wanted in (0.5, 0.6827, 0.9, 0.95)})


def shift_figure(rows: Sequence[Row], *, title: str, width: float | None = None) -> Figure:
    """Return each metric in and out of the distribution of the training data, with the interval of the difference.

    rows : of the table `shift`, of a variable. The bar lies where the value out of distribution would be if the
    difference had either limit of its interval: one that does not hold the value in is a shift. Dashed is the ideal.
    """
    found = [next((row for row in rows if row["metric"] == metric), None) for metric in region_panels()]
    used = [row for row in found if row is not None and row["difference"] is not None]
    width, across, down = tiling(len(used), width, 2)
    figure = new_figure(title, width, 3 + 28 * down)
    if not used:
        figure.text(0.5, 0.5, "nothing to compare", ha="center", va="center", fontsize=LETTERS, color=INK)
        return figure
    panels = list(figure.subplots(down, across, squeeze=False, sharey=True).ravel())
    for row, axes in zip(used, panels, strict=False):
        draw_shift(axes, row)
    for axes in panels[len(used) :]:
        axes.remove()
    level = next(
        (f"bar: {percent(row['ci_level'])} of the difference" for row in used if row["ci_level"]), "no interval"
    )
    note(figure, f"in: {pixels(used[0]['n_in'])}, out: {pixels(used[0]['n_out'])}, {level}")
    key(figure, panels[:1])
    return figure


def draw_shift(axes: Axes, row: Row) -> None:
    """Draw a metric in and out of distribution, and the interval of the difference."""
    draw_ideal(axes, row["metric"])
    axes.plot([row["in"], row["in"]], [0, 1], color=DATA, linewidth=0.8, linestyle=":", zorder=2)
    if row["ci_low"] is not None:
        ends = [row["in"] + row["ci_low"], row["in"] + row["ci_high"]]
        axes.plot(
            ends, [1, 1], color=GREEN, linewidth=3, alpha=0.6, solid_capstyle="butt", label="in plus the difference"
        )
    axes.plot(row["in"], 0, color=DATA, marker="o", markersize=6, linestyle="none", label="in", zorder=3)
    axes.plot(row["out"], 1, color=GREEN, marker="s", markersize=6, linestyle="none", label="out", zorder=3)
    dress(axes, with_units(row["metric"], row["units"]))
    axes.locator_params(axis="x", nbins=4)
    axes.margins(x=0.12)
    axes.set_yticks([0, 1], ["in", "out"])
    axes.set_ylim(1.5, -0.5)
