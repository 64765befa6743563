"""What a second `geouq run` does not do again, and what it does."""

import hashlib
import json
import os
import shutil

import numpy as np
import pytest
import rasterio.shutil
from affine import Affine
from csv_rows import rows_of
from landscape import NORTH_UP

SHORT = "variables: [height]\noutput: {maps: none, figures: none}\n"


def spoil(path):
    """Overwrite the pixels of a compressed file so that none can be read, and nothing else of it."""
    with rasterio.open(path) as source:
        where = [
            (int(source.get_tag_item(f"BLOCK_OFFSET_0_{row}", "TIFF", bidx=band)), 40)
            for band in source.indexes
            for row in range(-(-source.height // source.block_shapes[0][0]))
        ]
    times = path.stat()
    with path.open("r+b") as file:
        for offset, length in where:
            file.seek(offset)
            file.write(b"\xff" * length)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


CERTAINTY = ("ci_low", "ci_high", "n_effective")


def plain(row):
    """All of a row but what follows from resamples."""
    return tuple(entry for entry in row.items() if entry[0] not in CERTAINTY)


def certainty(row):
    return [float(row[name] or "nan") for name in CERTAINTY]


def test_a_second_run_with_other_regions_bins_and_levels_reads_no_pixel(tile_folder, geouq, tmp_path):
    """All rasters are spoiled in between: a run that read one pixel would fail."""
    config = tile_folder(text="variables: [height]\noutput: {maps: [cells, error]}\n")
    for path in [*tmp_path.glob("predictions/*.tif"), *tmp_path.glob("truth/*.tif")]:
        rasterio.shutil.copy(path, path.with_suffix(".new"), driver="GTiff", compress="deflate")
        path.with_suffix(".new").replace(path)
    geouq("run", config, "--quiet")
    first = rows_of(tmp_path / "results/small/tables/metrics.csv")
    for path in [*tmp_path.glob("predictions/*.tif"), *tmp_path.glob("truth/*.tif")]:
        spoil(path)

    config.write_text(
        config.read_text() + "regions: {east: [b1]}\nlevels: [0.9]\n"
        "bins: [{scheme: equal-width, count: 10}, {scheme: equal-width, count: 20}, {scheme: log-width, count: 7}]\n"
    )
    again = geouq("run", config)

    assert again.exit_code == 0, again.output
    assert "3 of 3 tiles are summarised already" in again.output
    table = rows_of(tmp_path / "results/small/tables/metrics.csv")
    assert {row["name"] for row in table} == {"all", "east", "a1", "a2", "b1"}
    assert {"equal-width-20", "log-width-7"} <= {row["bins"] for row in table}
    assert {row["metric"] for row in table if row["metric"].startswith("coverage_")} == {
        "coverage_90",
        "coverage_above_90",
        "coverage_below_90",
    }
    shared = [row for row in table if row["name"] != "east" and row["bins"] in ("", "equal-width-10")]
    assert {plain(row) for row in shared} <= {plain(row) for row in first}
    before = {plain(row): certainty(row) for row in first}
    for row in shared:  # gradients are numerical, and levels that are kept besides change their last digits
        assert certainty(row) == pytest.approx(before[plain(row)], rel=1e-5, nan_ok=True)
    assert geouq("run", config, "--fresh").exit_code == 3


def test_another_level_is_swept_for(tile_folder, geouq):
    config = tile_folder(text=SHORT)
    geouq("run", config, "--quiet")
    config.write_text(config.read_text() + "levels: [0.7]\n")

    assert "summarised already" not in geouq("run", config).output


def test_a_changed_file_is_read_again(tile_folder, geouq, tmp_path):
    config = tile_folder(text=SHORT)
    geouq("run", config, "--quiet")
    shutil.copy(tmp_path / "truth" / "a1.tif", tmp_path / "a1.tif")
    os.utime(tmp_path / "a1.tif", ns=(1, 1))
    (tmp_path / "a1.tif").replace(tmp_path / "truth" / "a1.tif")

    assert "2 of 3 tiles are summarised already" in geouq("run", config).output


@pytest.mark.parametrize(("fingerprint", "again"), [("modified", 1), ("checksum", 0)])
def test_a_file_that_is_touched_is_the_same_by_its_checksum_alone(tile_folder, geouq, tmp_path, fingerprint, again):
    config = tile_folder(("a1", "a2"), text=f"{SHORT}fingerprint: {fingerprint}\n")
    geouq("run", config, "--quiet")
    os.utime(tmp_path / "truth" / "a1.tif", ns=(1, 1))

    done = geouq("run", config)

    assert f"{2 - again} of 2 tiles are summarised already" in done.stderr
    assert ("checksums 2/2: a2" in done.stderr) == (fingerprint == "checksum")
    assert ("sweep 1/1: a1" in done.stderr) == bool(again)


@pytest.mark.parametrize(("fingerprint", "again"), [("modified", 0), ("checksum", 1)])
def test_bytes_changed_under_the_same_size_and_time_are_noticed_by_checksum(
    tile_folder, geouq, tmp_path, fingerprint, again
):
    config = tile_folder(("a1", "a2"), text=f"{SHORT}fingerprint: {fingerprint}\n")
    geouq("run", config, "--quiet")
    path = tmp_path / "truth" / "a1.tif"
    before, content = path.stat(), bytearray(path.read_bytes())
    with rasterio.open(path) as source:
        first_pixel = int(source.get_tag_item("BLOCK_OFFSET_0_0", "TIFF", bidx=1))
    content[first_pixel] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert f"{2 - again} of 2 tiles are summarised already" in geouq("run", config).stderr


def test_the_run_keeps_the_checksums_that_it_went_by(tile_folder, geouq, tmp_path):
    geouq("run", tile_folder(("a1",), text=SHORT + "fingerprint: checksum\n"), "--quiet")

    folder = tmp_path / "results" / "small"
    inputs = json.loads((folder / "run.json").read_text(encoding="utf-8"))["inputs"]["a1"]
    checksum = hashlib.sha256((tmp_path / "truth" / "a1.tif").read_bytes()).hexdigest()
    assert inputs["truth"]["files"] == [{"file": "a1.tif", "sha256": checksum}]
    assert set(inputs) == {"mean", "variance", "truth"}
    assert "fingerprint: checksum\n" in (folder / "config.yaml").read_text(encoding="utf-8")


def test_a_failed_tile_is_tried_again(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1", "a2"), text=SHORT)
    path = tmp_path / "truth" / "a2.tif"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    first = geouq("run", config, "--quiet")
    path.write_bytes(whole)
    again = geouq("run", config)

    assert (first.exit_code, again.exit_code) == (3, 0)
    assert "1 of 2 tiles are summarised already" in again.stderr
    assert rows_of(tmp_path / "results/small/tables/failures.csv") == []


def test_a_mask_put_beside_a_file_is_noticed(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1", "a2"), text=SHORT)
    geouq("run", config, "--quiet")
    with (
        rasterio.Env(GDAL_TIFF_INTERNAL_MASK=False),
        rasterio.open(tmp_path / "truth" / "a2.tif", "r+", IGNORE_COG_LAYOUT_BREAK=True) as target,
    ):
        target.write_mask(np.zeros((40, 50), np.uint8))

    assert geouq("run", config, "--quiet").exit_code == 0
    rows = rows_of(tmp_path / "results/small/tables/metrics.csv")
    assert {row["n"] for row in rows if (row["level"], row["name"]) == ("tile", "a2")} == {"0"}


@pytest.fixture
def zoned(tile_folder, write_raster, tmp_path):
    """A configuration with two tiles, and regions from classes; the folder of its results."""
    for name in ("a1", "a2"):
        codes = np.random.default_rng(0).integers(0, 3, (40, 50)).astype(np.uint8)
        place = {"transform": NORTH_UP @ Affine.translation(50 * int(name == "a2"), 0)}
        write_raster(tmp_path / "classes" / f"{name}.tif", codes, **place)
    regions = "regions: {cover: {classes: 'classes/{tile}.tif', names: {1: forest, 2: shrub}}}\n"
    return tile_folder(("a1", "a2"), text=f"{SHORT}{regions}ordering: true\n"), tmp_path / "results" / "small"


def flip(path, rng):
    content = bytearray(path.read_bytes())
    bit = int(rng.integers(8 * len(content)))
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def summaries_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in (folder / "summaries").rglob("*.nc")}


def numbers_of(folder):
    return {path.name: path.read_bytes() for path in (folder / "tables").glob("*.csv")}


def test_a_flipped_bit_in_a_summary_changes_no_number(zoned, geouq):
    """`report` stops and names the file; `run` reads the tile again and reports it."""
    config, folder = zoned
    geouq("run", config, "--quiet")
    summaries, numbers, rng = summaries_of(folder), numbers_of(folder), np.random.default_rng(3)
    assert len(summaries) == 4
    for number in range(24):
        name = sorted(summaries)[number % 4]
        flip(folder / name, rng)
        told = geouq("report", folder, "--quiet")
        assert told.exit_code == 2
        assert f"{name} cannot be read as saved summaries: its content does not match its checksum" in told.stderr
        assert geouq("verify", folder).exit_code == 1
        if number < 4:
            again = geouq("run", config)
            assert again.exit_code == 0
            assert f"is swept again, as its saved summary {name} is damaged" in again.stderr
            assert numbers_of(folder) == numbers
        (folder / name).write_bytes(summaries[name])
        assert summaries_of(folder) == summaries


def test_verify_names_summaries_that_are_gone_damaged_or_of_another_run(zoned, geouq):
    config, folder = zoned
    geouq("run", config, "--quiet")
    names = ["summaries/a1.nc", "summaries/a2.nc", "summaries/zones/cover/a1.nc"]
    assert set(names) < set(json.loads((folder / "run.json").read_text(encoding="utf-8"))["summaries"])
    (folder / names[0]).unlink()
    flip(folder / names[1], np.random.default_rng(4))
    shutil.copy(folder / "summaries/zones/cover/a2.nc", folder / names[2])

    told = geouq("verify", folder)

    assert told.exit_code == 1
    assert [line.partition(";")[0] for line in told.stdout.splitlines()[:3]] == [
        f"changed: summary {names[0]} is gone",
        f"changed: summary {names[2]} is not the one that the run used",
        f"changed: summary {names[1]} is damaged",
    ]


def test_identical_runs_write_identical_summaries_whatever_the_number_of_workers(zoned, geouq, tmp_path):
    config, folder = zoned
    geouq("run", config, "--quiet", "--workers", "2")
    geouq("run", config, "--quiet", "--workers", "1", "--out", tmp_path / "other")

    assert summaries_of(folder) == summaries_of(tmp_path / "other")
