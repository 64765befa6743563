"""The whole of a recalibration: fitted on summaries, judged on pixels of other tiles, written as rasters."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from geouq.config import (
    K_FOLD,
    LEAVE_ONE_REGION_OUT,
    Configuration,
    MosaicTiles,
    Recalibration,
    folder_of_run,
    suggestion,
)
from geouq.core import failures
from geouq.core.atomic import atomic_write, remove_leftovers
from geouq.core.errors import ConfigError, DataError, GeouqError, SummaryError
from geouq.core.failures import Failure, failure_of, isolated
from geouq.core.naming import file_name
from geouq.numbers.run_metrics import metric_options_of, preferred_scheme
from geouq.rasters.catalog import Catalog, Tile
from geouq.rasters.tile_names import has_steps
from geouq.recalibration.aggregates import area_changes, write_area_changes
from geouq.recalibration.corrections import Conformal, Unchanged, singles_of
from geouq.recalibration.fitting import Fits, Fold, fit_all, k_fold, leave_one_region_out, methods_for, sets_of
from geouq.recalibration.rasters import EVALUATE, layers_of, write_evaluation, write_rasters
from geouq.recalibration.recalibrator import Provenance, Recalibrator, save_recalibrator
from geouq.recalibration.scores import (
    IN_SAMPLE,
    Best,
    ScoreKey,
    as_markdown,
    before_and_after,
    best_of,
    regions_of,
)
from geouq.recalibration.source_run import JustRun, Opened, groups_of, open_run, tiles_without_truth
from geouq.recalibration.sweeping import Judged, Projection, sweep_judged, views_of
from geouq.runs.lock import owned
from geouq.runs.plan import Plan, plan_run, slots
from geouq.runs.progress import Logged, Reporter
from geouq.runs.store import SavedSummaries, SummariesUnderWay
from geouq.sweep.tiles import for_each_tile
from geouq.sweep.workers import workers
from geouq.tables.columns import RECALIBRATION
from geouq.tables.rows import Row, Table, by_model, write_csv

ALL = "all"
Done = TypeVar("Done")
NAME = "recalibration"


@dataclass(frozen=True)
class _Job:
    """What every stage needs: the run, what is wanted of it, the folder to write to, and who works."""

    opened: Opened
    wanted: Recalibration
    out: Path
    plan: Plan
    reporter: Reporter


@dataclass(frozen=True)
class Outcome:
    """What a recalibration gives: its table, the recalibrators chosen by variable, what to tell, and the files written.

    sentences : what is best, and by how much. judged : summaries of all corrected forecasts, whose variables are the
    labels of `seen`.
    """

    folder: Path
    table: Table
    recalibrators: Mapping[str, Recalibrator]
    best: tuple[Best, ...]
    notes: tuple[str, ...]
    judged: SavedSummaries
    seen: tuple[ScoreKey, ...]
    files: tuple[Path, ...] = ()

    def lines(self) -> list[str]:
        """Return what is best and by how much, what was chosen, notes, and where the table is."""
        chosen = [
            f"{name}: {one.correction.method} was requested"
            for name, one in self.recalibrators.items()
            if one.correction.method not in (best.method for best in self.best if best.variable == name)
        ]
        rasters = [path for path in self.files if path.suffix == ".tif"]
        written = [f"{len(rasters)} recalibrated rasters in {rasters[0].parent}"] if rasters else []
        notes = [f"note: {note}" for note in self.notes]
        return [
            *(one.sentence() for one in self.best),
            *chosen,
            *notes,
            *written,
            f"see {self.folder / 'recalibration.md'}",
        ]


def recalibrate(
    folder: Configuration,
    wanted: Recalibration | None = None,
    *,
    out: Path | str | None = None,
    predictions: tuple[str, str] | None = None,
    threads: int | None = None,
    memory: str | None = None,
    reporter: Reporter | None = None,
    just_run: JustRun | None = None,
) -> Outcome:
    """Fit corrections of the forecast on some tiles of a run, judge them on others, and write tables and rasters.

    Corrections are fitted on the saved summaries. The pixels of the tiles are read once more to judge them.

    Parameters
    ----------
    folder : path, mapping or Experiment
        Folder of the run, or the configuration that names it.
    wanted : Recalibration, optional
        Method, judges and tiles to write. By default as the configuration of the run has it.
    out : path, optional
        Folder to write to. By default `recalibration` in the folder of the run.
    predictions : tuple of str, optional
        Paths with {tile} of the mean and variance of tiles without truth, whose rasters are written too.
    threads : int, optional
        Number of workers. By default one for each processor.
    memory : str, optional
        Limit such as 4GB while pixels are read.
    reporter : Reporter, optional
        Receives the progress.
    just_run : JustRun, optional
        The run, if this process has just carried it out.

    Returns
    -------
    Outcome
        The table, the corrections by variable, notes and the files written.

    Raises
    ------
    SummaryError
        If the folder holds no run, or its files have changed since.
    ConfigError
        If the method or the judge cannot be applied to this run.
    RunLockedError
        If another process writes to `out`.
    """
    reporter, folder = reporter or Logged(), folder_of_run("folder", folder)
    opened, wanted = open_run(folder, wanted, threads or 1, just_run)
    planned = partial(plan_run, Catalog(tuple(opened.tiles.values()), (), ()), threads, memory)
    job = _Job(opened, wanted, _no_run(Path(out or folder / "recalibration")), planned(), reporter)
    with owned(job.out):
        return _recalibrated(job, predictions, planned)


def _no_run(out: Path) -> Path:
    """Return the folder to write to; ConfigError where a run lies there."""
    if (out / "run.json").exists():
        raise ConfigError(f"--out {out} is the folder of a run, which would be overwritten; name another one")
    return out


def _recalibrated(job: _Job, predictions: tuple[str, str] | None, planned: Callable[..., Plan]) -> Outcome:
    opened, wanted = job.opened, job.wanted
    remove_leftovers(job.out)
    to_write, folds = _tiles_to_write(job, predictions), folds_of(opened, wanted)
    sets = sets_of(opened.record.tiles, folds)
    job.reporter.stage("fits", 1)
    found = fit_all(opened.experiment, opened.record.variables, opened.summaries, wanted, sets)
    fits = {own.tiles: own for own in found}
    job.reporter.advance("all methods")
    seen = _seen(job, folds, fits)
    job = replace(job, plan=planned(views=len(seen)))
    with workers(job.plan.workers) as pool:
        judged = _judge(job, seen, folds, fits, pool)
        rows = _rows(job, seen, judged)
        best = tuple(b for v in opened.record.variables if (b := best_of(rows, v.name, next(iter(folds)))))
        everything = fits[tuple(opened.record.tiles)]
        recalibrators = _chosen(job, best, everything)
        table = _table(opened, rows, recalibrators)
        chosen = _keys_of_chosen(seen, recalibrators, next(iter(folds)))
        areas = area_changes(opened, judged, recalibrators, chosen)
        notes = (*notes_of(everything, found), *guarantee_notes_of(recalibrators), *(areas.notes if areas else ()))
        files = _write_tables(job, table, best, recalibrators, notes) + write_area_changes(areas, opened, job.out)
        files += _draw(job, chosen, judged, recalibrators)
        files += _write_rasters(job, to_write, recalibrators, pool)
    return Outcome(job.out, table, recalibrators, best, notes, judged, tuple(seen), tuple(files))


def folds_of(opened: Opened, wanted: Recalibration) -> dict[str, tuple[Fold, ...]]:
    """Return the folds by judge; ConfigError where none can be made."""
    tiles, experiment = opened.record.tiles, opened.experiment
    lists = {name: own for name, own in experiment.tile_lists.items() if name not in (experiment.splits or {})}
    found = {}
    if wanted.judge != K_FOLD:
        found[LEAVE_ONE_REGION_OUT] = leave_one_region_out(tiles, lists or experiment.tile_lists)
    if wanted.judge in ("both", K_FOLD) or (not any(found.values()) and wanted.judge == "auto"):
        found[K_FOLD] = k_fold(tiles, wanted.folds)
    found = {judge: folds for judge, folds in found.items() if folds}
    if not found:
        need = "two tiles" if len(tiles) < 2 else "two regions that are lists of tiles and share none"
        raise ConfigError(
            f"recalibration: {wanted.judge} needs {need}, so that it is judged on others than it is fitted on"
        )
    return found


def _seen(job: _Job, judges: Collection[str], fits: Mapping[tuple[str, ...], Fits]) -> list[ScoreKey]:
    """Return what is judged; SummaryError where that is nothing."""
    seen = [one for one in _all_seen(job, fits) if one.judge in (*judges, IN_SAMPLE)]
    if not seen:
        notes = dict.fromkeys(note for own in fits.values() for note in own.notes)
        raise SummaryError(f"nothing can be recalibrated: {'; '.join(notes)}")
    return seen


def _judge(
    job: _Job,
    seen: Sequence[ScoreKey],
    folds: Mapping[str, Sequence[Fold]],
    fits: Mapping[tuple[str, ...], Fits],
    pool: Executor,
) -> SavedSummaries:
    """Summaries of the tiles as corrections make them that were fitted on others, and, for comparison, on all."""
    opened, plan = job.opened, job.plan
    fitted_on = {(judge, tile): fold.fitted for judge, own in folds.items() for fold in own for tile in fold.judged}
    fitted_on |= {(IN_SAMPLE, tile): tuple(opened.record.tiles) for tile in opened.record.tiles}
    numbers = {variable.name: i for i, variable in enumerate(opened.record.variables)}
    thresholds = {variable.name: variable.thresholds for variable in opened.record.variables}

    def judged(name: str, tile: Tile) -> Judged:
        """Return the corrections with which a tile is judged."""
        own = {one: fits[fitted_on[one.judge, name]].corrections[one.variable][one.method] for one in seen}
        views = {
            one.label: Projection(
                numbers[one.variable], correction, one.level, one.pit, thresholds[one.variable] if one.is_normal else ()
            )
            for one, correction in own.items()
        }
        return Judged(tile, views, opened.zones.get(name))

    plain: dict[str, Any] = {
        "tail": 0,
        "every": False,
        "groups": (),
        "classes": (),
        "ordering": False,
        "thresholds": (),
    }
    settings = replace(opened.settings, levels=opened.experiment.levels, **plain)
    job.reporter.stage("judgement", len(opened.tiles))
    with SummariesUnderWay(job.out, settings, (), job.reporter.advance) as files:
        for outcome in sweep_judged(
            [judged(name, tile) for name, tile in opened.tiles.items()],
            settings,
            pool,
            slots(plan.workers),
            reading_of=lambda tile: plan.readings[tile.name],
            store_for=files.begin,
        ):
            files.keep(_done(outcome))
    return SavedSummaries(job.out, opened.record.tiles, opened.experiment.levels)


def _done(outcome: Done | Failure) -> Done:
    """Return what was done; DataError where it failed."""
    if isinstance(outcome, Failure):
        raise DataError(f"tile {outcome.tile}: {outcome.message}")
    return outcome


def _all_seen(job: _Job, fits: Mapping[tuple[str, ...], Fits]) -> list[ScoreKey]:
    """Return all that is judged: each view of each method that could be fitted on every set of tiles."""
    levels, found = job.opened.experiment.levels, list[ScoreKey]()
    for name in (variable.name for variable in job.opened.record.variables):
        for method in methods_for(job.wanted):
            each = [one for own in fits.values() if (one := own.corrections[name].get(method))]
            if len(each) < len(fits):
                continue
            views = views_of(each[0], levels)
            found += [
                ScoreKey(name, method, judge, level, pit, i == 0, len(views) > 1)
                for judge in (LEAVE_ONE_REGION_OUT, K_FOLD, IN_SAMPLE)
                for i, (level, pit) in enumerate(views)
            ]
    return found


def _rows(job: _Job, seen: Sequence[ScoreKey], judged: SavedSummaries) -> list[Row]:
    experiment, variables, before = job.opened.experiment, job.opened.record.variables, job.opened.summaries
    metric_options = metric_options_of(experiment, variables, before)
    return before_and_after(
        experiment, variables, seen, before=before, after=judged, metric_options=metric_options, reporter=job.reporter
    )


def _chosen(job: _Job, best: Sequence[Best], everything: Fits) -> dict[str, Recalibrator]:
    """Return the recalibrator of each variable, fitted on all tiles; of `best`, where one is better than none."""
    opened, wanted = job.opened, job.wanted
    of_variable = {variable.name: variable for variable in opened.record.variables}
    found = {}
    for one in best:
        method = one.method if wanted.method == "best" else wanted.method
        own = everything.corrections[one.variable]
        variable = of_variable[one.variable]
        record = opened.record
        run = record.name, record.config_sha256, everything.tiles, everything.n[one.variable], record.started
        correction = Unchanged() if method == Unchanged.method else own[method]
        notes = (one.sentence(),)
        found[one.variable] = Recalibrator(
            one.variable, variable.units, correction, Provenance(*run), variable.model, notes
        )
    return found


def _table(opened: Opened, rows: Sequence[Row], recalibrators: Mapping[str, Recalibrator]) -> Table:
    """Return all rows; each says whether its method was chosen."""
    told = [
        row
        | {
            "model": "",
            "chosen": "yes" if recalibrators[row["variable"]].correction.method == row["method"] else "no",
        }
        for row in rows
    ]
    return by_model(Table(RECALIBRATION.columns, tuple(told)), opened.record.variables, opened.experiment.compare_on)


def _write_tables(
    job: _Job,
    table: Table,
    best: Sequence[Best],
    recalibrators: Mapping[str, Recalibrator],
    notes: Sequence[str],
) -> list[Path]:
    out = job.out
    write_csv(table, out / "recalibration.csv")
    with atomic_write(out / "recalibration.md") as part:
        text = as_markdown(table.rows, [one.sentence() for one in best], notes)
        part.write_text(text, encoding="utf-8")
    files = [out / "recalibration.csv", out / "recalibration.md"]
    for variable in job.opened.record.variables:
        if variable.name in recalibrators:
            files.append(out / f"{variable.file_name}.json")
            save_recalibrator(recalibrators[variable.name], files[-1])
    return files


def _keys_of_chosen(
    seen: Sequence[ScoreKey], recalibrators: Mapping[str, Recalibrator], judge: str
) -> dict[str, list[ScoreKey]]:
    """Return all views of the correction that was chosen for each variable; none where that is to change nothing."""
    chosen = {
        name: [one for one in seen if (one.variable, one.method, one.judge) == (name, own.correction.method, judge)]
        for name, own in recalibrators.items()
    }
    return {name: own for name, own in chosen.items() if own}


def _draw(
    job: _Job,
    chosen: Mapping[str, Sequence[ScoreKey]],
    judged: SavedSummaries,
    recalibrators: Mapping[str, Recalibrator],
) -> list[Path]:
    """Figures of what was chosen: before and after on tiles that it was not fitted on, and the correction itself."""
    from geouq.recalibration.figures import draw_before_after, draw_cells, draw_correction  # noqa: PLC0415  matplotlib is large

    experiment, variables = job.opened.experiment, job.opened.record.variables
    before = regions_of(experiment, recalibrators, job.opened.summaries)
    after = regions_of(experiment, [one.label for own in chosen.values() for one in own], judged)
    scheme, folder, of_all = preferred_scheme(experiment), job.out / "figures", next(before)
    files = draw_before_after(chain([of_all], before), after, chosen, scheme, variables=variables, folder=folder)
    for variable in (variable for variable in variables if variable.name in chosen):
        whole = of_all.variables[variable.name]
        files += draw_correction(recalibrators[variable.name], whole, variable, folder)
        place = folder / "all" / variable.file_name
        files += draw_cells(job.opened.summaries, judged, chosen[variable.name], scheme, path=place, whole=whole)
    return files


def _tiles_to_write(job: _Job, predictions: tuple[str, str] | None) -> list[Tile]:
    """Return the tiles whose rasters are written: those named, and those of predictions without truth."""
    opened, wanted = job.opened, job.wanted
    names = tuple(opened.tiles) if ALL in wanted.apply else wanted.apply
    more: list[Tile] = []
    if predictions is not None:
        like = next(iter(opened.tiles.values()))
        more = tiles_without_truth(*predictions, like, opened.experiment.drivers)
        if wanted.apply and ALL not in wanted.apply:
            more = [tile for tile in more if tile.name in names]
            names = tuple(name for name in names if name not in {tile.name for tile in more})
    for name in names:
        if name not in opened.tiles:
            raise ConfigError(f"--apply {name}: there is no such tile{suggestion(name, [ALL, *opened.tiles])}")
    taken = {tile.name for tile in more}
    return [*(opened.tiles[name] for name in names if name not in taken), *more]


def _write_rasters(
    job: _Job, tiles: Sequence[Tile], recalibrators: Mapping[str, Recalibrator], pool: Executor
) -> list[Path]:
    """Return the rasters of some tiles, each as soon as it is whole."""
    opened, levels = job.opened, job.opened.experiment.levels
    more = tuple(tile for tile in tiles if tile is not opened.tiles.get(tile.name))
    zones = {**opened.zones, **groups_of(opened.experiment, Catalog(more, (), ()), job.wanted.by)}
    work = [
        (
            tile,
            partial(write_rasters, tile, recalibrators, levels, zones=zones.get(tile.name), folder=job.out / "rasters"),
        )
        for tile in tiles
    ]
    files: list[Path] = []
    job.reporter.stage("recalibrated rasters", len(work))
    for tile, outcome in for_each_tile(work, "recalibration", pool, slots(job.plan.workers)):
        files += _done(outcome)
        job.reporter.advance(tile.name)
    return files + _configuration(job, tiles, recalibrators)


def _configuration(job: _Job, tiles: Sequence[Tile], recalibrators: Mapping[str, Recalibrator]) -> list[Path]:
    """Return the configuration that evaluates the rasters of all tiles; none if some are not written now.

    It is also not written for squares of a mosaic or steps of a dimension: their rasters are separate files, but their
    truth is not.
    """
    opened, names = job.opened, {tile.name for tile in tiles}
    is_cut = isinstance(opened.experiment.tiles, MosaicTiles) or has_steps(opened.experiment)
    if is_cut or any(name not in names or file_name(name) != name for name in opened.tiles):
        (job.out / EVALUATE).unlink(missing_ok=True)
        return []
    first = next(iter(opened.tiles.values()))
    layers = {
        model: [layer.name for layer in layers_of(first, model, recalibrators, opened.experiment.levels)]
        for model in first.predictions
    }
    return write_evaluation(opened.experiment, opened.folder, job.out, layers)


def notes_of(everything: Fits, each: Sequence[Fits]) -> tuple[str, ...]:
    """Return what could not be fitted on all tiles, and what not on those of a fold alone, so that it is not judged."""
    of_folds = (
        f"{note} (on the {len(own.tiles)} tiles of a fold), so that it is not judged"
        for own in each
        for note in own.notes
        if note not in everything.notes
    )
    return tuple(dict.fromkeys([*everything.notes, *of_folds]))


def guarantee_notes_of(recalibrators: Mapping[str, Recalibrator]) -> list[str]:
    """Return what the conformal intervals that were chosen guarantee, and at which levels they do not."""
    found: list[str] = []
    for name, own in recalibrators.items():
        parts = [one for one in singles_of(own.correction) if isinstance(one, Conformal)]
        found += _guarantee(name, own, parts)
        levels = {
            level for one in parts for level, within in zip(one.levels, one.guaranteed, strict=True) if not within
        }
        if levels:
            found.append(
                f"{name}: conformal intervals at {', '.join(f'{level:.6g}' for level in sorted(levels))} lie beyond "
                "the outermost edge of the z histogram and hold no guarantee; a level such as 0.999 in levels moves it"
            )
    return found


def _guarantee(name: str, own: Recalibrator, parts: Sequence[Conformal]) -> Iterator[str]:
    """Say that the guarantee counts tiles, and from which level on there are too few of them."""
    if not parts:
        return
    tiles, levels = len(own.fitted_on.tiles), parts[0].levels
    few = [f"{level:.6g} (needs {fewest_tiles(level)})" for level in levels if tiles < fewest_tiles(level)]
    too_few = f"; they are too few to guarantee {', '.join(few)}" if few else ""
    yield (
        f"{name}: pixels of a tile are not exchangeable, so that the conformal guarantee counts the {tiles} tiles "
        f"fitted on, and not their {own.fitted_on.n} pixels{too_few}"
    )


def fewest_tiles(level: float) -> int:
    """Return the least number n of exchangeable tiles for which ceil((n + 1) level) <= n.

    >>> fewest_tiles(0.9), fewest_tiles(0.95)
    (9, 19)
    """
    return math.ceil(round(level / (1 - level), 9))


def recalibrate_run(
    folder: Path, just_run: JustRun, threads: int, memory: str | None, reporter: Reporter
) -> tuple[Sequence[Path], Sequence[str]]:
    """Recalibrate the run in a folder; return the files written and lines to print.

    Both are empty if it fails. Errors that the user can repair cost the recalibration alone, too: the results of the
    run stay useful without it.
    """
    with isolated(NAME, NAME):
        try:
            found = recalibrate(folder, threads=threads, memory=memory, reporter=reporter, just_run=just_run)
        except GeouqError as error:
            failures.record(failure_of(error, NAME, item=NAME), error)
        else:
            return found.files, found.lines()
    return (), ()
