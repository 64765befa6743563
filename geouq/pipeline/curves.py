"""The curves of diagrams on pages, from the rows, intervals and sums of a run."""

from collections.abc import Collection, Iterator, Mapping

from geouq.config import Variable
from geouq.core.failures import isolated
from geouq.inference import Bands, Inference
from geouq.metrics import MetricOptions, group_edges, group_places, unit_of_groups
from geouq.metrics.predicted_std import StdDistribution, StdRange, std_distribution, std_edges
from geouq.numbers.run_metrics import preferred_scheme
from geouq.numbers.saved_sums import sums_of
from geouq.pages import Curves, Groups, curves_of
from geouq.pipeline.stages import Evaluated
from geouq.summary import ClassCoverage, Summary
from geouq.tables.rows import Row, Table
from geouq.verdict import Place

Ranges = Mapping[str, Mapping[Place, StdRange]]
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
        groups, ranges = _groups_and_ranges(evaluated)
        spread = _spread(evaluated, ranges)
        bins, curves = (_rows_of(shown, numbers.tables[name]) for name in ("bins", "curves"))
        return curves_of(
            bins, curves, scheme, bands_of, groups_of=lambda place: groups.get(place, NO_GROUPS), std_of=spread.get
        )
    return {}


def _rows_of(shown: Collection[str], table: Table) -> Iterator[Row]:
    """Yield the rows of evaluation units that are shown, one at a time."""
    return (row for row in table.without_tiles() if row["name"] in shown)


def _summaries_shown(evaluated: Evaluated) -> Iterator[tuple[Place, Variable, Summary]]:
    """Yield the summaries of forecasts with a variance in each evaluation unit that is shown, one unit after another.

    Those of many regions are read again for this.
    """
    options = evaluated.metric_options
    variables = [one for one in evaluated.swept.record.variables if options[one.name].form.has_variance]
    for unit in evaluated.numbers.shown if variables else ():
        sums = sums_of(unit)
        for one in variables:
            yield (unit.level, unit.name, one.variable, one.model), one, sums[one.name]


def _groups_and_ranges(evaluated: Evaluated) -> tuple[dict[Place, Mapping[str, Groups]], Ranges]:
    """Return the groups of the pixels, and the range of the predicted std by the name of the variable."""
    groups: dict[Place, Mapping[str, Groups]] = {}
    ranges: dict[str, dict[Place, StdRange]] = {}
    for place, variable, summary in _summaries_shown(evaluated):
        inference = evaluated.numbers.inferred.get(place[1], {}).get(variable.name)
        groups[place] = groups_of_unit(summary, evaluated.metric_options[variable.name], inference, variable.units)
        if summary.n:
            ranges.setdefault(variable.name, {})[place] = StdRange.of(summary)
    return groups, ranges


def _spread(evaluated: Evaluated, ranges: Ranges) -> dict[Place, StdDistribution]:
    """Return the predicted std, of each variable on one scale."""
    edges = {name: std_edges(own.values()) for name, own in ranges.items()}
    found: dict[Place, StdDistribution] = {}
    for place, variable, summary in _summaries_shown(evaluated):
        if summary.n:
            shared, logarithmic = edges[variable.name]
            own = std_distribution(summary, ranges[variable.name][place], shared, logarithmic=logarithmic)
            if own.is_finite:
                found[place] = own
    return found


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
