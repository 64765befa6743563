"""What a run will do, told from headers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geouq.config import load_experiment
from geouq.core.errors import ConfigError
from geouq.rasters.catalog import Catalog, find_tiles
from geouq.runs.plan import MIB, describe, memory_of_worker, parse_memory, plan_run, problems


@pytest.fixture
def catalog(tile_folder, tmp_path):
    """Three tiles, of which one lacks its truth."""
    config = tile_folder()
    (tmp_path / "truth" / "b1.tif").unlink()
    return find_tiles(load_experiment(config))


def test_a_plan_counts_tiles_pixels_and_bytes(catalog, tmp_path):
    plan = plan_run(catalog, workers=2)

    assert (plan.tiles, plan.variables, plan.pixels, plan.workers) == (2, 3, 2 * 40 * 50, 2)
    files = [tmp_path / f"predictions/{t}_{x}.tif" for t in ("a1", "a2") for x in ("mean", "variance")]
    files += [tmp_path / f"truth/{t}.tif" for t in ("a1", "a2")]
    assert plan.bytes_on_disk == sum(path.stat().st_size for path in files)
    assert [count for _, count in plan.layouts] == [6]


def test_the_plan_is_told_with_units_layout_and_problems(catalog):
    text = "\n".join(describe(plan_run(catalog, workers=1), catalog))

    assert "height (m), cover (%), gini (1)" in text
    assert "2,000 in a variable" not in text
    assert "4,000 in a variable, 12,000 in all" in text
    assert "3 bands float32, blocks 13 x 50, none, pixel order: 6 files" in text
    (problem,) = problems(catalog)
    assert problem.startswith("tile b1: there is no file")


def test_memory_lowers_the_number_of_workers(catalog):
    each = memory_of_worker(catalog.tiles[0])
    whole = plan_run(catalog, workers=8)

    assert plan_run(catalog, 8, f"{(whole.memory - 5 * each) // MIB + 1}MB").workers == 3
    assert plan_run(catalog, 2, "64GB").workers == 2
    with pytest.raises(ConfigError, match=r"a\d_mean\.tif .* needs \d+ MiB; give more memory"):
        plan_run(catalog, 8, "1MB")


def test_files_on_a_server_have_more_workers_unless_their_number_is_given(catalog, monkeypatch):
    monkeypatch.setattr("geouq.runs.plan.os.cpu_count", lambda: 2)
    monkeypatch.setattr("geouq.runs.plan.machine_memory", lambda: 64 << 30)
    (tile, *_) = catalog.tiles
    far = {layer: replace(raster, path=f"s3:/{raster.path}") for layer, raster in tile.rasters.items()}
    on_server = replace(catalog, tiles=(tile.with_rasters(far),))

    assert plan_run(catalog).workers == 2
    assert plan_run(on_server).workers == 16
    assert plan_run(on_server, 3).workers == 3


def test_a_run_that_the_machine_cannot_hold_is_refused_and_one_that_it_can_has_fewer_workers(catalog, monkeypatch):
    whole, each = plan_run(catalog, workers=8).memory, memory_of_worker(catalog.tiles[0])
    monkeypatch.setattr("geouq.runs.plan.machine_memory", lambda: whole - 5 * each + MIB)

    assert plan_run(catalog, workers=8).workers == 3
    monkeypatch.setattr("geouq.runs.plan.machine_memory", lambda: MIB)
    with pytest.raises(ConfigError, match=r"this machine has 1 MiB: reading .*a\d_mean\.tif"):
        plan_run(catalog, workers=8)


def test_corrected_forecasts_take_of_the_memory_that_is_given(catalog):
    assert plan_run(catalog, 8, "4GB").workers == plan_run(catalog, 8, "4GB", views=10).workers == 8
    assert 0 < plan_run(catalog, 8, "4GB", views=1000).workers < 8
    with pytest.raises(ConfigError, match=r"--memory 2GB, of which 5000 corrected forecasts take 10183 MiB: reading"):
        plan_run(catalog, 8, "2GB", views=5000)


def test_larger_blocks_need_more_memory(tmp_path, write_raster, tile_folder):
    small = find_tiles(load_experiment(tile_folder(("a1",)))).tiles[0]
    block = {"tiled": True, "blockxsize": 2048, "blockysize": 2048}
    for layer in ("predictions/a1_mean", "predictions/a1_variance", "truth/a1"):
        write_raster(tmp_path / f"{layer}.tif", np.zeros((3, 2048, 2048), np.float32), compress="deflate", **block)
    large = find_tiles(load_experiment(tmp_path / "experiment.yaml")).tiles[0]

    decoded = 3 * 3 * 2048**2 * 4  # of three layers, bands interleaved; in GDAL's cache, and in the windows
    assert memory_of_worker(large) > 2 * decoded > memory_of_worker(small)


def test_a_plan_of_nothing_is_a_plan():
    plan = plan_run(Catalog((), (), ()), memory="1MB")

    assert (plan.tiles, plan.variables, plan.pixels) == (0, 0, 0)


@given(
    number=st.integers(0, 5000),
    prefix=st.sampled_from(["", "K", "m", "G", "T"]),
    ending=st.sampled_from(["", "B", "iB"]),
)
def test_sizes_are_read_with_any_prefix(number, prefix, ending):
    power = " KMGT".index(prefix.upper() or " ")

    assert parse_memory(f" {number}{prefix}{ending} ") == number * 1024**power


@pytest.mark.parametrize("text", ["", "lots", "4 GB 2", "-4GB", "4EB", "1e9", "GB"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ConfigError, match="write a size such as"):
        parse_memory(text)


def test_workers_beyond_one_a_processor_take_at_most_half_of_the_memory_that_is_left(catalog, monkeypatch):
    (tile, *_) = catalog.tiles
    far = {layer: replace(raster, path=f"s3:/{raster.path}") for layer, raster in tile.rasters.items()}
    on_server = replace(catalog, tiles=(tile.with_rasters(far),))
    monkeypatch.setattr("geouq.runs.plan.os.cpu_count", lambda: 2)
    memory = {count: plan_run(on_server, count, "1TB").memory for count in range(2, 17)}
    each = memory_of_worker(on_server.tiles[0])

    for more in (0, 3, 9):
        limit = plan_run(on_server, 2, "1TB").memory + 600 * MIB + 2 * more * each
        count = plan_run(on_server, None, f"{limit // MIB}MB").workers

        assert 2 <= count <= 16
        assert memory[count] - memory[2] <= (limit - memory[2]) / 2
        assert count == 16 or memory[count + 1] - memory[2] > (limit - memory[2]) / 2 - MIB
