"""What regions from classes and polygons cost beside the sweep of the tile that they lie in."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from geouq.core.failures import Failure
from geouq.rasters.catalog import Tile, find_tiles
from geouq.runs.plan import plan_run, settings_for
from geouq.sweep.tiles import sweep_zones
from geouq.sweep.workers import workers
from geouq.sweep.zone_batches import batches_of
from geouq.zones import Zones, open_regions

CLASSES, PATCH = 10, 64  # pixels of a side
POLYGONS = (100, 1000)
CORNERS = 12


def zones_section(choice: Choice) -> Table:
    """Return the summaries of many zones of one tile against decoding the tile."""
    name = make_tile(choice.data, choice.side(), "deflate")
    regions = {f"{CLASSES} classes in patches of {PATCH} pixels": partial(_classes, choice.data, name)}
    for count in POLYGONS:
        regions[f"{count} polygons side by side"] = partial(_polygons, choice.data, name, count)
    base = partial(decode_tile, choice.data, name, choice.threads)
    rows = []
    for what, region in regions.items():
        config = write_config(choice.data, name)
        config.write_text(config.read_text() + f"regions: {{zones: {region()}}}\n")
        ratio = compare(_sweep_of_zones(config, choice.threads), base, choice.times(2))
        rows.append(ratio_row(what, ratio, ""))
    return Table(
        "Regions from classes and polygons / decoding",
        f"One tile of 5 variables, {choice.side()} x {choice.side()} pixels, deflate, {choice.threads} threads; the "
        "zones alone, which come after the sweep of the tile, in as many passes as `geouq run` makes unasked.",
        ("zones", *RATIO),
        tuple(rows),
    )


def _sweep_of_zones(config: Path, threads: int) -> Callable[[], None]:
    experiment = load_experiment(config)
    catalog, regions = find_tiles(experiment), open_regions(experiment)
    settings = settings_for(experiment, catalog)
    work = [(tile, regions.on(tile.name, tile.grid).layers) for tile in catalog.tiles]
    plan = plan_run(catalog, threads, zones={tile.name: layers for tile, layers in work})

    def batched(tile: Tile, layers: Mapping[str, Zones]) -> Sequence[Mapping[str, Zones]]:
        return batches_of(layers, tile, plan.readings[tile.name], threads, plan.zones.room)

    def sweep() -> None:
        with workers(threads) as pool:
            for outcome in sweep_zones(work, settings, pool, threads, batched=batched):
                if isinstance(outcome, Failure):
                    raise SystemExit(f"{config}: {outcome.message}")

    return sweep


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


def _polygons(folder: Path, name: str, count: int) -> str:
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
