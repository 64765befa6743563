"""The curves of diagrams on pages, from the rows, intervals and sums of a run."""

from collections.abc import Collection, Iterator, Mapping

from geouq.config import Variable
from geouq.core.failures import isolated
from geouq.inference import Bands, Inference
from geouq.metrics import MetricOptions, group_edges, group_places, unit_of_groups
from geouq.metrics.predicted_std import StdDistribution, std_distributions
from geouq.numbers.run_metrics import preferred_scheme
from geouq.pages import Curves, Groups, curves_of
from geouq.pipeline.stages import Evaluated
from geouq.summary import ClassCoverage, Summary
from geouq.tables.rows import Row, Table
from geouq.verdict import Place

NO_GROUPS: Mapping[str, Groups] = {}


def curves_of_pages(evaluated: Evaluated) -> dict[Place, Curves]:
    """Return the curves of the whole and of the regions that have a page, with their bands."""
    numbers, scheme = evaluated.numbers, preferred_scheme(evaluated.swept.experiment).name
    variables = {(one.variable, one.model): one.name for one in evaluated.swept.record.variables}
    shown = {unit.name for unit in numbers.shown}

    def bands_of(place: Place) -> Bands | None:
        """Return the bands of a variable in a region."""
        inference = numbers.inferred.get(place[1], {}).get(variables[place[2:]])
        return inference.bands if inference else None

    with isolated("pages", "curves of the diagrams"):
        groups: dict[Place, Mapping[str, Groups]] = {}
        spread: dict[Place, StdDistribution] = {}
        for variable in evaluated.swept.record.variables:
            _add_from_sums(evaluated, variable, groups, spread)
        bins, curves = (_rows_of(shown, numbers.tables[name]) for name in ("bins", "curves"))
        return curves_of(
            bins, curves, scheme, bands_of, groups_of=lambda place: groups.get(place, NO_GROUPS), std_of=spread.get
        )
    return {}


def _rows_of(shown: Collection[str], table: Table) -> Iterator[Row]:
    """Yield the rows of evaluation units that are shown, one at a time."""
    return (row for row in table.without_tiles() if row["name"] in shown)


def _add_from_sums(
    evaluated: Evaluated,
    variable: Variable,
    groups: dict[Place, Mapping[str, Groups]],
    spread: dict[Place, StdDistribution],
) -> None:
    """Add the groups of a variable, and its predicted std on one scale, in each evaluation unit that is shown."""
    numbers, options = evaluated.numbers, evaluated.metric_options[variable.name]
    if not options.form.has_variance:
        return
    sums = {unit.name: unit.variables[variable.name] for unit in numbers.shown}  # of many regions, read again
    places: dict[str, Place] = {
        unit.name: (unit.level, unit.name, variable.variable, variable.model) for unit in numbers.shown
    }
    for name, summary in sums.items():
        inference = numbers.inferred.get(name, {}).get(variable.name)
        groups[places[name]] = groups_of_unit(summary, options, inference, variable.units)
    spread |= {places[name]: own for name, own in std_distributions(sums).items() if own.is_finite}


def groups_of_unit(
    summary: Summary, metric_options: MetricOptions, inference: Inference | None, units: str
) -> dict[str, Groups]:
    """Return the groups of the pixels of a variable: their values, and the limits of their coverage."""
    count, limits, found = metric_options.groups.count, inference.group_limits if inference else {}, {}
    for by in metric_options.groupings if summary.n and metric_options.form.has_variance else ():
        by_class = isinstance(summary.coverage_by(by), ClassCoverage)
        found[by] = Groups(
            [float(place) for place in group_places(summary, by, count)],
            [] if by_class else [float(edge) for edge in group_edges(summary, by, count)],
            unit_of_groups(by, units),
            {level: own for (of, level), own in limits.items() if of == by},
        )
    return found
