"""Means and totals of areas: how errors of pixels are correlated, and what follows for the mean of many."""

from geouq.aggregates.correlation import CorrelationModel
from geouq.aggregates.evaluation import Aggregates, AggregateSettings, Areas, aggregates_of
from geouq.aggregates.means import AreaMean
from geouq.aggregates.rows import TABLES, tables_of_aggregates, write_models

__all__ = [
    "TABLES",
    "AggregateSettings",
    "Aggregates",
    "AreaMean",
    "Areas",
    "CorrelationModel",
    "aggregates_of",
    "tables_of_aggregates",
    "write_models",
]
