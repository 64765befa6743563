"""Files on a server that takes its time to answer: headers, and the sweep against reading whole files."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path

import rasterio

from benchmarks.choices import Choice
from benchmarks.measure import RATIO, Ratio, Table, Watch, compare, peak_of, ratio_row, seconds, summarized
from benchmarks.programs import geouq, printed_by
from benchmarks.rasters import make_tile
from benchmarks.slow_server import ANY, LATENCY, counts_of, serving, total
from benchmarks.sweeps import sweep_of
from benchmarks.tiles import LAYERS, path_of, write_config
from geouq.rasters.remote_files import as_gdal_names_it, forget
from geouq.reading.cutting import reading_for
from geouq.runs.plan import FOR_SERVERS

TILES = 40
SIDE = 512  # pixels
READERS = 8  # threads of the fastest way to read whole files
Row = tuple[str, ...]


def remote_section(choice: Choice) -> Table:
    """Measure headers and sweep of files on a server."""
    folder = choice.data / "remote"
    folder.mkdir(exist_ok=True)
    name = make_tile(choice.data, choice.side(SIDE), "deflate")
    for layer in LAYERS:
        path_of(folder, ANY, layer).unlink(missing_ok=True)
        path_of(folder, ANY, layer).symlink_to(path_of(choice.data, name, layer).absolute())
    few, workers = TILES * len(LAYERS), FOR_SERVERS * choice.threads
    rows: list[Row] = []
    with serving(folder) as address:
        config = _config(folder, TILES, address)
        rows += _headers(config, address, few, choice.times(), targets=("<= 2.5", "<= 3.2"))
        again = geouq("check", config, "--trust-for", "1d")
        printed_by(again)
        rows += _rows(
            "a second `geouq check --trust-for 1d`", again, address, few, choice.times(), targets=("<= 2.5", "<= 0")
        )
        rows.append(_sweep(config, address, workers, choice.times()))
        many = _config(folder, choice.tiles, address)
        rows += _headers(many, address, choice.tiles * len(LAYERS), 1, targets=("<= 60", "<= 3.01"))
    with serving(folder, choice.tiles) as address:
        config = _config(folder, TILES, address)
        rows += _headers(config, address, few, choice.times(), targets=("<= 2.5", "<= 1.2"), how=", folder listed")
        many = _config(folder, choice.tiles, address)
        rows += _headers(
            many, address, choice.tiles * len(LAYERS), 1, targets=("<= 60", "<= 1.01"), how=", folder listed"
        )
    note = (
        f"{TILES} tiles of {len(LAYERS)} files, 5 variables, {choice.side(SIDE)} x {choice.side(SIDE)} pixels, on a "
        f"local server that waits {1000 * LATENCY:.0f} ms before each answer; {workers} threads sweep. "
        f"`check` also reads pixels of one tile for its table of layers. GDAL's cache is cleared before each sweep."
    )
    return Table("Files on a server", note, ("what", "measured", *RATIO[1:]), tuple(rows))


def _config(folder: Path, tiles: int, address: str) -> Path:
    names = ", ".join(f"t{number}" for number in range(tiles))
    return on_server(write_config(folder, f"remote-{tiles}", tiles=f"[{names}]"), address)


def _headers(
    config: Path, address: str, files: int, rounds: int, *, targets: tuple[str, str], how: str = ""
) -> tuple[Row, ...]:
    """Return rows of the cost of a check of files."""
    what = f"`geouq check` of {files} files{how}"
    return _rows(what, geouq("check", config), address, files, rounds, targets=targets)


def _rows(
    what: str, command: list[str], address: str, files: int, rounds: int, *, targets: tuple[str, str]
) -> tuple[Row, ...]:
    """Return rows of the seconds of a command, and of its requests for each file."""
    counts_of(address)
    watch, peaks = Watch(), list[float]()

    def work() -> None:
        """Run the command."""
        peak, done = peak_of(command)
        if done.returncode:
            raise SystemExit(done.stdout)
        peaks.append(peak)

    times = summarized([seconds(work) for _ in range(rounds)], watch)
    requests = total(counts_of(address)) / files / rounds
    return (
        ratio_row(f"seconds of {what}", times, targets[0]),
        ratio_row("its requests for each file", Ratio(requests, requests, requests, 0), targets[1]),
        ratio_row("its peak memory (MiB)", summarized(peaks, watch), ""),
    )


def _sweep(config: Path, address: str, workers: int, rounds: int) -> Row:
    """Return the row of the sweep against reading whole files."""
    sweep = sweep_of(config, workers, reading_of=partial(reading_for, workers=workers))
    names = (f"{address}/t{number}_{layer}.tif" for number, layer in product(range(TILES), LAYERS))
    whole = partial(_read_whole, list(names))

    def anew(work: Callable[[], object]) -> None:
        """Do the work with an empty cache of GDAL."""
        forget(as_gdal_names_it(f"{address}/"))
        work()

    ratio = compare(partial(anew, sweep), partial(anew, whole), rounds)
    return ratio_row(f"sweep / whole files read by rasterio in {READERS} threads", ratio, "<= 1.20")


def on_server(config: Path, address: str) -> Path:
    """Return a configuration with the layers on a server, and the results beside it."""
    far = config.read_text("utf-8").replace('"{tile}_', f'"{address}/{{tile}}_')
    config.write_text(far.replace("output: {", f"output: {{directory: {config.parent / 'results'}, "), encoding="utf-8")
    return config


def _read_whole(addresses: list[str]) -> None:
    """Decode all bands of files on a server, as many at a time as there are readers."""

    def read(address: str) -> None:
        """Decode one file, without a look for others beside it."""
        with rasterio.Env(GDAL_DISABLE_READDIR_ON_OPEN="EMPTY_DIR"), rasterio.open(address) as source:
            source.read()

    with ThreadPoolExecutor(READERS) as pool:
        list(pool.map(read, addresses))
