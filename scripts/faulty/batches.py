"""Bad input by the thousand: every case ends in right numbers or in one message, within seconds and the memory."""

import faulthandler
import logging
import resource
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import chdir
from functools import partial
from itertools import takewhile
from pathlib import Path
from random import Random

import numpy as np
import rasterio

from faulty.configs import KINDS
from faulty.evaluated import numbers_of, verdict_on
from faulty.mutation import mutated
from faulty.rasters import LAYERS, expected, scene
from faulty.runs import Row, experiment
from faulty.servers import FAULTS, serving

MOST_SECONDS = 60  # of one case; then the whole program ends with a traceback of where it hangs
LONGEST = 150  # seconds of all cases of a kind; those that are left are not tried
MOST_MEMORY = 6 << 30  # bytes of addresses of the whole program
ALWAYS = 10**6
READ = """import sys
from geouq.core.errors import DataError
from geouq.rasters.gdal import gdal_options
from geouq.rasters.raster import opened, read_header
try:
    with gdal_options(), opened(read_header(sys.argv[1])) as source:
        print("masked" if source.read(1).any() and not source.read_masks(1).all() else "not masked")
except DataError:
    print("refused")
"""
RIGHT = "right numbers, or no pixel that counts in both"


def limited(case: Callable[[], str]) -> tuple[str, float]:
    """Return what a case gives, and in how many seconds."""
    faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
    begun = time.monotonic()
    try:
        return case(), time.monotonic() - begun
    finally:
        faulthandler.cancel_dump_traceback_later()


def row(section: str, tried: str, cases: list[Callable[[], str]]) -> Row:
    """Return the cases of a kind, until time is up, what came of them, and how long the slowest took."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    logging.disable()
    warnings.simplefilter("ignore")
    end = time.monotonic() + LONGEST
    outcomes, seconds = zip(*map(limited, takewhile(lambda _: time.monotonic() < end, cases)), strict=True)
    told = "; ".join(f"{count} {outcome}" for outcome, count in Counter(outcomes).most_common())
    return Row(section, tried, len(outcomes), f"{told} (slowest {max(seconds):.1f} s)")


def configs(times: int, folder: Path) -> Iterator[Row]:
    """Each kind of bad configuration so many times."""
    experiment(folder, ("a1", "a2"), 20)
    with chdir(folder):
        for kind, make in KINDS.items():
            yield row(
                "configurations",
                kind,
                [lambda i=i, k=kind, m=make: _config(m(Random(f"{k}{i}"))) for i in range(times)],
            )


def _config(content: bytes) -> str:
    Path("x.yaml").write_bytes(content)
    return verdict_on("check", "x.yaml") or "checked, or refused with one message"


def rasters(times: int, folder: Path) -> Iterator[Row]:
    """Headers at random, and bytes changed at random, so many times."""
    _scene(Random(0), folder)  # compiles
    yield row("rasters", "headers at random", [lambda i=i: _scene(Random(i), folder) for i in range(times)])
    yield row("rasters", "bytes changed at random", [lambda i=i: _damaged(Random(i), folder) for i in range(times)])


def _scene(random: Random, folder: Path) -> str:
    m, v, y = scene(random, folder)
    found = numbers_of(folder / "x.yaml")
    if isinstance(found, str):
        return f"refused: {found}"
    if not len(m):
        return RIGHT if found["n"] == 0 else "WRONG NUMBERS"
    close = (np.isclose(found[name], value, rtol=1e-6, atol=1e-9) for name, value in expected(m, v, y).items())
    return RIGHT if all(close) else "WRONG NUMBERS"


def _damaged(random: Random, folder: Path) -> str:
    scene(random, folder)
    path = folder / f"t_{random.choice(LAYERS)}.tif"
    path.write_bytes(mutated(path.read_bytes(), random, most=30))
    found = numbers_of(folder / "x.yaml")
    if isinstance(found, dict):
        return "evaluated as it stands"
    return "refused with a message that names the file" if str(folder) in found else f"SAID: {found}"


def servers(times: int, folder: Path) -> Iterator[Row]:
    """Servers that stall, reset and fail: for good, for the first two requests, or for the mask beside a file."""
    experiment(folder, ("a",), 20)
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=False), rasterio.open(folder / "in" / "a_mean.tif", "r+") as target:
        target.write_mask(np.eye(20, dtype=np.uint8))
    for fault in FAULTS:
        for how, faulty, at in (("twice", 2, ""), ("always", ALWAYS, ""), ("always for the mask", ALWAYS, ".msk")):
            case = partial(_asked, folder / "in", fault, faulty, at)
            yield row("servers", f"{fault} {how}", [case] * times)


def _asked(folder: Path, fault: str, faulty: int, at: str) -> str:
    """Return what a process of its own makes of a raster with a mask: a server in this one could not answer it."""
    with serving(folder, fault, faulty, f"/a_mean.tif{at}") as (address, _):
        command = [sys.executable, "-c", READ, f"/vsicurl/{address}/a_mean.tif"]
        told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=MOST_SECONDS)
    if told.returncode or told.stdout not in ("masked\n", "refused\n"):
        return f"SAID: {told.stdout}{told.stderr}"
    if (told.stdout == "refused\n") != (faulty == ALWAYS):
        return f"WRONG: {told.stdout}"
    return "given up on with a message" if faulty == ALWAYS else "read, with its mask"
