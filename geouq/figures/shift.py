"""In- against out-of-distribution."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from geouq.figures.regions import draw_ideal, region_panels
from geouq.figures.style import (
    DATA,
    GREEN,
    INK,
    LETTERS,
    WIDE,
    dress,
    key,
    new_figure,
    note,
    percent,
    pixels,
    with_units,
)
from geouq.tables.rows import Row


def shift_figure(rows: Sequence[Row], *, title: str) -> Figure:
    """Each metric in and out of the distribution of the training data, with the interval of the difference.

    rows : of the table `shift`, of one variable. The bar lies where the value out of distribution would be if the
    difference had either limit of its interval: one that does not hold the value in is a shift. Dashed is the ideal.
    """
    found = [next((row for row in rows if row["metric"] == metric), None) for metric in region_panels()]
    used = [row for row in found if row is not None and row["difference"] is not None]
    across = min(3, len(used)) or 1
    down = -(-len(used) // across) or 1
    figure = new_figure(title, WIDE, 1.0 + 1.35 * down)
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
    note(panels[0], f"in: {pixels(used[0]['n_in'])}", f"out: {pixels(used[0]['n_out'])}", level, width=40)
    key(figure, panels[:1], columns=4)
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
