"""From files to numbers, each way in a process of its own, so that its peak memory is its own."""

import json
import os
import statistics
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from benchmarks.choices import Choice
from benchmarks.measure import Table, Watch, summarized
from benchmarks.programs import SMALL, printed_by, warm_up
from benchmarks.rasters import make_tile
from benchmarks.sweeps import decode_tile

SIDE, ROUNDS = 8192, 1
SCRIPTS = Path(__file__).parents[1]


class Way(NamedTuple):
    """A module with a function `of_tile`, the package that it needs, and what time and memory are to be by geouq's."""

    what: str
    module: str
    package: str
    ratio: str = ""
    share: str = ""


OURS = Way("geouq, all metrics", "ours", "geouq")
PEERS = (
    Way("the notebook's four calls", "notebook", "rasterio", ">= 8", "<= 1/20"),
    Way("rioxarray and dask, all metrics, quantiles approximate", "lazily", "rioxarray", ">= 6"),
)
COLUMNS = ("way", "seconds", "by geouq's", "spread", "target", "peak MiB", "geouq's by it", "target", "others' CPUs")


class Cost(NamedTuple):
    """What a way took once."""

    seconds: float
    mib: float


def whole_section(choice: Choice) -> Table:
    """Time and peak memory of each way."""
    side, rounds, watch = choice.side(SIDE), choice.times(ROUNDS), Watch()
    costs = costs_of([OURS, *PEERS], choice.data, side, rounds, choice.threads)
    rows = [_row(way, costs.get(way, ()), costs[OURS], watch) for way in (OURS, *PEERS)]
    note = (
        f"A tile of 5 variables, {side} x {side} pixels, deflate, band order, {choice.threads} threads, from its files "
        f"to numbers, {_times(rounds)}; each way in a process of its own, which a small tile has warmed up, and whose "
        "peak counts all that it imports. The notebook loads the files whole and keeps them beside their valid pixels."
    )
    return Table("Whole: another way / geouq", note, COLUMNS, tuple(rows))


def costs_of(ways: Sequence[Way], folder: Path, side: int, rounds: int, threads: int) -> dict[Way, list[Cost]]:
    """Costs of the ways that are installed, in turns, the order reversed each round."""
    warm_up(folder)
    small, name = (make_tile(folder, size, "deflate") for size in (SMALL, side))
    decode_tile(folder, name, threads)  # so that no way waits for the disk
    there: dict[Way, list[Cost]] = {way: [] for way in ways if find_spec(way.package)}
    for number in range(rounds):
        for way in reversed(there) if number % 2 else there:
            command = [sys.executable, "-m", "benchmarks.one_way", way.module, str(folder), small, name, str(threads)]
            printed = printed_by(command, env=os.environ | {"PYTHONPATH": str(SCRIPTS)})
            there[way].append(Cost(*json.loads(printed.splitlines()[-1])))
    return there


def _row(way: Way, costs: Sequence[Cost], ours: Sequence[Cost], watch: Watch) -> tuple[str, ...]:
    if not costs:
        return (way.what, "not installed", "", "", way.ratio, "", "", way.share, "")
    ratio = summarized([cost.seconds / own.seconds for cost, own in zip(costs, ours, strict=True)], watch)
    mib = max(cost.mib for cost in costs)
    share = f"1/{mib / max(own.mib for own in ours):.1f}"
    median, spread, others = ratio.cells
    wall = f"{statistics.median(cost.seconds for cost in costs):.3g}"
    return (way.what, wall, median, spread, way.ratio, f"{mib:.0f}", share, way.share, others)


def _times(rounds: int) -> str:
    return "once each" if rounds == 1 else f"{rounds} times each"
