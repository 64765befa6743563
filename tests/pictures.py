"""What one sees in a figure: its texts and where they lie, and summaries of many regions to draw."""

from itertools import combinations

from correlated import Tiles, forecast

from geouq.inference import Intervals


def texts(figure):
    """Box of every text that is drawn, by what it says."""
    figure.draw_without_rendering()
    found = list(figure.texts)
    for axes in figure.axes:
        found += [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label, *axes.texts]
        for axis in (axes.xaxis, axes.yaxis):
            found += [label for tick in axis._update_ticks() for label in (tick.label1, tick.label2)]
    found += [text for legend in figure.legends for text in legend.get_texts()]
    shown = [text for text in found if text is not None and text.get_visible() and text.get_text().strip()]
    return [(text.get_text(), text.get_window_extent(), text.get_fontsize()) for text in shown]


def assert_readable(figure):
    """No text lies on another or beyond the paper, none is smaller than 8 points, and no panel is empty."""
    found = texts(figure)
    for (one, box, _), (other, other_box, _) in combinations(found, 2):
        apart = box.x1 <= other_box.x0 + 1 or other_box.x1 <= box.x0 + 1
        apart = apart or box.y1 <= other_box.y0 + 1 or other_box.y1 <= box.y0 + 1
        assert apart, f"{one!r} lies on {other!r}"
    paper = figure.bbox
    for text, box, size in found:
        assert size >= 8, text
        inside = box.x0 >= -1 and box.x1 <= paper.x1 + 1 and box.y0 >= -1 and box.y1 <= paper.y1 + 1
        assert inside, f"{text!r} is cut"
    for axes in figure.axes:
        assert axes.lines or axes.collections or axes.patches or axes.images, "an empty panel"
        assert axes.get_window_extent().width > (5 if axes.get_label() == "<colorbar>" else 60)
        assert axes.get_window_extent().height > 20


def inferred(seed=0, factor=1.0):
    """Summary and inference of a small correlated forecast."""
    tiles = Tiles(forecast(seed, 128, 12, factor))
    return tiles.whole, tiles.infer(Intervals(resamples=100))
