"""Rows as Parquet, with the extra `parquet`."""

from collections.abc import Mapping, Sequence
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geouq.core.atomic import atomic_write
from geouq.tables.columns import COLUMN, Kind
from geouq.tables.rows import Table

if TYPE_CHECKING:
    import pyarrow as pa

TOGETHER = 1 << 13  # rows of a group of a file


def write_parquet(table: Table, path: Path, metadata: Mapping[str, str]) -> bool:
    """Write rows as Parquet, with the metadata in the schema; False where the extra `parquet` is not installed."""
    try:
        import pyarrow as pa  # noqa: PLC0415  an optional dependency
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        return False
    of_kind = {"text": pa.string(), "whole": pa.int64(), "number": pa.float64()}
    kinds = [COLUMN[column].kind for column in table.columns]
    fields = [(column, of_kind[kind]) for column, kind in zip(table.columns, kinds, strict=True)]
    schema = pa.schema(fields, metadata={f"geouq.{key}": value for key, value in metadata.items()})
    waiting = iter(table.values())
    with atomic_write(path) as part, pq.ParquetWriter(part.absolute(), schema) as file:  # `a:b/c` would be an address
        while rows := list(islice(waiting, TOGETHER)):
            columns = [_column(own, kind) for own, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
            file.write_table(pa.Table.from_arrays(columns, schema=schema))
    return True


def _column(values: Sequence[Any], kind: Kind) -> "pa.Array":
    """Return values, None where one is missing, as Arrow lays them out: `pyarrow.array` would import pandas first."""
    import pyarrow as pa  # noqa: PLC0415  an optional dependency

    is_there = np.array([value is not None for value in values])
    validity = np.packbits(is_there, bitorder="little")
    if kind == "text":
        texts = [b"" if value is None else value.encode() for value in values]
        ends = np.fromiter(accumulate(map(len, texts), initial=0), np.int32, len(texts) + 1)
        return pa.StringArray.from_buffers(
            len(texts), pa.py_buffer(ends), pa.py_buffer(b"".join(texts)), pa.py_buffer(validity)
        )
    numbers = np.array([0 if value is None else value for value in values], np.int64 if kind == "whole" else np.float64)
    type_of = pa.int64() if kind == "whole" else pa.float64()
    return pa.Array.from_buffers(type_of, len(numbers), [pa.py_buffer(validity), pa.py_buffer(numbers)])
