"""Sweep tiles into the summary files of a folder."""

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from geouq.core.failures import Failure
from geouq.rasters.catalog import Tile
from geouq.reading.cutting import Reading
from geouq.runs.progress import Reporter
from geouq.runs.store import SummariesUnderWay, ZonesUnderWay
from geouq.summary import TileSummary
from geouq.sweep.settings import Settings
from geouq.sweep.tile_sum import EntryStore
from geouq.sweep.tiles import CompleteTiles, Zone, ZoneSweep, sweep_tiles
from geouq.zones import Zones


@dataclass(frozen=True)
class TileWork:
    """How tiles are swept: readings and layers of zones, each by the name of the tile."""

    settings: Settings
    readings: Mapping[str, Reading]
    layers: Mapping[str, Mapping[str, Zones]]

    def of(self, tiles: Collection[Tile]) -> "TileWork":
        """Return what concerns these tiles."""
        names = [tile.name for tile in tiles]
        return TileWork(
            self.settings,
            {name: self.readings[name] for name in names},
            {name: self.layers[name] for name in names},
        )


class TileFiles(Protocol):
    """Takes the summaries of tiles, as `SummariesUnderWay` does."""

    def begin(self, tile: Tile) -> EntryStore:
        """Return where the entries of the cells of a tile go."""

    def keep(self, summary: TileSummary) -> None:
        """Keep the summary of a tile."""

    def abandon(self, name: str) -> None:
        """Forget a tile that has failed."""


def sweep_into(
    folder: Path, tiles: Sequence[Tile], work: TileWork, *, pool: Executor, in_flight: int, reporter: Reporter
) -> tuple[list[Failure], set[str]]:
    """Save the summaries of tiles and of their zones; return failures, and names of tiles whose zones are saved."""
    with SummariesUnderWay(folder, work.settings, tiles, reporter.advance) as files:
        return sweep_for(files, folder, tiles, work, pool=pool, in_flight=in_flight, reporter=reporter)


def sweep_for(
    files: TileFiles,
    folder: Path,
    tiles: Sequence[Tile],
    work: TileWork,
    *,
    pool: Executor,
    in_flight: int,
    reporter: Reporter,
) -> tuple[list[Failure], set[str]]:
    """Do the same, but hand the summaries of tiles to `files`; those of zones are saved in the folder."""
    layers = work.layers
    with ZonesUnderWay(folder, layers, work.settings) as zone_files:
        with_zones = {tile.name: tile for tile in tiles if layers[tile.name]}
        saving, complete = _Saving(files, zone_files, with_zones, reporter), CompleteTiles()
        swept = sweep_tiles(
            tiles,
            work.settings,
            pool,
            in_flight,
            reading_of=lambda tile: work.readings[tile.name],
            store_for=files.begin,
            zones=ZoneSweep(lambda tile: layers[tile.name], zone_files.begin, saving.take),
            under_way=reporter.under_way,
            complete=complete,
        )
        try:
            for outcome in swept:
                saving.keep(outcome)
        except BaseException:  # Ctrl-C, too
            for outcome in complete.left():
                saving.keep(outcome)
            raise
    return saving.failures, set(with_zones)


@dataclass(frozen=True)
class _Saving:
    """Saves the summaries of tiles and of their zones that a sweep yields.

    with_zones : tiles by name; their zones are swept with them and have not failed.
    """

    files: TileFiles
    zone_files: ZonesUnderWay
    with_zones: dict[str, Tile]
    reporter: Reporter
    failures: list[Failure] = field(default_factory=list)

    def take(self, zone: Zone | Failure) -> None:
        """Write the summary of a zone, or note that the zones of its tile have failed."""
        if isinstance(zone, Zone):
            self.zone_files.add(zone.tile, zone.layer, zone.name, zone.summary)
            return
        self._drop_zones(zone.tile)
        self.failures.append(zone)
        self.reporter.say(f"tile {zone.tile} failed: {zone.message}")

    def keep(self, outcome: TileSummary | Failure) -> None:
        """Save the summaries of a tile and of its zones, or report why the tile has failed."""
        if isinstance(outcome, Failure):
            self.files.abandon(outcome.tile)
            self._drop_zones(outcome.tile)
            self.reporter.say(f"tile {outcome.tile} failed: {outcome.message}")
            self.reporter.advance(outcome.tile)
            self.failures.append(outcome)
            return
        if outcome.tile in self.with_zones:
            self.zone_files.keep(self.with_zones[outcome.tile])
        self.files.keep(outcome)

    def _drop_zones(self, tile: str) -> None:
        if self.with_zones.pop(tile, None):
            self.zone_files.abandon(tile)
