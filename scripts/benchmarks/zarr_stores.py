"""The sweep of Zarr stores against decoding the same chunks with zarr."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import xarray as xr
import zarr

from benchmarks.choices import Choice
from benchmarks.measure import RATIO, Table, compare, ratio_row
from benchmarks.rasters import forecasts, profile_of
from benchmarks.sweeps import sweep_of
from benchmarks.tiles import LAYERS, unfinished
from geouq.rasters import array_reader
from geouq.rasters.chunk_files import ChunkFiles
from geouq.reading.cutting import reading_for

STEPS, CHUNK = 4, 512
STORES: Mapping[str, tuple[tuple[int, int, int], Any]] = {
    "zstd, a step in a chunk": ((1, CHUNK, CHUNK), zarr.codecs.ZstdCodec(level=3)),
    "blosc (lz4, shuffle), a step in a chunk": ((1, CHUNK, CHUNK), zarr.codecs.BloscCodec(cname="lz4")),
    "zstd, all steps in a chunk": ((STEPS, CHUNK, CHUNK), zarr.codecs.ZstdCodec(level=3)),
    "zstd, chunks of 500 x 500": ((1, 500, 500), zarr.codecs.ZstdCodec(level=3)),
}


def zarr_section(choice: Choice) -> Table:
    """Sweep of each kind of store against decoding it."""
    rows, side = [], choice.side(2048)
    for number, (what, (chunks, codec)) in enumerate(STORES.items()):
        store = make_store(choice.data / f"store{number}-{side}.zarr", side, chunks, codec)
        work = partial(sweep_anew, sweep_of(config_of(store), choice.threads, reading_of=reading_for))
        base = partial(decode_chunks, store, choice.threads)
        rows.append(ratio_row(what, compare(work, base, choice.times()), "<= 1.3"))
        with decoded_chunks():
            work()
            rows.append(ratio_row(f"{what}, decoded before", compare(work, base, choice.times()), ""))
    note = f"One variable, {STEPS} steps of {side} x {side} pixels, float32, 30 % missing, {choice.threads} threads."
    return Table("Zarr: sweep / decoding", note, ("store", *RATIO), tuple(rows))


def sweep_anew(sweep: Callable[[], object]) -> None:
    """Sweep without what an earlier sweep has decoded."""
    array_reader._begin_anew()  # noqa: SLF001
    sweep()


@contextmanager
def decoded_chunks() -> Iterator[None]:
    """Let sweeps use chunks that an earlier sweep decoded, to measure only their work on pixels."""
    plain, found = ChunkFiles.read, dict[tuple[Path, tuple[int, ...]], Any]()

    def read(files: ChunkFiles, numbers: tuple[int, ...]) -> Any:
        """Return a chunk, decoded once."""
        key = files.folder, numbers
        if key not in found:
            found[key] = plain(files, numbers)
        return found[key]

    with patch.object(ChunkFiles, "read", read):
        yield


def make_store(path: Path, side: int, chunks: tuple[int, int, int], codec: Any) -> Path:
    """Return a store of mean, variance and truth (step, y, x), which is made unless it is there."""
    if path.exists():
        return path
    drawn = zip(*(layers for _, layers in zip(range(STEPS), forecasts(side), strict=False)), strict=True)
    t, rows, columns = profile_of(side)["transform"], np.arange(side) + 0.5, np.arange(side) + 0.5
    dims = ("time", "y", "x")
    dataset = xr.Dataset(
        {name: (dims, np.stack(own)) for name, own in zip(LAYERS, drawn, strict=True)},
        {
            "time": np.arange(STEPS).astype("datetime64[D]").astype("M8[ns]"),
            "y": t.f + t.e * rows,
            "x": t.c + t.a * columns,
        },
    )
    encoding = {name: {"chunks": chunks, "compressors": [codec]} for name in LAYERS}
    path.parent.mkdir(parents=True, exist_ok=True)
    dataset.to_zarr(unfinished(path), consolidated=False, encoding=encoding, zarr_format=3)
    unfinished(path).rename(path)
    return path


def config_of(store: Path) -> Path:
    """Return a configuration of a store."""
    config = store.with_suffix(".yaml")
    layers = "".join(f"  {name}: {{path: {store.name}, variable: {name}}}\n" for name in LAYERS)
    config.write_text(f"version: 1\nname: zarr\ndata:\n{layers}variables: [v]\n", encoding="utf-8")
    return config


def decode_chunks(store: Path, threads: int) -> None:
    """Read every chunk once; threads take from the same."""
    arrays = [zarr.open_array(store / name, mode="r") for name in LAYERS]
    boxes = iter([(array, box) for array in arrays for box in _boxes(array)])
    with ThreadPoolExecutor(threads) as pool:
        for reading in [pool.submit(_read, boxes) for _ in range(threads)]:
            reading.result()


def _boxes(array: Any) -> Iterator[tuple[slice, ...]]:
    along = [range(0, size, chunk) for size, chunk in zip(array.shape, array.chunks, strict=True)]
    for starts in product(*along):
        yield tuple(slice(start, start + chunk) for start, chunk in zip(starts, array.chunks, strict=True))


def _read(boxes: Iterator[tuple[Any, tuple[slice, ...]]]) -> None:
    for array, box in boxes:
        array[box]
