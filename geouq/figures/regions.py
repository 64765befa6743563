"""Metrics by region: dots and intervals, sorted."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from geouq.figures.style import (
    DATA,
    IDEAL,
    INK,
    LETTERS,
    NARROW,
    WIDE,
    decades,
    dress,
    key,
    new_figure,
    note,
    percent,
    pixels,
    plain,
    shortened,
    with_units,
)
from geouq.metrics import ideal_value, named, shown_in, usual_name
from geouq.metrics.record import Around, Ratio
from geouq.tables.rows import Row

MOST = 60
ROW = 0.17  # inches
Panel = tuple[str, str]


def region_figure(rows: Sequence[Row], *, title: str) -> Figure:
    """Return a figure with a dot and interval for each region, a panel for each variable and metric of the rows.

    rows : of the table of metrics, of the whole and of regions. The whole comes first; the dashed line is the ideal
    value, where there is one. A dot without an interval is empty. Of more than 60 regions the 30 lowest and the 30
    highest are drawn.
    """
    panels = list(dict.fromkeys((row["variable"], row["metric"]) for row in rows if row["value"] is not None))
    names = sorted_names(rows, panels)
    shown = names if len(names) <= MOST + 1 else [*names[: MOST // 2 + 1], *names[-MOST // 2 :]]
    across = min(3, len(panels)) or 1
    down = -(-len(panels) // across) or 1
    figure = new_figure(title, WIDE if across > 1 else NARROW, 0.9 + down * (0.75 + ROW * max(4, len(shown))))
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
    key(figure, axes[:1], columns=4)
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
    axes.set_yticks(range(len(names)), [plain(name, 24) for name in names])
    axes.tick_params(axis="y", length=0)


def draw_ideal(axes: Axes, metric: str) -> None:
    """Draw a dashed line at the ideal value, unless it is a limit that numbers cannot pass."""
    ideal = ideal_of(metric)
    if ideal is not None and (ideal or is_signed(metric)):
        axes.axvline(ideal, color=IDEAL, linewidth=1.2, linestyle="--", label="ideal", zorder=1)


def region_panels() -> list[str]:
    """Names of the numbers that have a panel without a request: the ratio, by which regions are sorted, first."""
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
    """Whether a number by its name in the tables is a ratio about 1."""
    found = named(name)
    return found is not None and isinstance(found[0].scale, Ratio)


def is_signed(name: str) -> bool:
    """Whether a number by its name in the tables lies on either side of an ideal of 0."""
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
        f"sorted by {panels[0][1]}",
        f"{len(shown)} of {len(names)} rows" if len(shown) < len(names) else "",
    ]
    note(figure.axes[0], *(part for part in parts if part), width=34)
