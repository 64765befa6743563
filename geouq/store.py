"""Where a run keeps the summaries of its tiles, and which of them are still valid."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from geouq.catalog import Tile
from geouq.compiled import digest_of_sources
from geouq.naming import file_name
from geouq.summary import TileSummary
from geouq.summary.file import FORMAT, key_of_file, load_tile, save_tile
from geouq.sweep import Settings
from geouq.version import __version__


def key_of_tile(tile: Tile, settings: Settings) -> str:
    """Digest of all that a tile's summary is made from: files as they are now, bands, settings, and this version."""
    rasters = [(layer, raster.fingerprint) for layer, raster in tile.rasters.items()]
    bands = [(variable.name, variable.band) for variable in tile.variables]
    made_from = (FORMAT, __version__, digest_of_sources(), rasters, bands, settings)
    return hashlib.sha256(repr(made_from).encode()).hexdigest()


def path_of_tile(folder: Path, tile: str) -> Path:
    """File of a tile's summary in a run's folder."""
    return folder / "summaries" / f"{file_name(tile)}.nc"


def is_valid(folder: Path, tile: Tile, settings: Settings) -> bool:
    """Whether a saved summary is there that a new sweep would make again, bit by bit."""
    path = path_of_tile(folder, tile.name)
    return path.exists() and key_of_file(path) == key_of_tile(tile, settings)


def keep_summary(folder: Path, tile: Tile, summary: TileSummary, settings: Settings) -> None:
    """Save a tile's summary; from now on a run with the same files and settings does not read the tile again."""
    save_tile(summary, path_of_tile(folder, tile.name), key_of_tile(tile, settings))


@dataclass(frozen=True)
class SavedSummaries:
    """The saved summaries of some tiles, read one at a time, each time that they are asked for."""

    folder: Path
    tiles: tuple[str, ...]

    def __iter__(self) -> Iterator[TileSummary]:
        return (load_tile(path_of_tile(self.folder, tile)) for tile in self.tiles)

    def __len__(self) -> int:
        return len(self.tiles)
