"""Correlogram of the residuals."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from geouq.figures.style import DATA, GREEN, IDEAL, INK, MARKERS, dress, key, new_figure, note
from geouq.inference import Blocks
from geouq.inference.correlogram import Correlogram
from geouq.text.wording import for_people


def correlogram_figure(blocks: Blocks, *, title: str) -> Figure:
    """Correlation between cells of what each adds to the mean error, squared error and z², by their distance.

    Dotted lines show how far each reaches; blocks of the bootstrap are to be at least as large.
    """
    figure = new_figure(title, height=4.0)
    axes = figure.subplots()
    cell, unit = draw_correlogram(axes, blocks)
    side = f"{for_people(blocks.side * cell)} {unit} a side" if blocks.side else "one a tile"
    size = for_people(blocks.reaches["error"].effective)
    note(
        axes,
        f"{blocks.count} blocks, {side}",
        f"{blocks.cells} cells, worth {size} independent ones for the mean error",
    )
    key(figure, [axes])
    return figure


def draw_correlogram(axes: Axes, blocks: Blocks) -> tuple[float, str]:
    """Draw the correlation of each residual; return the side of a cell and its unit."""
    metres = np.isfinite(blocks.cell_metres)
    cell, unit = (blocks.cell_metres / 1000, "km") if metres else (blocks.cell_pixels, "pixels")
    styles = zip(("error", "squared error", "z²"), (DATA, IDEAL, GREEN), MARKERS, strict=False)
    for one, (name, colour, marker) in zip(_shown(blocks), styles, strict=False):
        axes.plot(
            one.lags * cell,
            one.correlation,
            color=colour,
            marker=marker,
            markersize=3.5,
            linewidth=1.2,
            label=name,
            clip_on=False,
        )
        axes.axvline(one.reach * cell, color=colour, linewidth=1, linestyle=":")
    axes.axhline(0, color=INK, linewidth=0.6)
    dress(axes, f"distance ({unit})", "correlation (1)")
    error = blocks.reaches["error"]
    lowest = min(np.nanmin(reach.correlogram.correlation) for reach in blocks.reaches.values())
    axes.set(ylim=(min(-0.1, 1.1 * lowest), 1.05), xlim=(0, max(1, len(error.correlogram.lags) - 1) * cell))
    return cell, unit


def _shown(blocks: Blocks) -> list[Correlogram]:
    """Those of the residuals, without that of z² where it is the squared error, as of predictions without a std."""
    error, squared, z = (reach.correlogram for reach in blocks.reaches.values())
    alike = np.array_equal(squared.correlation, z.correlation, equal_nan=True)
    return [error, squared] if alike else [error, squared, z]
