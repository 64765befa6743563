"""What a sweep takes that also sums regions from classes and polygons, with their files."""

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import rasterio
from numpy.typing import NDArray

from benchmarks.choices import Choice
from benchmarks.measure import RATIO, Table, compare, ratio_row
from benchmarks.rasters import make_tile
from benchmarks.sweeps import decode_tile
from benchmarks.tiles import path_of, write_config
from geouq.config import load_experiment
from geouq.pipeline.data import Options
from geouq.pipeline.prepare import prepare, working
from geouq.pipeline.stages import Inspected
from geouq.pipeline.sweep import save, sweep

CLASSES, PATCH = 10, 64  # pixels of a side
POLYGONS = {100: "<= 1.9", 1000: "<= 2.5"}
CORNERS = 12


def zones_section(choice: Choice) -> Table:
    """Return the sweep of a tile with many zones, from headers to saved summaries, against decoding the tile."""
    name = make_tile(choice.data, choice.side(), "deflate")
    classes = f"{CLASSES} classes in patches of {PATCH} pixels"
    layers = {"classes": _classes(choice.data, name)}
    layers |= {f"polygons{count}": polygon_regions(choice.data, name, count) for count in POLYGONS}
    cases = {
        "none": ((), ""),
        classes: (("classes",), "<= 2.2"),
        **{f"{count} polygons side by side": ((f"polygons{count}",), target) for count, target in POLYGONS.items()},
        f"{classes}, and 100 polygons": (("classes", "polygons100"), "<= 3.0"),
    }
    base = partial(decode_tile, choice.data, name, choice.threads)
    rows = []
    for what, (names, target) in cases.items():
        config = write_config(choice.data, name)
        regions = ", ".join(f"{layer}: {layers[layer]}" for layer in names)
        config.write_text(f"{config.read_text()}regions: {{{regions}}}\n")
        ratio = compare(_sweep(config, choice.threads), base, choice.times(2))
        rows.append(ratio_row(what, ratio, target))
    return Table(
        "Sweep with regions from classes and polygons / decoding",
        f"One tile of 5 variables, {choice.side()} x {choice.side()} pixels, deflate, {choice.threads} threads: "
        "`geouq run` from reading headers to saved summaries of the tile and of its regions.",
        ("regions", *RATIO),
        tuple(rows),
    )


def _sweep(config: Path, threads: int) -> Callable[[], None]:
    experiment, out = load_experiment(config), config.parent / "swept"

    def swept() -> None:
        shutil.rmtree(out, ignore_errors=True)
        job = prepare(experiment, Options(out=out, workers=threads), None)
        with working(job) as workers:
            done = sweep(Inspected(job, tuple(job.tiles), (), (), ()), workers)
            save(done, workers)
        if done.record.failures:
            raise SystemExit(f"{config}: {done.record.failures[0].message}")

    return swept


def _classes(folder: Path, name: str) -> str:
    """Classes in square patches; how the configuration names them."""
    with rasterio.open(path_of(folder, name, "truth")) as truth:
        height, width = truth.shape
    patches = np.random.default_rng(0).integers(1, CLASSES + 1, [-(-side // PATCH) for side in (height, width)])
    return class_regions(folder, name, np.kron(patches, np.ones((PATCH, PATCH))).astype(np.uint8)[:height, :width])


def class_regions(folder: Path, name: str, cover: NDArray[np.uint8]) -> str:
    """Write classes from 1 on for a tile; return how the configuration names them."""
    with rasterio.open(path_of(folder, name, "truth")) as truth:
        profile = {key: truth.profile[key] for key in ("driver", "height", "width", "crs", "transform")}
    with rasterio.open(
        folder / "classes.tif", "w", **profile, count=1, dtype="uint8", tiled=True, compress="deflate"
    ) as to:
        to.write(cover, 1)
    names = ", ".join(f"{code}: class {code}" for code in range(1, int(cover.max()) + 1))
    return f"{{classes: classes.tif, names: {{{names}}}}}"


def polygon_regions(folder: Path, name: str, count: int) -> str:
    """Polygons that nearly touch; how the configuration names them."""
    with rasterio.open(path_of(folder, name, "truth")) as truth:
        place, side, crs = truth.transform, truth.width, truth.crs
    features = [
        {
            "type": "Feature",
            "properties": {"NAME": f"p{number}"},
            "geometry": {"type": "Polygon", "coordinates": [[list(place @ corner) for corner in ring]]},
        }
        for number, ring in enumerate(_rings(count, side))
    ]
    named = {"type": "name", "properties": {"name": f"urn:ogc:def:crs:EPSG::{crs.to_epsg()}"}}
    path = folder / f"polygons-{count}.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "crs": named, "features": features}))
    return f"{{polygons: {path.name}, name: NAME}}"


def _rings(count: int, side: int) -> Iterator[list[tuple[float, float]]]:
    across = int(np.ceil(np.sqrt(count)))
    step, angles = side / across, np.linspace(0, 2 * np.pi, CORNERS + 1)
    for number in range(count):
        row, column = divmod(number, across)
        x, y = (column + 0.5) * step, (row + 0.5) * step
        ring = [(x + step / 2 * np.cos(angle), y + step / 2 * np.sin(angle)) for angle in angles]
        yield [*ring[:-1], ring[0]]
