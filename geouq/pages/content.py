"""The content of the pages, from the tables of a run, without any layout."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from geouq.config import Variable
from geouq.pages.cells import CellMaps
from geouq.pages.curves import Curves
from geouq.pages.outlines import Outlines
from geouq.pages.quick_looks import QuickLook
from geouq.pages.recalibration import Recalibrated
from geouq.verdict import Place, Verdict

Row = Mapping[str, Any]

COMPARED = {
    "common": " Models of a variable are evaluated on the pixels that count for all of them.",
    "own": " Each model is evaluated on the pixels that count for it.",
}


@dataclass(frozen=True)
class ReportContent:
    """Everything that the pages show.

    regions : tiles of each region; for a zone, the tiles in which it lies. metrics, excluded, failures : rows of the
    tables. verdicts : by region and variable; some may be missing. bins : name of the bins shown. figures : path by
    (name, variable, figure), relative to the folder of the run, like maps. provenance : facts by name. shift,
    comparison : rows of these tables, empty without splits or models. tables : names of all tables. config : text of
    the resolved configuration. cells : sums of the cells of all tiles, None without pixels. recalibrated : results of a
    recalibration of this run, None without one. input_warnings : shown above the verdicts. curves : of the diagrams.
    outlines : of regions that are polygons. looks : small pictures of the maps of pixels. areas, aggregates,
    aggregate_comparison, error_correlation, error_correlogram : rows of these tables, empty without means of areas.
    members : number of members without variances, 0 for other forecasts.
    """

    name: str
    variables: Sequence[Variable]
    regions: Mapping[str, Sequence[str]]
    zones: frozenset[str]
    tiles: Sequence[str]
    metrics: Sequence[Row]
    bins: str
    excluded: Sequence[Row]
    failures: Sequence[Row]
    warnings: Sequence[str]
    gates: Sequence[Row]
    figures: Mapping[tuple[str, str, str], str]
    maps: Sequence[str]
    provenance: Mapping[str, str]
    verdicts: Mapping[Place, Verdict]
    shift: Sequence[Row] = ()
    comparison: Sequence[Row] = ()
    tables: Sequence[str] = ()
    config: str = ""
    cells: CellMaps | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)
    recalibrated: Recalibrated | None = None
    input_warnings: Sequence[str] = ()
    curves: Mapping[Place, Curves] = field(default_factory=dict)
    outlines: Outlines = Outlines()  # noqa: RUF009  frozen
    looks: Sequence[QuickLook] = ()
    areas: Sequence[Row] = ()
    aggregates: Sequence[Row] = ()
    aggregate_comparison: Sequence[Row] = ()
    error_correlation: Sequence[Row] = ()
    error_correlogram: Sequence[Row] = ()
    members: int = 0

    @cached_property
    def metric_names(self) -> tuple[str, ...]:
        """Return the names of the metrics in the tables, in their order; binned ones have those of the bins shown."""
        return tuple(dict.fromkeys(row["metric"] for row in self.metrics if row["bins"] in ("", self.bins)))

    @cached_property
    def metrics_without_tiles(self) -> Sequence[Row]:
        """Return the rows of the whole and of regions."""
        return [row for row in self.metrics if row["level"] != "tile"]

    @property
    def compared(self) -> str:
        """Return on which pixels several models are evaluated, as a sentence; empty for a single model."""
        return COMPARED.get(self.metrics[0]["compare_on"] if self.metrics else "", "")
