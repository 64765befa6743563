"""Peak memory of `geouq run`, a process each: large tiles, and files that are awkward to read."""

import shutil
from functools import partial
from pathlib import Path

from benchmarks.choices import Choice
from benchmarks.large import BANDS, large_block, large_tile, wide_strips
from benchmarks.measure import Table, peak_of
from benchmarks.programs import geouq, warm_up
from benchmarks.rasters import BLOCK
from benchmarks.tiles import write_config

SIDE = 20_000  # pixels
WRONG = 2  # exit code
COLUMNS = ("files", "--memory", "peak MiB", "target")


def memory_section(choice: Choice) -> Table:
    """Peaks of runs with two workers."""
    warm_up(choice.data)
    side, peak = choice.side(SIDE), partial(peak_of_run, choice.data)
    small, large = (peak(large_tile(choice.data, size)) for size in (side, 2 * side))
    strips, block = wide_strips(choice.data, 2 * side, side // 5), large_block(choice.data, _half(side))
    of_block = f"one block of {_half(side)} x {_half(side)} pixels"
    rows = (
        (f"5 variables, {side} x {side} pixels", "", f"{small:.0f}", "<= 600"),
        (f"5 variables, {2 * side} x {2 * side} pixels", "", f"{large:.0f}", "<= 600"),
        ("growth from the first to the second", "", f"{large / small - 1:+.0%}", "<= 10 %"),
        (f"strips of {2 * side} x 1 pixels", "512MB", f"{peak(strips, '512MB'):.0f}", "<= 512"),
        (of_block, "512MB", refusal(choice.data, block, "512MB"), "refused"),
        (of_block, "4GB", f"{peak(block, '4GB'):.0f}", "<= 4096"),
    )
    note = (
        f"`geouq run` with 2 workers, cell maps and figures, once each; blocks of {BLOCK} x {BLOCK} pixels and deflate "
        f"where nothing is said; strips and the large block hold {BANDS} variables, zstd. The kernel is compiled "
        "already: the first run on a machine takes more."
    )
    return Table("Memory", note, COLUMNS, rows)


def peak_of_run(folder: Path, name: str, memory: str | None = None) -> float:
    """Peak of a run in MiB; SystemExit where it fails."""
    peak, code, said = _run(folder, name, memory)
    if code:
        raise SystemExit(f"geouq run of {name} ended with {code}: {said}")
    return peak


def refusal(folder: Path, name: str, memory: str) -> str:
    """How a run that does not fit into memory is refused; the peak where it is not."""
    peak, code, said = _run(folder, name, memory)
    if code == 0:
        return f"{peak:.0f}"
    if code != WRONG or f"--memory {memory}" not in said:
        raise SystemExit(f"geouq run of {name} ended with {code}: {said}")
    return "refused before work"


def _half(side: int) -> int:
    """Half a side, as blocks can have: a multiple of 16."""
    return side // 32 * 16


def _run(folder: Path, name: str, memory: str | None) -> tuple[float, int, str]:
    """Peak, exit code and words of a run into a folder that is removed."""
    out, limit = folder / "run", ("--memory", memory) if memory else ()
    config = write_config(folder, name, maps="[cells]")
    shutil.rmtree(out, ignore_errors=True)
    peak, done = peak_of(geouq("run", config, "--out", out, "--workers", 2, "--quiet", *limit))
    worked = out.exists()
    shutil.rmtree(out, ignore_errors=True)
    if done.returncode == WRONG and worked:
        raise SystemExit(f"geouq run of {name} began, and ended with {WRONG}: {done.stdout}")
    return peak, done.returncode, done.stdout
