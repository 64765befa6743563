"""The commands of the command line."""

import errno
import json
import os
import signal
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geouq.core.errors import ConfigError, GeouqError
from geouq.core.interrupts import SIGNALLED, interrupts, received
from geouq.core.redaction import (
    clean_streams,
    environment_read_once,
    holds_secret,
    remember_secrets,
    undecodable_unsaid,
)
from geouq.core.usage import advice_on
from geouq.core.wording import counted
from geouq.version import __version__

if TYPE_CHECKING:
    from geouq.config import Experiment
    from geouq.core.failures import Failure
    from geouq.core.processes import Helpers
    from geouq.pipeline.junit import Case
    from geouq.pipeline.results import Results
    from geouq.runs.progress import How, Reporter

WORKERS = click.option(
    "--workers",
    type=click.IntRange(1),
    help="Number of workers; default: one for each processor, up to eight for files on servers.",
)
MEMORY = click.option("--memory", help="Limit of the memory, such as 4GB; it may lower the number of workers.")
TRUST_FOR = click.option(
    "--trust-for",
    metavar="AGE",
    help="Do not ask servers for headers that this option kept and that are not older, such as 12h.",
)
JUNIT = click.option(
    "--junit",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a JUnit XML file for continuous integration.",
)
ANNOTATE = click.option(
    "--annotate",
    type=click.Choice(["auto", "github", "azure", "teamcity", "none"]),
    default="auto",
    show_default=True,
    help="Also print what failed as this service of continuous integration reads it; auto: the service that runs this.",
)
GATE_FAILED, WRONG, SOME_FAILED, FINDINGS = 1, 2, 3, 5
EXIT_CODES = {
    0: "success",
    GATE_FAILED: "a gate failed, a run is worse than `--fail-if-worse` allows, or `geouq verify` found a difference",
    WRONG: "the configuration or the command line is wrong",
    SOME_FAILED: "some tiles or items failed, or no pixel could be evaluated; all others are written",
    FINDINGS: "the input checks of a command with `--strict` have findings, and nothing failed",
    129: "SIGHUP ended the command; the same command continues",
    130: "Ctrl-C (SIGINT) ended the command; the same command continues",
    143: "SIGTERM ended the command; the same command continues",
}
CONTINUE = "finished files are kept, no file is partial, and the same command continues from there"
COMPILING = "compiling what this run needs; this takes half a minute, once on each machine"
NOT_KEPT = "note: no folder can be written to keep compiled code, so every run compiles; set XDG_CACHE_HOME"
BY_SEVERITY = (0, FINDINGS, GATE_FAILED, SOME_FAILED)


class _Commands(click.Group):
    """Ends a command with one message on an error that the user can repair, or on a signal; hides credentials."""

    def main(self, args: "Sequence[str] | None" = None, *more: Any, **options: Any) -> Any:
        """Run a command; hide the credentials of its arguments in all that it prints, also in a traceback."""
        for argument in sys.argv[1:] if args is None else args:
            remember_secrets(argument)
        with clean_streams(), environment_read_once():
            try:
                return super().main(args, *more, **options)
            except Exception:  # noqa: BLE001  a fault of the program, whose traceback may show credentials
                click.echo(traceback.format_exc(), err=True)
                sys.exit(1)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an error that the user can repair, or a signal, ends it with one message."""
        with interrupts():
            try:
                with undecodable_unsaid():
                    return super().invoke(ctx)
            except (Exception, KeyboardInterrupt) as error:
                if (ending := _ending(error)) is None:
                    raise
            code, message = ending
            _print_last(f"geouq: {message}")
            raise click.exceptions.Exit(code)


def _ending(error: BaseException) -> tuple[int, str] | None:
    """Return the exit code and the message for an exception that ends a command; None if it is not to be replaced."""
    if isinstance(error, click.exceptions.Exit | click.ClickException):
        return None
    number = received() or (signal.SIGINT if isinstance(error, KeyboardInterrupt | click.Abort) else 0)
    if number:  # whatever a library made of the exception
        name = signal.Signals(number).name
        return SIGNALLED + number, f"stopped by {name}; {CONTINUE}"
    if isinstance(error, GeouqError) or (isinstance(error, OSError) and error.errno != errno.EPIPE):
        return WRONG, f"{error}{advice_on(str(error))}"
    return None


class _Folder(click.Path):
    """A folder to write to; its name must hold no credentials, as names of files are shown."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the folder."""
        if holds_secret(str(value)):
            self.fail("holds what looks like a password, a token or a signed query; name a folder without it")
        return super().convert(value, param, ctx)


def _print_last(message: str) -> None:
    """Print a message to standard error; a terminal that is gone must not change the exit code."""
    with suppress(OSError):
        click.echo(message, err=True)
    for stream in filter(None, (sys.__stdout__, sys.__stderr__)):
        try:
            stream.flush()
        except OSError:  # Python flushes it once more at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="geouq")
def main() -> None:
    """Evaluate the calibration of maps that predict a mean and an uncertainty for every pixel.

    Begin with `geouq init`, then `geouq check` and `geouq run`.
    """


@main.command()
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option("--out", type=_Folder(path_type=Path), help="File to write; default: standard output.")
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
def init(sources: tuple[str, ...], *, out: Path | None, overwrite: bool) -> None:
    """Write a configuration for maps with uncertainty, guessed from names, headers and a few pixels.

    SOURCE is a folder, a file, a pattern such as 'maps/*_mean.tif', a ZIP archive, STAC items or a tile index;
    several may be given. Layers are recognised by words in the names of files and folders (mean, std, se, variance, cv,
    q05, p95, lower, upper, truth, lidar ...), by descriptions of bands, or by names and attributes of arrays in netCDF,
    Zarr and HDF5 files. Each guess is a comment in the configuration, and is printed. Unknown values are TODO:
    geouq check names it.
    """
    from geouq.core.atomic import write_text
    from geouq.starting import starter_config

    if out is not None and out.exists() and not overwrite:
        raise ConfigError(f"{out} exists; give --overwrite to replace it, or another name")
    found = starter_config(sources, out.parent if out else None)
    if out is None:
        click.echo(found.text, nl=False)
    else:
        write_text(out, found.text)
    for line in found.said:
        click.echo(line, err=out is None)
    if out is not None:
        todo = f"replace TODO of {', '.join(found.missing)} in it, then: " if found.missing else ""
        click.echo(f"wrote {out}; {todo}geouq check {out}")


@main.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.option(
    "--workers",
    type=click.IntRange(1),
    help="Number of workers to plan for; default: one for each processor, up to eight for files on servers.",
)
@click.option("--memory", help="Limit of the memory, such as 4GB.")
@click.option("--deep", is_flag=True, help="Examine a larger sample of the pixels.")
@click.option("--strict", is_flag=True, help="Like --deep; exit code 5 if there is a finding.")
@TRUST_FOR
@JUNIT
@ANNOTATE
def check(config: Path, *, deep: bool, strict: bool, junit: Path | None, annotate: str, **options: Any) -> None:
    """Check a configuration and the headers of all rasters, and print the plan and a table of the layers.

    CONFIG is the YAML file. The table shows file, band, unit and scale of each layer, the share of nodata in a window
    of one tile, and the value of each layer at one pixel. geouq also examines the pixels of that
    window, and prints findings. Only --deep reads more pixels.
    """
    from geouq.pipeline.check import check as checked
    from geouq.pipeline.junit import cases_of_check
    from geouq.runs.layer_table import lines_of_table

    found = checked(config, deep=deep or strict, **options)
    for line in (*found.plan, *(["", *lines_of_table(found.layers)] if found.layers else ())):
        click.echo(line)
    for line in found.problems:
        click.echo(f"problem    {line}")
    for line in found.findings:
        click.echo(f"finding    {line}")
    if found.sample:
        click.echo(f"sample     {found.sample}")
    _print_failures(found.failures)
    _tell_services([(str(config), tuple(cases_of_check(found, strict=strict)))], junit, annotate)
    if found.problems or found.failures:
        raise click.exceptions.Exit(SOME_FAILED)
    click.echo(f"no problem, {counted(len(found.findings), 'finding')}; next: geouq run {config}")
    if strict and found.findings:
        raise click.exceptions.Exit(FINDINGS)


@main.command()
@click.argument("configs", metavar="CONFIG...", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--out", type=_Folder(path_type=Path), help="Folder of the results; allowed with one configuration only.")
@WORKERS
@MEMORY
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Address that a running dask scheduler prints, or the file that it writes; its workers sweep the tiles.",
)
@click.option("--only", multiple=True, metavar="NAME", help="Evaluate only this tile or region; may be repeated.")
@click.option("--fresh", is_flag=True, help="Read all pixels again, also those of saved summaries.")
@click.option("--strict", is_flag=True, help="Exit code 5 if the input checks have a finding.")
@TRUST_FOR
@click.option("--quiet", "how", flag_value="quiet", help="Show no progress.")
@click.option("-v", "--verbose", "how", flag_value="verbose", help="Print a line for each step, and tracebacks.")
@click.option("--log-json", "how", flag_value="json", help="Print a JSON object for each step.")
@JUNIT
@ANNOTATE
def run(configs: tuple[Path, ...], *, how: "How | None", junit: Path | None, annotate: str, **options: Any) -> None:
    """Evaluate one experiment or several, and write tables, maps, figures and pages.

    CONFIG is the YAML file of an experiment. A second run reads only tiles that are new or have changed.
    """
    from geouq.config import load_experiment
    from geouq.core.compiled import is_compiled, is_kept
    from geouq.pipeline.early import helping_early
    from geouq.runs.progress import reporter

    suites = []
    if options["out"] is not None and len(configs) > 1:
        raise ConfigError("--out names the folder of one run; give one configuration, or leave it out")
    experiments = [load_experiment(config) for config in configs]
    _require_own_folders(experiments)
    if not is_kept():
        click.echo(NOT_KEPT, err=True)
    worst = 0
    for config, experiment in zip(configs, experiments, strict=True):
        begun_early = helping_early(experiment, options["workers"], options["memory"])
        with reporter(how or "fitting") as progress, begun_early as early:
            if is_kept() and not is_compiled():
                progress.say(COMPILING)
            results = _evaluate(experiment, options, progress, early)
        code = _describe(config, results, traces=how == "verbose")
        if options["strict"] and results.findings:
            code = code or FINDINGS
        worst = max(worst, code, key=BY_SEVERITY.index)
        suites.append((str(config), _cases(results, strict=options["strict"])))
    _tell_services(suites, junit, annotate)
    raise click.exceptions.Exit(worst)


def _cases(results: "Results", *, strict: bool) -> "tuple[Case, ...]":
    """Return a run as tests."""
    from geouq.pipeline.junit import cases_of_run

    return tuple(cases_of_run(results, strict=strict))


def _tell_services(suites: "Sequence[tuple[str, Sequence[Case]]]", junit: Path | None, annotate: str) -> None:
    """Write and print what failed as services of continuous integration read it."""
    from geouq.pipeline.annotations import annotations, service_of
    from geouq.pipeline.junit import write_junit

    if junit is not None:
        write_junit(suites, junit)
    service = {"auto": service_of(os.environ), "none": ""}.get(annotate, annotate)
    for source, cases in suites:
        for line in annotations(service, source, cases):
            click.echo(line)


def _evaluate(experiment: "Experiment", options: dict[str, Any], progress: "Reporter", early: "Helpers") -> "Results":
    """Evaluate an experiment; its imports, which take a second, come when other processes have begun to import."""
    from geouq.pipeline.data import Options
    from geouq.pipeline.prepare import prepare
    from geouq.pipeline.run import carry_out

    return carry_out(prepare(experiment, Options(**options), progress), early)


@main.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--open", "opens", is_flag=True, help="Open the first page in the browser; over SSH, print how to.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def report(folder: Path, *, opens: bool, quiet: bool) -> None:
    """Write tables, cell maps, figures and pages again from the saved summaries of a run.

    RUN is the folder of the results. No pixel is read.
    """
    from geouq.pages.opening import open_page
    from geouq.pipeline.run import report as present_again
    from geouq.runs.progress import reporter

    with reporter("quiet" if quiet else "fitting") as progress:
        results = present_again(folder, progress)
    code = _describe(folder, results)
    if opens and (advice := open_page(results.folder, os.environ)):
        click.echo(advice)
    raise click.exceptions.Exit(code)


@main.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "kind",
    type=click.Choice(["png", "pdf", "svg"]),
    default="png",
    show_default=True,
    help="Format of the files.",
)
@click.option(
    "--dpi", "dots_per_inch", type=click.IntRange(30, 1200), default=300, show_default=True, help="Resolution of PNG."
)
@click.option(
    "--width",
    type=click.Choice(["85", "180"]),
    help="Width of each figure in mm: a column or a page of a journal; default: 85, or 180 of several panels.",
)
@click.option(
    "--only", multiple=True, metavar="FIGURE", help="Draw only this figure, such as reliability; may be repeated."
)
@click.option(
    "--region", "regions", multiple=True, metavar="NAME", help="Name of a region or tile, or all; may be repeated."
)
@click.option("--variable", "variables", multiple=True, metavar="NAME", help="Name of a variable; may be repeated.")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Metric of the cell map; default: zms.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def figures(folder: Path, *, width: str | None, quiet: bool, **requested: Any) -> None:
    """Draw figures from the saved summaries of a run.

    RUN is the folder of the results. No pixel is read.
    """
    from geouq.core.failures import collecting
    from geouq.drawing import Selection, draw_saved
    from geouq.runs.progress import reporter

    selection = Selection(**requested, width=float(width) if width else None)
    with collecting() as failures, reporter("quiet" if quiet else "fitting") as progress:
        written = draw_saved(folder, selection, progress)
    _print_failures(failures)
    click.echo(f"{counted(len(written), 'figure')} in {folder / 'figures'}")
    if failures:
        raise click.exceptions.Exit(SOME_FAILED)


@main.command()
@click.argument("runs", metavar="RUN RUN...", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option(
    "--out",
    type=_Folder(path_type=Path),
    help="Folder to write to; default: the folder comparison next to the first run.",
)
@click.option(
    "--fail-if-worse",
    multiple=True,
    metavar="METRIC[:VARIABLE[:REGION]]",
    help="Exit code 1 if a run is significantly worse than the first one in this metric; may be repeated. For metrics "
    "of means of areas, REGION is the side of a square in cells, `tile` or `region`, and a threshold or a class may "
    "follow after a colon.",
)
@click.option("--quiet", is_flag=True, help="Show no progress.")
def compare(runs: tuple[Path, ...], *, out: Path | None, fail_if_worse: tuple[str, ...], quiet: bool) -> None:
    """Compare runs that have the same truth with the first of them.

    RUN is the folder of a run; RUN@MODEL is one model of a run. No pixel is read.
    """
    from geouq.comparison import compare as compare_runs
    from geouq.runs.progress import reporter

    with reporter("quiet" if quiet else "fitting") as progress:
        comparison = compare_runs(runs, out, fail_if_worse, progress)
    for note in comparison.notes:
        click.echo(f"note: {note}", err=True)
    for line in comparison.lines():
        click.echo(line)
    for one in comparison.worse:
        click.echo(f"worse: {one}", err=True)
    click.echo(f"differences from {comparison.baseline}; see {comparison.folder / 'comparison.csv'}")
    raise click.exceptions.Exit(GATE_FAILED if comparison.worse else 0)


@main.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--method",
    help="Correction: best (default), scale, scale_bias, affine, isotonic_variance, isotonic, conformal or by_group.",
)
@click.option("--judge", help="What is held out: auto (default), leave-one-region-out, k-fold (tiles) or both.")
@click.option("--by", metavar="REGIONS", help="Key of the classes or polygons that are the groups of by_group.")
@click.option("--within", metavar="METHOD", help="Correction in each group; default: scale.")
@click.option(
    "--apply", multiple=True, metavar="TILE", help="Write the rasters of this tile, or of all; may be repeated."
)
@click.option(
    "--predictions",
    nargs=2,
    metavar="MEAN VARIANCE",
    help="Paths with {tile} of predictions without truth; their recalibrated rasters are written too.",
)
@click.option(
    "--out", type=_Folder(path_type=Path), help="Folder to write to; default: the folder recalibration in RUN."
)
@click.option(
    "--workers",
    "threads",
    type=click.IntRange(1),
    help="Number of workers; default: one for each processor, up to eight for files on servers.",
)
@MEMORY
@click.option("--quiet", is_flag=True, help="Show no progress.")
def recalibrate(
    folder: Path,
    *,
    predictions: tuple[str, str] | None,
    out: Path | None,
    threads: int | None,
    memory: str | None,
    quiet: bool,
    **requested: Any,
) -> None:
    """Fit corrections on some tiles, judge them on other tiles, and write better rasters.

    RUN is the folder of the results.
    """
    from geouq.core.failures import collecting
    from geouq.recalibration import recalibrate as recalibrate_run
    from geouq.recalibration import wanted_of
    from geouq.runs.progress import reporter

    with reporter("quiet" if quiet else "fitting") as progress, collecting() as failures:
        outcome = recalibrate_run(
            folder,
            wanted_of(folder, requested),
            out=out,
            predictions=predictions,
            threads=threads,
            memory=memory,
            reporter=progress,
        )
    for line in outcome.lines():
        click.echo(line)
    _print_failures(failures)
    if out is None:
        click.echo(f"geouq report {folder} shows it on the first page")
    raise click.exceptions.Exit(SOME_FAILED if failures else 0)


@main.command()
@click.argument("config", type=click.Path(path_type=Path))
@click.option(
    "--correlation",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Folder of a run with truth or of a recalibration, or error_correlation.json; default: the run of CONFIG.",
)
@click.option(
    "--out", type=_Folder(path_type=Path), help="Folder to write to; default: the subfolder aggregate of the results."
)
@WORKERS
@MEMORY
@click.option("--fresh", is_flag=True, help="Read all pixels again, also those of saved summaries.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def aggregate(config: Path, *, correlation: Path | None, quiet: bool, **options: Any) -> None:
    """Compute means and totals of regions from the predictions alone, with their uncertainty.

    CONFIG is the YAML file of an experiment; its truth is not read and may be missing. How errors are correlated is
    known from a run with truth, of this or of another map of the same method.
    """
    from geouq.pipeline.aggregate import aggregate as aggregate_map
    from geouq.pipeline.data import Options
    from geouq.runs.progress import reporter

    with reporter("quiet" if quiet else "fitting") as progress:
        totals = aggregate_map(config, Options(**options), correlation, progress)
    for line in totals.lines():
        click.echo(line)
    for note in totals.notes:
        click.echo(f"note: {note}", err=True)
    _print_failures(totals.failures)
    click.echo(f"see {totals.folder / 'tables' / 'areas.csv'}")
    raise click.exceptions.Exit(SOME_FAILED if totals.failures else 0)


@main.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
def verify(folder: Path) -> None:
    """Report which outputs, inputs and versions differ from those of a run.

    RUN is the folder of the results. The exit code is 1 if there is a difference. Files that the run did not record are
    listed, and do not change the exit code.
    """
    from geouq.runs.verification import unrecorded
    from geouq.runs.verification import verify as changes

    found = changes(folder)
    for line in found:
        click.echo(f"changed: {line}")
    for name in unrecorded(folder):
        click.echo(f"not recorded: {name}")
    click.echo(f"{folder}: {counted(len(found), 'change')}" if found else f"{folder}: everything is as the run left it")
    raise click.exceptions.Exit(GATE_FAILED if found else 0)


@main.command()
@click.option("--results", is_flag=True, help="Print the JSON Schema of results.json instead.")
def schema(*, results: bool) -> None:
    """Print the JSON Schema of the configuration, for editors, or of results.json, for programs."""
    if results:
        from geouq.pipeline.results_schema import results_schema

        click.echo(json.dumps(results_schema(), indent=2))
    else:
        from geouq.config import json_schema

        click.echo(json.dumps(json_schema(), indent=2))


def _require_own_folders(experiments: "Sequence[Experiment]") -> None:
    seen: dict[Path, Path] = {}
    for experiment in experiments:
        other = seen.setdefault(experiment.output_directory, experiment.source)
        if other != experiment.source:
            raise ConfigError(
                f"{other} and {experiment.source} both write to {experiment.output_directory}; "
                "give them different names"
            )


def _print_failures(failures: "Iterable[Failure]", *, traces: bool = False) -> None:
    """Print what failed; with the tracebacks of unexpected errors if requested."""
    for failure in failures:
        click.echo(f"failed: {failure}", err=True)
        if traces and failure.trace:
            click.echo(failure.trace, err=True, nl=False)


def _describe(source: Path, results: "Results", *, traces: bool = False) -> int:
    """Print warnings, failures, verdicts and the last line of a run; return its exit code."""
    for warning in results.input_warnings:
        click.echo(f"warning: {warning}", err=True)
    for note in results.notes:
        click.echo(f"note: {note}", err=True)
    _print_failures(results.failures, traces=traces)
    failed_gates = [gate for gate in results.gates if not gate.passed]
    for gate in failed_gates:
        click.echo(f"gate failed: {gate}", err=True)
    for line in _verdicts(results):
        click.echo(line)
    done, failed = len(results.record.tiles), len({failure.tile for failure in results.failures if failure.tile})
    missing = sum(not failure.tile for failure in results.failures)
    items = f", {counted(missing, 'item')} missing (see failures.csv)" if missing else ""
    passed = len(results.gates) - len(failed_gates)
    gates = f", {passed} of {counted(len(results.gates), 'gate')} passed" if results.gates else ""
    page = results.folder / "report" / "index.html"
    how = "without a valid pixel" if done and results.is_empty else "evaluated"
    click.echo(f"{source}: {counted(done, 'tile')} {how}, {failed} failed{items}{gates}; see {page}")
    if results.failures:
        return SOME_FAILED
    return GATE_FAILED if failed_gates else 0


def _verdicts(results: "Results") -> "Iterator[str]":
    """Yield the answer of the page, then a line for each variable of the whole, the worst first: verdict, coverage."""
    from geouq.pages.headline import headline, rank

    yield headline(results.record.variables, results.verdicts).sentence
    for (level, _, variable, model), verdict in sorted(results.verdicts.items(), key=lambda found: rank(found[1])):
        if level == "all" and not results.is_empty:
            name = f"{variable} ({model})" if model else variable
            yield f"{name}: {'; '.join(filter(None, (verdict.word, verdict.covered)))}"
