"""The run of the sample data, whose sweep takes a second: what else a run takes."""

import math
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.choices import Choice
from benchmarks.measure import Table, Watch, children_seconds, seconds
from benchmarks.programs import geouq, printed_by

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "samples.yaml"
IMPORTS = "import h5py, numba, numpy, pandas, pydantic, rasterio, scipy.fft, scipy.special, xarray"
COLUMNS = ("what", "median s", "spread", "processors' seconds", "others' CPUs")


def samples_section(choice: Choice) -> Table:
    """Measure the commands that a new user starts first, and what of their time is no work of theirs."""
    note = "The sample data: 9 tiles, 5 variables, 3 regions, 106 maps. A first run compiles the kernel, which is kept."
    return Table("Samples", note, COLUMNS, tuple(_row(what, work, choice.times()) for what, work in _works().items()))


def _works() -> dict[str, Callable[[], object]]:
    """Return what is measured, by what it is; the program has run before the first of them."""
    with TemporaryDirectory() as out:
        printed_by(geouq("run", CONFIG, "--out", Path(out) / "run", "--quiet"))
    return {
        f"`{IMPORTS}`": partial(printed_by, [sys.executable, "-c", IMPORTS]),
        "drawing an empty figure with matplotlib": partial(printed_by, [sys.executable, "-c", _figure()]),
        "`geouq --help`": partial(printed_by, geouq("--help")),
        "`geouq check`": partial(printed_by, geouq("check", CONFIG)),
        "`geouq run`": _run,
        "`geouq run`, the first time": _first_run,
    }


def _figure() -> str:
    return "import matplotlib.figure, os; matplotlib.figure.Figure().savefig(os.devnull, format='png')"


def _run() -> str:
    with TemporaryDirectory() as out:
        return printed_by(geouq("run", CONFIG, "--out", Path(out) / "run", "--quiet"))


def _first_run() -> str:
    with TemporaryDirectory() as out:
        new = os.environ | {"NUMBA_CACHE_DIR": str(Path(out) / "compiled")}
        return printed_by(geouq("run", CONFIG, "--out", Path(out) / "run", "--quiet"), new)


def _row(what: str, work: Callable[[], object], rounds: int) -> tuple[str, ...]:
    watch, start = Watch(), children_seconds()
    times = [seconds(work) for _ in range(rounds)]
    used = (children_seconds() - start) / rounds
    others = watch.others()
    cells = f"{statistics.median(times):.3g}", _spread(times), f"{used:.3g}"
    return (what, *cells, "?" if math.isnan(others) else f"{others:.2f}")


def _spread(times: Sequence[float]) -> str:
    return f"{min(times):.3g} - {max(times):.3g}"
