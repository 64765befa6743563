"""Third stage of a run: from summaries to numbers, intervals, verdicts and gates, and the recalibration."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from geouq.aggregates import Aggregates, AggregateSettings, Areas, aggregates_of, has_areas, tables_of_aggregates
from geouq.comparison.areas import models_by_areas
from geouq.core.failures import Failure, collecting, isolated
from geouq.core.overflow import overflow_is_missing
from geouq.core.processes import Helpers
from geouq.core.usage import give_back
from geouq.core.wording import counted
from geouq.maps.pipeline import Evaluated as OfMaps
from geouq.maps.pipeline import MapsUnderWay, begin_maps
from geouq.numbers.gates import judge
from geouq.numbers.run_metrics import Numbers, metric_options_of, numbers_of
from geouq.pipeline.figures import begin_early
from geouq.pipeline.stages import Evaluated, Measured, Swept
from geouq.recalibration import JustRun, recalibrate_run
from geouq.summary import Summary
from geouq.tables.rows import Row
from geouq.verdict import Place, Verdict, are_empty


def evaluate(swept: Swept, shared: Helpers) -> Evaluated:
    """Return all that follows from the summaries of a run, before it is written.

    Helpers share the work. What cannot be computed costs only itself, and is among the failures of what is returned.
    """
    summaries = swept.summaries
    with collecting() as missing, overflow_is_missing():
        recalibrated = _recalibrate(swept)
        (swept.folder / "results.json").unlink(missing_ok=True)  # results of an earlier run are out of date
        metric_options = metric_options_of(swept.experiment, swept.record.variables, summaries)
        maps = list[MapsUnderWay]()

        def begin_maps_of(wholes: Mapping[str, Summary]) -> None:
            """Begin the maps of cells, whose colours follow from all pixels."""
            run = OfMaps(swept.experiment, swept.record, summaries, metric_options, wholes)
            maps.append(begin_maps(run, swept.folder / "maps", shared))

        numbers = numbers_of(
            swept.experiment, swept.record, summaries, metric_options, reporter=swept.reporter, shared=shared,
            has_whole=begin_maps_of,
        )  # fmt: skip
        drawing = begin_early(Measured(swept, summaries, metric_options, numbers), shared)
        aggregates = _aggregates(swept, shared)
        numbers = _with_aggregates(numbers, aggregates, swept)
        missing.extend(nothing_evaluated(numbers.verdicts, len(swept.record.tiles)))
        gates = tuple(judge(swept.experiment, numbers.tables["metrics"], _rows_of_means(numbers)))
    give_back()  # what the resamples took, as figures and maps need memory of their own
    return Evaluated(
        swept, summaries, metric_options, numbers, aggregates, maps[0], drawing, gates, recalibrated, tuple(missing)
    )  # fmt: skip


def _aggregates(swept: Swept, shared: Helpers) -> Mapping[str, Aggregates]:
    """Return what is known of means of areas of each variable with a predicted variance, and of areas of classes."""
    chosen, summaries = swept.experiment.aggregates, swept.summaries
    if chosen == "none" or not summaries.tiles or not has_areas(summaries.form()):
        return {}
    areas = Areas(summaries, tuple(summaries.places()), swept.experiment.tile_lists, summaries.zones())
    names = [variable.name for variable in swept.record.variables]
    thresholds = {variable.name: variable.thresholds for variable in swept.record.variables}
    settings = AggregateSettings(
        swept.experiment.levels, chosen.level, swept.experiment.intervals.level, thresholds, summaries.form()
    )
    with isolated("numbers", "means and totals of areas"):
        return dict(zip(names, shared.share(partial(aggregates_of, areas, settings), names), strict=True))
    return {}


def _with_aggregates(numbers: Numbers, aggregates: Mapping[str, Aggregates], swept: Swept) -> Numbers:
    """Return the numbers with the tables of means of areas, and of models compared by them."""
    variables, level = swept.record.variables, swept.experiment.intervals.level
    tables = tables_of_aggregates(aggregates, variables, level)
    with isolated("numbers", "comparison of models by means of areas"):
        tables |= models_by_areas(aggregates, variables, swept.experiment.levels, level)
    return replace(numbers, tables={**numbers.tables, **tables})


def _rows_of_means(numbers: Numbers) -> Sequence[Row]:
    table = numbers.tables.get("aggregates")
    return table.rows if table else ()


def nothing_evaluated(verdicts: Mapping[Place, Verdict], tiles: int) -> list[Failure]:
    """Return a failure if tiles were read but have no valid pixel; failed tiles have failures of their own."""
    if not tiles or not are_empty(verdicts):
        return []
    message = (
        f"no pixel of {counted(tiles, 'tile')} counts for any variable: a layer has no value there, a mask leaves all "
        "pixels out, or the predicted variance is not above 0; geouq check shows which"
    )
    return [Failure("", "numbers", "NothingEvaluated", message, "all numbers")]


def _recalibrate(swept: Swept) -> tuple[Sequence[Path], Sequence[str]]:
    """Return the files of the recalibration that the configuration requests, and what to report.

    A run that is reopened keeps the recalibration that it has.
    """
    job = swept.job
    if job is None or swept.experiment.recalibration is None:
        return (), ()
    just_run = JustRun(job.experiment, job.tiles)
    return recalibrate_run(swept.folder, just_run, job.plan.workers, job.options.memory, swept.reporter)
