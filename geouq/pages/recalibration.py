"""A recalibration on a page: the corrections chosen, and numbers before and after on tiles not used for the fit."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from geouq.core.wording import for_people, true_minus
from geouq.metrics import shown_in, usual_heading, usual_name
from geouq.pages.percent import shown_as, with_unit
from geouq.pages.sheet import DASH, Cell, Column, Sheet

Row = Mapping[str, Any]

FOLDER = "recalibration"
IN_SAMPLE = "in-sample"


@dataclass(frozen=True)
class Recalibrated:
    """Results of a recalibration of this run: sentences, rows of its table, and figures by variable.

    Figures are pairs of a title and a path relative to the folder of the run.
    """

    sentences: Sequence[str] = ()
    rows: Sequence[Row] = ()
    figures: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)


def read_recalibration(folder: Path, started: str, variables: Mapping[str, str]) -> Recalibrated | None:
    """Return the recalibration in the folder of a run; None where there is none of that run.

    started : of the run. variables : name in files of each variable.
    """
    sentences, figures = [], {}
    own = folder / FOLDER
    for name, file in variables.items():
        try:
            plain = json.loads((own / f"{file}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if plain.get("fitted_on", {}).get("started") == started:
            sentences += plain["notes"]
            drawn = {
                "Before and after recalibration": f"figures/all/{file}_before_after.png",
                "Mean squared z of every cell before": f"figures/all/{file}_cells_before.png",
                "Mean squared z of every cell after": f"figures/all/{file}_cells_after.png",
                "Fitted correction": f"figures/{file}_correction.png",
            }
            figures[name] = [(title, f"{FOLDER}/{path}") for title, path in drawn.items() if (own / path).exists()]
    table = own / "recalibration.csv"
    if not sentences or not table.exists():
        return None
    with table.open(encoding="utf-8", newline="") as opened:
        rows = [row for row in csv.DictReader(opened) if row["chosen"] == "yes" and row["judged"] != IN_SAMPLE]
    return Recalibrated(sentences, rows, {name: paths for name, paths in figures.items() if paths})


def recalibration_sheet(recalibrated: Recalibrated | None) -> Sheet:
    """Return the numbers of the corrections chosen, out of fold."""
    found: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in recalibrated.rows if recalibrated else ():
        variable = f"{row['variable']} ({row['model']})" if row["model"] else str(row["variable"])
        found.setdefault((variable, row["name"], row["method"], row["judged"]), {})[row["metric"]] = row
    groups: dict[str, list[list[Cell]]] = {}
    shown = {
        (name := usual_name(metric)): with_unit(usual_heading(metric), name) for metric in shown_in("recalibration")
    }
    for (variable, name, method, judged), own in found.items():
        numbers = [_cell(shown_as(own[metric], metric) if metric in own else None) for metric in shown]
        groups.setdefault(variable, []).append([Cell(variable), Cell(name), Cell(method), Cell(judged), *numbers])
    headings = (("variable", "text"), ("region", "name"), ("method", "text"), ("judged by", "text"))
    columns = (*(Column(*one) for one in headings), *map(Column, shown.values()))
    caption = (
        "Numbers after recalibration, and below them those before. Each tile is corrected with a fit on other tiles. "
        "A mark shows a significant difference."
    )
    return Sheet("recalibration", caption, columns, groups, "recalibration/recalibration.csv")


def _cell(row: Row | None) -> Cell:
    if row is None or not row["after"] or not row["before"]:
        return Cell(DASH)
    says = "" if row["significant"] != "yes" else {"after": "better", "before": "worse"}.get(row["better"], "")
    before, after = (true_minus(for_people(float(row[name]))) for name in ("before", "after"))
    return Cell(after, f"before: {before}", says)
