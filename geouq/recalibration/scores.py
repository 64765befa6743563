"""Scores of corrections: before and after as rows of a table and as text, and which correction is best.

Corrections are compared by the score of the intervals that each of them delivers. Every correction delivers an
interval for each configured level, whether its forecast is normal or not. The mean pinball loss of their ends is proper
for these quantiles, and it is the same score for all corrections. The ends of the interval of level p are the quantiles
(1 - p)/2 and (1 + p)/2, whose pinball losses add up to (1 - p)/2 times its interval score.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from geouq.config import Experiment, Groups, Intervals, Variable
from geouq.core.wording import for_people
from geouq.inference import ForecastSample, draw_together, judged
from geouq.inference.differences import Key, Uncertain
from geouq.inference.resamples import Influences, Resampled
from geouq.metrics import (
    METRICS,
    MetricOptions,
    Value,
    evaluate_metrics,
    interval_score,
    level_name,
    named,
    shown_in,
    usual_name,
)
from geouq.metrics.quantiles import pinball_mean
from geouq.numbers.differences import rows_of_drawn
from geouq.numbers.run_metrics import forecast_samples_of
from geouq.recalibration.corrections import Unchanged
from geouq.regions import EvaluationUnit, evaluation_units
from geouq.runs.progress import Reporter
from geouq.runs.store import SavedSummaries
from geouq.summary import TileWholes
from geouq.tables.rows import Row

METRIC = next(metric for metric in METRICS if metric.function is pinball_mean)
SCORE = METRIC.name
Numbers = Mapping[Key, Uncertain]
PLACE: Key = (SCORE, "", "")
IN_SAMPLE = "in-sample"
BEFORE = "before"
TITLE = "mean pinball loss"


def interval_score_of(level: float) -> Key:
    """Return the place of the interval score of a level among the numbers of a view."""
    return level_name(interval_score.__name__, level), "", ""


def delivered_score(views: Sequence[Mapping[Key, Uncertain]], levels: Sequence[float]) -> Uncertain:
    """Return the mean pinball loss of the ends of the intervals of all levels.

    views : numbers of each view of a forecast, drawn together; the interval of a level is in one of them, or in all.
    """
    parts = [next(view[key] for view in views if key in view) for key in map(interval_score_of, levels)]
    weights = np.array([(1 - level) / (4 * len(levels)) for level in levels])
    value = Value(METRIC, SCORE, "", weights @ [float(part.value.value) for part in parts])
    spreads = [part.spread for part in parts if part.spread is not None]
    if len(spreads) < len(parts):
        return Uncertain(value, reason=next(part.reason for part in parts if part.spread is None))
    mean = {
        field: (weights @ [getattr(spread.influences, field)[spread.place] for spread in spreads])[np.newaxis]
        for field in ("of_blocks", "of_squares", "of_cells")
    }
    influences = Influences(**mean, squares=spreads[0].influences.squares)
    return Uncertain(value, Resampled(value, weights @ [spread.replicates for spread in spreads], influences))


@dataclass(frozen=True)
class ScoreKey:
    """What a summary is of: a variable, a method, on what it is judged, and the view; several : there are others."""

    variable: str
    method: str
    judge: str
    level: float | None
    pit: bool
    first: bool
    several: bool

    @property
    def label(self) -> str:
        """Name under which it is saved."""
        view = "PIT" if self.pit else "normal" if self.level is None else f"{self.level:.12g}"
        return f"{self.variable}|{self.method}|{self.judge}|{view}"

    @property
    def is_normal(self) -> bool:
        """Whether the view is the whole corrected forecast, which is normal."""
        return self.level is None and not self.pit

    def is_of(self, other: "ScoreKey") -> bool:
        """Return whether it is a view of the same corrected forecast."""
        return (self.variable, self.method, self.judge) == (other.variable, other.method, other.judge)

    def metrics(self, levels: Sequence[float]) -> tuple[str, ...]:
        """Return the metrics that it tells."""
        own = levels if self.level is None else (self.level,)
        shown = shown_in("corrections")
        of_levels = tuple(level_name(one.name, level) for one in shown if one.choice == "level" for level in own)
        of_pit = tuple(one.name for one in shown if one.family == "curve")
        of_moments = tuple(one.name for one in shown if one.choice != "level" and one.name not in of_pit)
        if not self.several:
            return (*of_moments, *of_pit, *of_levels)
        return of_pit if self.pit else (*(of_moments if self.first else ()), *of_levels)

    def metric_options(self, metric_options: MetricOptions) -> MetricOptions:
        """Return the metric options of a score; equal-count bins if there are any."""
        schemes = [s for s in metric_options.schemes if s.scheme == "equal-count"] or list(metric_options.schemes)
        levels = metric_options.levels if self.level is None else (self.level,)
        plain = replace(
            metric_options, groups=Groups(by=()), ordering=False, thresholds=(), auxiliary_groups=(), shared_edges=None
        )
        return replace(plain, levels=levels, schemes=schemes[:1] if self.first else ())


def before_and_after(
    experiment: Experiment,
    variables: Sequence[Variable],
    seen: Sequence[ScoreKey],
    *,
    before: SavedSummaries,
    after: SavedSummaries,
    metric_options: Mapping[str, MetricOptions],
    reporter: Reporter,
) -> list[Row]:
    """Return a row for each number of each method and variable, of the whole and of each list of tiles."""
    rows, by_label = [], {one.label: one for one in seen}
    of_seen = {label: one.metric_options(metric_options[one.variable]) for label, one in by_label.items()}
    of_variables = {name: ScoreKey(name, "", "", None, pit=False, first=True, several=False) for name in metric_options}
    own_options = {name: one.metric_options(metric_options[name]) for name, one in of_variables.items()}
    reporter.stage("before and after", 1 + len(experiment.tile_lists))
    pairs = zip(regions_of(experiment, own_options, before), regions_of(experiment, of_seen, after), strict=True)
    for one, other in pairs:
        sides = forecast_samples_of(one, own_options, [before.part(tile) for tile in one.tiles], before)
        corrected = forecast_samples_of(other, of_seen, [after.part(tile) for tile in other.tiles], after)
        for variable in variables:
            apart, in_sample = ({BEFORE: sides[variable.name]} for _ in range(2))
            for label, side in corrected.items():
                if by_label[label].variable == variable.name:
                    (in_sample if by_label[label].judge == IN_SAMPLE else apart)[label] = side
            place, settings = {"level": one.level, "name": one.name}, experiment.intervals
            for group, numbers in (
                (apart, _out_of_fold(one.name, apart, settings)),
                (in_sample, _in_sample(in_sample)),
            ):
                counts = {label: int(side.whole.n) for label, side in group.items()}
                scored = _with_scores(numbers, by_label, experiment.levels)
                drawn = rows_of_drawn(place, scored, counts, variable, settings.level)
                rows += [
                    _row(row, by_label[row["run"]]) for row in drawn if _is_shown(row, by_label, experiment.levels)
                ]
        reporter.advance(one.name)
    kinds = dict.fromkeys(row["judged"] for row in rows)
    return [
        row
        for kind in kinds
        for row in judged([row for row in rows if row["judged"] == kind], experiment.intervals.level)
    ]


def _out_of_fold(name: str, sides: Mapping[str, ForecastSample], settings: Intervals) -> dict[str, Numbers]:
    """Return the numbers of forecasts with their resamples, of the same blocks for all methods."""
    return dict(zip(sides, draw_together(name, list(sides.values()), settings).sides, strict=True))


def _in_sample(sides: Mapping[str, ForecastSample]) -> dict[str, Numbers]:
    """Return the numbers of forecasts without intervals, which would lend weight to what is no evidence."""
    return {
        label: {
            (value.name, value.bins, value.group): Uncertain(value, reason=IN_SAMPLE)
            for value in evaluate_metrics(side.whole, side.metric_options)
        }
        for label, side in sides.items()
    }


def _with_scores(
    numbers: Mapping[str, Numbers], by_label: Mapping[str, ScoreKey], levels: Sequence[float]
) -> dict[str, Numbers]:
    """Return the numbers with the score of what each method delivers, which stands with its first view."""
    found = dict(numbers)
    for label, own in numbers.items():
        if label == BEFORE:
            found[label] = {**own, PLACE: delivered_score([own], levels)}
        elif by_label[label].first:
            views = [numbers[other] for other in numbers if other != BEFORE and by_label[other].is_of(by_label[label])]
            found[label] = {**own, PLACE: delivered_score(views, levels)}
    return found


def regions_of(experiment: Experiment, names: Iterable[str], summaries: SavedSummaries) -> Iterator[EvaluationUnit]:
    """Yield the whole, then each region that is a list of tiles."""
    wanted = tuple(names)

    def wholes(tiles: Collection[str] | None) -> Iterator[TileWholes]:
        """Yield the tiles with those variables alone."""
        for tile in summaries.wholes(tiles):
            yield replace(tile, variables={name: tile.variables[name] for name in wanted})

    return (unit for unit in evaluation_units(experiment, wanted, wholes) if unit.level != "tile")


def _is_shown(row: Row, by_label: Mapping[str, ScoreKey], levels: Sequence[float]) -> bool:
    return not row["group"] and row["metric"] in by_label[row["run"]].metrics(levels)


def _row(row: Row, one: ScoreKey) -> Row:
    better = {one.label: "after", BEFORE: BEFORE, "": ""}[row["better"]]
    told = {"method": one.method, "judged": one.judge, "before": row["baseline"], "after": row["value"]}
    return row | told | {"better": better}


def as_markdown(rows: Sequence[Row], sentences: Sequence[str], notes: Sequence[str]) -> str:
    """Return the main numbers of the whole and each region; numbers out of fold come first."""
    names = tuple(dict.fromkeys(map(usual_name, shown_in("recalibration"))))
    lines = ["# Recalibration", "", *(f"- {line}" for line in (*sentences, *notes)), ""]
    kinds = dict.fromkeys(row["judged"] for row in rows)
    for kind in sorted(kinds, key=lambda kind: kind == IN_SAMPLE):
        told = "Fitted and judged on the same tiles: no evidence" if kind == IN_SAMPLE else f"Out of fold: {kind}"
        lines += [f"## {told}", "", f"| variable | region | method | {' | '.join(names)} |"]
        lines += ["|---|---|---|" + "---|" * len(names)]
        lines += [*_lines([row for row in rows if row["judged"] == kind], names), ""]
    return "\n".join(lines)


def _lines(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    by_place: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        name = f"{row['variable']} ({row['model']})" if row.get("model") else row["variable"]
        by_place.setdefault((name, row["name"], row["method"]), {})[row["metric"]] = row
    return [f"| {' | '.join((*place, *(_cell(own.get(name)) for name in names)))} |" for place, own in by_place.items()]


def _cell(row: Row | None) -> str:
    if row is None or row["after"] is None or row["before"] is None:
        return ""
    certain = "" if row["significant"] != "yes" else " (better)" if row["better"] == "after" else " (worse)"
    return f"{for_people(row['before'])} to {for_people(row['after'])}{certain}"


@dataclass(frozen=True)
class Best:
    """The best method of a variable, by the score of what it delivers out of fold, and the second best.

    judge : on what it is judged. before, row : score without correction; the row of its score. next : row of the second
    best, or of the first where none is better. refused : by method, what it makes worse.
    """

    variable: str
    method: str
    judge: str
    before: float
    row: Row | None = None
    next: Row | None = None
    refused: Mapping[str, str] | None = None

    def sentence(self) -> str:
        """Return what is best and by how much, and which methods are refused."""
        return f"{self._chosen()}{self._next()}{self._refused()}"

    def _chosen(self) -> str:
        if self.row is None:
            return (
                f"{self.variable}: no method is better than the forecast as it is, {TITLE} {for_people(self.before)}, "
                f"by {self.judge}"
            )
        row, share = self.row, self.row["difference"] / self.before
        interval = ""
        if row["ci_low"] is not None:
            interval = f", {for_people(row['ci_low'])} to {for_people(row['ci_high'])}"
        return (
            f"{self.variable}: {self.method}, {TITLE} {for_people(row['after'])} instead of {for_people(self.before)} "
            f"({share:+.1%}: {for_people(row['difference'])}{interval}) by {self.judge}"
        )

    def _next(self) -> str:
        if self.next is None:
            return ""
        which = "nearest" if self.row is None else "next"
        return f"; {which} is {self.next['method']} with {for_people(self.next['after'])}"

    def _refused(self) -> str:
        each = [f"{method}, which worsens {what}" for method, what in (self.refused or {}).items()]
        return f"; refused: {'; '.join(each)}" if each else ""


def best_of(rows: Sequence[Row], variable: str, judge: str) -> Best | None:
    """Return the method with the lowest score of all tiles out of fold; None where no method of it has a score.

    A method that worsens NLL, an interval score or ENCE beyond chance is refused, however low its score is.
    """
    own = [row for row in rows if (row["level"], row["variable"], row["judged"]) == ("all", variable, judge)]
    scored = [row for row in own if row["metric"] == SCORE and row["difference"] is not None]
    if not scored:
        return None
    refused = {row["method"]: worse for row in scored if (worse := ", ".join(_worse(own, row["method"])))}
    allowed = sorted((row for row in scored if row["method"] not in refused), key=itemgetter("after"))
    better = [row for row in allowed if row["difference"] < 0]
    before = float(scored[0]["before"])
    if not better:
        return Best(variable, Unchanged.method, judge, before, None, next(iter(allowed), None), refused)
    return Best(variable, better[0]["method"], judge, before, better[0], next(iter(allowed[1:]), None), refused)


def _worse(rows: Sequence[Row], method: str) -> Iterator[str]:
    """Return what a method makes worse beyond chance; where chance is not known, whatever it makes worse."""
    for row in rows:
        if row["method"] != method or not _is_guarded(row["metric"]) or row["better"] != "before":
            continue
        low, high = row["ci_low"], row["ci_high"]
        if low is None or high is None or low > 0 or high < 0:
            yield f"{row['metric']} ({for_people(row['before'])} to {for_people(row['after'])})"


def _is_guarded(name: str) -> bool:
    """Return whether a winner must not make a number worse."""
    found = named(name)
    return found is not None and found[0].is_guarded
