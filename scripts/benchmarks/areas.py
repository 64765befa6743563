"""What means and totals of many regions take, once the summaries are saved."""

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.choices import Choice
from benchmarks.measure import RATIO, Clock, Ratio, Table, Watch, peak_of, ratio_row, seconds, summarized
from benchmarks.rasters import SCALES, make_tile
from benchmarks.tiles import write_config
from benchmarks.zones import polygon_regions
from geouq.aggregates import Aggregates, AggregateSettings, Areas, aggregates_of
from geouq.pipeline.data import Options
from geouq.pipeline.prepare import reopened
from geouq.pipeline.run import run
from geouq.pipeline.stages import Swept

CELL = 16  # pixels
SIDE = 5120  # of the tile, which has about 10^5 cells
REGIONS = 1000
SCRIPTS = Path(__file__).parents[1]
ALONE = "import sys; sys.path.insert(0, sys.argv[2]); from benchmarks import areas; areas.evaluate_once(sys.argv[1])"


def areas_section(choice: Choice) -> Table:
    """Seconds from saved summaries to the means of all regions, and the peak of memory."""
    side = choice.side(SIDE)
    folder = _finished_run(choice.data, side, choice.threads)
    rounds = choice.times(3)
    wall = _seconds(folder, rounds, time.perf_counter)
    peak, done = peak_of([sys.executable, "-c", ALONE, str(folder), str(SCRIPTS)])
    if done.returncode:
        raise SystemExit(done.stdout)
    return Table(
        "Means and totals of areas",
        f"One tile of {side} x {side} pixels, cells of {CELL} x {CELL} pixels ({(side // CELL) ** 2} of them), "
        f"{REGIONS} polygons, one of {len(SCALES)} variables, one thread. From the saved summaries to the correlation, "
        "the calibration of all sizes and the means of all regions.",
        ("what", "measured", *RATIO[1:]),
        (
            ratio_row(f"seconds for {REGIONS} regions and a variable", wall, "<= 30"),
            ("peak MiB of a process that does nothing else", f"{peak:.0f}", "", "", ""),
        ),
    )


def _finished_run(folder: Path, side: int, threads: int) -> Path:
    """Return the folder of a run of a tile with many polygons."""
    name, out = make_tile(folder, side, "deflate"), folder / "areas"
    config = write_config(folder, name, maps=f"none, figures: none, directory: {out.resolve()}")
    with config.open("a", encoding="utf-8") as file:
        regions = polygon_regions(folder, name, REGIONS)
        file.write(f"cell_size: {CELL}\naggregates: none\nregions: {{zones: {regions}}}\n")
    run(config, Options(workers=threads))
    return out


def evaluate_once(folder: str) -> None:
    """Compute the aggregates of the first variable of a run."""
    with reopened(folder, None) as swept:
        _work(swept)()


def _seconds(folder: Path, rounds: int, clock: Clock) -> Ratio:
    watch = Watch()
    with reopened(folder, None) as swept:
        work = _work(swept)
        work()
        found = [seconds(work, clock) for _ in range(rounds)]
    return summarized(found, watch)


def _work(swept: Swept) -> Callable[[], Aggregates]:
    summaries = swept.summaries
    areas = Areas(summaries, tuple(summaries.places()), swept.experiment.tile_lists, summaries.zones())
    settings = AggregateSettings(swept.experiment.levels, 0.9, 0.95)
    return partial(aggregates_of, areas, settings, swept.record.variables[0].name)
