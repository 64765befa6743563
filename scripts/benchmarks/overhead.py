"""What there is to pay beside pixels: starting, windows without any, and headers of many files."""

import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.choices import Choice
from benchmarks.large import absent_blocks
from benchmarks.measure import RATIO, Ratio, Table, Watch, compare, ratio_row, seconds, summarized
from benchmarks.programs import geouq, printed_by
from benchmarks.rasters import BLOCK, make_tile
from benchmarks.sweeps import sweep_of
from benchmarks.tiles import LAYERS, path_of, write_config

SIDE = 316 * BLOCK  # pixels: 10^5 windows
TINY = 64  # pixels


def overhead_section(choice: Choice) -> Table:
    """Measure the start of the program, a window, and a check of many tiles."""
    side, rounds = choice.side(SIDE), choice.times()
    rows = (
        ratio_row("`geouq --help` / `import click`", starting(rounds), "<= 5"),
        ratio_row(f"milliseconds a window, of {windows_in(side)}", a_window(choice.data, side, rounds), "< 1"),
        ratio_row(
            f"seconds of `geouq check` of {choice.tiles} tiles", checking(choice.data, choice.tiles, rounds), "< 60"
        ),
    )
    note = (
        "A window of 512 x 512 pixels of one variable whose blocks are absent from the files, swept by one thread; "
        "tiles of three files each, which all are in one folder."
    )
    return Table("Overhead", note, ("what", "measured", *RATIO[1:]), rows)


def starting(rounds: int) -> Ratio:
    """Time of the program's help by that of importing what reads command lines."""
    alone = [sys.executable, "-c", "import click"]
    return compare(partial(printed_by, geouq("--help")), partial(printed_by, alone), rounds)


def a_window(folder: Path, side: int, rounds: int) -> Ratio:
    """Milliseconds that a window without pixels takes."""
    sweep = sweep_of(write_config(folder, absent_blocks(folder, side)), threads=1)
    sweep()
    return _repeated(sweep, rounds, 1e3 / windows_in(side))


def checking(folder: Path, count: int, rounds: int) -> Ratio:
    """Seconds that the check of a configuration of so many tiles takes."""
    check = geouq("check", write_config(many_tiles(folder, count), "many", tiles="all"))
    return _repeated(partial(printed_by, check), rounds, 1)


def many_tiles(folder: Path, count: int) -> Path:
    """Folder of so many tiles, copies of a tiny one, and nothing else."""
    tiny, many = make_tile(folder, TINY, "deflate"), folder / f"many-{count}"
    many.mkdir(exist_ok=True)
    for number in range(count):
        for layer in LAYERS:
            shutil.copyfile(path_of(folder, tiny, layer), path_of(many, f"t{number}", layer))
    return many


def windows_in(side: int) -> int:
    """Return the number of windows of a tile."""
    return (-(-side // BLOCK)) ** 2


def _repeated(work: Callable[[], object], rounds: int, scale: float) -> Ratio:
    """Return the times of some rounds, times a scale."""
    watch = Watch()
    return summarized([scale * seconds(work) for _ in range(rounds)], watch)
