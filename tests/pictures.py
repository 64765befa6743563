"""What one sees in a figure: its texts and where they lie, and summaries of many regions to draw."""

from itertools import combinations

from correlated import Tiles, forecast

from geouq.inference import Intervals
from geouq.maps.cell_metrics import scale_of_cells
from geouq.metrics import MetricOptions


def texts(figure):
    """Box of every text that is drawn, by what it says."""
    figure.draw_without_rendering()
    found = list(figure.texts)
    for axes in figure.axes:
        found += [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label, *axes.texts]
        for axis in (axes.xaxis, axes.yaxis):
            found.append(axis.get_offset_text())
            found += [label for tick in axis._update_ticks() for label in (tick.label1, tick.label2)]
    found += [text for legend in figure.legends for text in legend.get_texts()]
    shown = [text for text in found if text is not None and text.get_visible() and text.get_text().strip()]
    return [(text.get_text(), text.get_window_extent(), text.get_fontsize()) for text in shown]


def assert_readable(figure):
    """No text lies on another or beyond the paper, none is smaller than 7 points, and no panel is empty."""
    found = texts(figure)
    for (one, box, _), (other, other_box, _) in combinations(found, 2):
        apart = box.x1 <= other_box.x0 + 1 or other_box.x1 <= box.x0 + 1
        apart = apart or box.y1 <= other_box.y0 + 1 or other_box.y1 <= box.y0 + 1
        assert apart, f"{one!r} lies on {other!r}"
    paper = figure.bbox
    for text, box, size in found:
        assert size >= 7, text
        inside = box.x0 >= 0 and box.x1 <= paper.x1 and box.y0 >= 0 and box.y1 <= paper.y1
        assert inside, f"{text!r} is cut"
    for axes in figure.axes:
        assert axes.lines or axes.collections or axes.patches or axes.images, "an empty panel"
        slim, wide = (5, 60) if axes.get_label() == "<colorbar>" else (20, 50)
        assert min(axes.get_window_extent().size) > slim
        assert max(axes.get_window_extent().size) > wide


def scale_of(metric):
    """Return the colours of a metric of cells of a small forecast."""
    tiles = Tiles(forecast(0, 128, 12))
    return scale_of_cells(metric, tiles.whole, MetricOptions(tiles.whole.levels, ()))


def inferred(seed=0, factor=1.0):
    """Summary and inference of a small correlated forecast."""
    tiles = Tiles(forecast(seed, 128, 12, factor))
    return tiles.whole, tiles.infer(Intervals(resamples=100))
