"""Values that the configuration says how to read: the numbers are those of plain files of float32."""

import numpy as np
import pytest
import rasterio
import xarray as xr

from geouq.config import load_experiment
from geouq.core.errors import ConfigError
from geouq.rasters.catalog import find_tiles
from geouq.reading.stack import open_stack

SHAPE = (40, 50)
RNG = np.random.default_rng(0)
STD = RNG.uniform(1, 3, SHAPE).astype(np.float32)
MEAN = RNG.uniform(20, 40, SHAPE).astype(np.float32)
TRUTH = (MEAN + STD * RNG.standard_normal(SHAPE)).astype(np.float32)
ERROR = RNG.uniform(0.1, 0.5, SHAPE).astype(np.float32)


@pytest.fixture
def folder(tmp_path, write_raster, monkeypatch):
    """A folder with the layers of a tile in plain files; also the current folder."""
    for name, values in {"m": MEAN, "s": STD, "y": TRUTH, "e": ERROR}.items():
        write_raster(tmp_path / f"t_{name}.tif", values)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def experiment(variables=None, **data):
    written = {"version": 1, "name": "one", "variables": variables or ["v"], "tiles": ["t"]}
    files = {"mean": "{tile}_m.tif", "std": "{tile}_s.tif", "truth": "{tile}_y.tif"}
    data = {key: path for key, path in (files | data).items() if path is not None}
    return load_experiment(written | {"data": data, "drivers": ["GTiff", "netCDF"]})


def stack_of(*args, **data):
    return open_stack(experiment(*args, **data), "t").load(scheduler="synchronous").isel(variable=0)


def write_netcdf(path, **arrays):
    """Write arrays on the grid of the plain files, as xarray and CF have them."""
    with rasterio.open(path.parent / "t_y.tif") as source:
        t, wkt = source.transform, source.crs.to_wkt()
    place = {"crs_wkt": wkt, "GeoTransform": " ".join(map(repr, t.to_gdal()))}
    x, y = t.c + t.a * (np.arange(SHAPE[1]) + 0.5), t.f + t.e * (np.arange(SHAPE[0]) + 0.5)
    layers = {name: (("y", "x"), values, {"grid_mapping": "spatial_ref"}) for name, values in arrays.items()}
    coordinates = {
        "x": ("x", x, {"standard_name": "projection_x_coordinate"}),
        "y": ("y", y, {"standard_name": "projection_y_coordinate"}),
    }
    xr.Dataset({**layers, "spatial_ref": ((), 0, place)}, coordinates).to_netcdf(path, engine="h5netcdf")


def fault_of(*args, **data):
    catalog = find_tiles(experiment(*args, **data))
    assert not catalog.tiles
    return catalog.failures[0].message


def test_bands_of_scaled_integers_are_read_as_the_configuration_says(folder, write_raster):
    stored = np.rint(np.stack([MEAN, STD]) * 10).astype(np.int16)
    stored[0, 3, 4] = -1
    write_raster(folder / "t_both.tif", stored, names=("height", "height_sd"))
    both = {"path": "{tile}_both.tif", "scale": 0.1, "nodata": -1}

    found = stack_of(mean={**both, "band": 1}, std={**both, "band": "height_sd", "offset": 0.5})

    known = np.ones(SHAPE, bool)
    known[3, 4] = False
    np.testing.assert_array_equal(found["valid"], known)
    np.testing.assert_array_equal(found["mean"].values[known], (stored[0] * 0.1)[known])
    np.testing.assert_array_equal(found["variance"], (stored[1] * 0.1 + 0.5) ** 2)


def test_what_is_written_replaces_what_the_file_says(folder, write_raster):
    write_raster(folder / "t_p.tif", np.rint(MEAN).astype(np.int16), scales=[7.0], offsets=[3.0], nodata=25)

    found = stack_of(mean={"path": "{tile}_p.tif", "scale": 2, "offset": 0, "nodata": 30})

    np.testing.assert_array_equal(np.isnan(found["mean"]), np.rint(MEAN) == 30)
    kept = np.rint(MEAN) != 30
    np.testing.assert_array_equal(found["mean"].values[kept], 2 * np.rint(MEAN)[kept])


def test_an_absent_block_is_not_taken_for_another_nodata(folder, write_raster):
    truth = TRUTH.copy()
    truth[:16, :16] = 0
    write_raster(folder / "t_sparse.tif", truth, nodata=0, sparse_ok=True, tiled=True, blockxsize=16, blockysize=16)

    found = stack_of(truth={"path": "{tile}_sparse.tif", "nodata": -1})

    np.testing.assert_array_equal(found["truth"], truth)
    assert found["valid"].all()


@pytest.mark.parametrize("layer", ["mean", "std", "variance", "truth"])
def test_units_are_converted_to_that_of_the_variable(folder, write_raster, layer):
    values = {"mean": MEAN, "std": STD, "variance": STD**2, "truth": TRUTH}[layer]
    square = 2 if layer == "variance" else 1
    write_raster(folder / "t_cm.tif", values * np.float32(100**square))
    layers = {"std": None} if layer == "variance" else {}

    units = "cm2" if layer == "variance" else "cm"
    found = stack_of({"v": {"units": "m"}}, **layers, **{layer: {"path": "{tile}_cm.tif", "units": units}})
    plain = stack_of()

    for name in ("mean", "variance", "truth"):
        np.testing.assert_allclose(found[name], plain[name], rtol=1e-6)


@pytest.mark.usefixtures("folder")
def test_the_zero_of_a_scale_counts_for_values_alone():
    found = stack_of(
        {"v": {"units": "K"}},
        mean={"path": "{tile}_m.tif", "units": "degC"},
        std={"path": "{tile}_s.tif", "units": "degC"},
        truth={"path": "{tile}_y.tif", "units": "degC"},
    )

    np.testing.assert_allclose(found["mean"], MEAN + 273.15, rtol=1e-7)
    np.testing.assert_allclose(found["variance"], STD.astype(float) ** 2, rtol=1e-6)
    np.testing.assert_allclose(found["truth"], TRUTH + 273.15, rtol=1e-7)


def test_units_of_files_are_converted_with_a_note(folder, write_raster):
    write_raster(folder / "t_cm.tif", TRUTH * 100, units=["cm"])

    catalog = find_tiles(experiment({"v": {"units": "m"}}, truth="{tile}_cm.tif"))

    assert catalog.notes == ("truth is converted from cm to m",)
    assert catalog.tiles[0].truth.bands[0].scale == 0.01


@pytest.mark.parametrize("units", ["some", "K"])
def test_units_of_files_that_do_not_fit_are_left_as_they_are_with_a_note(folder, write_raster, units):
    write_raster(folder / "t_odd.tif", TRUTH, units=[units])

    catalog = find_tiles(experiment({"v": {"units": "m"}}, truth="{tile}_odd.tif"))

    assert not catalog.tiles[0].truth.bands[0].scaled
    assert catalog.notes == (f"the file of truth gives the unit {units}, which is not converted to m",)


def test_one_band_in_two_units_is_refused(folder, write_raster):
    for name, values in {"m": MEAN, "s": STD}.items():
        write_raster(folder / f"t_{name}.tif", np.stack([values, values]))
    variables = {"a": {"units": "m", "truth": 1}, "b": {"units": "cm", "truth": 1}}

    said = fault_of(variables, truth={"path": "{tile}_y.tif", "units": "m"})

    assert "is the truth of variables in m and in cm; give them one unit" in said


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("units", "variables", "said"),
    [
        ("K", {"v": {"units": "m"}}, "data.truth: K cannot be converted to m"),
        ("trees", {"v": {"units": "m"}}, "data.truth: the unit 'trees' is not known"),
        ("cm", None, "data.truth gives the unit cm, but that of the variable is not known"),
    ],
)
def test_written_units_that_cannot_be_converted_are_refused(units, variables, said):
    assert said in fault_of(variables, truth={"path": "{tile}_y.tif", "units": units})


@pytest.mark.parametrize(("units", "factor"), [("1", 1), ("%", 100)])
def test_a_relative_std_is_that_share_of_the_mean(folder, write_raster, units, factor):
    write_raster(folder / "t_r.tif", STD / MEAN * np.float32(factor))

    found = stack_of(std=None, relative_std={"path": "{tile}_r.tif", "units": units})

    np.testing.assert_allclose(found["variance"], STD.astype(float) ** 2, rtol=1e-5)


@pytest.mark.parametrize("layers", [{"std": None, "relative_std": "m"}, {"truth_relative_std": "y"}])
def test_a_relative_std_of_values_whose_zero_moves_is_refused(folder, write_raster, layers):
    write_raster(folder / "t_r.tif", STD / MEAN)
    relative = next(key for key in layers if "relative" in key)
    base = "truth" if relative.startswith("truth") else "mean"
    data = layers | {relative: {"path": "{tile}_r.tif", "units": "1"}}
    data[base] = {"path": f"{{tile}}_{layers[relative]}.tif", "units": "degC"}

    said = fault_of({"v": {"units": "K"}}, **data)

    assert f"data.{relative} is relative to the {base} in degC, which is converted to K" in said


def test_a_relative_std_in_the_unit_of_the_mean_is_refused(folder, write_raster):
    write_raster(folder / "t_r.tif", STD / MEAN, units=["m"])

    assert "whether it is a share of the mean or in per cent" in fault_of(std=None, cv="{tile}_r.tif")


def test_a_relative_std_without_a_unit_is_refused(folder, write_raster):
    write_raster(folder / "t_r.tif", STD / MEAN)

    assert 'write {path: ..., units: "1"} or {path: ..., units: "%"}' in fault_of(std=None, cv="{tile}_r.tif")


@pytest.mark.parametrize("key", ["truth_variance", "truth_std", "truth_relative_std"])
def test_the_error_of_the_truth_is_added_however_it_is_given(folder, write_raster, key):
    values = {"truth_variance": ERROR**2, "truth_std": ERROR, "truth_relative_std": ERROR / TRUTH}[key]
    write_raster(folder / "t_n.tif", values)

    found = stack_of(**{key: {"path": "{tile}_n.tif", "units": "1"} if "relative" in key else "{tile}_n.tif"})

    np.testing.assert_allclose(found["variance"], STD.astype(float) ** 2 + ERROR.astype(float) ** 2, rtol=1e-6)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("layer", "said"),
    [
        ({"band": 3}, "has 1 band, but data.mean names band 3"),
        ({"band": "height"}, "no band has the description 'height' that data.mean.band names"),
    ],
)
def test_a_band_that_there_is_not_is_refused(layer, said):
    assert said in fault_of(mean={"path": "{tile}_m.tif", **layer})


def test_a_nodata_that_the_stored_type_cannot_hold_is_refused(folder, write_raster):
    write_raster(folder / "t_p.tif", np.rint(MEAN).astype(np.uint8))

    said = fault_of(mean={"path": "{tile}_p.tif", "nodata": -9999})

    assert "nodata -9999 of data.mean is no number of type uint8" in said


def test_one_band_for_several_variables_is_refused(folder, write_raster):
    for name, values in {"m": MEAN, "s": STD, "y": TRUTH}.items():
        write_raster(folder / f"t_{name}.tif", np.stack([values, values]))

    said = fault_of(["one", "two"], mean={"path": "{tile}_m.tif", "band": 1})

    assert "data.mean.band is one band for 2 variables, one, two" in said


def test_variables_follow_from_the_only_band_of_the_mean(folder, write_raster):
    write_raster(folder / "t_both.tif", np.stack([MEAN, STD]), names=("height", "height_sd"))
    written = {"version": 1, "name": "one", "tiles": ["t"]}
    data = {"mean": {"path": "{tile}_both.tif", "band": 1}, "std": {"path": "{tile}_both.tif", "band": 2}}

    catalog = find_tiles(load_experiment(written | {"data": {**data, "truth": "{tile}_y.tif"}}))

    assert [variable.name for variable in catalog.variables] == ["height"]


@pytest.mark.usefixtures("folder")
def test_a_faulty_setting_of_all_tiles_costs_no_silence():
    with pytest.raises(ConfigError, match="no file matches"):
        find_tiles(experiment(mean={"path": "nothing/{tile}.tif", "scale": 2}))


def test_an_array_of_a_netcdf_file_is_a_layer_with_the_same_bits(folder):
    write_netcdf(folder / "t.nc", height=TRUTH, other=MEAN)

    found = stack_of(truth={"path": "{tile}.nc", "variable": "height"})

    np.testing.assert_array_equal(found["truth"], TRUTH)
    np.testing.assert_array_equal(found["mean"], MEAN)


def test_a_netcdf_file_is_recognised_where_its_driver_is_missing(folder):
    write_netcdf(folder / "t.nc", height=TRUTH)
    (folder / "t_named.tif").write_bytes((folder / "t.nc").read_bytes())
    for written, advice in (
        (experiment(truth="{tile}.nc"), "netCDF file; it holds the array height; write which array to read"),
        (experiment(truth="{tile}_named.tif"), "HDF5 file; write drivers: [GTiff, HDF5]"),
    ):
        (failure,) = find_tiles(written.model_copy(update={"drivers": ("GTiff",)})).failures
        assert f"it is a {advice}" in failure.message


# paths without {tile}


def single(**data):
    files = {"mean": "t_m.tif", "std": "t_s.tif", "truth": "t_y.tif"} | data
    return load_experiment({"version": 1, "name": "whole country", "data": files})


@pytest.mark.usefixtures("folder")
def test_paths_without_a_placeholder_are_one_tile_with_the_name_of_the_experiment():
    (tile,) = find_tiles(single()).tiles

    assert tile.name == "whole country"
    found = open_stack(single()).load(scheduler="synchronous").isel(variable=0)
    np.testing.assert_array_equal(found["truth"], TRUTH)


@pytest.mark.usefixtures("folder")
def test_the_only_tile_may_be_named():
    experiment = single().model_copy(update={"tiles": ("north",)})

    assert [tile.name for tile in find_tiles(experiment).tiles] == ["north"]


def test_a_path_of_the_only_tile_that_does_not_exist_is_told_with_what_is_there(folder):
    with pytest.raises(ConfigError) as told:
        find_tiles(single(std="nothing.tif"))

    assert str(told.value).startswith(
        f"configuration: data.std: there is no file {folder}/nothing.tif; {folder} holds t_e.tif"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"truth": "{tile}_y.tif"}, "data.mean: 't_m.tif' needs {tile} where the name of the tile stands"),
        ({"classes": {"cover": "{tile}_c.tif"}}, "data.truth: 't_y.tif' needs {tile}"),
    ],
)
def test_a_placeholder_in_some_paths_alone_is_refused(change, said):
    with pytest.raises(ConfigError) as told:
        single(**change)

    assert said in str(told.value)


def test_several_tiles_need_a_placeholder():
    files = {"mean": "m.tif", "std": "s.tif", "truth": "y.tif"}
    with pytest.raises(ConfigError, match=r"2 tiles are named, but no path has \{tile\}"):
        load_experiment({"version": 1, "name": "x", "data": files, "tiles": ["a", "b"]})


# masks by code


CODES = RNG.integers(0, 16, SHAPE).astype(np.uint8)


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ({"keep": [1, 2]}, np.isin(CODES, (1, 2))),
        ({"keep": 0}, CODES == 0),
        ({"bits": {"0": 0}}, CODES % 2 == 0),
        ({"bits": {"1-2": [0, 3], "3": 1}}, np.isin(CODES >> 1 & 3, (0, 3)) & (CODES >> 3 == 1)),
        ({"keep": [4, 5, 6], "bits": {"0": 0}}, np.isin(CODES, (4, 6))),
        ({"keep": [1, 2], "nodata": 2}, CODES == 1),
    ],
)
def test_a_mask_of_codes_keeps_the_pixels_that_the_configuration_names(folder, write_raster, rule, kept):
    write_raster(folder / "t_q.tif", CODES)

    found = stack_of(mask={"path": "{tile}_q.tif", **rule})

    np.testing.assert_array_equal(found["valid"], kept)


@pytest.mark.parametrize("kind", ["int8", "int16", "int32"])
@pytest.mark.parametrize("high", [0, 1])
def test_bits_of_signed_numbers_are_those_of_the_same_bytes_without_a_sign(folder, write_raster, kind, high):
    unsigned, last = np.dtype(f"u{kind}"), 8 * np.dtype(kind).itemsize - 1
    codes = RNG.integers(0, np.iinfo(unsigned).max, SHAPE, unsigned, endpoint=True)
    write_raster(folder / "t_q.tif", codes.view(kind))

    found = stack_of(mask={"path": "{tile}_q.tif", "bits": {str(last): high, "0-1": [0, 3]}})

    np.testing.assert_array_equal(found["valid"], (codes >> last == high) & np.isin(codes & 3, (0, 3)))


def test_negative_floats_are_no_codes_of_bits(folder, write_raster):
    write_raster(folder / "t_q.tif", np.where(CODES > 7, -9999.0, CODES).astype(np.float32))

    found = stack_of(mask={"path": "{tile}_q.tif", "bits": {"0": [0, 1]}})

    np.testing.assert_array_equal(found["valid"], CODES <= 7)


def test_another_rule_is_another_fingerprint(folder, write_raster):
    write_raster(folder / "t_q.tif", CODES)
    masks = [
        find_tiles(experiment(mask={"path": "{tile}_q.tif", **rule})).tiles[0].mask
        for rule in ({}, {"keep": [1]}, {"keep": [2]}, {"bits": {"0": 0}})
    ]

    assert len({mask.fingerprint for mask in masks}) == len(masks)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"bits": {"x": 0}}, "data.mask.bits.x: 'x' is no bit from 0 to 52"),
        ({"bits": {"3-2": 0}}, "data.mask.bits.3-2: '3-2' is no bit"),
        ({"bits": {"0": 2}}, "data.mask.bits.0: 2 does not fit into 1 bits"),
        ({"bits": {"60": 0}}, "data.mask.bits.60: '60' is no bit"),
        ({"keep": []}, "data.mask.keep: is too short; give 1 or more"),
        ({"keep": ["cloud"]}, "data.mask.keep.0: 'cloud' is not a whole number"),
        ({"keep": [-1]}, "data.mask.keep.0: '-1' is less than 0"),
    ],
)
def test_a_faulty_rule_is_told_with_its_key(rule, said):
    with pytest.raises(ConfigError) as told:
        experiment(mask={"path": "{tile}_q.tif", **rule})

    assert said in str(told.value)


def test_codes_are_for_masks_alone():
    with pytest.raises(ConfigError, match=r"data\.truth\.keep: is for masks alone"):
        experiment(truth={"path": "{tile}_y.tif", "keep": [1]})
