"""What intervals, tests and bands of many regions take, once their summaries are saved."""

import time
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.choices import Choice
from benchmarks.measure import RATIO, Clock, Ratio, Table, Watch, ratio_row, seconds, summarized
from benchmarks.rasters import SCALES, make_tile
from benchmarks.tiles import write_config
from benchmarks.zones import class_regions
from geouq.core.processes import helpers
from geouq.pipeline.data import Options
from geouq.pipeline.evaluate import evaluate
from geouq.pipeline.prepare import reopened
from geouq.pipeline.run import run

ACROSS = 10  # regions along each side of the tile
CELL = 16  # pixels
SIDE = ACROSS * 10 * CELL  # of the tile, whose regions have 100 cells each


def intervals_section(choice: Choice) -> Table:
    """Seconds from saved summaries to all numbers of many regions."""
    side = choice.side(SIDE)
    folder = _finished_run(choice.data, side, choice.threads)
    rounds, what = choice.times(3), f"for {ACROSS**2} regions and {len(SCALES)} variables"
    return Table(
        "Intervals of many regions",
        f"One tile of {side} x {side} pixels, cells of {CELL} x {CELL} pixels. From the saved summaries to the rows of "
        "all tables. Processes have begun before.",
        ("what", "measured", *RATIO[1:]),
        (
            ratio_row(f"seconds {what}, {choice.threads} processes", _seconds(folder, choice.threads, rounds), "<= 5"),
            ratio_row(f"processor seconds {what}", _seconds(folder, 1, rounds, time.process_time), "<= 10"),
        ),
    )


def _finished_run(folder: Path, side: int, threads: int) -> Path:
    """Return the folder of a run of a tile whose regions are squares side by side."""
    name = make_tile(folder, side, "deflate")
    numbers = np.arange(1, ACROSS**2 + 1, dtype=np.uint8).reshape(ACROSS, ACROSS)
    place = np.arange(side) * ACROSS // side
    out = folder / "intervals"
    config = write_config(folder, name, maps=f"none, figures: none, directory: {out.resolve()}")
    regions = class_regions(folder, name, numbers[place[:, np.newaxis], place])
    with config.open("a", encoding="utf-8") as file:
        file.write(f"cell_size: {CELL}\naggregates: none\nregions: {{zones: {regions}}}\n")
    run(config, Options(workers=threads))
    return out


def _seconds(folder: Path, processes: int, rounds: int, clock: Clock = time.perf_counter) -> Ratio:
    watch = Watch()
    with reopened(folder, None) as swept, helpers(processes - 1) as shared:
        work = partial(evaluate, swept, shared)
        work()
        found = [seconds(work, clock) for _ in range(rounds)]
    return summarized(found, watch)
