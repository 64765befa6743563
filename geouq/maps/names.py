"""Names of maps in configurations: maps of pixels have records, maps of cells are metrics."""

import re
from collections.abc import Iterator, Mapping, Sequence

from geouq.config import CELLS, FormFiles, quoted, suggestion
from geouq.config.validation_errors import Steps
from geouq.maps.pixel_maps import OF_ALL, PIXEL_MAPS
from geouq.metrics.record import METRICS, OF_VARIANCE, Metric, has
from geouq.summary.form import FORMS, GAUSSIAN, Form, form_class

COUNT = "n"  # a map of cells that is no metric
NOT_OF_CELLS = ("group", "ordering", "threshold", "calibration", "calibration_weights")
LEVELS = ("level", "quantile", "pair")  # choices of metrics with a map for each level
PERCENT = re.compile(r"(?P<base>\w+)_(?P<percent>\d+(?:\.\d+)?)")
Owners = Mapping[str, Sequence[tuple[str, ...]]]  # of each map the forms in its records


def unknown_maps(maps: Sequence[str]) -> Iterator[tuple[Steps, str]]:
    """Yield the position of each unknown name of a map, and a message."""
    plain, of_level = _plain_maps(), _maps_of_levels()
    known = [CELLS, COUNT, *plain, *(f"{base}_90" for base in of_level)]
    for place, name in enumerate(maps):
        if name not in known and _base_of(name) not in of_level:
            yield (place,), f"{quoted(name)} is not a map{suggestion(name, known)}"


def problems_of_maps(maps: Sequence[str], data: object, levels: Sequence[float]) -> Iterator[tuple[Steps, str]]:
    """Yield the position of each map that the forecast does not have, and a message.

    data : section `data` of the configuration. levels : levels of the experiment, () if they are invalid.
    """
    form: Form = GAUSSIAN
    if isinstance(data, FormFiles):
        from geouq.forms import form_of_files, problems_of_form  # noqa: PLC0415  needs the compiler

        if any(problems_of_form(data)):
            return
        form = form_of_files(data, tuple(levels), members=2)
    for place, name in enumerate(maps):
        if problem := problem_of_map(name, form, levels):
            yield ("maps", place), f"{quoted(name)} {problem}"


def problem_of_map(name: str, form: Form, levels: Sequence[float]) -> str:
    """Return why a forecast of this form does not have the map; "" if it has."""
    plain, of_level, base = _plain_maps(), _maps_of_levels(), _base_of(name)
    owners = plain.get(name) or of_level.get(base)
    if owners is None:  # cells and n, which every forecast has
        return ""
    problem = _problem_of_form(owners, form)
    if problem or name in plain or not levels:
        return problem
    known = [f"{base}_{round(100 * level, 10):g}" for level in _levels_of(base, form, levels)]
    return "" if name in known else f"is of none of the levels{suggestion(name, known)}"


def _base_of(name: str) -> str:
    """Return the name of a map without its level, such as covered for covered_90; "" for a name without level."""
    found = PERCENT.fullmatch(name)
    return found["base"] if found else ""


def _plain_maps() -> Owners:
    """Return the forms of each map without level."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for one in PIXEL_MAPS.values():
        if not one.of_level:
            found.setdefault(one.name, []).append(one.forms)
    for metric in METRICS:
        if metric.choice not in (*NOT_OF_CELLS, *LEVELS) and (forms := _forms_of_cells(metric)):
            found.setdefault(metric.name, []).append(forms)
    return found


def _forms_of_cells(metric: Metric) -> tuple[str, ...]:
    """Return the forms whose cells keep a metric. Metrics of pairs of pixels need a form that sums them."""
    return metric.forms if metric.of_pairs is None else tuple(form for form in metric.forms if form == "split")


def _maps_of_levels() -> Owners:
    """Return the forms of each map with a level."""
    found: dict[str, list[tuple[str, ...]]] = {one.name: [one.forms] for one in PIXEL_MAPS.values() if one.of_level}
    for metric in METRICS:
        if metric.choice in LEVELS:
            found.setdefault(metric.name, []).append(metric.forms)
    return found


def _levels_of(base: str, form: Form, levels: Sequence[float]) -> Sequence[float]:
    """Return the levels of a map: of the experiment, of the quantiles, or of pairs of quantiles."""
    metric_options = {metric.choice for metric in METRICS if metric.name == base and has(form, metric.forms)}
    if "quantile" in metric_options:
        return form.quantile_levels
    return tuple(form.pairs) if "pair" in metric_options else levels


def _problem_of_form(owners: Sequence[tuple[str, ...]], form: Form) -> str:
    """Return why a forecast of this form has none of these forms; "" if it has one."""
    if any(forms == OF_ALL or has(form, forms) for forms in owners):
        return ""
    names = {name for forms in owners for name in forms}
    if names & set(form.names_in_records()):
        return "needs a variance of each member; give member_variance"
    if OF_VARIANCE[0] in names:
        return f"is a map of {GAUSSIAN.how_to_give}"
    kinds = [form_class(key) for key in FORMS]
    return f"is a map of {next(kind for kind in kinds if names & set(kind.names_in_records())).how_to_give}"
