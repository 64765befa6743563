"""Files identified by their bytes, if the configuration says `fingerprint: checksum`."""

import hashlib
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event

from geouq.config import Experiment, config_error
from geouq.core.failures import Failure
from geouq.rasters.catalog import Catalog, Tile
from geouq.rasters.files import files_in
from geouq.rasters.raster import Raster
from geouq.runs.progress import Reporter
from geouq.zones import TileZones

CHUNK = 1 << 20  # bytes of a file that a thread holds


def require_local(experiment: Experiment, tiles: Sequence[Tile], zones: Mapping[str, TileZones]) -> None:
    """Raise ConfigError for a file on a server if checksums are requested."""
    if experiment.fingerprint == "modified":
        return
    for raster in (raster for tile in tiles for raster in _rasters(tile, zones[tile.name])):
        if absent := (*raster.unidentified, *(file.path for file in raster.files if not file.local)):
            message = f"{absent[0]} is not a file of this machine, and has no checksum; fetch it, or write modified"
            raise config_error([experiment.problem("fingerprint", message=message)])


def with_checksums(
    tiles: Sequence[Tile], zones: Mapping[str, TileZones], threads: int, under_way: Callable[[str, float], None]
) -> Generator[tuple[Tile, TileZones] | Failure, None, None]:
    """Yield the tiles and their zones with the SHA-256 of all their files, or why one has none.

    Each file is read once, by one thread.

    under_way : called with the name of a tile and the share of its files that are done. If the iterator is closed, the
    threads end after their next chunk.
    """
    known: dict[str, str | OSError] = {}
    paths = list(dict.fromkeys(path for tile in tiles for path in _paths(tile, zones[tile.name])))
    stopping = Event()
    with ThreadPoolExecutor(threads, "geouq") as pool:
        try:
            checksums = pool.map(partial(_checksum, stopping), paths)
            for tile in tiles:
                own = _paths(tile, zones[tile.name])
                for done, path in enumerate(own):
                    if path not in known:  # the next one, as paths are in the order of the tiles
                        under_way(tile.name, done / len(own))
                        known[path] = next(checksums)
                yield _completed(tile, zones[tile.name], known)
        finally:
            stopping.set()
            pool.shutdown(cancel_futures=True)


def catalog_with_checksums(
    catalog: Catalog, zones: Mapping[str, TileZones], threads: int, reporter: Reporter
) -> tuple[Catalog, dict[str, TileZones]]:
    """Return a catalog and its zones with the checksums of their files; a tile with an unreadable file has failed."""
    reporter.stage("checksums", len(catalog.tiles))
    tiles, failures, completed = [], [], {}
    with closing(with_checksums(catalog.tiles, zones, threads, reporter.under_way)) as outcomes:
        for tile, outcome in zip(catalog.tiles, outcomes, strict=True):
            if isinstance(outcome, Failure):
                failures.append(outcome)
            else:
                tiles.append(outcome[0])
                completed[tile.name] = outcome[1]
            reporter.advance(tile.name)
    return replace(catalog, tiles=tuple(tiles), failures=(*catalog.failures, *failures)), completed


def _rasters(tile: Tile, zones: TileZones) -> list[Raster]:
    return [*tile.rasters.values(), *(raster for layer in zones.layers.values() for raster in layer.rasters)]


def _paths(tile: Tile, zones: TileZones) -> list[str]:
    return [file.path for raster in _rasters(tile, zones) for file in raster.files]


def _checksum(stopping: Event, path: str) -> str | OSError:
    digest = hashlib.sha256()
    try:
        for part in files_in(path) if Path(path).is_dir() else [Path(path)]:
            if str(part) != path:
                digest.update(f"\n{part.relative_to(path).as_posix()} {part.stat().st_size}\n".encode())
            with part.open("rb", buffering=0) as file:
                while not stopping.is_set() and (chunk := file.read(CHUNK)):
                    digest.update(chunk)
    except OSError as error:
        return error
    return digest.hexdigest()


def _completed(tile: Tile, zones: TileZones, known: Mapping[str, str | OSError]) -> tuple[Tile, TileZones] | Failure:
    for path in _paths(tile, zones):
        if isinstance(error := known[path], OSError):
            return Failure(tile.name, "checksums", "DataError", f"{path} cannot be read: {error.strerror}")

    def complete(raster: Raster) -> Raster:
        """Return a raster with the checksums of its files."""
        return replace(raster, files=tuple(file._replace(sha256=str(known[file.path])) for file in raster.files))

    layers = {
        key: layer.with_rasters({raster.path: complete(raster) for raster in layer.rasters})
        for key, layer in zones.layers.items()
    }
    completed = tile.with_rasters({layer: complete(raster) for layer, raster in tile.rasters.items()})
    return completed, replace(zones, layers=layers)
