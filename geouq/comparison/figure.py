"""Differences as a figure: a dot with its interval for each region and run or model, a panel for each metric."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from geouq.figures import DATA, FAINT, GREEN, INK, VERMILION, save_figure
from geouq.metrics import metric_label, shown_in, usual_name
from geouq.tables.rows import Row

COLOURS = (DATA, VERMILION, GREEN, "#cc79a7", "#e69f00", "#56b4e9")
MOST_REGIONS = 40


def draw_differences(rows: Sequence[Row], paths: Mapping[str, Path], *, bins: str, baseline: str) -> list[Path]:
    """Write a figure of each variable to its path, of binned numbers with one scheme; return the files."""
    for variable, path in paths.items():
        own = [row for row in rows if row["variable"] == variable and row["bins"] in ("", bins)]
        save_figure(differences_figure(own, title=variable, baseline=baseline), path)
    return list(paths.values())


def differences_figure(rows: Sequence[Row], *, title: str, baseline: str) -> Figure:
    """Return the differences of a variable from the first run; a full dot is significant, an empty one is not.

    Of more than 40 regions the first are drawn. A number without an interval is an empty dot alone.
    """
    regions = list(dict.fromkeys(row["name"] for row in rows))[:MOST_REGIONS]
    runs = list(dict.fromkeys(row["run"] for row in rows))
    panels = dict.fromkeys(map(usual_name, shown_in("differences")))
    metrics = [metric for metric in panels if any(row["metric"] == metric for row in rows)]
    across = min(3, len(metrics)) or 1
    down = -(-len(metrics) // across) or 1
    figure = Figure(figsize=(4 * across, down * (1.4 + 0.22 * len(regions) * len(runs)) + 0.6), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(_plain(f"{title}: difference from {baseline}"), fontsize=12, color=INK)
    places = figure.subplots(down, across, squeeze=False, sharey=True).ravel()
    for axes, metric in zip(places, metrics, strict=False):
        for number, run in enumerate(runs):
            own = [row for row in rows if row["metric"] == metric and row["run"] == run and row["name"] in regions]
            _draw(axes, own, regions, (number - (len(runs) - 1) / 2) * 0.7 / len(runs), COLOURS[number % len(COLOURS)])
        units = next(row["units"] for row in rows if row["metric"] == metric)
        label = metric_label(metric)
        axes.set_title(_plain(f"{label} ({units})" if units else label), fontsize=10, color=INK)
        axes.locator_params(axis="x", nbins=4)
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.grid(visible=True, axis="x", color=FAINT, linewidth=0.4)
        axes.set_yticks(range(len(regions)), [_plain(name) for name in regions])
        axes.set_ylim(len(regions) - 0.5, -0.5)
    for axes in places[len(metrics) :]:
        axes.set_axis_off()
    for number, run in enumerate(runs):
        places[0].plot([], [], color=COLOURS[number % len(COLOURS)], marker="o", linestyle="none", label=_plain(run))
    for face, label in ((INK, "which is better is certain"), ("white", "not certain")):
        places[0].plot([], [], color=INK, marker="o", linestyle="none", markerfacecolor=face, label=label)
    figure.legend(*places[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def _draw(axes: Axes, rows: Sequence[Row], regions: Sequence[str], shift: float, colour: str) -> None:
    for row in rows:
        if row["difference"] is None:
            continue
        y = regions.index(row["name"]) + shift
        if row["ci_low"] is not None:
            axes.plot([row["ci_low"], row["ci_high"]], [y, y], color=colour, linewidth=1.5)
        face = colour if row["significant"] == "yes" else "white"
        axes.plot([row["difference"]], [y], color=colour, marker="o", markersize=5, markerfacecolor=face, zorder=3)


def _plain(text: str) -> str:
    """Return the text in which no $ begins a formula."""
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    return shown.replace("$", r"\$")
