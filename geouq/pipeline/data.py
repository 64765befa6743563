"""How a run is carried out, and what is known before a pixel is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from geouq.config import Experiment
from geouq.rasters.catalog import Catalog, Tile
from geouq.reading.cutting import Reading
from geouq.runs.plan import Plan
from geouq.runs.progress import Reporter
from geouq.runs.provenance import Begun
from geouq.sweep.settings import Settings
from geouq.zones import Regions, TileZones


@dataclass(frozen=True)
class Options:
    """How a run is carried out. No option but `trust_for` changes a number.

    Parameters
    ----------
    out : path, optional
        Folder of the results. By default the folder in the configuration.
    workers : int, optional
        Number of workers. By default one for each processor.
    memory : str, optional
        Limit of the memory, such as 4GB; it may lower the number of workers.
    scheduler : str, optional
        Address of a running dask scheduler, or the file that it writes: its workers sweep the tiles.
    only : tuple of str
        Names of the tiles and regions to evaluate. By default all.
    fresh : bool
        Read all pixels again.
    strict : bool
        Check as many pixels as `geouq check --deep`, in every run.
    trust_for : str, optional
        Age of headers of files on servers, such as "12h": a header that an earlier run with this option read, and that
        is not older, is not asked for, so that a change of the file since then goes unnoticed if no pixel of its tile
        is read.
    """

    out: Path | str | None = None
    workers: int | None = None
    memory: str | None = None
    scheduler: str | None = None
    only: tuple[str, ...] = ()
    fresh: bool = False
    strict: bool = False
    trust_for: str | None = None


DEFAULTS = Options()


@dataclass(frozen=True)
class Job:
    """A prepared run: all that is known before a pixel is read. zones : of each tile, by its name."""

    experiment: Experiment
    folder: Path
    catalog: Catalog
    settings: Settings
    plan: Plan
    regions: Regions
    zones: Mapping[str, TileZones]
    options: Options
    reporter: Reporter
    begun: Begun

    @property
    def tiles(self) -> tuple[Tile, ...]:
        """Return the tiles that can be read."""
        return self.catalog.tiles

    def reading_of(self, tile: Tile) -> Reading:
        """Return how a tile is read."""
        return self.plan.readings[tile.name]
