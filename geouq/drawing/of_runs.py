"""The figures of a run, each with its record: from one variable of an evaluation unit to a matplotlib Figure."""

from matplotlib.figure import Figure

from geouq.drawing.case import Case
from geouq.drawing.cells import cells_of_tiles, unit_of_cells, usual_metric
from geouq.drawing.record import figure
from geouq.figures import (
    Curve,
    calibration_figure,
    cell_map,
    correlogram_figure,
    error_by_std_figure,
    error_correlation_figure,
    group_coverage_figure,
    pit_histogram,
    ranks_figure,
    region_figure,
    reliability_diagram,
    scales_figure,
    shares_figure,
    shift_figure,
    sparsification_figure,
    std_figure,
)
from geouq.figures.regions import region_panels
from geouq.figures.style import readable_name
from geouq.maps.cell_metrics import scale_of_cells
from geouq.metrics.aggregate_names import TRUTH_SHARE


@figure(of_regions=True)
def reliability(case: Case) -> Figure:
    """Reliability diagram of the variance.

    Mean squared error against mean predicted variance in each bin, with the density of the variances below. Points
    above the diagonal have errors larger than predicted.
    """
    scheme = case.source.scheme
    edges = (case.metric_options.shared_edges or {}).get(scheme.name)
    return reliability_diagram(
        case.summary, scheme, title=case.title, units=case.variable.units, edges=edges, bands=case.inference.bands,
        width=case.width,
    )  # fmt: skip


@figure(needs_variance=False, of_regions=True)
def calibration(case: Case) -> Figure:
    """Calibration curve.

    Share of the truth below each predicted quantile, and its distance from the diagonal, on which a calibrated
    forecast lies.
    """
    if not case.has_variance:
        return shares_figure(case.summary, title=case.title, bands=case.inference.bands, width=case.width)
    name = case.variable.name
    curves = {
        unit.name: Curve(summary, case.source.inferred(unit, name).bands)
        for unit in case.compared
        if (summary := unit.variables[name]).n
    }
    levels = case.metric_options.calibration_levels
    return calibration_figure(curves, title=case.title, levels=levels, width=case.width)


@figure(of_regions=True)
def pit(case: Case) -> Figure:
    """PIT histogram.

    Histogram of the probability integral transform: flat if calibrated, high at both ends if over-confident, sloping
    if biased.
    """
    bands = case.inference.bands
    return pit_histogram(case.summary, title=case.title, bands=bands, verdict=case.verdict, width=case.width)


@figure(needs="ranks needs members of an ensemble", of_regions=True)
def ranks(case: Case) -> Figure | None:
    """Ranks among the members.

    Of an ensemble: where the truth lies among the members' means, and the PIT of the mixture where members have
    variances: flat if calibrated, high at both ends if over-confident, sloping if biased.
    """
    if "ranks" not in case.metric_options.form.fields:
        return None
    return ranks_figure(case.summary, title=case.title, width=case.width)


@figure(needs="error_by_std needs `ordering: true` in the configuration", of_regions=True)
def error_by_std(case: Case) -> Figure | None:
    """Error against predicted std.

    Density of the size of the error against the predicted std, with its quantiles and those that a calibrated forecast
    would have.
    """
    if case.summary.ordering is None:
        return None
    return error_by_std_figure(case.summary, title=case.title, units=case.variable.units, width=case.width)


@figure(needs="sparsification needs `ordering: true` in the configuration")
def sparsification(case: Case) -> Figure | None:
    """Sparsification curves.

    RMSE of the remaining pixels when the most uncertain ones are left out, and the same in the best order.
    """
    if case.summary.ordering is None:
        return None
    return sparsification_figure(case.summary, title=case.title, units=case.variable.units, width=case.width)


@figure(needs="group_coverage needs groups in the configuration")
def group_coverage(case: Case) -> Figure | None:
    """Coverage by group.

    Share of the truth inside the intervals, in groups of pixels by truth, mean, variance or class, with intervals from
    resamples of tiles. The axis shows the values between the groups.
    """
    groupings, levels, count = (
        case.metric_options.groupings,
        case.metric_options.levels,
        case.metric_options.groups.count,
    )
    if not groupings:
        return None
    return group_coverage_figure(
        case.summary, title=case.title, groupings=groupings, levels=levels, groups=count, units=case.variable.units,
        limits=case.group_limits, confidence=case.source.settings.level, width=case.width,
    )  # fmt: skip


@figure()
def std(case: Case) -> Figure:
    """Predicted std by region.

    Distribution of the predicted std in each region, with quantiles and the RMSE.
    """
    regions = {unit.name: unit.variables[case.variable.name] for unit in case.compared}
    return std_figure(regions, title=case.title, units=case.variable.units, width=case.width)


@figure(needs="regions shows the whole with at least one region", needs_variance=False, weighted=False)
def regions(case: Case) -> Figure | None:
    """Metrics by region.

    A dot with its interval for each region and metric, sorted, with the ideal value.
    """
    if case.evaluation_unit.level != "all":
        return None
    names = {unit.name for unit in case.compared}
    bins = ("", case.source.scheme.name)
    rows = [
        row
        for metric in region_panels()
        for row in case.rows("metrics")
        if row["metric"] == metric and row["level"] != "tile" and row["name"] in names and row["bins"] in bins
    ]
    if len({row["name"] for row in rows}) <= 1:
        return None
    return region_figure(rows, title=case.title_of_variable, width=case.width)


@figure(needs="shift is of the whole, and needs splits in the configuration", needs_variance=False, weighted=False)
def shift(case: Case) -> Figure | None:
    """In and out of distribution.

    Each metric in and out of the distribution of the training data, with the interval of the difference.
    """
    rows = [row for row in case.rows("shift") if row["bins"] in ("", case.source.scheme.name)]
    if case.evaluation_unit.level != "all" or not rows:
        return None
    return shift_figure(rows, title=case.title_of_variable, width=case.width)


@figure(needs_variance=False, weighted=False)
def cells(case: Case) -> Figure | None:
    """Cell map.

    Mean squared z of every cell on a map, in colours around 1: orange where errors are larger than predicted, violet
    where they are smaller. Of quantiles it is their CRPS, and of classes the Brier score.
    Colours are those of the maps. Cells without data are grey, and what lies outside the tiles is hatched.
    """
    source, form = case.source, case.metric_options.form
    metric = case.metric or usual_metric(form)
    tiles = cells_of_tiles(
        source.summaries, source.parts(case.evaluation_unit), case.variable.name, metric, source.scheme
    )
    if not tiles:
        return None
    units = unit_of_cells(metric, case.variable.units, form)
    scale = scale_of_cells(metric, case.whole, case.metric_options)
    return cell_map(tiles, metric, scale, title=f"{case.title}, {readable_name(metric)}", units=units, width=case.width)


@figure(needs="correlogram needs more cells", needs_variance=False, of_regions=True)
def correlogram(case: Case) -> Figure | None:
    """Correlogram of the residuals.

    Correlation between cells of what each adds to the mean error, squared error and squared z, by distance.
    """
    blocks = case.inference.blocks
    if blocks is None or len(blocks.correlation_ranges["error"].correlogram.lags) < 3:
        return None
    return correlogram_figure(blocks, title=case.title, width=case.width)


@figure(needs="scales is of the whole, and needs means of blocks with a known size", weighted=False)
def scales(case: Case) -> Figure | None:
    """Calibration of means by size.

    Mean squared z and coverage of 90 % intervals of the means of blocks of cells, by the side of the block: with
    independent, fully correlated and fitted errors, and with the fitted ones corrected for mean squared z.
    """
    if case.evaluation_unit.level != "all":
        return None
    rows = [row for row in case.rows("aggregates") if row.get("threshold") is None and not row.get("class")]
    return scales_figure(rows, title=case.title_of_variable, width=case.width)


@figure(
    needs="error_correlation is of the whole, and needs means of a variable and cells with a known size", weighted=False
)
def error_correlation(case: Case) -> Figure | None:
    """Correlation of errors.

    Correlation of z between pixels by distance, within and between tiles, and the model from which the std of means of
    areas follows.
    """
    if case.evaluation_unit.level != "all":
        return None
    rows = [row for row in case.rows("error_correlogram") if row["threshold"] is None and not row.get("class")]
    removed = [
        row["value"]
        for row in case.rows("error_correlation")
        if row["parameter"] == TRUTH_SHARE and row["threshold"] is None and not row.get("class")
    ]
    return error_correlation_figure(rows, title=case.title_of_variable, width=case.width, removed=sum(removed))
