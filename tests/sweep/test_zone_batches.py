"""Batches of zones: none takes more memory than there is room for, and none is left out."""

import numpy as np
import pytest
from affine import Affine
from vectors import feature, geojson, square

from geouq.config import load_experiment
from geouq.core.errors import ConfigError
from geouq.rasters.catalog import find_tiles
from geouq.reading.cutting import Pieces, Reading
from geouq.runs.plan import MIB, describe, plan_run
from geouq.sweep.zone_batches import batches_of, bytes_of_zones
from geouq.zones import open_regions, placed

SIDE = 2048
READING = Reading(512, 512)


@pytest.fixture
def placed_zones(tile_folder, tmp_path, write_raster):
    """Zones of a tile, 64 polygons side by side and three classes, and a catalog of it."""
    config = tile_folder(("a1",), text="regions:\n  p: {polygons: p.geojson, name: NAME}\n"
                         "  c: {classes: c.tif, names: {1: x, 2: y, 3: z}}\n")  # fmt: skip
    for layer in ("predictions/a1_mean", "predictions/a1_variance", "truth/a1"):
        write_raster(tmp_path / f"{layer}.tif", np.ones((3, SIDE, SIDE), np.float32), tiled=True)
    write_raster(tmp_path / "c.tif", np.ones((SIDE, SIDE), np.uint8))
    corners = [(x, y) for y in range(0, SIDE, 256) for x in range(0, SIDE, 256)]
    place = Affine(10, 0, 500_000, 0, -10, 7_000_000)
    rings = [square(*(place @ (x + 10, y + 210)), 2000) for x, y in corners]
    geojson(tmp_path / "p.geojson", *(feature(f"p{i}", ring) for i, ring in enumerate(rings)))
    experiment = load_experiment(config)
    zones, catalog = placed(open_regions(experiment), find_tiles(experiment))
    assert not catalog.failures
    return zones["a1"].layers, catalog


@pytest.mark.parametrize("zones_at_once", [1, 3, 20, 1000])
def test_every_zone_is_in_one_batch_and_none_takes_more_than_there_is(placed_zones, zones_at_once):
    layers, catalog = placed_zones
    (tile,) = catalog.tiles
    room = bytes_of_zones(layers, tile, READING, 2).largest * zones_at_once
    batches = batches_of(layers, tile, READING, 2, room)

    found = [(key, name) for batch in batches for key, layer in batch.items() for name in layer.names]
    assert sorted(found) == sorted((key, name) for key, layer in layers.items() for name in layer.names)
    assert all(bytes_of_zones(batch, tile, READING, 2).together <= room for batch in batches)
    assert (len(batches) == 1) == (bytes_of_zones(layers, tile, READING, 2).together <= room)


def test_zones_in_other_rows_of_windows_take_no_room(placed_zones):
    layers, catalog = placed_zones
    only = {"p": layers["p"].only({"p0"})}, {"p": layers["p"].only({"p0", "p60"})}
    one, two = (bytes_of_zones(own, catalog.tiles[0], READING, 2).together for own in only)

    assert one == two


def test_zones_of_tiles_in_one_piece_need_room_for_the_pieces_of_the_next_tiles(placed_zones):
    layers, catalog = placed_zones
    (tile,) = catalog.tiles
    pieces, alone = (
        bytes_of_zones({"p": layers["p"].only({"p0"})}, tile, reading, 2).together
        for reading in (READING, Reading(1024, 4096))
    )

    assert len(Pieces(tile.grid, Reading(1024, 4096))) < len(Pieces(tile.grid, READING))
    assert alone > pieces


def test_memory_that_is_given_holds_for_zones(placed_zones):
    layers, catalog = placed_zones
    free = plan_run(catalog, 1, zones={"a1": layers})
    tight = plan_run(catalog, 1, "500MB", {"a1": layers})

    assert tight.memory <= 500 * MIB < free.memory
    assert tight.zones.passes > free.zones.passes == 0
    assert f"67 from polygons and classes, whose windows are read up to {tight.zones.passes} times" in "\n".join(
        describe(tight, catalog)
    )


def test_a_region_that_alone_takes_too_much_is_refused(placed_zones, monkeypatch):
    layers, catalog = placed_zones
    monkeypatch.setattr("geouq.sweep.zone_batches.FILLED", 1 << 29)

    with pytest.raises(ConfigError, match=r"largest of the regions from polygons and classes needs \d+ MiB; give more"):
        plan_run(catalog, 1, "600MB", {"a1": layers})
