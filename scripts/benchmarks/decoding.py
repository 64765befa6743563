"""What the files cost without us: their windows decoded into buffers that are used again."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import rasterio
from rasterio.windows import Window

WINDOW = 512
CACHE = 64 << 20  # bytes


def decode(paths: Sequence[Path], threads: int) -> None:
    """Read all bands of the files, window by window, with one handle a thread and file."""
    with rasterio.open(paths[0]) as first:
        windows = windows_of(first.height, first.width)
    with ThreadPoolExecutor(threads) as pool:
        for reading in [pool.submit(_read, paths, windows) for _ in range(threads)]:
            reading.result()


def _read(paths: Sequence[Path], windows: Iterator[Window]) -> None:
    """Read windows as long as there are any; other threads take from the same."""
    with rasterio.Env(GDAL_NUM_THREADS="1", GDAL_CACHEMAX=CACHE), ExitStack() as stack:
        files = [stack.enter_context(rasterio.open(path, sharing=False)) for path in paths]
        buffers = [np.empty(file.count * WINDOW * WINDOW, file.dtypes[0]) for file in files]
        for window in windows:
            for file, buffer in zip(files, buffers, strict=True):
                shape = file.count, window.height, window.width
                file.read(window=window, out=buffer[: np.prod(shape)].reshape(shape))


def windows_of(height: int, width: int) -> Iterator[Window]:
    """Yield the windows in which a raster is read."""
    return iter(
        [
            Window(column, row, min(WINDOW, width - column), min(WINDOW, height - row))
            for row in range(0, height, WINDOW)
            for column in range(0, width, WINDOW)
        ]
    )
