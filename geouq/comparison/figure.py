"""Differences as a figure: a dot with its interval for each region and run or model, a panel for each metric."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from geouq.figures import IDEAL, INK, PALETTE, save_figure
from geouq.figures.style import dress, key, new_figure, plain, tiling, with_units
from geouq.metrics import shown_in, usual_name
from geouq.tables.rows import Row

COLOURS = PALETTE[:-1]
MOST_REGIONS = 40
ROW = 3.8  # mm


def draw_differences(rows: Sequence[Row], paths: Mapping[str, Path], *, bins: str, baseline: str) -> list[Path]:
    """Write a figure of each variable to its path, of binned numbers with one scheme; return the files."""
    for variable, path in paths.items():
        own = [row for row in rows if row["variable"] == variable and row["bins"] in ("", bins)]
        save_figure(differences_figure(own, title=variable, baseline=baseline), path)
    return list(paths.values())


def differences_figure(rows: Sequence[Row], *, title: str, baseline: str, width: float | None = None) -> Figure:
    """Return the differences of a variable from the first run; a full dot is significant, an empty one is not.

    Of more than 40 regions the first are drawn. A number without an interval is an empty dot alone.
    """
    regions = list(dict.fromkeys(row["name"] for row in rows))[:MOST_REGIONS]
    runs = list(dict.fromkeys(row["run"] for row in rows))
    panels = dict.fromkeys(map(usual_name, shown_in("differences")))
    metrics = [metric for metric in panels if any(row["metric"] == metric for row in rows)]
    width, across, down = tiling(len(metrics), width, 2)
    figure = new_figure(
        f"{title}: difference from {baseline}", width, down * (14 + ROW * max(4, len(regions) * len(runs)))
    )
    places = figure.subplots(down, across, squeeze=False, sharey=True).ravel()
    for axes, metric in zip(places, metrics, strict=False):
        for number, run in enumerate(runs):
            own = [row for row in rows if row["metric"] == metric and row["run"] == run and row["name"] in regions]
            _draw(axes, own, regions, (number - (len(runs) - 1) / 2) * 0.7 / len(runs), COLOURS[number % len(COLOURS)])
        units = next(row["units"] for row in rows if row["metric"] == metric)
        dress(axes, with_units(metric, units))
        axes.locator_params(axis="x", nbins=4)
        axes.axvline(0, color=IDEAL, linewidth=1.2, linestyle="--")
        axes.set_yticks(range(len(regions)), [plain(name, 24) for name in regions])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(regions) - 0.5, -0.5)
    for axes in places[len(metrics) :]:
        axes.remove()
    for number, run in enumerate(runs):
        places[0].plot([], [], color=COLOURS[number % len(COLOURS)], marker="o", linestyle="none", label=plain(run))
    for face, label in ((INK, "which is better is certain"), ("white", "not certain")):
        places[0].plot([], [], color=INK, marker="o", linestyle="none", markerfacecolor=face, label=label)
    key(figure, places[:1])
    return figure


def _draw(axes: Axes, rows: Sequence[Row], regions: Sequence[str], shift: float, colour: str) -> None:
    for row in rows:
        if row["difference"] is None:
            continue
        y = regions.index(row["name"]) + shift
        if row["ci_low"] is not None:
            axes.plot([row["ci_low"], row["ci_high"]], [y, y], color=colour, linewidth=1.5)
        face = colour if row["significant"] == "yes" else "white"
        axes.plot([row["difference"]], [y], color=colour, marker="o", markersize=4, markerfacecolor=face, zorder=3)
