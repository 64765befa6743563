"""Small copies of the layouts in which maps with uncertainty are published, with calibrated values.

The truth of each pixel is drawn from the predicted distribution: 90 % intervals cover 90 %, and z has a std of 1.
"""

import zipfile
from dataclasses import dataclass

import h5py
import numpy as np
import rasterio
import xarray as xr
from affine import Affine
from landscape import write_raster

SHAPE = (96, 96)
TILES = ("N10W060", "N10W050")
Z05, Z10 = 1.6448536269514722, 1.2815515655446004  # of the standard normal: 95 % and 90 % quantiles


@dataclass(frozen=True)
class Forecast:
    mean: np.ndarray
    std: np.ndarray
    truth: np.ndarray


def forecast(seed=0, shape=SHAPE):
    """A smooth map about 120 with a std about 14."""
    rng = np.random.default_rng(seed)
    rows, columns = (np.linspace(0, 3, n) for n in shape)
    field = np.sin(2 * rows)[:, None] + np.cos(3 * columns)[None, :]
    mean, std = 120 + 20 * field + rng.normal(0, 5, shape), 14 * np.exp(0.2 * field)
    return Forecast(mean, std, mean + std * rng.standard_normal(shape))


def place(index):
    return {"transform": Affine(100, 0, 5e5 + 9600 * index, 0, -100, 7e6)}


def each(folder, pattern, layer, *, tiles=TILES, kind=np.float32, factor=1.0, **header):
    """Write a layer of each tile."""
    for i, tile in enumerate(tiles):
        values = layer(forecast(i)) * factor
        values = np.round(values) if np.dtype(kind).kind in "iu" else values
        write_raster(folder / pattern.format(tile), values.astype(kind), **place(i), **header)


def mean(own):
    return own.mean


def std(own):
    return own.std


def truth(own):
    return own.truth


def biomass_tiles(folder):
    """AGB and AGB_SD in integers, the word in the middle of the name."""
    name = "agb/{}_ESACCI-L4-AGB{}-MERGED-100m-2020-fv6.0.tif"
    each(folder, name.replace("{}", "{0}", 1).replace("AGB{}", "AGB"), mean, kind=np.int16)
    each(folder, name.replace("{}", "{0}", 1).replace("AGB{}", "AGB_SD"), std, kind=np.int16)
    each(folder, "lidar/als_{}.tif", truth, units=("Mg ha-1",))


def height_maps(folder):
    """_Map and _Map_SD side by side, and lidar elsewhere."""
    each(folder, "eth/ETH_CanopyHeight_10m_2020_{}_Map.tif", mean, names=("height",))
    each(folder, "eth/ETH_CanopyHeight_10m_2020_{}_Map_SD.tif", std)
    each(folder, "reference/{}.tif", truth)


def folders_of_layers(folder):
    """A folder for each layer, all files with the same names."""
    for name, layer in (("mean", mean), ("uncertainty", std), ("observations", truth)):
        each(folder, name + "/{}.tif", layer)


def folders_of_tiles(folder):
    """A folder for each tile, with files of the same names."""
    for name, layer in (("mean", mean), ("std", std), ("truth", truth)):
        each(folder, "{}/" + name + ".tif", layer)


def global_grids(folder):
    """One file for each layer of the only tile: mean, standard error, percent error, quality."""
    name = "GEDI04_B_MW019MW223_02_002_02_R01000M_{}.tif"
    for word, layer in (("MU", mean), ("SE", std), ("PE", lambda own: 100 * own.std / own.mean), ("QF", mean)):
        each(folder, name.format(word), layer, tiles=("",))
    each(folder, "plots_truth.tif", truth, tiles=("",))


def two_bands(folder):
    """Mean and sd as bands of one file, NaN for nodata, and truth in another folder."""
    for i, tile in enumerate(("0000004", "0000005")):
        own = forecast(i)
        bands = np.stack([own.mean, own.std]).astype(np.float32)
        name = f"boreal/agb_2020_{tile}.tif"
        write_raster(folder / name, bands, names=("mean", "sd"), nodata=np.nan, **place(i))
        write_raster(folder / f"field/{tile}.tif", own.truth, names=("AGB",), **place(i))


def bathymetry(folder):
    """Bands of which one alone has a word for a layer."""
    for i, tile in enumerate(("BH4QK58D", "BF2D52JP")):
        own = forecast(i)
        bands = np.stack([own.mean, own.std, np.full(SHAPE, 7)]).astype(np.float32)
        names = ("Elevation", "Uncertainty", "Contributor")
        write_raster(folder / f"UTM19/BlueTopo_{tile}_20250101.tiff", bands, names=names, **place(i))
        write_raster(folder / f"sonar/{tile}.tif", own.truth, **place(i))


def two_bands_in_folders(folder):
    """A folder for each tile, with a file of two bands and one of the truth."""
    for i, tile in enumerate(TILES):
        own = forecast(i)
        bands = np.stack([own.mean, own.std]).astype(np.float32)
        write_raster(folder / f"{tile}/prediction.tif", bands, names=("mu", "sigma"), **place(i))
        write_raster(folder / f"{tile}/lidar.tif", own.truth, **place(i))


def hdf5(folder):
    """Arrays of groups, without a place, as HDF5 has them."""
    own = forecast(0)
    with h5py.File(folder / "nisar.h5", "w") as file:
        for name, layer in (("science/agb", own.mean), ("science/agb_sd", own.std), ("science/agb_ref", own.truth)):
            file[name] = layer
        file["science/agb"].attrs["ancillary_variables"] = "agb_sd"


def two_bands_without_names(folder):
    for i, tile in enumerate(TILES):
        own = forecast(i)
        write_raster(folder / f"p/{tile}.tif", np.stack([own.mean, own.std]).astype(np.float32), **place(i))
        write_raster(folder / f"truth/{tile}.tif", own.truth, **place(i))


def tenths(folder):
    """Integers of tenths of which no header says so."""
    each(folder, "soc_{}_mean.tif", mean, kind=np.int16, factor=10)
    each(folder, "soc_{}_std.tif", std, kind=np.int16, factor=10)
    each(folder, "profiles/obs_{}.tif", truth)


def tenths_in_the_header(folder):
    each(folder, "soc_{}_mean.tif", mean, kind=np.int16, factor=10, scales=(0.1,))
    each(folder, "soc_{}_std.tif", std, kind=np.int16, factor=10, scales=(0.1,))
    each(folder, "profiles/obs_{}.tif", truth)


def percent_errors(folder):
    """The std in per cent of the mean, of which no header says so."""
    each(folder, "nfi_{}_mean.tif", mean)
    each(folder, "nfi_{}_CV.tif", lambda own: 100 * own.std / own.mean)
    each(folder, "nfi_{}_reference.tif", truth)


def shares_as_std(folder):
    """A std whose unit is per cent."""
    each(folder, "nfi_{}_mean.tif", mean, units=("Mg ha-1",))
    each(folder, "nfi_{}_sd.tif", lambda own: 100 * own.std / own.mean, units=("%",))
    each(folder, "nfi_{}_truth.tif", truth, units=("Mg ha-1",))


def percentiles(folder):
    """A mean and its 10 % and 90 % quantiles."""
    each(folder, "v1_{}_mean.tif", mean)
    each(folder, "v1_{}_p10.tif", lambda own: own.mean - Z10 * own.std)
    each(folder, "v1_{}_p90.tif", lambda own: own.mean + Z10 * own.std)
    each(folder, "v1_{}_truth.tif", truth)


def netcdf(folder, *, tiles=TILES, with_truth=False, steps=0, only="", ending=".nc"):
    """A file of arrays with the attributes of CF, at some steps of time; or one of them."""
    for i, tile in enumerate(tiles):
        own, attributes = forecast(i), {"grid_mapping": "crs", "units": "Mg ha-1"}
        arrays = {
            "agb": (own.mean, {**attributes, "ancillary_variables": "agb_se n"}),
            "agb_se": (own.std, {**attributes, "standard_name": "biomass standard_error"}),
            "n": (np.ones(SHAPE), {"grid_mapping": "crs"}),
            **({"agb_obs": (own.truth, attributes)} if with_truth else {}),
        }
        arrays = {only: arrays[only]} if only else arrays
        (folder / "cci").mkdir(exist_ok=True, parents=True)
        found, path = dataset(arrays, place(i)["transform"], steps), folder / f"cci/AGB-{tile}-2020{ending}"
        found.to_netcdf(path, engine="h5netcdf") if ending == ".nc" else found.to_zarr(path, consolidated=False)
    if not (with_truth or only):
        each(folder, "truth/{}.tif", truth, tiles=tiles)


def dataset(arrays, t, steps):
    """Arrays with attributes on a grid, repeated along time."""
    x, y = t.c + t.a * (np.arange(SHAPE[1]) + 0.5), t.f + t.e * (np.arange(SHAPE[0]) + 0.5)
    dimensions = ("time", "y", "x") if steps else ("y", "x")
    layers = {
        name: (dimensions, np.stack([values] * steps) if steps else values, own)
        for name, (values, own) in arrays.items()
    }
    crs = {"crs_wkt": rasterio.crs.CRS.from_epsg(32633).to_wkt(), "GeoTransform": " ".join(map(repr, t.to_gdal()))}
    coordinates = {
        "x": ("x", x, {"standard_name": "projection_x_coordinate"}),
        "y": ("y", y, {"standard_name": "projection_y_coordinate"}),
    }
    return xr.Dataset({**layers, "crs": ((), 0, crs)}, coordinates)


def zarr(folder):
    """The same arrays in a Zarr store for each tile."""
    netcdf(folder, ending=".zarr")


def netcdf_with_truth(folder):
    netcdf(folder, tiles=TILES[:1], with_truth=True)


def archive(folder):
    """A ZIP archive of a file for each layer."""
    for name, layer in (("mean", mean), ("sd", std), ("truth", truth)):
        each(folder / "unpacked", "{}_" + name + ".tif", layer)
    with zipfile.ZipFile(folder / "maps.zip", "w") as target:
        for path in sorted((folder / "unpacked").iterdir()):
            target.write(path, f"inside/{path.name}")


def vrts(folder):
    """A VRT of each layer over GeoTIFFs, whose names say nothing."""
    for i, (name, layer) in enumerate((("mean", mean), ("std", std), ("truth", truth))):
        each(folder / "store", f"x{i}.tif", layer, tiles=("",))
        text = (
            f'<VRTDataset rasterXSize="{SHAPE[1]}" rasterYSize="{SHAPE[0]}"><SRS>EPSG:32633</SRS>'
            "<GeoTransform>500000,100,0,7000000,0,-100</GeoTransform>"
            '<VRTRasterBand dataType="Float32" band="1"><SimpleSource>'
            f'<SourceFilename relativeToVRT="1">../store/x{i}.tif</SourceFilename><SourceBand>1</SourceBand>'
            "</SimpleSource></VRTRasterBand></VRTDataset>"
        )
        (folder / "ocs").mkdir(exist_ok=True)
        (folder / f"ocs/ocs_0-30cm_{name}.vrt").write_text(text, encoding="utf-8")


def quantiles_in_tenths(folder):
    """Quantiles and a mean as integers of tenths, and a ratio that is called uncertainty."""
    for word, z in (("Q0.05", -Z05), ("Q0.5", 0.0), ("Q0.95", Z05)):
        each(folder, "ocs_{}_" + word + ".tif", lambda own, z=z: own.mean + z * own.std, kind=np.int16, factor=10)
    each(folder, "ocs_{}_mean.tif", mean, kind=np.int16, factor=10)
    each(folder, "ocs_{}_uncertainty.tif", lambda own: 2 * Z05 * own.std / own.mean)
    each(folder, "profiles/{}.tif", truth)


def quantile_bands(folder):
    for i, tile in enumerate(TILES):
        own = forecast(i)
        bands = np.stack([own.mean + z * own.std for z in (-Z05, 0, Z05)]).astype(np.float32)
        write_raster(folder / f"heads/{tile}_pred.tif", bands, names=("q05", "q50", "q95"), **place(i))
        write_raster(folder / f"labels/{tile}.tif", own.truth, **place(i))


def members_of(own, count=20):
    rng = np.random.default_rng(7)
    return [own.mean + own.std * rng.standard_normal(SHAPE) for _ in range(count)]


def member_files(folder):
    for k in range(20):
        each(folder, "pred/{}_member" + f"{k + 1:02d}.tif", lambda own, k=k: members_of(own)[k])
    each(folder, "truth/{}.tif", truth)


def member_bands(folder):
    for i, tile in enumerate(TILES):
        own = forecast(i)
        bands = np.stack(members_of(own)).astype(np.float32)
        write_raster(folder / f"{tile}_ensemble.tif", bands, **place(i))
        write_raster(folder / f"{tile}_truth.tif", own.truth, **place(i))


def class_probabilities(folder):
    """Probabilities of three classes as shares, and codes from 1 on."""
    for i, tile in enumerate(TILES):
        rng = np.random.default_rng(i)
        p = rng.dirichlet([1, 1, 1], SHAPE).transpose(2, 0, 1)
        codes = 1 + (rng.random(SHAPE) > p.cumsum(0)[:2]).sum(0)
        write_raster(
            folder / f"cover/{tile}_prob.tif", p.astype(np.float32), names=("open", "sparse", "dense"), **place(i)
        )
        write_raster(folder / f"cover_ref/{tile}.tif", codes.astype(np.uint8), **place(i))
