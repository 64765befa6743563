"""One variable of one evaluation unit, from which figures are drawn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from geouq.config import BinScheme, Variable
from geouq.inference import Inference
from geouq.metrics import MetricOptions
from geouq.regions import EvaluationUnit
from geouq.runs.store import Part, SavedSummaries
from geouq.summary import Summary
from geouq.tables.rows import Row
from geouq.verdict import Place, Verdict


@dataclass(frozen=True)
class Source:
    """What the figures of a run are drawn from.

    scheme : of the bins shown. shown : the whole, then the regions that are set beside each other. inferred : what is
    inferred of a variable of a pool, computed when it is asked for.
    rows : of the tables `metrics` and `shift`. verdicts : those that could be reached. zones : the parts of each zone.
    """

    scheme: BinScheme
    choices: Mapping[str, MetricOptions]
    shown: Sequence[EvaluationUnit]
    inferred: Callable[[EvaluationUnit, str], Inference]
    rows: Mapping[str, Sequence[Row]]
    verdicts: Mapping[Place, Verdict]
    summaries: SavedSummaries
    zones: Mapping[str, Sequence[Part]]

    def parts(self, pool: EvaluationUnit) -> Sequence[Part]:
        """Where the pixels of a pool are."""
        return self.zones[pool.name] if pool.zone else [self.summaries.part(tile) for tile in pool.tiles]


@dataclass(frozen=True)
class Case:
    """One variable of one pool of a run; metric : of the map of cells, empty for the usual one."""

    source: Source
    pool: EvaluationUnit
    variable: Variable
    metric: str = ""

    @property
    def summary(self) -> Summary:
        """The summary of the variable in the pool."""
        return self.pool.variables[self.variable.name]

    @property
    def choices(self) -> MetricOptions:
        """What is asked of the variable."""
        return self.source.choices[self.variable.name]

    @property
    def has_variance(self) -> bool:
        """Return whether the forecast has a mean and a variance."""
        return self.choices.form.has_variance

    @property
    def inference(self) -> Inference:
        """What is inferred of the variable in the pool."""
        return self.source.inferred(self.pool, self.variable.name)

    @property
    def title(self) -> str:
        """Variable and pool."""
        return f"{self.variable.name}, {self.pool.name}"

    @property
    def beside(self) -> Sequence[EvaluationUnit]:
        """The pools that are set beside each other: all that are shown, of the whole; the pool alone, of a region."""
        return [pool for pool in self.source.shown if pool.level != "tile"] if self.pool.level == "all" else [self.pool]

    @property
    def verdict(self) -> str:
        """Return the verdict in words, as pages show it; empty where there is none, as of a single tile."""
        place = self.pool.level, self.pool.name, self.variable.variable, self.variable.model
        return self.source.verdicts[place].word if place in self.source.verdicts else ""

    def rows(self, table: str) -> list[Row]:
        """Rows of a table that tell of the variable."""
        own = self.variable.variable, self.variable.model
        return [row for row in self.source.rows.get(table, ()) if (row["variable"], row["model"]) == own]
