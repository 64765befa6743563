"""The rows of a comparison: each number of each run beside that of the first run, and how certain the difference is."""

from collections.abc import Sequence

from geouq.comparison.runs import Restricted
from geouq.config import Intervals, Variable
from geouq.numbers.of_run import sides_of
from geouq.paired import paired_rows, uneven, with_verdicts
from geouq.runs.progress import Reporter
from geouq.tables.rows import Row


def comparison_rows(
    runs: Sequence[Restricted], variables: Sequence[Variable], settings: Intervals, reporter: Reporter
) -> tuple[list[Row], list[str]]:
    """Rows of every number of every run but the first, and a note wherever runs do not count the same pixels."""
    rows, notes = [], []
    reporter.stage("comparison", 1 + len(runs[0].experiment.tile_lists) + len(runs[0].zones))
    for pools in zip(*(run.pools() for run in runs), strict=True):
        pool = pools[0][0]
        sides = {
            run.run.label: sides_of(own, run.choices, parts, run.summaries)
            for run, (own, parts) in zip(runs, pools, strict=True)
        }
        for variable in variables:
            of_runs = {run.run.label: sides[run.run.label][run.names[variable.name]] for run in runs}
            found, same = paired_rows({"level": pool.level, "name": pool.name}, of_runs, variable, settings)
            rows += found
            if not same:
                notes.append(uneven(variable.name, pool.name, of_runs, "runs"))
        reporter.advance(pool.name)
    return with_verdicts(rows, settings.level), notes
