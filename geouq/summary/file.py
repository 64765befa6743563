"""A tile's summaries on disk: one NetCDF file that plain `xarray.open_dataset` reads, and that explains itself."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import xarray as xr
from affine import Affine
from numpy.typing import NDArray

from geouq.atomic import written_whole
from geouq.errors import SummaryError
from geouq.grid import Grid
from geouq.summary.kept_pixels import KeptPixels
from geouq.summary.moments import PRODUCTS, SUMS, Moments
from geouq.summary.summary import Summary
from geouq.summary.tile import CellSummaries, TileSummary, VariableSummary
from geouq.summary.variance_profile import FIELDS, FINE_SHIFT, VarianceProfile
from geouq.summary.z_histogram import FINE, ZHistogram, edge_probabilities
from geouq.validity import REASONS

FORMAT = "geouq tile summary 1"
NAMES = ("variable", "sum", "product", "reason", "field")
EXPLAINED = {
    "n": "number of valid pixels",
    "sums": "sums over the valid pixels; divide by n for means",
    "products": "sums of products of deviations from the means",
    "interval_scores": "sums of the interval score of each level",
    "z_counts": "counts of z = (truth - mean) / std between the normal quantiles of z_edge",
    "excluded": "pixels that do not count, each under its first reason",
    "variance_range": "lowest and highest predicted variance",
    "profile_key": "leading bits of the float32 variance, shifted right by 14",
    "profile_sums": "sums over the pixels of one key of the predicted variance",
    "kept_variance": "predicted variance of single pixels, kept so that edges of bins are exact",
    "kept_squared_error": "squared error of the same pixels",
    "kept_tail": "pixels with at least highest variance / kept_tail are kept (0: none; -1: not recorded)",
    "wanted_key": "other keys of which every pixel is kept",
    "cell_key": "leading bits of the float32 variance, shifted right by 19",
}
Arrays = dict[str, tuple[tuple[str, ...], NDArray[Any]]]


def save_tile(summary: TileSummary, path: Path, key: str) -> None:
    """Write a tile's summaries under a temporary name, then rename; `key` tells what they were made from."""
    dataset = xr.Dataset(
        {name: (dims, values, _attributes(name)) for name, (dims, values) in _arrays(summary).items()},
        coords=_coordinates(summary),
        attrs=_global_attributes(summary, key),
    )
    encoding = {name: {"zlib": True, "complevel": 1} for name, values in dataset.items() if values.size > 1000}
    with written_whole(path) as part:
        dataset.to_netcdf(part, engine="h5netcdf", encoding=encoding)


def key_of_file(path: Path) -> str | None:
    """The key under which a file was saved; None where there is no readable one."""
    try:
        with h5py.File(path) as file:
            return str(file.attrs["key"]) if file.attrs["format"] == FORMAT else None
    except (OSError, KeyError):
        return None


def load_tile(path: Path) -> TileSummary:
    """Read a tile's summaries; SummaryError where the file is damaged or of another kind."""
    try:
        # h5py takes a tenth of the time that xarray would, and regions read thousands of these files
        with h5py.File(path) as file:
            if file.attrs["format"] != FORMAT:
                raise SummaryError(f"{path} is no tile summary of this version; run again with --fresh")
            arrays = {name: file[name].asstr()[()] if name in NAMES else file[name][()] for name in file}
            return _tile(arrays, file.attrs)
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise SummaryError(f"{path} cannot be read as a tile summary ({error}); run again with --fresh") from error


def _attributes(name: str) -> dict[str, str]:
    base = name.removeprefix("cell_")
    text = EXPLAINED.get(name) or EXPLAINED.get(base) or name.replace("_", " ")
    return {"long_name": f"{text}, by cell" if name.startswith("cell_") and base in EXPLAINED else text}


def _coordinates(summary: TileSummary) -> dict[str, Any]:
    levels = next(iter(summary.variables.values())).whole.levels
    return {
        "variable": np.array(list(summary.variables), dtype=object),
        "level": np.array(levels),
        "sum": np.array(SUMS, dtype=object),
        "product": np.array([f"{left}*{right}" for left, right in PRODUCTS], dtype=object),
        "reason": np.array(REASONS, dtype=object),
        "field": np.array(FIELDS, dtype=object),
        "z_edge": edge_probabilities(levels, FINE),
    }


def _global_attributes(summary: TileSummary, key: str) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "key": key,
        "tile": summary.tile,
        "cell_size": summary.cell_size,
        "shape": list(summary.grid.shape),
        "transform": list(summary.grid.transform)[:6],
        "crs": summary.grid.crs,
        "summary": "What the valid pixels of one tile contribute to every metric; such files add up to regions.",
    }


def _arrays(summary: TileSummary) -> Arrays:
    parts = list(summary.variables.values())
    wholes, cells = [part.whole for part in parts], [part.cells for part in parts]
    kept = [whole.variance.kept or KeptPixels(-1) for whole in wholes]

    def stacked(dims: tuple[str, ...], values: Callable[[Any], Any], of: Sequence[Any]) -> Any:
        return ("variable", *dims), np.stack([np.asarray(values(one)) for one in of])

    def ragged(dims: tuple[str, ...], values: Callable[[Any], Any], of: Sequence[Any]) -> Any:
        return dims, np.concatenate([values(one) for one in of])

    def owner(dim: str, values: Callable[[Any], Any], of: Sequence[Any]) -> Any:
        return (dim,), np.repeat(np.arange(len(of)), [len(values(one)) for one in of])

    return {
        "n": stacked((), lambda s: s.n, wholes),
        "sums": stacked(("sum",), lambda s: s.moments.sums, wholes),
        "products": stacked(("product",), lambda s: s.moments.products, wholes),
        "interval_scores": stacked(("level",), lambda s: s.interval_scores, wholes),
        "z_counts": stacked(("z_bin",), lambda s: s.z.counts, wholes),
        "variance_range": stacked(("bound",), lambda s: [s.variance.lowest, s.variance.highest], wholes),
        "excluded": stacked(("reason",), lambda part: part.excluded, parts),
        "profile_variable": owner("profile_entry", lambda s: s.variance.keys, wholes),
        "profile_key": ragged(("profile_entry",), lambda s: s.variance.keys, wholes),
        "profile_sums": ragged(("profile_entry", "field"), lambda s: s.variance.sums, wholes),
        "kept_tail": stacked((), lambda k: k.tail, kept),
        "kept_variable": owner("kept_pixel", lambda k: k.variance, kept),
        "kept_variance": ragged(("kept_pixel",), lambda k: k.variance, kept),
        "kept_squared_error": ragged(("kept_pixel",), lambda k: k.squared_error, kept),
        "wanted_variable": owner("wanted_entry", lambda k: k.wanted, kept),
        "wanted_key": ragged(("wanted_entry",), lambda k: k.wanted, kept),
        "cell_n": stacked(("cell",), lambda c: c.moments.n, cells),
        "cell_sums": stacked(("cell", "sum"), lambda c: c.moments.sums, cells),
        "cell_products": stacked(("cell", "product"), lambda c: c.moments.products, cells),
        "cell_interval_scores": stacked(("cell", "level"), lambda c: c.interval_scores, cells),
        "cell_z_counts": stacked(("cell", "cell_z_bin"), lambda c: c.z_counts, cells),
        "cell_variance_range": stacked(("cell", "bound"), lambda c: c.extremes, cells),
        "cell_entry_variable": owner("cell_entry", lambda c: c.entry_key, cells),
        "cell_entry_cell": ragged(("cell_entry",), lambda c: c.entry_cell, cells),
        "cell_key": ragged(("cell_entry",), lambda c: c.entry_key, cells),
        "cell_entry_sums": ragged(("cell_entry", "field"), lambda c: c.entry_sums, cells),
    }


def _tile(arrays: dict[str, NDArray[Any]], attributes: Mapping[str, Any]) -> TileSummary:
    rows, columns = (int(length) for length in attributes["shape"])
    grid = Grid((rows, columns), Affine(*map(float, attributes["transform"])), str(attributes["crs"]))
    levels = tuple(map(float, arrays["level"]))
    variables = {
        str(name): VariableSummary(_whole(arrays, i, levels), _cells(arrays, i, levels), arrays["excluded"][i])
        for i, name in enumerate(arrays["variable"])
    }
    return TileSummary(str(attributes["tile"]), grid, int(np.squeeze(attributes["cell_size"])), variables)


def _whole(arrays: dict[str, NDArray[Any]], i: int, levels: tuple[float, ...]) -> Summary:
    profile = arrays["profile_variable"] == i
    lowest, highest = arrays["variance_range"][i]
    return Summary(
        levels,
        Moments(arrays["n"][i], arrays["sums"][i], arrays["products"][i]),
        arrays["interval_scores"][i],
        ZHistogram(edge_probabilities(levels, FINE), arrays["z_counts"][i]),
        VarianceProfile(
            FINE_SHIFT,
            arrays["profile_key"][profile],
            arrays["profile_sums"][profile],
            lowest,
            highest,
            _kept(arrays, i),
        ),
    )


def _kept(arrays: dict[str, NDArray[Any]], i: int) -> KeptPixels | None:
    tail = int(arrays["kept_tail"][i])
    if tail < 0:
        return None
    own = arrays["kept_variable"] == i
    wanted = arrays["wanted_key"][arrays["wanted_variable"] == i]
    return KeptPixels(tail, wanted, arrays["kept_variance"][own], arrays["kept_squared_error"][own])


def _cells(arrays: dict[str, NDArray[Any]], i: int, levels: tuple[float, ...]) -> CellSummaries:
    own = arrays["cell_entry_variable"] == i
    return CellSummaries(
        levels,
        Moments(arrays["cell_n"][i], arrays["cell_sums"][i], arrays["cell_products"][i]),
        arrays["cell_interval_scores"][i],
        arrays["cell_z_counts"][i],
        arrays["cell_variance_range"][i],
        arrays["cell_entry_cell"][own],
        arrays["cell_key"][own],
        arrays["cell_entry_sums"][own],
    )
