"""What is known of intervals before any pixel is read: where there can be none."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from geouq.config import Intervals
from geouq.errors import SummaryError
from geouq.inference.blocks import block_numbers, cell_metres, side_in_cells
from geouq.inference.features import BINNED, BinRows, BootstrapBasis, rows_of, summary_of
from geouq.inference.resamples import FEW_TILES, of_cells, too_few
from geouq.inference.settings import FEWEST_TILES
from geouq.metrics import Metric, MetricOptions
from geouq.summary import TilePlace, empty_summary
from geouq.summary.form import no_sums
from geouq.summary.moments import CENTRED


def why_never(metric: Metric, choices: MetricOptions, places: Sequence[TilePlace], settings: Intervals) -> str:
    """Why a metric of a pool of these tiles has no interval whatever their pixels are; empty where it may have one."""
    if len(places) < FEWEST_TILES and not _follows_from_cells(metric, choices):
        return FEW_TILES
    cells = sum(place.cell_grid.pixels for place in places)
    return too_few(cells, _most_blocks(places, settings, cells))


def _follows_from_cells(metric: Metric, choices: MetricOptions) -> bool:
    """Whether the summary of a cell, here of one without a pixel, tells the metric."""
    edges = {scheme.name: np.linspace(0, 1, scheme.count + 1) for scheme in choices.schemes}
    whole, centre = empty_summary(choices.levels), np.zeros(len(CENTRED))
    whole = whole.having(form=no_sums(choices.form))
    bins = BinRows(edges, 0, np.zeros((1, sum(scheme.count for scheme in choices.schemes), BINNED)))
    basis = BootstrapBasis(whole.levels, centre, (0, 0), rows_of(whole, centre, bins))
    try:
        of_cells(metric, summary_of(np.zeros((1, basis.width)), basis), replace(choices, shared_edges=edges))
    except SummaryError:
        return False
    return True


def _most_blocks(places: Sequence[TilePlace], settings: Intervals, cells: int) -> int:
    """How many blocks there are if every cell holds a pixel; of `auto`, no more than cells."""
    if settings.block == "auto":
        return cells
    if settings.block == "tile":
        return len(places)
    size = places[0].cell_size if places else 1
    metres = float(np.mean([cell_metres(place.grid, size) for place in places] or [1]))
    side = side_in_cells(settings.block, size, metres)
    return sum(int(block_numbers(place.cell_grid.shape, side).max()) + 1 for place in places)
