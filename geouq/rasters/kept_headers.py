"""Headers of rasters on servers that are kept in a file, so that a later run need not ask the servers for them.

A kept header serves until it is too old. Who reads pixels of its raster must read it anew first: see `raster.opened`.
"""

import gzip
import hashlib
import json
import math
import os
import re
import time
import zlib
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import rasterio
from affine import Affine

from geouq.core.atomic import atomic_write
from geouq.core.compiled import digest_of_sources
from geouq.core.errors import ConfigError
from geouq.core.grid import Grid
from geouq.core.redaction import is_private
from geouq.core.wording import counted
from geouq.rasters.files import Stamp
from geouq.rasters.raster import OF_ONE_FILE, Band, Raster
from geouq.rasters.remote_files import as_gdal_names_it, without_signature

KEPT = ".geouq.headers"  # name of the file in the folder of a run
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}  # seconds
OF_STORES = ("AWS_", "AZURE_", "GS_", "OSS_", "SWIFT_", "GDAL_DISABLE_READDIR_ON_OPEN")  # decide what a path is


def _settings_of_stores() -> list[tuple[str, str]]:
    """Return what decides which file a path is, without credentials, which differ between two runs."""
    return sorted((k, v) for k, v in os.environ.items() if k.startswith(OF_STORES) and not is_private(k))


@dataclass
class KeptHeaders:
    """The headers that a file keeps, of which those younger than `most` seconds are used.

    used : times of the headers that were found. added : whether there are headers that the file does not have yet.
    """

    file: Path
    most: float
    used: list[float] = field(default_factory=list)
    added: bool = False
    _entries: dict[str, tuple[float, Raster]] = field(default_factory=dict)
    _settings: list[tuple[str, str]] = field(default_factory=_settings_of_stores)

    @classmethod
    def load(cls, file: Path, most: float) -> "KeptHeaders":
        """Return the headers of a file; none if it does not exist, is damaged or is of another version."""
        try:
            return cls(file, most, _entries=dict(_decoded(json.loads(gzip.decompress(file.read_bytes())))))
        except (OSError, EOFError, zlib.error, ValueError, TypeError, KeyError, IndexError):
            return cls(file, most)

    def find(self, path: str, drivers: Sequence[str]) -> Raster | None:
        """Return the header of a raster, if one that is young enough is kept."""
        read_at, raster = self._entries.get(self._key(path, drivers), (-math.inf, None))
        if raster is None or not 0 <= time.time() - read_at <= self.most:
            return None
        self.used.append(read_at)
        own = as_gdal_names_it(path)
        files = tuple(file._replace(path=own + file.path) for file in raster.files)
        return replace(raster, path=path, files=files, identity=own, kept=True)

    def add(self, raster: Raster, drivers: Sequence[str]) -> None:
        """Keep a header, if all that it follows from is a file on a server and what lies beside it."""
        own = as_gdal_names_it(raster.path)
        is_alone = raster.driver in OF_ONE_FILE and not raster.unidentified and raster.identity == own
        if raster.is_remote and is_alone and all(file.path.startswith(own) for file in raster.files):
            files = tuple(file._replace(path=file.path.removeprefix(own)) for file in raster.files)
            unnamed = replace(raster, path="", files=files, identity="")
            self._entries[self._key(raster.path, drivers)] = time.time(), unnamed
            self.added = True

    def notes(self) -> list[str]:
        """Return a note on the headers that were used; [] where there are none."""
        if not self.used:
            return []
        oldest = datetime.fromtimestamp(min(self.used), UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        files = counted(len(self.used), "file")
        return [f"headers of {files} on servers were kept, and not asked for; the oldest is of {oldest}"]

    def _key(self, path: str, drivers: Sequence[str]) -> str:
        made_from = (without_signature(path), "?" in path, tuple(drivers), self._settings)
        return hashlib.sha256(repr(made_from).encode()).hexdigest()

    def save(self) -> None:
        """Write the file anew if there is something to add."""
        if self.added:
            text = json.dumps(_encoded(self._entries))
            with atomic_write(self.file) as part:
                part.write_bytes(gzip.compress(text.encode(), compresslevel=1, mtime=0))


def parse_age(text: str) -> float:
    """Return the seconds of a time such as 30m, 12h or 7d.

    >>> parse_age("12h")
    43200.0
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhd])\s*", text)
    if not found:
        raise ConfigError(f"--trust-for {text}: write a time such as 30m, 12h or 7d")
    return float(found[1]) * UNITS[found[2]]


def _made_by() -> list[str]:
    """Return what else a header follows from: this package, and GDAL."""
    return [digest_of_sources(), rasterio.__gdal_version__]


def _encoded(entries: dict[str, tuple[float, Raster]]) -> dict[str, Any]:
    """Return headers as JSON; what rasters share is there once."""
    kinds: dict[str, int] = {}
    rows = []
    for key, (read_at, raster) in entries.items():
        kind = json.dumps(_kind(raster))
        rows.append([key, read_at, kinds.setdefault(kind, len(kinds)), raster.grid.transform[:6], raster.files])
    return {"made_by": _made_by(), "kinds": [json.loads(kind) for kind in kinds], "headers": rows}


def _kind(raster: Raster) -> dict[str, Any]:
    grid = raster.grid
    return {
        "grid": [grid.shape, grid.crs, grid.control, grid.control_crs],
        "bands": [astuple(band) for band in raster.bands],
        "rest": [raster.alpha, raster.block, raster.interleaved, raster.compression, raster.driver],
        "has_no_sidecars": raster.has_no_sidecars,
    }


def _decoded(found: Any) -> Any:
    """Yield the key of each header, when it was read, and the header without its path."""
    if found["made_by"] != _made_by():
        return
    kinds = [_raster_of(kind) for kind in found["kinds"]]
    for key, read_at, kind, transform, files in found["headers"]:
        raster = kinds[kind]
        grid, stamps = replace(raster.grid, transform=Affine(*transform)), tuple(Stamp(*file) for file in files)
        yield key, (float(read_at), replace(raster, grid=grid, files=stamps))


def _raster_of(kind: Any) -> Raster:
    shape, crs, control, control_crs = kind["grid"]
    alpha, block, interleaved, compression, driver = kind["rest"]
    points = tuple(tuple(map(float, point)) for point in control)
    return Raster(
        "",
        Grid(tuple(shape), Affine.identity(), crs, points, control_crs),
        tuple(Band(*band) for band in kind["bands"]),
        alpha,
        tuple(block),
        interleaved,
        compression,
        driver,
        files=(),
        unidentified=(),
        identity="",
        has_no_sidecars=kind["has_no_sidecars"],
    )
