"""What the stages of a run pass to each other once its headers are read."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from geouq.aggregates import Aggregates
from geouq.config import Experiment
from geouq.core.errors import ChangedError
from geouq.core.failures import Failure
from geouq.core.processes import Work
from geouq.maps.pipeline import MapsUnderWay
from geouq.metrics import MetricOptions
from geouq.numbers.gates import GateResult
from geouq.numbers.run_metrics import Numbers
from geouq.pipeline.data import Job
from geouq.rasters.catalog import Tile
from geouq.runs.default_figures import Wanted
from geouq.runs.progress import Reporter
from geouq.runs.provenance import RunRecord
from geouq.runs.store import SavedSummaries


@dataclass(frozen=True)
class Workers:
    """The workers of a run; `pool` carries out their work until they are dismissed."""

    pool: Executor
    exits: ExitStack

    def dismiss(self) -> None:
        """End the workers."""
        self.exits.close()


@dataclass(frozen=True)
class Inspected:
    """A job with all data that its folder and its input do not contain.

    waiting : tiles without a valid summary. read_again : notes on tiles that are read again, and why. findings : of the
    input checks. failures : of these checks.
    """

    job: Job
    waiting: tuple[Tile, ...]
    read_again: tuple[str, ...]
    findings: tuple[str, ...]
    failures: tuple[Failure, ...]


@dataclass(frozen=True)
class Swept:
    """A run whose pixels are summarised in its folder. job : what was just swept, None for a run that is reopened."""

    experiment: Experiment
    record: RunRecord
    folder: Path
    reporter: Reporter
    job: Job | None = None

    @property
    def changed(self) -> list[str]:
        """Return the names of the tiles whose files changed while they were read."""
        return [failure.tile for failure in self.record.failures if failure.error == ChangedError.__name__]

    @property
    def summaries(self) -> SavedSummaries:
        """Return the summaries in the folder."""
        experiment, record = self.experiment, self.record
        return SavedSummaries(self.folder, record.tiles, experiment.levels, experiment.zone_layers, record.whole)

    def then(self, again: "Swept") -> "Swept":
        """Return the second sweep of a run, with the notes of this first one and the tiles that it did not read."""
        notes = tuple(dict.fromkeys((*self.record.notes, *again.record.notes)))
        return replace(again, record=replace(again.record, reused=self.record.reused, notes=notes))


@dataclass(frozen=True)
class Measured:
    """The numbers of all pixels, regions and tiles of a run. metric_options : of each variable, by its name."""

    swept: Swept
    summaries: SavedSummaries
    metric_options: Mapping[str, MetricOptions]
    numbers: Numbers


@dataclass(frozen=True)
class Drawing:
    """Figures that worker processes draw. left : number of requested figures that are not drawn."""

    wanted: Sequence[Wanted]
    work: Sequence[Work[Any, tuple[str, str]]]
    left: int


@dataclass(frozen=True)
class Evaluated(Measured):
    """All numbers of a run, before they are written.

    aggregates : of each variable that has some. maps : maps of the cells, which are under way. drawing : figures that
    are under way; None where they wait for all numbers. recalibrated : files of the recalibration, and lines to print
    about it. failures : items that are missing.
    """

    aggregates: Mapping[str, Aggregates]
    maps: MapsUnderWay
    drawing: Drawing | None
    gates: tuple[GateResult, ...]
    recalibrated: tuple[Sequence[Path], Sequence[str]]
    failures: tuple[Failure, ...]
