"""The sweep against decoding the same files: every codec, sparse truth, exact bins."""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from benchmarks.choices import Choice
from benchmarks.decoding import decode
from benchmarks.measure import RATIO, Ratio, Table, Watch, compare, ratio_row, seconds, summarized
from benchmarks.rasters import CODECS, make_tile, thin_truth
from benchmarks.tiles import LAYERS, path_of, write_config
from geouq.config import load_experiment
from geouq.core.failures import Failure
from geouq.pipeline.data import Options
from geouq.pipeline.run import run
from geouq.rasters.catalog import find_tiles
from geouq.runs.plan import settings_for
from geouq.runs.progress import Silent
from geouq.summary import TileSummary
from geouq.sweep.tiles import ReadingOf, reading_by_default, sweep_tiles
from geouq.sweep.workers import workers

SPARSE = 0.04
TARGETS = {"deflate": "<= 1.20", "zstd": "<= 1.35", "lerc": "<= 1.40", "none": "<= 3"}


def sweep_of(
    config: Path, threads: int, tail: int | None = None, reading_of: ReadingOf = reading_by_default
) -> Callable[[], list[TileSummary]]:
    """Return the sweep alone of an experiment's tiles: summaries in memory; no table, map or figure."""
    experiment = load_experiment(config)
    catalog = find_tiles(experiment)
    settings = settings_for(experiment, catalog)
    if tail is not None:
        settings = replace(settings, tail=tail)

    def sweep() -> list[TileSummary]:
        with workers(threads) as pool:
            outcomes = list(sweep_tiles(catalog.tiles, settings, pool, 2 * threads, reading_of=reading_of))
        if failed := [*catalog.failures, *(outcome for outcome in outcomes if isinstance(outcome, Failure))]:
            raise SystemExit(f"{config}: {failed[0].message}")
        return outcomes

    return sweep


def decode_tile(folder: Path, name: str, threads: int, truth: str = "truth") -> None:
    """Decode the three files of a tile."""
    decode([path_of(folder, name, layer) for layer in (*LAYERS[:2], truth)], threads)


def sweep_section(choice: Choice) -> Table:
    """Sweep of each kind of file against decoding it."""
    rows = []
    for codec in CODECS:
        for interleave in ("band", "pixel"):
            name = make_tile(choice.data, choice.side(), codec, interleave)
            work = sweep_of(write_config(choice.data, name), choice.threads)
            base = partial(decode_tile, choice.data, name, choice.threads)
            rows.append(ratio_row(f"{codec}, {interleave} order", compare(work, base, choice.times()), TARGETS[codec]))
    return Table(
        "Sweep / decoding",
        f"5 variables, {choice.side()} x {choice.side()} pixels, 30 % missing, {choice.threads} threads; all metrics.",
        ("files", *RATIO),
        tuple(rows),
    )


def sparse_section(choice: Choice) -> Table:
    """Sweep where truth is rare against decoding all of the same files."""
    name, rows = make_tile(choice.data, choice.side(), "deflate"), []
    for what, absent in (("absent from the file", True), ("written as nodata", False)):
        truth = thin_truth(choice.data, name, SPARSE, absent=absent)
        work = sweep_of(write_config(choice.data, name, truth), choice.threads)
        base = partial(decode_tile, choice.data, name, choice.threads, truth)
        rows.append(ratio_row(f"blocks without truth {what}", compare(work, base, choice.times()), "<= 0.50"))
    return Table(
        "Sparse truth: sweep / decoding everything",
        f"Truth in {SPARSE:.0%} of the blocks; deflate, band order, {choice.threads} threads.",
        ("truth", *RATIO),
        tuple(rows),
    )


@dataclass
class Stages(Silent):
    """Times the stages of a run, as it is told of them."""

    seconds: dict[str, float] = field(default_factory=dict)
    _now: tuple[str, float] = ("", 0.0)

    def stage(self, name: str, _total: int) -> None:
        """End the stage under way and begin another."""
        before, start = self._now
        self.seconds[before] = time.perf_counter() - start
        self._now = name, time.perf_counter()


def seconds_of_sweeps(config: Path, threads: int) -> float:
    """Time of both sweeps of a run with exact bins, from the first window to the last."""
    stages, out = Stages(), config.with_name("run")
    run(load_experiment(config), Options(out=out, workers=threads, fresh=True), stages)
    shutil.rmtree(out)
    return stages.seconds["sweep"] + stages.seconds["exact bins"]


def exact_section(choice: Choice) -> Table:
    """Exact bins against decoding, and what the tail costs."""
    name = make_tile(choice.data, choice.side(), "deflate")
    plain, exact = write_config(choice.data, name), write_config(choice.data, name, exact=True)
    base = partial(decode_tile, choice.data, name, choice.threads)
    twice = _timed_by_itself(partial(seconds_of_sweeps, exact, choice.threads), base, choice.times())
    tails = compare(*(sweep_of(plain, choice.threads, tail) for tail in (10, 0)), choice.times())
    rows = (
        ratio_row("both sweeps of `exact: true` / decoding", twice, "<= 2.1"),
        ratio_row("sweep with exact equal-width bins / without", tails, "1.02"),
    )
    note = f"Deflate, band order, {choice.side()} x {choice.side()} pixels, {choice.threads} threads."
    return Table("Exact bins", note, ("what", *RATIO), rows)


def _timed_by_itself(work: Callable[[], float], base: Callable[[], object], rounds: int) -> Ratio:
    """Ratios as `compare` gives them, for work that tells its time."""
    work()
    base()
    watch, ratios = Watch(), []
    for number in range(rounds):
        if number % 2:
            time_of_base, time_of_work = seconds(base), work()
        else:
            time_of_work, time_of_base = work(), seconds(base)
        ratios.append(time_of_work / time_of_base)
    return summarized(ratios, watch)
