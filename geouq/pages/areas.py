"""Means and totals of areas on a page: sentences, small diagrams and a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from geouq.aggregates.overstated import REASON as OVERSTATED
from geouq.config import Variable
from geouq.core.wording import for_people, true_minus
from geouq.metrics.aggregate_names import MOST_UNCERTAIN, RMSE, SPREAD_SKILL, TRUTH_SHARE
from geouq.pages.content import ReportContent
from geouq.pages.diagrams import (
    Frame,
    Point,
    Role,
    Scale,
    axes,
    banded,
    diagram,
    dots,
    in_percent,
    line,
    ratios,
    upright,
)
from geouq.pages.numbers import CERTAIN, difference_cell, why_dashes
from geouq.pages.percent import POINTS, as_percent
from geouq.pages.sheet import DASH, Cell, Column, Sheet, limits_of

Row = Mapping[str, Any]

LEVEL = "90"
MODELS: Mapping[str, Role] = {
    "independent": "whole",
    "full": "full",
    "calibrated": "own",
}  # and the role of their lines
AXIS = Scale(0.0, 1.0, is_log=False, ticks=(0.0, 0.5, 0.9, 1.0))
LOWEST = -0.2  # correlation
AREAS = "tables/areas.csv"
COMPARED = {  # headings of the numbers of models
    RMSE: "RMSE",
    "aggregate_crps_calibrated": "CRPS, calibrated",
    "aggregate_zms_fitted": "mean z², fitted",
    f"aggregate_coverage_fitted_{LEVEL}": f"coverage of {LEVEL} %, fitted, in {POINTS}",
    "aggregate_zms_calibrated": "mean z², calibrated",
    f"aggregate_coverage_calibrated_{LEVEL}": f"coverage of {LEVEL} %, calibrated, in {POINTS}",
}
KILOMETRE = 1000.0


@dataclass(frozen=True)
class AreaDiagrams:
    """Diagrams of a variable as SVG; empty if there is nothing to show."""

    variable: str
    scales: str
    correlation: str


def area_sentences(content: ReportContent) -> list[str]:
    """Return what to use for means of areas: by the correlation of errors, the truth's own error, and by members."""
    found = []
    for variable in content.variables:
        rows = _own(content.aggregates, variable)
        means, of_shares = _of_means(rows), dict[str, list[Row]]()
        for row in rows:
            if _share(row) != (None, ""):
                of_shares.setdefault(_what(variable, row).replace("share", "Share", 1), []).append(row)
        found += [_sentence(variable.name, means), _sentence_of_truth(content, variable)]
        found += [_sentence_of_members(means, variable), *(_sentence(name, own) for name, own in of_shares.items())]
    return [said for said in found if said]


def _sentence(name: str, rows: Sequence[Row]) -> str:
    cells = {row["metric"]: row for row in rows if row["side_cells"] == 1}
    numbers = {name: cells.get(f"aggregate_{name}") for name in ("zms_independent", f"coverage_independent_{LEVEL}")}
    zms, covered = numbers.values()
    calibrated = cells.get(f"aggregate_coverage_calibrated_{LEVEL}")
    if not (zms and covered and calibrated) or None in (zms["value"], covered["value"], calibrated["value"]):
        return ""
    size = f"areas of {_length(zms['side_metres'])}" if zms["side_metres"] else "areas of a cell"
    if zms.get("ci_low") is None or zms["ci_low"] <= 1:
        return (
            f"{name}: no sign that pixels of {size} share errors; taken as independent, "
            f"{LEVEL} % intervals of means cover {_percent(covered['value'])}."
        )
    factor = for_people(float(f"{zms['value'] ** 0.5:.2g}"))
    return (
        f"{name}: for {size} use the fitted correlation. With independent pixels the std of a mean is "
        f"{factor} times too small, and {LEVEL} % intervals cover {_percent(covered['value'])}; with the fitted "
        f"correlation and corrected std they cover {_percent(calibrated['value'])}."
    )


def _sentence_of_truth(content: ReportContent, variable: Variable) -> str:
    """Say which share of the squared errors was removed, because it is the truth's own error."""
    for row in _of_means(_own(content.error_correlation, variable)):
        if row["parameter"] == TRUTH_SHARE and row["value"] is not None:
            return (
                f"{variable.name}: the truth's own error is {_percent(row['value'])} of z². It is left out of the "
                f"correlation of errors and of the std of means.{_too_much(content, variable)}"
            )
    return ""


def _too_much(content: ReportContent, variable: Variable) -> str:
    """Say so if more is left out than there are errors that pixels do not share."""
    rows = _of_means(_own(content.error_correlation, variable))
    if all(row.get("ci_method") != OVERSTATED for row in rows):
        return ""
    return f" That is too much: {OVERSTATED}. Std and intervals of means are wrong or missing: see the warnings."


def _sentence_of_members(rows: Sequence[Row], variable: Variable) -> str:
    """Compare the spread of the means of members with their error, for the largest blocks that have an interval."""
    blocks = [row for row in rows if row["metric"] == SPREAD_SKILL and row["kind"] == "block"]
    known = [row for row in blocks if row.get("ci_low") is not None]
    if not known:
        return ""
    row = known[-1]
    size = f"areas of {_length(row['side_metres'])}" if row["side_metres"] else f"areas of {row['side_cells']} cells"
    value, low, high = (for_people(float(f"{row[name]:.2g}")) for name in ("value", "ci_low", "ci_high"))
    found = f"members' means of {size} spread {value} ({low} to {high}) times as much as they err"
    if row["ci_low"] <= 1 <= row["ci_high"]:
        return f"{variable.name}: {found}; no sign of a wrong spread."
    return f"{variable.name}: {found}; {'too little' if row['value'] < 1 else 'too much'} for means of areas."


def area_diagrams(content: ReportContent, most: int) -> list[AreaDiagrams]:
    """Return the diagrams of the first variables that have some."""
    found = []
    for variable in content.variables:
        scales = _scales(_of_means(_own(content.aggregates, variable)), variable.name)
        correlation = _correlation(_of_means(_own(content.error_correlogram, variable)), variable.name)
        if scales or correlation:
            found.append(AreaDiagrams(variable.name, scales, correlation))
    return found[:most]


def _scales(rows: Sequence[Row], name: str) -> str:
    """Return coverage of means by the side of the area."""
    points = {model: _covered(rows, model) for model in MODELS}
    sides = [point[0] for own in points.values() for point in own]
    if not sides:
        return ""
    ideal = ((min(sides) / 2, int(LEVEL) / 100), (max(sides) * 2, int(LEVEL) / 100))
    frame = Frame(ratios(min(sides) / 1.5, max(sides) * 1.5), in_percent(AXIS), ideal, "side of the area, km")
    parts = [axes(frame)]
    for model, role in MODELS.items():
        if points[model]:
            parts += [line(points[model], frame, role), upright(points[model], frame, role)]
            parts.append(dots(points[model], frame, role))
    return diagram(parts, frame, f"Coverage of {LEVEL} % intervals of means of {name}, by the side of the area")


def _covered(rows: Sequence[Row], model: str) -> list[Point]:
    """Return the side in km, coverage and its limits, of blocks of cells."""
    wanted = f"aggregate_coverage_{model}_{LEVEL}"
    chosen = [
        row
        for row in rows
        if row["metric"] == wanted and row["kind"] == "block" and row["side_metres"] and row["value"] is not None
    ]
    return [
        (row["side_metres"] / KILOMETRE, row["value"], row["ci_low"], row["ci_high"])
        if row.get("ci_low") is not None
        else (row["side_metres"] / KILOMETRE, row["value"])
        for row in chosen
    ]


def _correlation(rows: Sequence[Row], name: str) -> str:
    """Return the correlation of z by distance: dots and the fitted line, both with one standard error."""
    known = [row for row in rows if row["distance"] > 0 and row["standard_error"] <= MOST_UNCERTAIN]
    if not known:
        return ""
    distances = [row["distance"] / KILOMETRE for row in known]
    lowest = min(LOWEST, *(row["correlation"] for row in known))
    up = Scale(lowest, 1.0, is_log=False, ticks=(0.0, 0.5, 1.0))
    across = ratios(min(distances) / 1.2, max(distances) * 1.2)
    frame = Frame(across, up, ((across.low, 0.0), (across.high, 0.0)), "distance, km")
    parts = [axes(frame)]
    pairs: Mapping[str, Role] = {"no": "whole", "yes": "own"}  # in one tile
    for same, role in pairs.items():
        own = [row for row in known if row["same_tile"] == same]
        places = [_with_error(row, "correlation", "standard_error") for row in own]
        if own:
            fitted = [_with_error(row, "fitted", "fitted_error") for row in own]
            parts += [banded(fitted, frame, role), upright(places, frame, role, is_capped=False)]
            parts += [dots(places, frame, role), line(fitted, frame, role)]
    return diagram(parts, frame, f"Correlation of errors of {name} by distance, and the fitted model")


def _with_error(row: Row, value: str, error: str) -> Point:
    return row["distance"] / KILOMETRE, row[value], row[value] - row[error], row[value] + row[error]


def areas_sheet(content: ReportContent, region: str | None = None) -> Sheet:
    """Return predicted means and totals of the whole and of regions, or of a single region."""
    columns = (
        Column("variable", "text"),
        Column("region", "name"),
        Column("mean"),
        Column("std", about="Std of the mean with the fitted correlation and corrected for mean z²"),
        Column("std if independent", about="Std of the mean if errors of pixels were independent"),
        Column("total"),
        Column("unit", "text"),
        Column("independent pixels", about="Number of independent pixels whose mean would be as certain"),
        Column("observed error", about="Predicted minus true mean of the pixels with truth"),
    )
    shown = {*content.regions, "all"} if region is None else {region}
    groups = {}
    for variable in content.variables:
        rows = [row for row in _own(content.areas, variable) if row["name"] in shown]
        groups[variable.name] = [
            _cells(variable, row) for share in dict.fromkeys(map(_share, rows)) for row in rows if _share(row) == share
        ]
    return Sheet("areas" if region is None else "area", _caption(content, shown), columns, groups, AREAS)


def models_of_areas_sheet(content: ReportContent) -> Sheet:
    """Return the differences between the means of areas of each model and those of the first one, by size."""
    found: dict[tuple[str, ...], dict[str, Row]] = {}
    variables = {own.variable: own.model_copy(update={"name": own.variable}) for own in content.variables}
    for row in content.aggregate_comparison:
        if row["metric"] in COMPARED:
            of = row["variable"] if _share(row) == (None, "") else _what(variables[row["variable"]], row)
            place = (row["variable"], of, _size(row), f"{row['model']} minus {row['against']}")
            found.setdefault(place, {})[row["metric"]] = row
    shown = {name: heading for name, heading in COMPARED.items() if any(name in rows for rows in found.values())}
    groups: dict[str, list[list[Cell]]] = {}
    for (variable, of, size, models), rows in found.items():
        count = Cell(str(max(row["n_areas"] for row in rows.values())))
        cells = [difference_cell(_in_points(rows[name]) if name in rows else None) for name in shown]
        groups.setdefault(variable, []).append([Cell(of), Cell(size), count, Cell(models), *cells])
    columns = (
        Column("variable", "text"),
        Column("areas", "name"),
        Column("number", about="Number of areas that all models have"),
        Column("models", "text"),
        *map(Column, shown.values()),
    )
    what = "means and shares" if any(_share(row) != (None, "") for row in content.aggregate_comparison) else "means"
    caption = (
        f"Differences in {what} over the areas that all models have. Their intervals are from leaving out each part of "
        f"the map in turn. {CERTAIN}{why_dashes(row for rows in found.values() for row in rows.values())}"
    )
    return Sheet("modelareas", caption, columns, groups, "tables/aggregate_comparison.csv")


def _in_points(row: Row) -> Row:
    """Return a difference of coverages in percentage points, and any other as it is."""
    return as_percent(row) if COMPARED[row["metric"]].endswith(POINTS) else row


def _size(row: Row) -> str:
    """Return the size of areas in words."""
    if row["kind"] != "block":
        return f"{row['kind']}s"
    cells = f"{row['side_cells']} x {row['side_cells']} cells" if row["side_cells"] > 1 else "cells"
    return f"{cells} ({_length(row['side_metres'])})" if row["side_metres"] else cells


def _caption(content: ReportContent, shown: set[str]) -> str:
    rows = [row for row in content.areas if row["name"] in shown]
    levels = sorted({100 * row["ci_level"] for row in rows if row.get("ci_level") is not None})
    said = f"Under the mean and the total: intervals of {levels[0]:g} %. " if levels else ""
    reasons = sorted({row["ci_method"] for row in rows if row.get("ci_low") is None})
    why = f" {DASH}: no interval ({'; '.join(reasons)})." if reasons else ""
    return f"{said}Pixels without truth are not part of these areas.{why}"


def _cells(variable: Variable, row: Row) -> list[Cell]:
    return [
        Cell(_what(variable, row)),
        Cell(row["name"]),
        _with_interval(row["mean"], row.get("ci_low"), row.get("ci_high")),
        _number(row["std"]),
        _number(row["std_independent"]),
        *_total(row),
        _number(row["n_independent"]),
        _number(row["mean_error"]),
    ]


def _share(row: Row) -> tuple[float | None, str]:
    return row.get("threshold"), row.get("class") or ""


def _what(variable: Variable, row: Row) -> str:
    """Return what the mean of an area is of: a variable, or a share of the area."""
    units = f" ({variable.units})" if variable.units else ""
    threshold, own_class = _share(row)
    if own_class:
        return f"share of {own_class} ({variable.name})"
    if threshold is None:
        return f"{variable.name}{units}"
    return f"share of {variable.name} > {for_people(threshold)}{f' {variable.units}' if variable.units else ''}"


def _of_means(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that are of no share of areas."""
    return [row for row in rows if _share(row) == (None, "")]


def _total(row: Row) -> list[Cell]:
    """Return the total and its unit; empty where a sum over an area has no meaning, as of a share of clay."""
    units = row.get("total_units", "")
    if row.get("total") is None or units.endswith("m2"):
        return [Cell(""), Cell("")]
    return [_with_interval(row["total"], row.get("total_low"), row.get("total_high")), Cell(units)]


def _with_interval(value: float | None, low: float | None, high: float | None) -> Cell:
    under = DASH if low is None or high is None else true_minus(f"{for_people(low)}\u00a0to\u00a0{for_people(high)}")
    return _number(value)._replace(under=under, limits=limits_of(low, high))


def _number(value: float | None) -> Cell:
    return Cell(DASH) if value is None else Cell(true_minus(for_people(value)), number=repr(value))


def _own(rows: Sequence[Row], variable: Variable) -> list[Row]:
    return [row for row in rows if (row["variable"], row["model"]) == (variable.variable, variable.model)]


def _length(metres: float) -> str:
    return f"{for_people(metres / KILOMETRE)} km" if metres >= KILOMETRE else f"{for_people(metres)} m"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
