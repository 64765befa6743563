"""Means and totals of areas: how errors of pixels are correlated, and what follows for the mean of many."""

from geouq.aggregates.blocks import BlockMeans, sides_of
from geouq.aggregates.correlation import CorrelationModel
from geouq.aggregates.differences import ScaleDifference, differences_of_scale
from geouq.aggregates.evaluation import (
    Aggregates,
    AggregateSettings,
    Areas,
    aggregates_of,
    means_of_areas,
    scales_of,
    shares_of_areas,
)
from geouq.aggregates.known import KnownCorrelation, read_correlations
from geouq.aggregates.means import AreaMean
from geouq.aggregates.overstated import warning_of
from geouq.aggregates.rows import (
    TABLES,
    area_rows,
    correlation_name,
    models_as_json,
    scale_rows,
    tables_of_aggregates,
    write_models,
)
from geouq.aggregates.shares import Share, has_areas, shares_of

__all__ = [
    "TABLES",
    "AggregateSettings",
    "Aggregates",
    "AreaMean",
    "Areas",
    "BlockMeans",
    "CorrelationModel",
    "KnownCorrelation",
    "ScaleDifference",
    "Share",
    "aggregates_of",
    "area_rows",
    "correlation_name",
    "differences_of_scale",
    "has_areas",
    "means_of_areas",
    "models_as_json",
    "read_correlations",
    "scale_rows",
    "scales_of",
    "shares_of",
    "shares_of_areas",
    "sides_of",
    "tables_of_aggregates",
    "warning_of",
    "write_models",
]
