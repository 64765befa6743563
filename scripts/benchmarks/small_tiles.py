"""Runs of many small tiles: what one more tile costs in time, memory and disk."""

import math
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

import numpy as np
import rasterio
from affine import Affine

from benchmarks.choices import Choice
from benchmarks.measure import Table, Watch, Work, children_seconds, peaks_of, seconds
from benchmarks.programs import geouq, warm_up
from benchmarks.rasters import CODECS, SCALES, Floats, forecasts, profile_of
from benchmarks.tiles import LAYERS, path_of

Pair = tuple[float, float]

TINY = 64  # pixels a side
VARIABLES = (1, len(SCALES))
COLUMNS = (
    "variables",
    "tiles",
    "seconds of a run, of a second one",
    "processors' seconds",
    "peak MiB",
    "of all processes",
    "results / files",
    "others' CPUs",
)


@dataclass(frozen=True)
class Cost:
    """What a run of so many tiles takes: seconds, peaks in MiB, and bytes of results by those of files.

    wall, busy : seconds of a run and of a second one, and those of the processors.
    """

    tiles: int
    wall: Pair
    busy: Pair
    peak: float
    of_all: float
    size: float
    others: float

    def cells(self) -> tuple[str, ...]:
        """Return the cost as the table shows it."""
        return (
            str(self.tiles),
            _both(self.wall, ".1f"),
            _both(self.busy, ".1f"),
            f"{self.peak:.0f}",
            f"{self.of_all:.0f}",
            f"{self.size:.2f}",
            f"{self.others:.2f}",
        )


def small_tiles_section(choice: Choice) -> Table:
    """Measure runs of more and more tiles."""
    warm_up(choice.data)
    tiles = {
        variables: [small_tiles(choice.data, count, variables) for count in choice.counts] for variables in VARIABLES
    }
    return table_of({variables: list(map(cost_of, folders)) for variables, folders in tiles.items()})


def table_of(costs_by_variables: Mapping[int, Sequence[Cost]]) -> Table:
    """Return the costs of runs of more and more tiles, and of one more, by the number of variables."""
    rows: list[tuple[str, ...]] = []
    for variables, costs in costs_by_variables.items():
        rows += [(str(variables), *cells) for cells in (*(cost.cells() for cost in costs), one_more(costs))]
    rows.append(("", "target", "<= 0.02 a tile, <= 0.02", "", "<= +10 %", "", "<= 1", ""))
    note = (
        f"`geouq run` without options, once each; tiles of {TINY} x {TINY} pixels side by side, 30 % of them missing, "
        "three files each, deflate. The second run changes nothing. Peaks are those of the largest process and of the "
        "sum of all, memory that they share counted once. The kernel is compiled already."
    )
    return Table("Many small tiles", note, COLUMNS, tuple(rows))


def cost_of(tiles: Path) -> Cost:
    """Return what a run of the tiles of a folder, and a second one, take."""
    config, out, files = _config_of(tiles), tiles.with_name("run"), list(tiles.iterdir())
    shutil.rmtree(out, ignore_errors=True)
    watch, peaks = Watch(), list[tuple[float, float]]()
    times = [_times(lambda: peaks.append(_run(config, out))) for _ in range(2)]
    others, size = watch.others(), _bytes(out.rglob("*")) / _bytes(files)
    shutil.rmtree(out)
    (wall, wall_again), (busy, busy_again) = zip(*times, strict=True)
    most, of_all = map(max, zip(*peaks, strict=True))
    return Cost(len(files) // len(LAYERS), (wall, wall_again), (busy, busy_again), most, of_all, size, others)


def one_more(costs: Sequence[Cost]) -> tuple[str, ...]:
    """Return the cells of one more tile: time between the last two runs, memory between the first and the last."""
    first, (before, last) = costs[0], costs[-2:]
    count = last.tiles - before.tiles
    return (
        "one more",
        _both(_slopes(before.wall, last.wall, count), ".4f"),
        _both(_slopes(before.busy, last.busy, count), ".4f"),
        f"{last.peak / first.peak - 1:+.0%}",
        f"{last.of_all / first.of_all - 1:+.0%}",
        "",
        "",
    )


def _slopes(before: Pair, last: Pair, count: int) -> Pair:
    return (last[0] - before[0]) / count, (last[1] - before[1]) / count


def _both(pair: Pair, form: str) -> str:
    return ", ".join(format(value, form) for value in pair)


def _times(work: Work) -> Pair:
    """Return the wall time of a call, and the processor time of the programs that it starts."""
    before = children_seconds()
    wall = seconds(work)
    return wall, children_seconds() - before


def small_tiles(folder: Path, count: int, variables: int) -> Path:
    """Return a folder with so many tiles side by side in a square, and nothing else; they are made unless there."""
    small, across = folder / f"small-{count}-{variables}" / "tiles", math.isqrt(count)
    if small.exists():
        return small
    part = small.with_name("tiles.part")
    part.mkdir(parents=True, exist_ok=True)
    drawn = list(islice(forecasts(across * TINY), variables))
    for number, layer in enumerate(LAYERS):
        values = np.stack([layers[number] for layers in drawn])
        for row, column in product(range(across), repeat=2):
            _write_square(path_of(part, f"r{row}c{column}", layer), values, row * TINY, column * TINY)
    part.rename(small)
    return small


def _write_square(path: Path, values: Floats, top: int, left: int) -> None:
    """Write the tile that has its upper left corner there."""
    profile = profile_of(TINY, len(values)) | CODECS["deflate"] | {"blockxsize": TINY, "blockysize": TINY}
    profile["transform"] *= Affine.translation(left, top)
    with rasterio.open(path, "w", **profile) as file:
        file.write(values[:, top : top + TINY, left : left + TINY])
        file.descriptions = list(SCALES)[: len(values)]


def _run(config: Path, out: Path) -> tuple[float, float]:
    """Run, and return the peak of the largest process and of all processes in MiB; SystemExit where it fails."""
    peaks, done = peaks_of(geouq("run", config, "--out", out, "--quiet"))
    if done.returncode:
        raise SystemExit(f"geouq run of {config} ended with {done.returncode}: {done.stdout}")
    return peaks


def _config_of(tiles: Path) -> Path:
    """Write a configuration that names nothing but the files."""
    path = tiles.with_name("small.yaml")
    layers = "".join(f'  {layer}: "tiles/{{tile}}_{layer}.tif"\n' for layer in LAYERS)
    path.write_text(f"version: 1\nname: small\ndata:\n{layers}", encoding="utf-8")
    return path


def _bytes(paths: Iterable[Path]) -> int:
    return sum(path.stat().st_size for path in paths if path.is_file())
