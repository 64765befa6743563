"""The whole of a comparison: from the folders of runs to tables, figures, and what became worse."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from geouq.atomic import written_whole
from geouq.comparison.gates import Worse, worse
from geouq.comparison.rows import COLUMNS, comparison_rows
from geouq.comparison.runs import open_runs, restricted_to_common
from geouq.comparison.written import as_latex, as_markdown, as_text, shown_rows
from geouq.config import Variable
from geouq.errors import ConfigError
from geouq.progress import Reporter, Silent
from geouq.tables import Row, Table, write_csv


@dataclass(frozen=True)
class Comparison:
    """What a comparison gives: its table, what the user should know, what became worse, and the files written.

    baseline : name of the first run. shown : rows of the numbers most asked for.
    """

    folder: Path
    baseline: str
    table: Table
    shown: tuple[Row, ...]
    notes: tuple[str, ...]
    worse: tuple[Worse, ...]
    files: tuple[Path, ...]

    def lines(self) -> list[str]:
        """The numbers most asked for of all tiles together, as lines of text."""
        return as_text([row for row in self.shown if row["level"] == "all"])


def compare(
    runs: Sequence[Path | str],
    out: Path | None = None,
    fail_if_worse: Sequence[str] = (),
    reporter: Reporter | None = None,
) -> Comparison:
    """Compare runs on the same truth with the first of them, on the tiles that all have; no pixel is read.

    out : folder to write to, by default `comparison` beside the first run. fail_if_worse : numbers in which no run may
    be worse, as METRIC, METRIC:VARIABLE or METRIC:VARIABLE:REGION. Raises SummaryError where a folder holds no run,
    DataError where truth or cells differ, and ConfigError where nothing is in common or a number is not known.
    """
    opened = open_runs([Path(run) for run in runs])
    folder = out or opened[0].folder.resolve().parent / "comparison"
    if (folder / "run.json").exists():
        raise ConfigError(f"{folder} is the folder of a run; name another with --out")
    restricted, shared = restricted_to_common(opened)
    settings = opened[0].experiment.intervals
    rows, notes = comparison_rows(restricted, shared.variables, settings, reporter or Silent())
    failing = worse(rows, fail_if_worse, settings.level)
    schemes = shared.settings["bins"].schemes
    preferred = next((s.name for s in schemes if s.scheme == "equal-count"), schemes[0].name if schemes else "")
    shown = shown_rows(rows, preferred)
    baseline, told = opened[0].label, (*shared.notes, *notes)
    table = Table(COLUMNS, tuple(rows))
    files = [
        *_write_tables(table, shown, baseline, told, folder),
        *_draw(table, shared.variables, preferred, baseline, folder),
    ]
    return Comparison(folder, baseline, table, tuple(shown), told, tuple(failing), tuple(files))


def _write_tables(table: Table, shown: Sequence[Row], baseline: str, notes: Sequence[str], folder: Path) -> list[Path]:
    write_csv(table, folder / "comparison.csv")
    texts = {"comparison.md": as_markdown(shown, baseline, notes), "comparison.tex": as_latex(shown, baseline, notes)}
    for name, text in texts.items():
        with written_whole(folder / name) as part:
            part.write_text(text, encoding="utf-8")
    return [folder / name for name in ("comparison.csv", *texts)]


def _draw(table: Table, variables: Sequence[Variable], bins: str, baseline: str, folder: Path) -> list[Path]:
    from geouq.comparison.figure import differences_figure  # noqa: PLC0415  matplotlib is large
    from geouq.figures import save_figure  # noqa: PLC0415

    written = []
    for variable in variables:
        rows = [row for row in table.rows if row["variable"] == variable.name and row["bins"] in ("", bins)]
        path = folder / f"comparison_{variable.file_name}.png"
        save_figure(differences_figure(rows, title=variable.name, baseline=baseline), path)
        written.append(path)
    return written
