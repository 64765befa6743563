"""What the pages tell, gathered from tables; nothing here knows how a page looks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from geouq.config import Variable
from geouq.wording import calibration_word, for_people

Row = Mapping[str, Any]

SHOWN = (
    ("bias", "bias"),
    ("rmse", "RMSE"),
    ("sharpness_rms", "RMV"),
    ("zms", "mean z²"),
    ("coverage_90", "coverage of 90 %"),
    ("uce", "UCE"),
    ("ence", "ENCE"),
    ("crps", "CRPS"),
)
COMPARED = {
    "common": " Models of a variable are evaluated on the pixels that count for all of them.",
    "own": " Each model is evaluated on the pixels that count for it.",
}


@dataclass(frozen=True)
class ReportContent:
    """Everything that the pages show.

    regions : tiles of each region; of `zones`, those in which it lies. metrics, excluded, failures : rows of the
    tables. bins : name of the scheme shown. figures : path by (name, variable, figure), relative to the run's folder,
    like maps. provenance : facts by name. shift : rows of the table of that name, where there are splits.
    tables : names of all tables.
    """

    name: str
    variables: Sequence[Variable]
    regions: Mapping[str, Sequence[str]]
    zones: frozenset[str]
    tiles: Sequence[str]
    metrics: Sequence[Row]
    bins: str
    excluded: Sequence[Row]
    failures: Sequence[Row]
    warnings: Sequence[str]
    gates: Sequence[Row]
    figures: Mapping[tuple[str, str, str], str]
    maps: Sequence[str]
    provenance: Mapping[str, str]
    shift: Sequence[Row] = ()
    tables: Sequence[str] = ()

    @property
    def compared(self) -> str:
        """On which pixels several models are evaluated, as a sentence; empty where there is one."""
        return COMPARED.get(self.metrics[0]["compare_on"] if self.metrics else "", "")


def shift_rows(content: ReportContent) -> list[tuple[Row, str]]:
    """The rows of `shift` of the numbers shown, each with its heading."""
    headings = dict(SHOWN)
    return [
        (row, headings[row["metric"]])
        for row in content.shift
        if row["metric"] in headings and row["bins"] in ("", content.bins)
    ]


@dataclass(frozen=True)
class NumbersRow:
    """One line of a table of numbers: what it is of, and a text for each of `SHOWN`."""

    name: str
    level: str
    variable: str
    units: str
    n: int
    numbers: tuple[str, ...]
    verdict: str


def number_rows(content: ReportContent, wanted: Sequence[tuple[str, str]]) -> list[NumbersRow]:
    """The rows of these (level, name) pools, variable by variable."""
    found: dict[tuple[str, str, str, str], dict[str, Row]] = {}
    for row in content.metrics:
        if row["bins"] in ("", content.bins):
            place = row["level"], row["name"], row["variable"], row["model"]
            found.setdefault(place, {})[row["metric"]] = row
    return [
        _row(pool, variable, rows)
        for variable in content.variables
        for pool in wanted
        if (rows := found.get((*pool, variable.variable, variable.model)))
    ]


def _row(pool: tuple[str, str], variable: Variable, rows: Mapping[str, Row]) -> NumbersRow:
    n = next(iter(rows.values()))["n"]
    numbers = tuple(for_people(rows[name]["value"] if name in rows else None) for name, _ in SHOWN)
    return NumbersRow(
        pool[1], pool[0], variable.name, variable.units, n, numbers, calibration_word(rows["zms"]["value"])
    )
