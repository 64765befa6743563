"""Arrays of netCDF and Zarr files: the same bits as the same pixels in GeoTIFF, and messages for what is no map."""

import pickle

import numpy as np
import pytest
import rasterio
from affine import Affine
from alike import same
from arrays_in_files import PLACE, experiment_of, geotiffs, layers, on_map, save, with_crs

from geouq.rasters import array_reader, arrays
from geouq.rasters.array_layout import Axis
from geouq.rasters.catalog import find_tiles
from geouq.rasters.chunk_files import ChunkFiles
from geouq.rasters.raster import read_header
from geouq.reading.stack import open_stack

UNPLACED = pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")  # files of several arrays
CHUNKS = {"whole": None, "squares": {"y": 256, "x": 256}, "odd": {"y": 70, "x": 128}}


def summary_of(sweep_one, experiment):
    (found,) = sweep_one(experiment).values()
    return found.variables


def mean_of(experiment):
    (tile,) = find_tiles(experiment).tiles
    return open_stack(tile).load(scheduler="synchronous")["mean"].isel(variable=0)


def failure_of(experiment):
    catalog = find_tiles(experiment)
    assert not catalog.tiles
    return catalog.failures[0].message


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("ending", [".nc", ".zarr"])
def test_the_same_pixels_give_the_same_bits_as_from_geotiff(tmp_path, sweep_one, ending, chunks):
    pixels = layers()
    path = save(with_crs(on_map(pixels)), tmp_path / f"a{ending}", CHUNKS[chunks])

    found = summary_of(sweep_one, experiment_of(path))

    assert same(found, summary_of(sweep_one, geotiffs(tmp_path, pixels, nodata=np.nan)))


@pytest.mark.parametrize("ending", [".nc", ".zarr"])
def test_rows_from_south_to_north_are_turned(tmp_path, sweep_one, ending):
    pixels = layers()
    upside_down = with_crs(on_map(pixels)).isel(y=slice(None, None, -1), x=slice(None, None, -1))
    path = save(upside_down, tmp_path / f"a{ending}", {"y": 70, "x": 64})

    found = summary_of(sweep_one, experiment_of(path))

    assert same(found, summary_of(sweep_one, geotiffs(tmp_path, pixels, nodata=np.nan)))


def test_rows_may_come_after_columns(tmp_path, sweep_one):
    pixels = layers()
    path = save(with_crs(on_map(pixels)).transpose("x", "y"), tmp_path / "a.zarr", {"y": 70, "x": 64})

    found = summary_of(sweep_one, experiment_of(path))

    assert same(found, summary_of(sweep_one, geotiffs(tmp_path, pixels, nodata=np.nan)))


@pytest.mark.parametrize("ending", [".nc", ".zarr"])
def test_packed_numbers_are_those_of_a_geotiff_with_the_same_scale(tmp_path, sweep_one, ending):
    packed = {name: np.int16(np.nan_to_num(values, nan=-99) * 100) for name, values in layers().items()}
    dataset = with_crs(on_map(packed, scale_factor=0.01, add_offset=3.0, _FillValue=np.int16(-9900)))
    dataset["variance"].attrs["add_offset"] = 0.0
    path = save(dataset, tmp_path / f"a{ending}", {"y": 128, "x": 128})

    found = summary_of(sweep_one, experiment_of(path))

    plain = geotiffs(tmp_path, packed, nodata=-9900)
    for name in packed:
        with rasterio.open(tmp_path / f"{name}.tif", "r+") as target:
            target.scales, target.offsets = [0.01], [0.0 if name == "variance" else 3.0]
    assert same(found, summary_of(sweep_one, plain))


def test_values_beyond_the_valid_range_and_missing_values_do_not_count(tmp_path):
    values = np.arange(30, dtype=np.float32).reshape(5, 6)
    dataset = on_map({"mean": values, "variance": values + 1, "truth": values})
    dataset["mean"].attrs |= {"_FillValue": np.float32(3), "missing_value": np.float32(4), "valid_range": [2.0, 20.0]}
    path = save(dataset, tmp_path / "a.nc")

    found = mean_of(experiment_of(path))

    hidden = (values < 2) | (values > 20) | np.isin(values, [3, 4])
    np.testing.assert_array_equal(found, np.where(hidden, np.nan, values))


def test_integers_that_are_meant_unsigned_are_read_so(tmp_path):
    stored = np.arange(-128, 128, dtype=np.int8).reshape(16, 16)
    dataset = on_map({"mean": stored, "variance": np.ones((16, 16)), "truth": np.ones((16, 16))})
    dataset["mean"].attrs |= {"_Unsigned": "true", "_FillValue": np.int8(-1)}

    found = mean_of(experiment_of(save(dataset, tmp_path / "a.nc")))

    expected = stored.view(np.uint8).astype(float)
    np.testing.assert_array_equal(found, np.where(expected == 255, np.nan, expected))


def globe(west, columns=36):
    pixels = layers(shape=(18, columns))
    place = Affine(10, 0, west, 0, -10, 90)
    dataset = on_map(pixels, place, ("lat", "lon"))
    dataset["lon"].attrs["units"], dataset["lat"].attrs["units"] = "degrees_east", "degrees_north"
    return pixels, dataset


def test_longitudes_from_0_to_360_become_those_from_minus_180_to_180(tmp_path):
    pixels, dataset = globe(0)
    path = save(dataset, tmp_path / "a.zarr", {"lon": 7, "lat": 5})

    found = mean_of(experiment_of(path))

    np.testing.assert_array_equal(found["x"], np.arange(-175, 180, 10))
    np.testing.assert_array_equal(found, np.roll(pixels["mean"], 18, 1))


def test_longitudes_beyond_180_alone_are_moved(tmp_path):
    pixels, dataset = globe(200, columns=10)

    found = mean_of(experiment_of(save(dataset, tmp_path / "a.nc")))

    assert found["x"][0] == -155
    np.testing.assert_array_equal(found, pixels["mean"])


def test_a_part_of_the_earth_across_the_180th_meridian_keeps_its_longitudes(tmp_path):
    _, dataset = globe(150, columns=10)

    assert mean_of(experiment_of(save(dataset, tmp_path / "a.nc")))["x"][-1] == 245


def test_longitudes_and_latitudes_without_a_crs_are_wgs_84_with_a_note(tmp_path):
    catalog = find_tiles(experiment_of(save(globe(-180)[1], tmp_path / "a.nc")))

    assert catalog.tiles[0].grid.crs_name == "EPSG:4326"
    assert "taken as WGS 84" in catalog.notes[0]


def test_the_transform_that_gdal_writes_is_taken_where_coordinates_agree(tmp_path):
    dataset = with_crs(on_map(layers()))
    own = PLACE.c + 1e-7
    dataset["spatial_ref"].attrs["GeoTransform"] = f"{own} 10 0 {PLACE.f} 0 -10"

    grid = read_header(f'ARRAY:"{save(dataset, tmp_path / "a.nc")}":mean').grid

    assert grid.transform.c == own


def test_a_transform_that_contradicts_the_coordinates_is_not_taken(tmp_path):
    dataset = with_crs(on_map(layers()))
    dataset["spatial_ref"].attrs["GeoTransform"] = f"7 10 0 {PLACE.f} 0 -10"

    grid = read_header(f'ARRAY:"{save(dataset, tmp_path / "a.nc")}":mean').grid

    assert grid.transform == PLACE


def test_a_grid_mapping_without_wkt_gives_the_crs(tmp_path):
    dataset = on_map(layers(), grid_mapping="laea")
    attributes = {
        "grid_mapping_name": "lambert_azimuthal_equal_area",
        "latitude_of_projection_origin": 52.0,
        "longitude_of_projection_origin": 10.0,
        "false_easting": 4_321_000.0,
        "false_northing": 3_210_000.0,
    }
    dataset = dataset.assign(laea=((), 0, attributes))

    grid = read_header(f'ARRAY:"{save(dataset, tmp_path / "a.nc")}":mean').grid

    assert "Lambert" in grid.crs


UNEVEN = {
    "uneven": (
        lambda ds: ds.assign_coords(x=ds.x.values + np.where(np.arange(ds.sizes["x"]) == 9, 3, 0)),
        "not evenly",
    ),
    "unnamed": (lambda ds: ds.drop_vars(["x", "y"]).rename(x="i", y="j"), "which dimension runs along rows"),
    "unplaced": (lambda ds: ds.drop_vars("x"), "the dimension x has no coordinate"),
    "text": (lambda ds: ds.assign(mean=ds["mean"].astype("U4")), "holds values of type"),
    "absent": (lambda ds: ds.drop_vars("mean"), "has no array mean; it has truth, variance"),
}


@pytest.mark.parametrize("case", UNEVEN)
def test_what_is_no_map_of_even_pixels_is_refused(tmp_path, case):
    change, message = UNEVEN[case]

    assert message in failure_of(experiment_of(save(change(on_map(layers())), tmp_path / "a.nc")))


def test_a_file_that_is_none_is_named(tmp_path):
    (tmp_path / "a.nc").write_bytes(b"no netCDF at all")

    assert 'a.nc":mean cannot be read' in failure_of(experiment_of(tmp_path / "a.nc"))


@pytest.mark.parametrize(("package", "ending"), [("zarr", ".zarr"), ("h5netcdf", ".nc")])
def test_a_missing_package_is_named(tmp_path, monkeypatch, package, ending):
    path = save(on_map(layers()), tmp_path / f"a{ending}")
    monkeypatch.setitem(arrays.__dict__["__builtins__"], "__import__", _without(package))

    assert f"is read with {package}; install it" in failure_of(experiment_of(path))


def _without(package, plain=__import__):
    def imported(name, *arguments, **options):
        if name == package:
            raise ImportError(name)
        return plain(name, *arguments, **options)

    return imported


def test_a_damaged_chunk_fails_its_tile(tmp_path, sweep_one):
    path = save(on_map(layers()), tmp_path / "a.zarr", {"y": 150, "x": 270})
    (path / "mean/c/1/0").write_bytes(b"damaged")

    (failure,) = sweep_one(experiment_of(path)).values()

    assert 'a.zarr":mean cannot be read' in failure.message


def test_arrays_are_read_alike_by_any_number_of_threads(tmp_path):
    path = save(on_map(layers(shape=(700, 600))), tmp_path / "a.zarr", {"y": 90, "x": 110})
    stacks = [
        open_stack(experiment_of(path), chunk=100).load(scheduler="threads", num_workers=count) for count in (1, 8)
    ]

    assert stacks[0].identical(stacks[1])


def test_tiles_of_arrays_can_be_sent_to_other_processes(tmp_path):
    (tile,) = find_tiles(experiment_of(save(on_map(layers()), tmp_path / "a.zarr"))).tiles

    sent = pickle.loads(pickle.dumps(tile))  # noqa: S301  of this test

    assert open_stack(sent).load().identical(open_stack(tile).load())


def test_each_chunk_is_decoded_once_while_it_is_kept(tmp_path, monkeypatch):
    path = save(on_map(layers(4, shape=(64, 64)), dims=("step",)), tmp_path / "a.zarr", {"step": 4, "y": 32, "x": 32})
    decoded = []
    plain = array_reader.ArraySource._whole
    monkeypatch.setattr(
        array_reader.ArraySource, "_whole", lambda self, numbers: decoded.append(numbers) or plain(self, numbers)
    )
    for tile in find_tiles(experiment_of(path)).tiles:
        open_stack(tile, chunk=20).load(scheduler="synchronous")

    assert len(decoded) == 3 * 4  # chunks of each of three layers


def test_a_changed_chunk_is_noticed(tmp_path):
    path = save(on_map(layers()), tmp_path / "a.zarr")
    before = read_header(f'ARRAY:"{path}":mean').fingerprint

    (path / "mean/c/0/0").touch()

    assert read_header(f'ARRAY:"{path}":mean').fingerprint != before


@pytest.mark.parametrize(
    "axis", [Axis("x", 10, 3), Axis("x", 10, 3, flipped=True), Axis("x", 10, 3, flipped=True, shift=4)]
)
def test_runs_of_an_axis_cover_what_they_are_asked_for(axis):
    values = np.arange(10)[:: -1 if axis.flipped else 1]
    expected = np.roll(values, -axis.shift)[2:9]

    found = np.empty(7, int)
    for run in axis.runs(2, 7):
        part = np.arange(run.start, run.start + run.length)
        found[run.place : run.place + run.length] = part[:: -1 if axis.flipped else 1]

    np.testing.assert_array_equal(found, expected)


def with_standard_error(dataset):
    dataset = dataset.assign(spread=np.sqrt(dataset["variance"])).drop_vars("variance")
    dataset["mean"].attrs |= {"standard_name": "air_temperature", "ancillary_variables": "quality spread"}
    dataset["spread"].attrs["standard_name"] = "air_temperature standard_error"
    return dataset


@pytest.mark.parametrize("multiplier", [1, 2])
def test_the_std_is_the_ancillary_variable_with_a_standard_error(tmp_path, multiplier):
    pixels = layers()
    dataset = with_standard_error(on_map(pixels))
    dataset["spread"] = dataset["spread"] * np.float32(multiplier)
    dataset["spread"].attrs |= {"standard_name": "air_temperature standard_error"}
    if multiplier > 1:
        dataset["spread"].attrs["standard_error_multiplier"] = multiplier

    catalog = find_tiles(experiment_of(save(dataset, tmp_path / "a.nc"), variance=None))

    found = open_stack(catalog.tiles[0]).load()["variance"].isel(variable=0)
    np.testing.assert_allclose(found, pixels["variance"], rtol=1e-6)
    assert "the std of mean is spread, its ancillary variable" in catalog.notes[0]


def test_an_uncertainty_that_is_given_comes_before_the_standard_error(tmp_path):
    dataset = with_standard_error(on_map(layers())).assign(variance=on_map(layers())["variance"])

    (tile,) = find_tiles(experiment_of(save(dataset, tmp_path / "a.nc"))).tiles

    assert "variance" in tile.rasters
    assert "std" not in tile.rasters


def test_an_array_without_any_uncertainty_is_refused(tmp_path):
    path = save(on_map(layers()), tmp_path / "a.nc")

    assert "mean names no ancillary variable" in failure_of(experiment_of(path, variance=None))


def test_an_icechunk_repository_gives_the_same_bits(tmp_path, sweep_one):
    icechunk = pytest.importorskip("icechunk")
    pixels = layers()
    repository = icechunk.Repository.create(icechunk.local_filesystem_storage(str(tmp_path / "a.icechunk")))
    session = repository.writable_session("main")
    with_crs(on_map(pixels)).to_zarr(session.store, consolidated=False, zarr_format=3)
    session.commit("layers")

    found = summary_of(sweep_one, experiment_of(tmp_path / "a.icechunk"))

    assert same(found, summary_of(sweep_one, geotiffs(tmp_path, pixels, nodata=np.nan)))


CODECS = {
    "zstd": lambda zarr: {"compressors": [zarr.codecs.ZstdCodec()]},
    "blosc": lambda zarr: {"compressors": [zarr.codecs.BloscCodec()]},
    "gzip": lambda zarr: {"compressors": [zarr.codecs.GzipCodec()]},
    "two": lambda zarr: {"compressors": [zarr.codecs.GzipCodec(), zarr.codecs.ZstdCodec()]},
    "none": lambda _: {"compressors": None},
    "big": lambda zarr: {"serializer": zarr.codecs.BytesCodec(endian="big")},
    "sharded": lambda _: {"shards": (64, 64)},
}


@pytest.mark.parametrize("codec", CODECS)
def test_chunks_of_any_codec_are_read_as_zarr_reads_them(tmp_path, codec):
    zarr = pytest.importorskip("zarr")
    pixels = layers(shape=(100, 90))
    dataset = on_map(pixels)
    encoding = {name: {"chunks": (32, 32), **CODECS[codec](zarr)} for name in pixels}
    dataset.to_zarr(tmp_path / "a.zarr", consolidated=False, zarr_format=3, encoding=encoding)
    is_usual = ChunkFiles.of(f'ARRAY:"{tmp_path}/a.zarr":mean') is not None

    np.testing.assert_array_equal(mean_of(experiment_of(tmp_path / "a.zarr")), pixels["mean"])
    assert is_usual == (codec not in ("two", "sharded"))


@pytest.mark.parametrize("kind", ["<f4", ">f4"])
def test_stores_of_version_2_are_read(tmp_path, kind):
    pixels = {name: values.astype(kind) for name, values in layers(shape=(100, 90)).items()}
    encoding = {name: {"chunks": (32, 32)} for name in pixels}
    on_map(pixels).to_zarr(tmp_path / "a.zarr", consolidated=False, zarr_format=2, encoding=encoding)

    np.testing.assert_array_equal(mean_of(experiment_of(tmp_path / "a.zarr")), pixels["mean"])


def test_chunks_that_are_not_there_hold_the_fill_value(tmp_path):
    pixels = layers(shape=(100, 90))
    path = save(on_map(pixels), tmp_path / "a.zarr", {"y": 50, "x": 90})
    (path / "mean/c/1/0").unlink()

    found = mean_of(experiment_of(path))

    assert np.isnan(found[50:]).all() or (found[50:] == 0).all()
    np.testing.assert_array_equal(found[:50], pixels["mean"][:50])


def test_netcdf_of_version_3_is_read(tmp_path):
    pixels = layers()
    on_map(pixels).to_netcdf(tmp_path / "a.nc", engine="scipy")

    np.testing.assert_array_equal(mean_of(experiment_of(tmp_path / "a.nc")), pixels["mean"])


def test_an_array_may_be_in_a_group(tmp_path):
    pixels = layers()
    on_map(pixels).to_netcdf(tmp_path / "a.nc", engine="h5netcdf", group="daily")
    data = {name: {"path": str(tmp_path / "a.nc"), "variable": f"daily/{name}"} for name in pixels}

    np.testing.assert_array_equal(mean_of(experiment_of(tmp_path / "a.nc", **data)), pixels["mean"])


@UNPLACED
@pytest.mark.parametrize("drivers", [["GTiff"], ["GTiff", "netCDF"]])
@pytest.mark.parametrize("more", [{}, {"variables": None}])
def test_a_plain_path_of_several_arrays_is_refused_with_their_names_and_what_to_write(tmp_path, drivers, more):
    path = str(save(with_crs(on_map(layers(shape=(40, 30)))), tmp_path / "a.nc"))
    files = {"mean": path, "variance": path, "truth": path}

    message = failure_of(experiment_of(path, {"drivers": drivers, **more}, **files))

    assert path in message
    assert "it holds the arrays mean, variance, truth;" in message
    assert "write which array to read, such as {path: ..., variable: mean}" in message
    assert "drivers:" not in message


@UNPLACED
def test_a_plain_path_of_an_hdf5_file_is_refused_with_the_driver_and_the_array_to_write(tmp_path):
    path = save(with_crs(on_map(layers(shape=(40, 30)))), tmp_path / "a.nc").rename(tmp_path / "a.h5")
    message = failure_of(experiment_of(path, **dict.fromkeys(("mean", "variance", "truth"), str(path))))
    assert "variable: mean}, and drivers: [GTiff, HDF5Image]" in message

    assert mean_of(experiment_of(path, {"drivers": ["GTiff", "HDF5Image"]})).shape == (40, 30)


@UNPLACED
def test_several_arrays_in_a_file_of_another_ending_are_named_as_gdal_names_them(tmp_path):
    path = save(with_crs(on_map(layers(shape=(40, 30)))), tmp_path / "a.nc").rename(tmp_path / "a.dat")
    allowed, keys = {"drivers": ["GTiff", "netCDF"]}, ("mean", "variance", "truth")
    message = failure_of(experiment_of(path, allowed, **dict.fromkeys(keys, str(path))))
    assert message.endswith(f"write the name that GDAL has for one of them, such as NETCDF:{path}:mean")

    named = {key: f"NETCDF:{path}:{key}" for key in keys}
    assert mean_of(experiment_of(path, allowed, **named)).shape == (40, 30)
