"""Numbers before and after as rows of a table, which method is best, and that in words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from geouq.config import Experiment, Groups, Variable
from geouq.inference import Side, difference_row, finite, judged, paired_difference
from geouq.inference.differences import Uncertain
from geouq.metrics import Choices, evaluate_metrics, level_name, unit_of
from geouq.numbers.of_run import sides_of
from geouq.paired import paired_rows
from geouq.recalibration.corrections import Unchanged
from geouq.regions import Pool, pools
from geouq.runs.progress import Reporter
from geouq.runs.store import SavedSummaries
from geouq.summary import TileWholes
from geouq.tables.rows import Row
from geouq.text.wording import for_people

COLUMNS = (
    *("level", "name", "variable", "model", "method", "judged", "metric", "bins", "units", "before", "after"),
    *("difference", "ci_low", "ci_high", "ci_level", "ci_method", "p_value", "p_adjusted", "better", "significant"),
    *("n", "chosen"),
)
IN_SAMPLE = "in-sample"
BEFORE = "before"
OF_PIT = ("pit_mean", "pit_std", "mace", "miscalibration_area")
OF_MOMENTS = ("crps", "nll", "rmse", "bias", "zms", "sharpness_rms", "uce", "ence")
OF_LEVELS = ("coverage", "width", "interval_score")
SHOWN = ("crps", "zms", "coverage_90", "ence", "miscalibration_area", "rmse")


@dataclass(frozen=True)
class Seen:
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

    def metrics(self, levels: Sequence[float]) -> tuple[str, ...]:
        """The metrics that it tells."""
        own = levels if self.level is None else (self.level,)
        of_levels = tuple(level_name(metric, level) for metric in OF_LEVELS for level in own)
        if not self.several:
            return (*OF_MOMENTS, *OF_PIT, *of_levels)
        return OF_PIT if self.pit else (*(OF_MOMENTS if self.first else ()), *of_levels)

    def choices(self, choices: Choices) -> Choices:
        """What is asked of it; of bins, equal-count ones if there are some."""
        schemes = [s for s in choices.schemes if s.scheme == "equal-count"] or list(choices.schemes)
        levels = choices.levels if self.level is None else (self.level,)
        plain = replace(choices, groups=Groups(by=()), ordering=False, thresholds=(), beside=(), shared_edges=None)
        return replace(plain, levels=levels, schemes=schemes[:1] if self.first else ())


@dataclass(frozen=True)
class Best:
    """The method that is best for a variable, by its CRPS out of fold, and the one next to it.

    judge : on what it is judged. before, row : CRPS without correction; the row of its CRPS. next : row of the second,
    or of the first where none is better.
    """

    variable: str
    method: str
    judge: str
    before: float
    row: Row | None = None
    next: Row | None = None

    def sentence(self) -> str:
        """What is best and by how much."""
        if self.row is None:
            nearest = f"; nearest is {self.next['method']} with {for_people(self.next['after'])}" if self.next else ""
            return (
                f"{self.variable}: no method has a lower CRPS than the forecast as it is, {for_people(self.before)}, "
                f"by {self.judge}{nearest}"
            )
        row, share = self.row, self.row["difference"] / self.before
        interval = ""
        if row["ci_low"] is not None:
            interval = f", {for_people(row['ci_low'])} to {for_people(row['ci_high'])}"
        following = f"; next is {self.next['method']} with {for_people(self.next['after'])}" if self.next else ""
        return (
            f"{self.variable}: {self.method}, CRPS {for_people(row['after'])} instead of {for_people(self.before)} "
            f"({share:+.1%}: {for_people(row['difference'])}{interval}) by {self.judge}{following}"
        )


def before_and_after(
    experiment: Experiment,
    variables: Sequence[Variable],
    seen: Sequence[Seen],
    *,
    before: SavedSummaries,
    after: SavedSummaries,
    choices: Mapping[str, Choices],
    reporter: Reporter,
) -> list[Row]:
    """A row for each number of each method and variable, of the whole and of each region that is a list of tiles."""
    rows, by_label = [], {one.label: one for one in seen}
    of_seen = {label: one.choices(choices[one.variable]) for label, one in by_label.items()}
    of_variables = {name: Seen(name, "", "", None, pit=False, first=True, several=False) for name in choices}
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
            found, _ = paired_rows(place, {BEFORE: base, **own}, variable, experiment.intervals)
            found += _in_sample_rows(place, base, apart, variable)
            rows += [_row(row, by_label[row["run"]]) for row in found if _is_told(row, by_label, experiment.levels)]
        reporter.advance(one.name)
    kinds = dict.fromkeys(row["judged"] for row in rows)
    return [
        row
        for kind in kinds
        for row in judged([row for row in rows if row["judged"] == kind], experiment.intervals.level)
    ]


def _in_sample_rows(
    of: Mapping[str, Any], before: Side, after: Mapping[str, Side], variable: Variable
) -> Iterator[Row]:
    """Rows without intervals, which would lend weight to what is no evidence."""
    first = {(v.name, v.bins, v.group): v for v in evaluate_metrics(before.whole, before.choices)}
    for label, side in after.items():
        for value in evaluate_metrics(side.whole, side.choices):
            base = first[value.name, value.bins, value.group]
            found = paired_difference(Uncertain(value, reason=IN_SAMPLE), Uncertain(base, reason=IN_SAMPLE), 0.95)
            yield {
                **of,
                "variable": variable.name,
                "metric": value.name,
                "bins": value.bins,
                "group": value.group,
                "units": unit_of(value.metric, variable.units),
                "run": label,
                "value": finite(value),
                "baseline": finite(base),
                **difference_row(found, 0.95, IN_SAMPLE),
                "better": {1: label, -1: BEFORE, 0: ""}[found.better],
                "n": int(side.whole.n),
            }


def regions_of(experiment: Experiment, names: Iterable[str], summaries: SavedSummaries) -> list[Pool]:
    """The whole, and each region that is a list of tiles."""
    return [pool for pool in pools(experiment, names, _only(names, summaries)) if pool.level != "tile"]


def _only(names: Iterable[str], summaries: SavedSummaries) -> Iterator[TileWholes]:
    """The tiles, told of some of their variables."""
    for tile in summaries.wholes():
        yield replace(tile, variables={name: tile.variables[name] for name in names})


def _is_told(row: Row, by_label: Mapping[str, Seen], levels: Sequence[float]) -> bool:
    return not row["group"] and row["metric"] in by_label[row["run"]].metrics(levels)


def _row(row: Row, one: Seen) -> Row:
    better = {one.label: "after", BEFORE: BEFORE, "": ""}[row["better"]]
    told = {"method": one.method, "judged": one.judge, "before": row["baseline"], "after": row["value"]}
    return row | told | {"better": better}


def best_of(rows: Sequence[Row], variable: str, judge: str) -> Best | None:
    """The method with the lowest CRPS of all tiles out of fold; None where there is none of that variable."""
    own = [
        row
        for row in rows
        if (row["level"], row["variable"], row["judged"], row["metric"]) == ("all", variable, judge, "crps")
        and row["difference"] is not None
    ]
    if not own:
        return None
    first, *others = sorted(own, key=lambda row: float(row["after"]))
    if first["difference"] >= 0:
        return Best(variable, Unchanged.method, judge, float(first["before"]), next=first)
    return Best(variable, first["method"], judge, float(first["before"]), first, next(iter(others), None))


def as_markdown(rows: Sequence[Row], sentences: Sequence[str], notes: Sequence[str]) -> str:
    """The numbers most asked for of the whole and each region, out of fold first, those in sample last."""
    lines = ["# Recalibration", "", *(f"- {line}" for line in (*sentences, *notes)), ""]
    kinds = dict.fromkeys(row["judged"] for row in rows)
    for kind in sorted(kinds, key=lambda kind: kind == IN_SAMPLE):
        told = "Fitted and judged on the same tiles: no evidence" if kind == IN_SAMPLE else f"Out of fold: {kind}"
        lines += [f"## {told}", "", f"| variable | region | method | {' | '.join(SHOWN)} |"]
        lines += ["|---|---|---|" + "---|" * len(SHOWN)]
        lines += [*_lines([row for row in rows if row["judged"] == kind]), ""]
    return "\n".join(lines)


def _lines(rows: Sequence[Row]) -> list[str]:
    by_place: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        name = f"{row['variable']} ({row['model']})" if row.get("model") else row["variable"]
        by_place.setdefault((name, row["name"], row["method"]), {})[row["metric"]] = row
    return [f"| {' | '.join((*place, *(_cell(own.get(m)) for m in SHOWN)))} |" for place, own in by_place.items()]


def _cell(row: Row | None) -> str:
    if row is None or row["after"] is None or row["before"] is None:
        return ""
    certain = "" if row["significant"] != "yes" else " (better)" if row["better"] == "after" else " (worse)"
    return f"{for_people(row['before'])} to {for_people(row['after'])}{certain}"
