"""One variable of an evaluation unit, from which figures are drawn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geouq.config import BinScheme, Intervals, Variable
from geouq.inference import Inference, group_limits
from geouq.metrics import MetricOptions
from geouq.numbers.run_metrics import drawn_tiles
from geouq.numbers.saved_sums import parts_of
from geouq.regions import EvaluationUnit
from geouq.runs.store import Part, SavedSummaries
from geouq.summary import Summary
from geouq.tables.rows import Row
from geouq.verdict import Place, Verdict


@dataclass(frozen=True)
class Source:
    """What the figures of a run are drawn from.

    scheme : bins shown. shown : the whole, then the regions to compare. inferred : returns the inference for a variable
    of an evaluation unit, computed when it is needed. rows : rows of the tables `metrics` and `shift`. verdicts : by
    region and variable; some may be missing. zones : parts of each zone. settings : of intervals. wholes : summary of
    all tiles, by the name of the variable.
    """

    scheme: BinScheme
    metric_options: Mapping[str, MetricOptions]
    shown: Sequence[EvaluationUnit]
    inferred: Callable[[EvaluationUnit, str], Inference]
    rows: Mapping[str, Sequence[Row]]
    verdicts: Mapping[Place, Verdict]
    summaries: SavedSummaries
    zones: Mapping[str, Sequence[Part]]
    settings: Intervals
    wholes: Mapping[str, Summary]

    def parts(self, unit: EvaluationUnit) -> Sequence[Part]:
        """Return where the pixels of an evaluation unit are."""
        return parts_of(unit, self.zones, self.summaries)


@dataclass(frozen=True)
class Case:
    """One variable of an evaluation unit of a run.

    metric : of the map of cells, empty for the usual one. heading : title of the figure that is drawn. width : of the
    figure in mm; None for 85, or 180 of several panels.
    """

    source: Source
    evaluation_unit: EvaluationUnit
    variable: Variable
    metric: str = ""
    heading: str = ""
    width: float | None = None

    @property
    def summary(self) -> Summary:
        """Return the summary of the variable in the evaluation unit."""
        return self.evaluation_unit.variables[self.variable.name]

    @property
    def whole(self) -> Summary:
        """Return the summary of the variable in all tiles, from which the colours of maps follow."""
        return self.source.wholes[self.variable.name]

    @property
    def metric_options(self) -> MetricOptions:
        """Return the metric options of the variable."""
        return self.source.metric_options[self.variable.name]

    @property
    def has_variance(self) -> bool:
        """Return whether the forecast has a mean and a variance."""
        return self.metric_options.form.has_variance

    @property
    def inference(self) -> Inference:
        """Return what is inferred of the variable in the evaluation unit."""
        return self.source.inferred(self.evaluation_unit, self.variable.name)

    @property
    def group_limits(self) -> dict[tuple[str, float], NDArray[np.float64]]:
        """Return the limits of the coverage of groups, by grouping and level; empty where tiles are too few."""
        source, name = self.source, self.variable.name
        unit, parts = replace(self.evaluation_unit, variables={name: self.summary}), source.parts(self.evaluation_unit)
        tiles = drawn_tiles(unit, source.metric_options, parts, source.summaries).get(name)
        places = [source.summaries.place(part) for part in parts]
        return group_limits(unit.name, self.metric_options, tiles, places, source.settings) if tiles else {}

    @property
    def title(self) -> str:
        """Return the title of the figure, the variable and the evaluation unit."""
        return self._headed(f"{self.variable.name}, {self.evaluation_unit.name}")

    @property
    def title_of_variable(self) -> str:
        """Return the title of the figure and the variable, for figures that compare regions."""
        return self._headed(self.variable.name)

    def _headed(self, text: str) -> str:
        return f"{self.heading}: {text}" if self.heading else text

    @property
    def compared(self) -> Sequence[EvaluationUnit]:
        """Return the evaluation units to compare: all that are shown for the whole, only itself for a region."""
        return (
            [unit for unit in self.source.shown if unit.level != "tile"]
            if self.evaluation_unit.level == "all"
            else [self.evaluation_unit]
        )

    @property
    def verdict(self) -> str:
        """Return the verdict in words, as pages show it; "" without a verdict, such as for a tile."""
        place = self.evaluation_unit.level, self.evaluation_unit.name, self.variable.variable, self.variable.model
        return self.source.verdicts[place].word if place in self.source.verdicts else ""

    def rows(self, table: str) -> list[Row]:
        """Return the rows of a table for the variable."""
        own = self.variable.variable, self.variable.model
        return [row for row in self.source.rows.get(table, ()) if (row["variable"], row["model"]) == own]
