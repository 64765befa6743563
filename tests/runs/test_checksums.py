"""Checksums of the files of tiles: each once, whatever the threads, and ended where nobody wants them."""

import hashlib
import threading
from pathlib import Path

import pytest

from geouq.config import load_experiment
from geouq.core.failures import Failure
from geouq.rasters.catalog import find_tiles
from geouq.runs import checksums
from geouq.runs.checksums import with_checksums
from geouq.zones import TileZones

MOSAIC = """<VRTDataset rasterXSize="50" rasterYSize="40"><SRS>EPSG:32633</SRS>
<GeoTransform>{left}, 10, 0, 7000000, 0, -10</GeoTransform>{bands}</VRTDataset>"""
BAND = """<VRTRasterBand dataType="Float32" band="{0}"><SimpleSource><SourceFilename relativeToVRT="1">../all.tif
</SourceFilename><SourceBand>{0}</SourceBand></SimpleSource></VRTRasterBand>"""


@pytest.fixture
def tiles(tile_folder, tmp_path):
    """Two tiles whose truth is a VRT of one file that they share."""
    config = tile_folder(("a1", "a2"))
    (tmp_path / "truth" / "a1.tif").rename(tmp_path / "all.tif")
    bands = "".join(BAND.replace("\n", "").format(number) for number in (1, 2, 3))
    for number, name in enumerate(("a1", "a2")):
        text = MOSAIC.format(left=500_000 + 500 * number, bands=bands)
        (tmp_path / "truth" / f"{name}.vrt").write_text(text)
    config.write_text(config.read_text().replace("truth/{tile}.tif", "truth/{tile}.vrt") + "drivers: [COG, VRT]\n")
    catalog = find_tiles(load_experiment(config))
    assert not catalog.failures
    return catalog.tiles


@pytest.fixture
def no_zones(tiles):
    return dict.fromkeys((tile.name for tile in tiles), TileZones(("all",), {}))


def no_progress(*_):
    pass


@pytest.mark.parametrize("threads", [1, 3])
def test_every_file_has_the_checksum_of_its_bytes(tiles, no_zones, threads):
    done = [tile for tile, _ in with_checksums(tiles, no_zones, threads, no_progress)]

    files = [file for tile in done for raster in tile.rasters.values() for file in raster.files]
    assert {file.name for file in files} >= {"a1.vrt", "a2.vrt", "all.tif", "a2_mean.tif"}
    assert [file.sha256 for file in files] == [
        hashlib.sha256(Path(file.path).read_bytes()).hexdigest() for file in files
    ]
    assert [tile.name for tile in done] == ["a1", "a2"]


def test_a_file_that_tiles_share_is_read_once(tiles, no_zones, monkeypatch):
    read, plain = [], checksums._checksum

    def watched(stopping, path):
        read.append(Path(path).name)
        return plain(stopping, path)

    monkeypatch.setattr(checksums, "_checksum", watched)
    told = []
    list(with_checksums(tiles, no_zones, 2, lambda tile, share: told.append((tile, share))))

    assert sorted(read) == sorted(
        ["all.tif", *(f"{name}{end}" for name in ("a1", "a2") for end in ("_mean.tif", "_variance.tif", ".vrt"))]
    )
    assert told == [("a1", 0), ("a1", 0.25), ("a1", 0.5), ("a1", 0.75), ("a2", 0), ("a2", 0.25), ("a2", 0.75)]


def test_a_file_that_cannot_be_read_fails_its_tile_alone(tiles, no_zones, tmp_path):
    gone = tmp_path / "predictions" / "a1_mean.tif"
    gone.unlink()

    first, (second, _) = with_checksums(tiles, no_zones, 2, no_progress)

    assert first == Failure("a1", "checksums", "DataError", f"{gone} cannot be read: No such file or directory")
    assert all(file.sha256 for raster in second.rasters.values() for file in raster.files)


def test_closing_ends_a_file_that_is_long_under_way(tiles, no_zones, monkeypatch):
    """The second file never ends by itself."""
    begun, ended = threading.Event(), []

    def endless(stopping, path):
        if path.endswith("a1_mean.tif"):
            return "0"
        begun.set()
        ended.append(stopping.wait(600))
        return "1"

    monkeypatch.setattr(checksums, "_checksum", endless)

    def interrupted(tile, share):  # noqa: ARG001
        if share > 0:
            assert begun.wait(600)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(with_checksums(tiles, no_zones, 2, interrupted))

    assert ended
    assert all(ended)
