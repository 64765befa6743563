"""Arrays of netCDF and Zarr files as rasters: their headers, read through xarray."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from geouq.config.layer_file import ARRAY, OF_CF, array_in_name, whole_array
from geouq.core.errors import DataError, GeouqError
from geouq.core.naming import file_in_name
from geouq.rasters.array_grid import Placed, placed
from geouq.rasters.array_layout import LEAD, LEVEL, TIME, ArrayLayout, Label, Steps
from geouq.rasters.files import stamp
from geouq.rasters.raster import ADVICE_ON_REFUSAL, REFUSED, Band, Raster, stored_nodata
from geouq.rasters.remote_files import is_remote

DRIVER = "xarray"
EDGE = 512  # pixels along the side of a block of an array without chunks
STANDARD_ERROR = " standard_error"  # ends the standard name of a std, by CF
LEVELS = ("air_pressure", "altitude", "depth", "height", "model_level_number", "atmosphere_sigma_coordinate")
RAW: dict[str, Any] = {"decode_cf": False, "chunks": None, "cache": False}
INSTALL = {"zarr": "zarr", "icechunk": "zarr and icechunk", "scipy": "scipy", "h5netcdf": "h5netcdf"}


@contextmanager
def explained_array(path: str) -> Iterator[None]:
    """Raise DataError where xarray or what it reads with fails; each of them has errors of its own."""
    try:
        yield
    except GeouqError:
        raise
    except Exception as error:
        reason = str(error).strip() or type(error).__name__
        advice = ADVICE_ON_REFUSAL if is_on_server(file_in_name(path)) and REFUSED.search(reason) else ""
        raise DataError(f"{path} cannot be read: {reason}{advice}") from error


def open_array(path: str) -> tuple[xr.Dataset, xr.Variable]:
    """Return the dataset of an array, with values as they are stored, and the array; nothing of it is decoded."""
    file, name = array_in_name(path)
    *groups, own = name.removesuffix(OF_CF).split("/")
    with explained_array(path):
        if is_on_server(file):
            dataset = _open_on_server(file, "/".join(groups), own)
        elif not Path(file).exists():
            raise DataError(f"there is no file {file}")
        else:
            dataset = _open(file, "/".join(groups) or None)
        if own not in dataset.variables:
            known = ", ".join(sorted(str(one) for one in dataset.data_vars)) or "none"
            raise DataError(f"{file} has no array {own}; it has {known}")
        return dataset, dataset.variables[own]


def arrays_in_file(file: str) -> dict[str, xr.Variable]:
    """Return the arrays of a file or a store by name, without groups; raise DataError if there are none."""
    with explained_array(file):
        return {str(name): array.variable for name, array in _open(file, None).data_vars.items()}


def is_on_server(file: str) -> bool:
    """Return whether a file or a store is on a server."""
    return is_remote(file) or "://" in file


def _open(file: str, group: str | None) -> xr.Dataset:
    engine = _engine_of(file)
    if engine in ("zarr", "icechunk"):
        store: Any = _icechunk_store(file) if engine == "icechunk" else file
        _require("zarr", file)
        return xr.open_dataset(store, engine="zarr", group=group, consolidated=False, **RAW)
    _require(engine, file)
    return xr.open_dataset(file, engine=engine, group=group, **RAW)


def _open_on_server(file: str, group: str, array: str) -> xr.Dataset:
    """Return the dataset of a Zarr store or an Icechunk repository on a server, with what the array needs alone."""
    if not file.rstrip("/").endswith((".zarr", ".icechunk")):
        raise DataError(
            f"{file} is on a server, where Zarr stores and Icechunk repositories are read alone; give GDAL's name of "
            "the array as the path, and its driver"
        )
    _require("zarr", file)
    if file.rstrip("/").endswith(".icechunk"):
        _require("icechunk", file)
    from geouq.rasters.remote_stores import open_store  # noqa: PLC0415  zarr is an optional dependency

    store = open_store(file, f"{group}/{array}".lstrip("/"))
    return xr.open_dataset(store, engine="zarr", group=group or None, consolidated=False, **RAW)


def _engine_of(file: str) -> str:
    if Path(file).is_dir():
        return "icechunk" if (Path(file) / "snapshots").is_dir() else "zarr"
    with Path(file).open("rb") as content:
        return "scipy" if content.read(3) == b"CDF" else "zarr" if file.endswith(".zip") else "h5netcdf"


def _require(package: str, file: str) -> None:
    try:
        __import__(package)
    except ImportError:
        extra = f", as in pip install geouq[{package}]" if package in ("zarr", "icechunk") else ""
        raise DataError(f"{file} is read with {INSTALL[package]}; install it{extra}") from None


def _icechunk_store(file: str) -> Any:
    """Return the newest version on the branch main of an Icechunk repository."""
    _require("icechunk", file)
    import icechunk  # noqa: PLC0415  an optional dependency

    repository = icechunk.Repository.open(icechunk.local_filesystem_storage(file))
    return repository.readonly_session("main").store


def array_header(path: str) -> Raster:
    """Return the header of an array; DataError if it cannot be read, or does not lie on a map of even pixels."""
    whole, member = whole_array(path)
    dataset, variable = open_array(whole)
    with explained_array(path):
        if path.endswith(OF_CF):
            return _standard_error(path, dataset, variable)
        found = _header(whole, dataset, variable)
        return replace(found, path=path, identity=path, array=found.array and found.array.selected(member, path))


def _standard_error(path: str, dataset: xr.Dataset, variable: xr.Variable) -> Raster:
    """Return the std of an array that gives no other uncertainty: an ancillary variable, as CF has it."""
    file, name = array_in_name(path)
    own = name.removesuffix(OF_CF)
    found = _ancillary_std(dataset, variable)
    if not found:
        raise DataError(
            f"{file}: data gives no uncertainty, and {own} names no ancillary variable whose standard name ends with "
            "standard_error; give variance, std, or lower, upper and level"
        )
    group = own.rpartition("/")[0]
    std = array_header(f'{ARRAY}:"{file}":{group + "/" if group else ""}{found}')
    note = (
        f"the std of {own} is {found}, its ancillary variable with a standard error, as no other uncertainty is given"
    )
    layout = std.array and replace(std.array, notes=(*std.array.notes, note))
    return replace(std, array=layout)


def _ancillary_std(dataset: xr.Dataset, variable: xr.Variable) -> str:
    names = str(variable.attrs.get("ancillary_variables", "")).split()
    known = (name for name in names if name in dataset.variables)
    return next((n for n in known if str(dataset[n].attrs.get("standard_name", "")).endswith(STANDARD_ERROR)), "")


def _header(path: str, dataset: xr.Dataset, variable: xr.Variable) -> Raster:
    chunks = _chunks(variable)
    found = placed(dataset, variable, chunks, path)
    file, name = array_in_name(path)
    own = Path(file, name)
    known = None if is_on_server(file) else stamp(str(own if own.is_dir() else file))
    layout = _layout(dataset, variable, chunks, found, path)
    return Raster(
        path,
        found.grid,
        (_band(name, variable, path, masked=layout.masked),),
        alpha=None,
        block=(found.rows.chunk, found.columns.chunk),
        interleaved=False,
        compression="chunks",
        driver=DRIVER,
        files=() if known is None else (known,),
        unidentified=(file,) if known is None else (),
        identity=path,
        read_at=time.time_ns() if known is None else 0,
        array=layout,
    )


def _chunks(variable: xr.Variable) -> dict[str, int]:
    """Return the length of a chunk along each dimension; of an array without chunks, of a square."""
    given = variable.encoding.get("chunks") or variable.encoding.get("chunksizes")
    if given is None:
        given = [1] * (variable.ndim - 2) + [EDGE, EDGE]
    return {
        str(d): max(1, min(int(n), variable.sizes[d]))
        for d, n in zip(variable.dims, given[-variable.ndim :], strict=True)
    }


def _layout(
    dataset: xr.Dataset, variable: xr.Variable, chunks: Mapping[str, int], found: Placed, path: str
) -> ArrayLayout:
    dimensions = tuple(map(str, variable.dims))
    others = [name for name in dimensions if name not in (found.rows.dimension, found.columns.dimension)]
    steps = [_steps(name, dataset, variable.sizes[name], path) for name in others]
    roles = [one.role for one in steps]
    steps = [
        one if roles.count(one.role) == 1 else Steps(one.dimension, one.dimension, one.labels, one.places)
        for one in steps
    ]
    return ArrayLayout(
        dimensions,
        tuple(chunks[name] for name in dimensions),
        found.rows,
        found.columns,
        tuple(steps),
        missing=_missing(variable),
        valid=_valid(variable),
        notes=found.notes,
    )


def _steps(name: str, dataset: xr.Dataset, length: int, path: str) -> Steps:
    """Return the places along a dimension with their labels, which are numbers from 0 without a coordinate."""
    if name not in dataset.variables:
        numbers = [Label(float(i), str(i), f"{name}{i}") for i in range(length)]
        return Steps(name, name, tuple(numbers), tuple(range(length)))
    try:
        decoded = xr.decode_cf(xr.Dataset(coords={name: dataset[name].variable}), decode_timedelta=True)[name]
    except Exception as error:
        raise DataError(f"{path}: the dates of {name} cannot be read: {error}") from error
    role = _role(name, decoded)
    labels = _labels(role, decoded.values)
    (often, times), *_ = Counter(label.name for label in labels).most_common(1) or [("", 0)]
    if times > 1:
        raise DataError(f"{path}: {name} has {often} {times} times; each label must be there once")
    return Steps(name, role, labels, tuple(range(length)))


def _role(name: str, coordinate: xr.DataArray) -> str:
    attributes = coordinate.attrs
    if coordinate.dtype.kind == "m" or attributes.get("standard_name") == "forecast_period":
        return LEAD
    if _is_dated(coordinate.values) or attributes.get("axis") == "T":
        return TIME
    if attributes.get("axis") == "Z" or "positive" in attributes or attributes.get("standard_name") in LEVELS:
        return LEVEL
    return name


def _is_dated(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "M" or (
        values.dtype.kind == "O" and values.size > 0 and hasattr(values.flat[0], "isoformat")
    )


def _labels(role: str, values: NDArray[Any]) -> tuple[Label, ...]:
    if _is_dated(values):
        dates = values.astype("datetime64[s]").tolist() if values.dtype.kind == "M" else values.tolist()
        texts = [date.isoformat() for date in dates]
        length = _length_of_names(texts)
        return tuple(
            Label(np.datetime64(text, "s") if values.dtype.kind == "M" else text, text, text[:length].replace(":", ""))
            for text in texts
        )
    if values.dtype.kind == "m":
        return tuple(Label(v, (t := _lead_name(v)), f"{role}{t}") for v in values.astype("timedelta64[s]"))
    if values.dtype.kind in "iuf":
        return tuple(Label(float(f"{v:.7g}"), f"{v:.7g}", f"{role}{v:.7g}") for v in values.tolist())
    return tuple(Label(str(v), str(v), str(v)) for v in values.tolist())


def _length_of_names(texts: list[str]) -> int:
    """Return how many letters of dates tell them apart: to the month, the day, the hour, the minute or the second.

    >>> _length_of_names(["2020-01-01T00:00:00", "2020-02-01T00:00:00"])
    7
    """
    ends = {7: "-01T00:00:00", 10: "T00:00:00", 13: ":00:00", 16: ":00"}
    return next((length for length, end in ends.items() if all(text[length:] == end for text in texts)), 19)


def _lead_name(lead: np.timedelta64) -> str:
    seconds = int(lead / np.timedelta64(1, "s"))
    return (
        f"{seconds // 3600}h" if seconds % 3600 == 0 else f"{seconds // 60}min" if seconds % 60 == 0 else f"{seconds}s"
    )


def stored_type(variable: xr.Variable) -> np.dtype[Any]:
    """Return the type of stored values in the order of bytes of this machine; whole numbers may be meant unsigned."""
    kind = variable.dtype.newbyteorder("=")
    if kind.kind == "i" and str(variable.attrs.get("_Unsigned", "")).lower() == "true":
        return np.dtype(f"u{kind.itemsize}")
    return np.dtype(kind)


def _numbers(variable: xr.Variable, key: str) -> list[float]:
    """Return the numbers of an attribute as stored values."""
    if key not in variable.attrs:
        return []
    values = np.atleast_1d(np.asarray(variable.attrs[key]))
    kind = stored_type(variable)
    if kind.kind == "u" and values.dtype.kind == "i" and values.dtype.itemsize == kind.itemsize:
        values = values.view(kind)
    return [float(value) for value in values]


def _band(name: str, variable: xr.Variable, path: str, *, masked: bool) -> Band:
    kind = stored_type(variable)
    if kind.kind not in "iuf":
        raise DataError(f"{path} holds values of type {variable.dtype}; give numbers")
    nodata = next(iter([*_numbers(variable, "_FillValue"), *_numbers(variable, "missing_value")]), None)
    scale, offset = (float(variable.attrs.get(key, other)) for key, other in (("scale_factor", 1), ("add_offset", 0)))
    multiplier = float(variable.attrs.get("standard_error_multiplier", 1))
    units = str(variable.attrs.get("units", ""))
    return Band(
        kind.name,
        stored_nodata(kind.name, nodata),
        scale / multiplier,
        offset / multiplier,
        masked,
        name.rpartition("/")[2],
        units,
    )


def _missing(variable: xr.Variable) -> tuple[float, ...]:
    """Return the stored values besides nodata that stand for no value."""
    nodata, *others = [*_numbers(variable, "_FillValue"), *_numbers(variable, "missing_value")] or [np.nan]
    return tuple(dict.fromkeys(value for value in others if value != nodata and value == value))  # noqa: PLR0124  NaN


def _valid(variable: xr.Variable) -> tuple[float, float]:
    """Return the lowest and the highest stored value that is valid."""
    both = _numbers(variable, "valid_range")
    low = both[:1] or _numbers(variable, "valid_min") or [-np.inf]
    high = both[1:] or _numbers(variable, "valid_max") or [np.inf]
    return low[0], high[0]
