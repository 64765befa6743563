"""The tables of a run and their columns: what each holds, and the type of its values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "whole", "number"]


@dataclass(frozen=True)
class Column:
    """The type of the values of a column, and what they are."""

    kind: Kind
    about: str


@dataclass(frozen=True)
class TableRecord:
    """The file of a table in the folder of a run, what its rows are, and its columns in their order."""

    file: str
    about: str
    columns: tuple[str, ...]


COLUMN: Mapping[str, Column] = {
    "level": Column("text", "`all`, `region` or `tile`"),
    "name": Column("text", "name of the region or tile"),
    "variable": Column("text", "name of the variable"),
    "model": Column("text", "name of the model; empty if there is only one"),
    "run": Column("text", "folder of the run, or `RUN@MODEL`"),
    "against": Column("text", "name of the first model, with which this model is compared"),
    "metric": Column("text", "name of the metric"),
    "value": Column("number", "value of the metric; empty if it is missing"),
    "baseline": Column("number", "value of the first model or run"),
    "before": Column("number", "value of the forecast as it was"),
    "after": Column("number", "value of the corrected forecast"),
    "in": Column("number", "value in the distribution of the training data"),
    "out": Column("number", "value out of the distribution of the training data"),
    "difference": Column("number", "second value minus first value"),
    "units": Column("text", "unit of the values; 1 for a number without unit"),
    "bins": Column("text", "bins of the predicted variance, such as `equal-count-10`; empty for metrics without bins"),
    "group": Column("text", "property that the pixels are grouped by, such as `truth`; empty for other metrics"),
    "ci_low": Column("number", "lower limit of the interval"),
    "ci_high": Column("number", "upper limit of the interval"),
    "ci_level": Column("number", "level of the interval, such as 0.95"),
    "ci_method": Column("text", "method of the interval; if there is no interval or no value, the reason"),
    "n": Column("whole", "number of valid pixels; in `excluded.csv`, number of excluded pixels"),
    "n_in": Column("whole", "number of valid pixels in distribution"),
    "n_out": Column("whole", "number of valid pixels out of distribution"),
    "n_baseline": Column("whole", "number of valid pixels of the first model or run"),
    "n_pixels": Column("whole", "number of pixels in the region, valid or not"),
    "n_cells": Column("whole", "number of cells that hold valid pixels"),
    "n_effective": Column("number", "number of uncorrelated cells that would make the value as certain"),
    "n_blocks": Column("whole", "number of blocks of cells"),
    "compare_on": Column("text", "pixels on which models are compared: `common` or `own`; empty if there is one model"),
    "null": Column("text", "pixels that `ence_null` counts: `effective` or `independent`; empty for other metrics"),
    "resolution": Column("number", "largest expected error of the value; empty if the value is exact"),
    "bin": Column("whole", "number of the bin, from 1"),
    "lower": Column("number", "lower edge of the bin"),
    "upper": Column("number", "upper edge of the bin"),
    "mean_variance": Column("number", "mean predicted variance in the bin"),
    "mse": Column("number", "mean squared error in the bin"),
    "share": Column("number", "share of the pixels in the bin, or of the areas at the rank"),
    "rank": Column("whole", "number of members whose mean is below the true one"),
    "edges": Column("text", "`exact`, or `profile` if the edges are placed on the saved profile"),
    "curve": Column("text", "name of the curve or histogram"),
    "x": Column("number", "level, share or place on the horizontal axis"),
    "y": Column("number", "value at that place"),
    "ideal": Column("number", "value of a perfect forecaster"),
    "p_value": Column("number", "p-value of this test alone"),
    "p_adjusted": Column("number", "p-value, adjusted for all tests of the table that belong together"),
    "residual": Column("text", "residual: error, squared error or squared z"),
    "lag_pixels": Column("number", "distance between two cells in pixels"),
    "lag_metres": Column("number", "the same in metres; empty if the unit of the CRS is unknown"),
    "correlation": Column("number", "correlation of the residuals of two cells at that distance"),
    "pairs": Column("whole", "number of pairs of cells at that distance"),
    "range_pixels": Column("number", "correlation range in pixels"),
    "range_metres": Column("number", "the same in metres"),
    "block_pixels": Column("number", "side of a block in pixels"),
    "block_metres": Column("number", "the same in metres"),
    "capped": Column("text", "`true` if blocks are smaller than the correlation range asks for"),
    "widening": Column("number", "factor by which the deviations of the resamples are multiplied"),
    "better": Column("text", "the better model, run or forecast; empty if neither is better"),
    "significant": Column("text", "`yes` or `no` after the adjustment; empty if the difference is not tested"),
    "verdict": Column("text", "the result in words"),
    "method": Column("text", "method of the correction"),
    "judged": Column("text", "`k-fold`, `leave-one-region-out` or `in-sample`"),
    "chosen": Column("text", "`yes` for the correction that is applied"),
    "when": Column("text", "`before` or `after` the correction"),
    "kind": Column("text", "`block` (a square of cells), `tile` or `region`"),
    "side_cells": Column("whole", "side of a block in cells; empty for tiles and regions"),
    "side_metres": Column("number", "side of a block in metres; of tiles and regions, the root of their mean area"),
    "n_areas": Column("whole", "number of areas; in comparisons, of those that all models or runs have"),
    "class": Column("text", "class, if the row is of its share of the area; empty for other forecasts"),
    "threshold": Column(
        "number", "threshold, if the row is of the share of the area above it; empty for means of the variable"
    ),
    "mean": Column("number", "predicted mean"),
    "std": Column("number", "std of the mean: `std_fitted` times the root of mean z^2"),
    "std_independent": Column("number", "std of the mean from the predicted stds, if errors are independent"),
    "std_fitted": Column("number", "std of the mean from the predicted stds, with the fitted correlation"),
    "std_full": Column("number", "std of the mean from the predicted stds, if errors are fully correlated"),
    "freedom": Column("number", "degrees of freedom of `std`; there is no interval below 5"),
    "n_independent": Column("number", "number of independent pixels whose mean would be as certain as by `std_fitted`"),
    "mean_error": Column("number", "observed error of the mean: predicted minus true"),
    "area": Column("number", "area of the valid pixels in square metres; empty if the CRS does not give it"),
    "total": Column("number", "mean times area"),
    "total_low": Column("number", "lower limit of the interval of the total"),
    "total_high": Column("number", "upper limit of the interval of the total"),
    "total_units": Column("text", "unit of the total"),
    "parameter": Column("text", "name of the parameter"),
    "same_tile": Column("text", "`yes` if both cells of a pair lie in one tile"),
    "distance": Column("number", "mean distance of the pairs in metres; 0 for pixels in the same cell"),
    "fitted": Column("number", "correlation of the fitted model"),
    "fitted_error": Column("number", "standard error of `fitted`, by leaving out each part of the map in turn"),
    "standard_error": Column("number", "standard error of the correlation"),
    "tile": Column("text", "name of the tile; empty if the failure belongs to no tile"),
    "reason": Column("text", "reason why the pixels do not count"),
    "layer": Column("text", "key of the regions in the configuration"),
    "tiles": Column("whole", "number of tiles in which the region has pixels"),
    "stage": Column("text", "stage of the run, such as `sweep` or `maps`"),
    "error": Column("text", "type of the error"),
    "message": Column("text", "message of the error"),
    "item": Column("text", "the item that is missing"),
    "where": Column("text", "the place in the code; empty for errors in the input"),
}
_PLACE = ("level", "name", "variable", "model")
_INTERVAL = ("ci_low", "ci_high", "ci_level", "ci_method")
_TESTED = ("p_value", "p_adjusted")

TABLES: Mapping[str, TableRecord] = {
    "metrics": TableRecord(
        "tables/metrics.csv",
        "Every metric of the whole, of each region and of each tile; also as Parquet.",
        (
            *(*_PLACE, "metric", "value", "units", "bins", "group", *_INTERVAL, "n", "n_cells", "n_effective"),
            *("compare_on", "null", "resolution"),
        ),
    ),
    "bins": TableRecord(
        "tables/bins.csv",
        "Every bin of the predicted variance: the numbers of the reliability diagram.",
        (*_PLACE, "bins", "bin", "lower", "upper", "n", "mean_variance", "mse", "share", "edges"),
    ),
    "curves": TableRecord(
        "tables/curves.csv",
        "Every point of the calibration curves, PIT histograms, sparsification curves and coverages by group.",
        (*_PLACE, "curve", "x", "y"),
    ),
    "tests": TableRecord(
        "tables/tests.csv",
        "Tests of bias, spread and shape against a perfect forecaster.",
        (*_PLACE, "metric", "bins", "value", "ideal", *_TESTED, "n_effective"),
    ),
    "correlograms": TableRecord(
        "tables/correlograms.csv",
        "Correlation of the residuals of cells, by distance.",
        (*_PLACE, "residual", "lag_pixels", "lag_metres", "correlation", "pairs"),
    ),
    "blocks": TableRecord(
        "tables/blocks.csv",
        "The blocks of cells from which intervals are drawn.",
        (
            *(*_PLACE, "residual", "range_pixels", "range_metres", "n_cells", "n_effective", "n_blocks"),
            *("block_pixels", "block_metres", "capped", "widening"),
        ),
    ),
    "areas": TableRecord(
        "tables/areas.csv",
        "Predicted mean and total of the whole and of each region, with std and interval.",
        (
            *(
                "level",
                "name",
                "variable",
                "model",
                "threshold",
                "class",
                "units",
                "mean",
                *_INTERVAL,
                "std",
                "std_independent",
            ),
            *("std_fitted", "std_full", "freedom", "n", "n_independent", "mean_error"),
            *("area", "total", "total_low", "total_high", "total_units"),
        ),
    ),
    "aggregates": TableRecord(
        "tables/aggregates.csv",
        "Calibration and scores of means, and of areas above thresholds and of classes, by the size of the area, under "
        "each model of the correlation of errors.",
        (
            *("variable", "model", "threshold", "class", "kind", "side_cells", "side_metres", "n_areas", "metric"),
            *("units", "value", *_INTERVAL),
        ),
    ),
    "error_correlation": TableRecord(
        "tables/error_correlation.csv",
        "Parameters of the fitted correlation of errors.",
        ("variable", "model", "threshold", "class", "parameter", "value", "units", *_INTERVAL),
    ),
    "error_correlogram": TableRecord(
        "tables/error_correlogram.csv",
        "Correlation of z between pixels by distance, and of the fitted model.",
        (
            *("variable", "model", "threshold", "class", "same_tile", "distance", "correlation"),
            *("standard_error", "fitted", "fitted_error", "pairs"),
        ),
    ),
    "member_ranks": TableRecord(
        "tables/member_ranks.csv",
        "Ensembles: share of areas at each rank of the true mean among the means of the members, by size of the area.",
        ("variable", "model", "kind", "side_cells", "side_metres", "n_areas", "rank", "share", "ideal"),
    ),
    "shift": TableRecord(
        "tables/shift.csv",
        "With `splits`: each metric in and out of distribution, and the difference.",
        (
            *("variable", "model", "metric", "bins", "group", "units", "in", "out", "difference", *_INTERVAL),
            *(*_TESTED, "significant", "verdict", "n_in", "n_out"),
        ),
    ),
    "comparison": TableRecord(
        "tables/comparison.csv",
        "With several models: each metric of each model, and its difference from the first model.",
        (
            *(*_PLACE, "against", "metric", "bins", "group", "units", "value", "baseline", "difference", *_INTERVAL),
            *(*_TESTED, "better", "significant", "verdict", "n", "n_baseline"),
        ),
    ),
    "aggregate_comparison": TableRecord(
        "tables/aggregate_comparison.csv",
        "With several models: each metric of means and shares of areas of each model, "
        "and its difference from the first model, by the size of the area.",
        (
            *("variable", "model", "against", "threshold", "class", "kind", "side_cells", "side_metres", "n_areas"),
            *("metric", "units", "value", "baseline", "difference", *_INTERVAL, *_TESTED, "better", "significant"),
            "verdict",
        ),
    ),
    "excluded": TableRecord(
        "tables/excluded.csv",
        "Pixels that do not count, by tile, variable and reason.",
        ("tile", "variable", "model", "reason", "n"),
    ),
    "zones": TableRecord(
        "tables/zones.csv",
        "With polygons or classes: each region with the number of its tiles and pixels.",
        ("name", "layer", "tiles", "n_pixels"),
    ),
    "failures": TableRecord(
        "tables/failures.csv",
        "Tiles and items that are missing, and why.",
        ("tile", "stage", "error", "message", "item", "where"),
    ),
}
COLUMNS: Mapping[str, tuple[str, ...]] = {name: table.columns for name, table in TABLES.items()}
RECALIBRATION = TableRecord(
    "recalibration/recalibration.csv",
    "From `geouq recalibrate`: each metric before and after each correction.",
    (
        *(*_PLACE, "method", "judged", "metric", "bins", "units", "before", "after", "difference", *_INTERVAL),
        *(*_TESTED, "better", "significant", "n", "chosen"),
    ),
)
RECALIBRATED_AGGREGATES = TableRecord(
    "recalibration/aggregates.csv",
    "From `geouq recalibrate`: the same as in `tables/aggregates.csv`, before and after the chosen correction.",
    (
        *("variable", "model", "threshold", "method", "judged", "when", "kind", "side_cells", "side_metres"),
        *("n_areas", "metric", "units", "value", *_INTERVAL),
    ),
)
COMPARISON = TableRecord(
    "comparison/comparison.csv",
    "From `geouq compare`: each metric of each run, and its difference from the first run.",
    (
        *("level", "name", "variable", "metric", "bins", "group", "units", "run", "value", "baseline"),
        *("difference", *_INTERVAL, *_TESTED, "better", "significant", "verdict", "n", "n_baseline"),
    ),
)
COMPARED_AREAS = TableRecord(
    "comparison/aggregate_comparison.csv",
    "From `geouq compare`: each metric of means and shares of areas of each run, and "
    "its difference from the first run, by the size of the area.",
    (
        *("variable", "threshold", "class", "kind", "side_cells", "side_metres", "n_areas", "metric", "units", "run"),
        *("value", "baseline", "difference", *_INTERVAL, *_TESTED, "better", "significant", "verdict"),
    ),
)
