"""Numbers before and after a correction as rows of a table, and as text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from geouq.config import Experiment, Groups, Variable
from geouq.inference import ForecastSample, draw_together, judged
from geouq.inference.differences import Key, Uncertain
from geouq.metrics import MetricOptions, evaluate_metrics, level_name, shown_in, usual_name
from geouq.numbers.differences import rows_of_drawn
from geouq.numbers.of_run import sides_of
from geouq.recalibration.delivered import PLACE, delivered_score
from geouq.regions import EvaluationUnit, pools
from geouq.runs.progress import Reporter
from geouq.runs.store import SavedSummaries
from geouq.summary import TileWholes
from geouq.tables.rows import Row
from geouq.text.wording import for_people

IN_SAMPLE = "in-sample"
BEFORE = "before"


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

    def is_of(self, other: "ScoreKey") -> bool:
        """Whether it is a view of the same corrected forecast."""
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

    def choices(self, choices: MetricOptions) -> MetricOptions:
        """Return what is asked of it; of bins, equal-count ones if there are some."""
        schemes = [s for s in choices.schemes if s.scheme == "equal-count"] or list(choices.schemes)
        levels = choices.levels if self.level is None else (self.level,)
        plain = replace(choices, groups=Groups(by=()), ordering=False, thresholds=(), beside=(), shared_edges=None)
        return replace(plain, levels=levels, schemes=schemes[:1] if self.first else ())


def before_and_after(
    experiment: Experiment,
    variables: Sequence[Variable],
    seen: Sequence[ScoreKey],
    *,
    before: SavedSummaries,
    after: SavedSummaries,
    choices: Mapping[str, MetricOptions],
    reporter: Reporter,
) -> list[Row]:
    """Return a row for each number of each method and variable, of the whole and of each list of tiles."""
    rows, by_label = [], {one.label: one for one in seen}
    of_seen = {label: one.choices(choices[one.variable]) for label, one in by_label.items()}
    of_variables = {name: ScoreKey(name, "", "", None, pit=False, first=True, several=False) for name in choices}
    own_choices = {name: one.choices(choices[name]) for name, one in of_variables.items()}
    reporter.stage("before and after", 1 + len(experiment.tile_lists))
    pairs = zip(regions_of(experiment, own_choices, before), regions_of(experiment, of_seen, after), strict=True)
    for one, other in pairs:
        sides = sides_of(one, own_choices, [before.part(tile) for tile in one.tiles], before)
        corrected = sides_of(other, of_seen, [after.part(tile) for tile in other.tiles], after)
        for variable in variables:
            own = {label: side for label, side in corrected.items() if by_label[label].variable == variable.name}
            apart = {label: own.pop(label) for label in list(own) if by_label[label].judge == IN_SAMPLE}
            place, base = {"level": one.level, "name": one.name}, sides[variable.name]
            found = _out_of_fold_rows(place, {BEFORE: base, **own}, by_label, variable, experiment)
            found += _in_sample_rows(place, {BEFORE: base, **apart}, by_label, variable, experiment.levels)
            rows += [_row(row, by_label[row["run"]]) for row in found if _is_shown(row, by_label, experiment.levels)]
        reporter.advance(one.name)
    kinds = dict.fromkeys(row["judged"] for row in rows)
    return [
        row
        for kind in kinds
        for row in judged([row for row in rows if row["judged"] == kind], experiment.intervals.level)
    ]


def _out_of_fold_rows(
    of: Mapping[str, Any],
    sides: Mapping[str, ForecastSample],
    by_label: Mapping[str, ScoreKey],
    variable: Variable,
    experiment: Experiment,
) -> list[Row]:
    """Return rows with paired intervals, of the same blocks for all methods."""
    settings = experiment.intervals
    drawn = draw_together(of["name"], list(sides.values()), settings)
    numbers = _with_scores(dict(zip(sides, drawn.sides, strict=True)), by_label, experiment.levels)
    counts = {label: int(side.whole.n) for label, side in sides.items()}
    return list(rows_of_drawn(of, numbers, counts, variable, settings.level))


def _in_sample_rows(
    of: Mapping[str, Any],
    sides: Mapping[str, ForecastSample],
    by_label: Mapping[str, ScoreKey],
    variable: Variable,
    levels: Sequence[float],
) -> list[Row]:
    """Return rows without intervals, which would lend weight to what is no evidence."""
    numbers = {
        label: {
            (value.name, value.bins, value.group): Uncertain(value, reason=IN_SAMPLE)
            for value in evaluate_metrics(side.whole, side.choices)
        }
        for label, side in sides.items()
    }
    counts = {label: int(side.whole.n) for label, side in sides.items()}
    return list(rows_of_drawn(of, _with_scores(numbers, by_label, levels), counts, variable, 0.95))


def _with_scores(
    numbers: Mapping[str, Mapping[Key, Uncertain]], by_label: Mapping[str, ScoreKey], levels: Sequence[float]
) -> dict[str, Mapping[Key, Uncertain]]:
    """Return the numbers with the score of what each method delivers, which stands with its first view."""
    found = dict(numbers)
    for label, own in numbers.items():
        if label == BEFORE:
            found[label] = {**own, PLACE: delivered_score([own], levels)}
        elif by_label[label].first:
            views = [numbers[other] for other in numbers if other != BEFORE and by_label[other].is_of(by_label[label])]
            found[label] = {**own, PLACE: delivered_score(views, levels)}
    return found


def regions_of(experiment: Experiment, names: Iterable[str], summaries: SavedSummaries) -> list[EvaluationUnit]:
    """Return the whole, and each region that is a list of tiles."""
    return [pool for pool in pools(experiment, names, _only(names, summaries)) if pool.level != "tile"]


def _only(names: Iterable[str], summaries: SavedSummaries) -> Iterator[TileWholes]:
    """Yield the tiles, told of some of their variables."""
    for tile in summaries.wholes():
        yield replace(tile, variables={name: tile.variables[name] for name in names})


def _is_shown(row: Row, by_label: Mapping[str, ScoreKey], levels: Sequence[float]) -> bool:
    return not row["group"] and row["metric"] in by_label[row["run"]].metrics(levels)


def _row(row: Row, one: ScoreKey) -> Row:
    better = {one.label: "after", BEFORE: BEFORE, "": ""}[row["better"]]
    told = {"method": one.method, "judged": one.judge, "before": row["baseline"], "after": row["value"]}
    return row | told | {"better": better}


def as_markdown(rows: Sequence[Row], sentences: Sequence[str], notes: Sequence[str]) -> str:
    """Return the numbers most asked for of the whole and each region, out of fold first, those in sample last."""
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
