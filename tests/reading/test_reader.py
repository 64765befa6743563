"""Windows of a tile: what is read, what is not, and what a file that cannot be read says."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import rasterio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from geouq.config import load_experiment
from geouq.core.errors import DataError
from geouq.core.grid import Window
from geouq.core.validity import REASONS
from geouq.rasters.catalog import find_tiles
from geouq.rasters.gdal import gdal_options
from geouq.rasters.raster import most_open, opened, read_header
from geouq.reading import reader
from geouq.reading.reader import read_window

SHAPE = (2, 64, 64)
FEW = 32
FILE = '<SourceFilename relativeToVRT="1">{file}</SourceFilename>'
SOURCE = f"<SimpleSource>{FILE}<SourceBand>{{band}}</SourceBand></SimpleSource>"
MASKED_BAND = (
    f'<VRTRasterBand dataType="Float32" band="{{band}}">{SOURCE.replace("{file}", "t_truth.tif")}'
    f'<MaskBand><VRTRasterBand dataType="Byte">{SOURCE.replace("{file}", "masks.tif")}</VRTRasterBand></MaskBand>'
    "</VRTRasterBand>"
)


@pytest.fixture
def one_tile(tmp_path, write_raster):
    """A tile of two variables in blocks of 16 pixels; `truth` and options may be given."""

    def make(truth, **layout):
        blocks = {"tiled": True, "blockxsize": 16, "blockysize": 16, "compress": "deflate"}
        noise = np.random.default_rng(0).random(SHAPE).astype(np.float32) + 1
        for name, bands in {"mean": noise, "variance": noise, "truth": truth}.items():
            write_raster(tmp_path / f"t_{name}.tif", bands, **blocks | layout)
        config = tmp_path / "one.yaml"
        data = "".join(f"  {name}: '{{tile}}_{name}.tif'\n" for name in ("mean", "variance", "truth"))
        config.write_text(f"version: 1\nname: one\ndata:\n{data}")
        (tile,) = find_tiles(load_experiment(config)).tiles
        return tile

    return make


@pytest.fixture
def reads(monkeypatch):
    """Which bands of which file are decoded, in order."""
    found = []

    class Watched:
        def __init__(self, source, path):
            self._source, self._name = source, path.rpartition("_")[2].removesuffix(".tif")

        def read(self, numbers, **options):
            found.append((self._name, tuple(numbers)))
            return self._source.read(numbers, **options)

        def read_masks(self, number, **options):
            found.append((self._name, "mask"))
            return self._source.read_masks(number, **options)

    @contextmanager
    def watched(raster):
        with opened(raster) as source:
            yield Watched(source, raster.path)

    monkeypatch.setattr(reader, "opened", watched)
    return found


def read(tile, window):
    with gdal_options():
        return list(read_window(tile, window))


def truth_in_one_corner():
    """Of the first variable everywhere, of the second in the upper left quarter."""
    truth = np.full(SHAPE, 1.5, np.float32)
    truth[1] = np.nan
    truth[1, :32, :32] = 1.5
    return truth


def test_a_variable_without_truth_reads_no_prediction(one_tile, reads):
    tile = one_tile(truth_in_one_corner(), interleave="band")

    first, second = read(tile, Window(32, 32, 32, 32))

    assert first.read
    assert not second.read
    assert reads == [("truth", (1,)), ("mean", (1,)), ("variance", (1,)), ("truth", (2,))]


@pytest.mark.parametrize(
    "header",
    [{"nodata": 7}, {"nodata": 7, "scales": [0.5] * 2}, {"nodata": 0, "mask": np.ones(SHAPE[1:], bool)}],
    ids=["nodata", "nodata under a scale", "mask"],
)
@pytest.mark.parametrize("kind", [np.float32, np.int16])
def test_no_prediction_is_read_however_the_truth_is_missing(one_tile, reads, tmp_path, write_raster, kind, header):
    tile = one_tile(np.ones(SHAPE, np.float32))
    path = write_raster(tmp_path / "t_truth.tif", np.full(SHAPE, 7, kind), **header)
    missing = replace(tile, truth=read_header(str(path)))

    found = read(missing, Window(16, 16, 32, 32))

    assert [window.read for window in found] == [False, False]
    assert {name for name, _ in reads} == {"truth"}


def test_bands_that_are_stored_together_are_read_once(one_tile, reads):
    tile = one_tile(truth_in_one_corner(), interleave="pixel")

    read(tile, Window(0, 0, 32, 32))

    assert reads == [("truth", (1, 2)), ("mean", (1, 2)), ("variance", (1, 2))]


def test_only_bands_of_variables_are_read(one_tile, reads, tmp_path):
    one_tile(truth_in_one_corner(), interleave="pixel")
    config = tmp_path / "one.yaml"
    config.write_text(config.read_text() + "variables: {second: {band: 2}}\n")
    (tile,) = find_tiles(load_experiment(config)).tiles

    read(tile, Window(0, 0, 16, 16))

    assert reads == [("truth", (2,)), ("mean", (2,)), ("variance", (2,))]


def test_without_truth_a_damaged_prediction_is_not_noticed(one_tile, sweep_one, tmp_path):
    """The sweep of a tile whose truth is empty reads no prediction; with truth, it fails."""
    one_tile(np.full(SHAPE, np.nan, np.float32))
    for name in ("mean", "variance"):
        path = tmp_path / f"t_{name}.tif"
        with rasterio.open(path) as source:
            start = int(source.get_tag_item("BLOCK_OFFSET_0_0", "TIFF", bidx=1))
        content = bytearray(path.read_bytes())
        content[start : start + 200] = bytes(200)
        path.write_bytes(content)

    empty = sweep_one(tmp_path / "one.yaml")["t"]
    with rasterio.open(tmp_path / "t_truth.tif", "r+") as target:
        target.write(np.full(SHAPE, 1.5, np.float32))
    damaged = sweep_one(tmp_path / "one.yaml")["t"]

    assert empty.variables["band_1"].whole.n == 0
    assert empty.variables["band_1"].excluded.sum() == empty.variables["band_1"].excluded[3] == 64 * 64
    assert damaged.error == "DataError"
    assert "t_mean.tif cannot be read" in damaged.message


def test_each_band_has_a_mask_of_its_own(one_tile, tmp_path, write_raster):
    """A GeoTIFF has one mask for all bands, a VRT may have one a band, of which GDAL says only that it is there."""
    tile = one_tile(np.ones(SHAPE, np.float32))
    hidden = np.random.default_rng(1).random(SHAPE) < np.array([0.2, 0.5])[:, np.newaxis, np.newaxis]
    write_raster(tmp_path / "masks.tif", np.where(hidden, 0, 255).astype(np.uint8))
    bands = "".join(MASKED_BAND.format(band=band) for band in (1, 2))
    (tmp_path / "t_truth.vrt").write_text(
        f'<VRTDataset rasterXSize="64" rasterYSize="64">{bands}'
        "<GeoTransform>0, 1, 0, 0, 0, -1</GeoTransform></VRTDataset>"
    )
    masked = replace(tile, truth=read_header(str(tmp_path / "t_truth.vrt"), ["VRT"]))

    found = [window.status for window in read(masked, Window(0, 0, 64, 64))]

    np.testing.assert_array_equal(found, np.where(hidden, REASONS.index("masked") + 1, 0))


def test_float32_is_handed_on_as_it_is_stored(one_tile):
    (first, _) = read(one_tile(truth_in_one_corner()), Window(0, 0, 16, 16))

    assert {first.mean.dtype, first.variance.dtype, first.truth.dtype} == {np.dtype(np.float32)}
    assert first.status.size == 0


def test_a_thread_keeps_few_files_open_and_reads_each_right(tmp_path, write_raster, monkeypatch):
    monkeypatch.setattr("geouq.rasters.raster.most_open", lambda: FEW)
    rasters = []
    for number in range(FEW + 5):
        path = tmp_path / f"{number}.tif"
        write_raster(path, np.full((1, 2, 2), number, np.uint8))
        rasters.append(read_header(str(path)))

    with gdal_options():
        for _ in range(2):
            for number, raster in enumerate(rasters):
                with opened(raster) as source:
                    assert (source.read() == number).all()


@pytest.mark.parametrize(("allowed", "most"), [(1024, 64), (64, 4), (8, 1), (1 << 20, 256), (float("inf"), 256)])
def test_as_many_files_stay_open_as_the_process_may_have(monkeypatch, allowed, most):
    monkeypatch.setattr("geouq.rasters.raster.os.cpu_count", lambda: 8)
    monkeypatch.setattr("geouq.rasters.raster.threading.active_count", lambda: 1)  # others may have left threads
    monkeypatch.setattr("geouq.rasters.raster.open_files_allowed", lambda: allowed)

    assert most_open() == most


def test_many_threads_share_the_files_that_the_process_may_have(monkeypatch):
    monkeypatch.setattr("geouq.rasters.raster.os.cpu_count", lambda: 2)
    monkeypatch.setattr("geouq.rasters.raster.threading.active_count", lambda: 16)
    monkeypatch.setattr("geouq.rasters.raster.open_files_allowed", lambda: 64)

    assert most_open() == 2


def test_a_file_that_changes_is_opened_anew(tmp_path, write_raster):
    path = tmp_path / "a.tif"
    write_raster(path, np.zeros((1, 2, 2), np.uint8))
    with gdal_options(), opened(read_header(str(path))) as source:
        before = source.read()
    write_raster(tmp_path / "b.tif", np.ones((1, 2, 3), np.uint8)).replace(path)

    with gdal_options(), opened(read_header(str(path))) as source:
        after = source.read()

    assert (before.shape, after.shape) == ((1, 2, 2), (1, 2, 3))


def test_what_vanishes_after_its_header_was_read_is_a_plain_error(tmp_path, write_raster):
    raster = read_header(str(write_raster(tmp_path / "a.tif", np.zeros((1, 2, 2), np.uint8))))
    (tmp_path / "a.tif").unlink()

    with pytest.raises(DataError, match=r"a\.tif cannot be read: .*No such file"), opened(raster):
        pass


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(data=st.data())
def test_damaged_pixels_are_read_or_refused_plainly(one_tile, tmp_path, data):
    """Whatever bytes are lost or changed, a window is read or the file is named; nothing else is raised."""
    tile = one_tile(truth_in_one_corner())
    path = tmp_path / "t_mean.tif"
    content = bytearray(path.read_bytes())
    for place in data.draw(st.lists(st.integers(600, len(content) - 1), max_size=20)):
        content[place] ^= 0xA5
    path.write_bytes(content[: data.draw(st.integers(600, len(content)))])

    try:
        read(tile, Window(0, 0, 64, 64))
    except DataError as refused:
        told = str(refused)
    else:
        told = str(path)
    assert told.startswith(str(path))


@pytest.mark.parametrize("declared", [-3.4e38, -3.4028235e38, float(np.finfo(np.float32).min)])
@pytest.mark.parametrize("stored", [-3.4e38, np.finfo(np.float32).min])
def test_the_lowest_float32_is_nodata_however_it_is_rounded(tmp_path, write_raster, sweep_one, declared, stored):
    values = np.ones((16, 16), np.float32)
    truth = values.copy()
    truth[3, :5] = np.float32(stored)
    write_raster(tmp_path / "a_mean.tif", values)
    write_raster(tmp_path / "a_variance.tif", values)
    write_raster(tmp_path / "a.tif", truth, nodata=declared)
    config = tmp_path / "c.yaml"
    layers = "{mean: './{tile}_mean.tif', variance: './{tile}_variance.tif', truth: './{tile}.tif'}"
    config.write_text(f"version: 1\nname: c\ndata: {layers}\n")

    (part,) = sweep_one(config)["a"].variables.values()

    assert part.whole.n == 16 * 16 - 5
    assert part.excluded[0] == 5
