"""Compute the numbers of one variable of an evaluation unit; any process can do this."""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from geouq.config import Intervals, Variable
from geouq.core.failures import isolated
from geouq.core.redaction import environment_read_once
from geouq.inference import (
    FAILED,
    ForecastSample,
    Inference,
    TileRows,
    infer,
    with_intervals,
    without_intervals,
)
from geouq.metrics import MetricOptions
from geouq.regions import EvaluationUnit, Level
from geouq.tables.rows import Row, bin_rows, curve_rows, metric_rows

TOGETHER = 8  # variables of tiles, or of a zone, whose numbers one process computes at a time
MANY = 32  # zones: more than most machines have processors

MAKERS: Mapping[str, Callable[[EvaluationUnit, Sequence[Variable], Mapping[str, MetricOptions]], list[Row]]] = {
    "metrics": metric_rows,
    "bins": bin_rows,
    "curves": curve_rows,
}


@dataclass(frozen=True)
class Sums:
    """Input of `unit_numbers`: sums of one variable of an evaluation unit.

    Parameters
    ----------
    unit : EvaluationUnit
        With the summary of this variable.
    sample : ForecastSample or None
        With the cells, for intervals; None where there are to be none, as of a tile.
    tiles : TileRows or None
        What each tile adds to the numbers that cells do not keep, where tiles are enough.
    """

    unit: EvaluationUnit
    variable: Variable
    metric_options: MetricOptions
    settings: Intervals
    sample: ForecastSample | None = None
    tiles: TileRows | None = None


@dataclass(frozen=True)
class UnitNumbers:
    """Rows of each table, and the intervals where there are some, of a variable of an evaluation unit.

    pixels : number of valid pixels.
    """

    level: Level
    name: str
    variable: str
    pixels: int
    rows: Mapping[str, Sequence[Row]]
    inference: Inference | None


def batches(sums: Iterable[Sums], zones: int) -> Iterator[Sequence[Sums]]:
    """Yield the sums that one process takes at a time.

    These are one variable of an evaluation unit, several tiles, or all variables of a zone. Sending a tile takes as
    long as computing its numbers. The variables of a zone mostly have the same cells, so their geometry is computed
    once. If there are few `zones`, their variables are computed in parallel.
    """
    waiting: list[Sums] = []
    for one in sums:
        if waiting and (len(waiting) == TOGETHER or not _belong_together(waiting[0].unit, one.unit, zones)):
            yield waiting
            waiting = []
        waiting.append(one)
    if waiting:
        yield waiting


def _belong_together(unit: EvaluationUnit, other: EvaluationUnit, zones: int) -> bool:
    if unit.zone and other.zone:
        return zones >= MANY and unit.name == other.name
    return unit.level == other.level == "tile"


def numbers_of_batch(sums: Sequence[Sums]) -> Sequence[UnitNumbers]:
    """Return the numbers of each."""
    # metrics that cells do not keep raise errors, whose messages are cleaned
    with environment_read_once(), _without_collector():
        return [unit_numbers(one) for one in sums]


@contextmanager
def _without_collector() -> Iterator[None]:
    """Let garbage of cycles wait: numbers make many objects and few cycles, and the collector looks through them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def unit_numbers(sums: Sums) -> UnitNumbers:
    """Return the numbers. A number that fails is missing from its table, or has no interval."""
    unit, inference, metric_options = sums.unit, _inferred(sums), sums.metric_options
    if inference is not None:
        metric_options = replace(metric_options, effective=inference.effective)
    rows = _rows_of(unit, sums.variable, metric_options)
    if inference is not None:
        rows["metrics"] = list(with_intervals(rows["metrics"], {sums.variable.name: inference}))
    pixels = int(unit.variables[sums.variable.name].n)
    return UnitNumbers(unit.level, unit.name, sums.variable.name, pixels, rows, inference)


def _inferred(sums: Sums) -> Inference | None:
    sample = sums.sample
    if sample is None:
        return None
    with isolated("intervals", f"{sums.variable.name} in {sums.unit.name}"):
        return infer(
            sums.unit.name, sample.whole, sample.metric_options, places=sample.places, cells_of=sample.cells_of,
            settings=sums.settings, tiles=sums.tiles,
        )  # fmt: skip
    return without_intervals(sample.whole, sample.metric_options, sums.settings, FAILED)


def _rows_of(unit: EvaluationUnit, variable: Variable, metric_options: MetricOptions) -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {name: [] for name in MAKERS}
    for table, rows_of in MAKERS.items():
        with isolated("numbers", f"{table} of {variable.name} in {unit.name}"):
            rows[table] = rows_of(unit, [variable], {variable.name: metric_options})
    return rows
