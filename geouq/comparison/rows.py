"""The rows of a comparison: each number of each run beside that of the first run, and how certain the difference is."""

from collections.abc import Sequence

from geouq.comparison.runs import Restricted
from geouq.config import Intervals, Variable
from geouq.inference import judged
from geouq.paired import paired_rows
from geouq.progress import Reporter
from geouq.regions import Pool
from geouq.run_numbers import side_of
from geouq.store import Part
from geouq.tables import Row

COLUMNS = (
    *("level", "name", "variable", "metric", "bins", "group", "units", "run", "value", "baseline", "difference"),
    *("ci_low", "ci_high", "ci_level", "ci_method", "p_value", "p_adjusted", "better", "significant", "n"),
    "n_baseline",
)
Parts = Sequence[tuple[Pool, Sequence[Part]]]


def comparison_rows(
    runs: Sequence[Restricted], variables: Sequence[Variable], settings: Intervals, reporter: Reporter
) -> tuple[list[Row], list[str]]:
    """Rows of every number of every run but the first, and a note wherever runs do not count the same pixels."""
    rows, notes = [], []
    names = [variable.name for variable in variables]
    reporter.stage("comparison", 1 + len(runs[0].experiment.tile_lists) + len(runs[0].zones))
    for pools in zip(*(run.pools(names) for run in runs), strict=True):
        for variable in variables:
            found, same = _rows_of(runs, pools, variable, settings)
            rows += found
            if not same:
                counts = ", ".join(
                    f"{int(pool.variables[variable.name].n)} in {run.run.label}"
                    for run, (pool, _) in zip(runs, pools, strict=True)
                )
                notes.append(f"{variable.name}, {pools[0][0].name}: runs do not count the same pixels: {counts}")
        reporter.advance(pools[0][0].name)
    return judged(rows, settings.level), notes


def _rows_of(
    runs: Sequence[Restricted], pools: Parts, variable: Variable, settings: Intervals
) -> tuple[list[Row], bool]:
    pool = pools[0][0]
    sides = {
        run.run.label: side_of(own, variable.name, run.choices, parts, run.summaries)
        for run, (own, parts) in zip(runs, pools, strict=True)
    }
    return paired_rows({"level": pool.level, "name": pool.name}, sides, variable, settings)
