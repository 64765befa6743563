"""The recalibration at the end of a run, which costs nothing but itself if it fails."""

from collections.abc import Sequence
from pathlib import Path

from geouq.errors import GeouqError
from geouq.failures import failure_of, isolated, record
from geouq.recalibration.recalibrate import recalibrate
from geouq.recalibration.source_run import JustRun
from geouq.runs.progress import Reporter

NAME = "recalibration"


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
            record(failure_of(error, NAME, item=NAME), error)
        else:
            return found.files, found.lines()
    return (), ()
