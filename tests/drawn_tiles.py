"""Summaries of tiles with sums drawn at random, which no pixel gave."""

from dataclasses import fields

import numpy as np
from affine import Affine

from geouq.core.grid import Grid
from geouq.core.validity import REASONS
from geouq.summary import (
    CellSummaries,
    Moments,
    Summary,
    TailPixels,
    TileSummary,
    VariableSummary,
    VarianceProfile,
    ZHistogram,
)
from geouq.summary.coverage_profile import POSITIVE, CoverageProfile
from geouq.summary.interval_scores import IntervalScores
from geouq.summary.moments import PRODUCTS, SUMS
from geouq.summary.ordering_profile import CLASSES, ROWS, OrderingProfile
from geouq.summary.summary import COVERAGE_BY
from geouq.summary.threshold_sums import BINS, ThresholdSums
from geouq.summary.threshold_sums import FIELDS as SUMS_OF_THRESHOLD
from geouq.summary.variance_profile import COMPACT_SHIFT, FINE_SHIFT, UNWEIGHTED
from geouq.summary.z_histogram import COMPACT, FINE, edge_probabilities

LENGTHS = {"sums": (len(SUMS),), "products": (len(PRODUCTS),)}


def drawn_moments(rng, *cells):
    arrays = {field.name: rng.normal(size=(*cells, *LENGTHS.get(field.name, ()))) for field in fields(Moments)}
    arrays["n"] = rng.integers(0, 1 << 40, cells)
    return Moments(**{name: np.asarray(values)[()] for name, values in arrays.items()})


def drawn_whole(rng, levels, columns, *, ordered):
    edges = edge_probabilities(levels, FINE)
    keys = np.unique(rng.integers(0, 1 << (31 - FINE_SHIFT), rng.integers(0, 40)))
    pixels = rng.normal(size=(rng.integers(0, 20), 3 if columns > UNWEIGHTED else 2))
    kept = [None, TailPixels(0, pixels=pixels[:0]), TailPixels(int(rng.integers(1, 12)), keys[:3], pixels)][
        rng.integers(3)
    ]
    lowest, highest = rng.normal(size=2)
    sums = rng.normal(size=(len(keys), columns))
    profile = VarianceProfile(FINE_SHIFT, keys, sums, np.float64(lowest), np.float64(highest), kept)
    z = ZHistogram(edges, rng.integers(0, 1 << 40, len(edges) + 1))
    groups = {name: drawn_coverage(rng, len(levels)) for name in ("truth", "variance")}
    keys = np.unique(rng.integers(0, ROWS * CLASSES, rng.integers(0, 40)))
    ordering = OrderingProfile(keys, rng.normal(size=(len(keys), 1))) if ordered else None
    scores, thresholds = rng.normal(size=len(levels)), drawn_thresholds(rng)
    statistics = {"moments": drawn_moments(rng), "interval_scores": IntervalScores(scores), "z": z, "variance": profile}
    statistics |= {COVERAGE_BY + name: one for name, one in groups.items()} | {"thresholds": thresholds}
    return Summary(levels, statistics).having(ordering=ordering)


def drawn_thresholds(rng):
    thresholds = tuple(map(float, np.unique(rng.integers(0, 9, rng.integers(0, 4)))))
    return ThresholdSums(thresholds, rng.normal(size=(len(thresholds), BINS, len(SUMS_OF_THRESHOLD))))


def drawn_coverage(rng, levels):
    keys = np.unique(rng.integers(-POSITIVE, POSITIVE, rng.integers(0, 40)))
    return CoverageProfile(keys, rng.normal(size=(len(keys), levels + 1)))


def drawn_cells(rng, levels, columns, count):
    present = rng.random((count, 1 << (31 - COMPACT_SHIFT))) < rng.choice([0, 0.01], p=[0.2, 0.8])
    cell, key = np.nonzero(present)
    edges = edge_probabilities(levels, COMPACT)
    return CellSummaries(
        levels,
        {
            "moments": drawn_moments(rng, count),
            "interval_scores": IntervalScores(rng.normal(size=(count, len(levels)))),
            "z": ZHistogram(edges, rng.integers(0, 1 << 40, (count, len(edges) + 1))),
        },
        rng.normal(size=(count, 2)),
        cell.astype(np.uint32),
        key.astype(np.uint16),
        rng.normal(size=(len(cell), columns)).astype(np.float32),
    )


def drawn_tile(seed, names, *, tile="a1", levels=(0.5, 0.9), columns=4, shape=(64, 80), crs='LOCAL_CS["Köln"]'):
    rng = np.random.default_rng(seed)
    grid = Grid(shape, Affine(*rng.normal(size=6)), crs)
    count, ordered = int(np.prod(grid.coarsened(16).shape)), rng.random() < 0.5
    variables = {
        name: VariableSummary(
            drawn_whole(rng, levels, columns, ordered=ordered),
            drawn_cells(rng, levels, columns, count),
            rng.integers(0, 1 << 40, len(REASONS)),
        )
        for name in names
    }
    return TileSummary(tile, grid, 16, variables)
