"""The cells of all variables as GeoParquet 1.1, if pyarrow and pyogrio are installed: copied from the GeoPackages."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rasterio.crs import CRS

from geouq.config import Variable
from geouq.core.atomic import atomic_write
from geouq.maps.polygons import CORNERS, POLYGON, as_wkb, in_degrees

NAME = "cells.parquet"
TOGETHER = 20_000  # cells
GEOMETRY = "geometry"
CONSTANT = ("variable", "model")
Columns = dict[str, NDArray[Any]]


def write_geoparquet(packages: Mapping[str, Path], variables: Sequence[Variable], folder: Path) -> list[Path]:
    """Write `cells.parquet`, a row for each cell of each variable; return its path.

    The columns are variable, model, tile, row, col and the metrics of all variables; a metric that a variable does not
    have is null. The geometries have the CRS of the cells, or longitude and latitude if there are several CRS. Without
    pyarrow, pyogrio or cells, the file of an earlier run goes.

    Parameters
    ----------
    packages : mapping of str to Path
        The GeoPackage of each variable, by its name.
    """
    path = folder / NAME
    path.unlink(missing_ok=True)
    if not packages or find_spec("pyarrow") is None or find_spec("pyogrio") is None:
        return []
    with atomic_write(path) as part:
        _write(packages, {one.name: one for one in variables}, part)
    return [path]


@dataclass(frozen=True)
class _Layer:
    """Cells of a variable in a GeoPackage: their CRS as WKT ("" for none), and the kind of each column."""

    variable: Variable
    path: Path
    name: str
    crs: str
    kinds: Mapping[str, str]


def _write(packages: Mapping[str, Path], variables: Mapping[str, Variable], part: Path) -> None:
    """Copy the cells of all variables, some at a time."""
    import pyarrow as pa  # noqa: PLC0415  an optional extra
    import pyarrow.parquet as pq  # noqa: PLC0415

    layers = [layer for name, path in packages.items() for layer in _layers(variables[name], path)]
    systems = list(dict.fromkeys(layer.crs for layer in layers))
    kinds = {column: kind for layer in layers for column, kind in layer.kinds.items()}
    of_kind = {"i": pa.int32(), "f": pa.float64()}
    fields = [(name, pa.string()) for name in CONSTANT]
    fields += [(name, of_kind.get(kind, pa.string())) for name, kind in kinds.items()]
    geo = json.dumps(_metadata(systems), ensure_ascii=False)
    schema = pa.schema([*fields, (GEOMETRY, pa.binary())], metadata={"geo": geo})
    with pq.ParquetWriter(part.absolute(), schema, compression="zstd") as file:
        for layer in layers:
            for rings, columns in _batches(layer):
                shown = in_degrees(rings, layer.crs) if len(systems) > 1 else rings
                constant = {name: np.full(len(rings), getattr(layer.variable, name), object) for name in CONSTANT}
                own = {**columns, **constant, GEOMETRY: as_wkb(shown)}
                missing = np.full(len(rings), None, object)
                arrays = [pa.array(own.get(field.name, missing), field.type, from_pandas=True) for field in schema]
                file.write_table(pa.Table.from_arrays(arrays, schema=schema))


def _layers(variable: Variable, path: Path) -> Iterator[_Layer]:
    """Yield the layers of cells of a GeoPackage."""
    import pyogrio  # noqa: PLC0415  an optional extra

    for name, kind in pyogrio.list_layers(path):
        if kind:  # without geometry it is the table of styles
            about = pyogrio.read_info(path, layer=name)
            columns = zip(map(str, about["fields"]), about["dtypes"], strict=True)
            kinds = {column: np.dtype(kind).kind for column, kind in columns}
            yield _Layer(variable, path, str(name), _as_wkt(about["crs"]), kinds)


def _as_wkt(crs: str | None) -> str:
    """Return a CRS that pyogrio names as WKT; "" for none, which GDAL calls undefined."""
    return "" if crs is None or "ndefined" in crs else CRS.from_user_input(crs).to_wkt()


def _batches(layer: _Layer) -> Iterator[tuple[NDArray[np.float64], Columns]]:
    """Yield rings (cells, 5, 2) and columns of some cells of a layer at a time."""
    import pyogrio.raw  # noqa: PLC0415  an optional extra

    begin = 0
    while True:
        about, _, shapes, columns = pyogrio.raw.read(
            layer.path, layer=layer.name, skip_features=begin, max_features=TOGETHER
        )
        if not len(shapes):
            return
        records = np.frombuffer(b"".join(shapes), POLYGON)
        yield records["ring"].reshape(-1, len(CORNERS), 2), dict(zip(map(str, about["fields"]), columns, strict=True))
        begin += len(shapes)


def _metadata(systems: Sequence[str]) -> dict[str, Any]:
    """Return what GeoParquet tells of the geometries; without a CRS they are in longitude and latitude."""
    column: dict[str, Any] = {"encoding": "WKB", "geometry_types": ["Polygon"]}
    if not all(systems):
        column["crs"] = None
    elif len(systems) == 1:
        column["crs"] = CRS.from_wkt(systems[0]).to_dict(projjson=True)
    return {"version": "1.1.0", "primary_column": GEOMETRY, "columns": {GEOMETRY: column}}
