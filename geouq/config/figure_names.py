"""What figures there are: the name of each in files and on the command line, and what it shows in plain words."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class About:
    """A figure in words: its title, and what one sees in it, which serves as the text in its place."""

    title: str
    shows: str


FIGURES: Mapping[str, About] = {
    "reliability": About(
        "Reliability diagram of the variance",
        "Mean squared error against mean predicted variance in each bin, with the share of the pixels below. Points "
        "above the diagonal have errors larger than predicted.",
    ),
    "calibration": About(
        "Calibration curve",
        "Share of the truth below each predicted quantile, and its distance from the diagonal, on which a calibrated "
        "forecast lies.",
    ),
    "pit": About(
        "PIT histogram",
        "Histogram of the probability integral transform: flat if calibrated, high at both ends if over-confident, "
        "sloping if biased.",
    ),
    "ranks": About(
        "Ranks among the members",
        "Of an ensemble: where the truth lies among the members' means, and the PIT of the mixture where members have "
        "variances: flat if calibrated, high at both ends if over-confident, sloping if biased.",
    ),
    "error_by_std": About(
        "Error against predicted std",
        "Density of the size of the error against the predicted std, with its quantiles and those that a calibrated "
        "forecast would have.",
    ),
    "sparsification": About(
        "Sparsification curves",
        "RMSE of the remaining pixels when the most uncertain ones are left out, and the same in the best order.",
    ),
    "group_coverage": About(
        "Coverage by group",
        "Share of the truth inside the intervals, in groups of pixels by truth, mean, variance or class.",
    ),
    "std": About(
        "Predicted std by region",
        "Distribution of the predicted std in each region, with quantiles and the RMSE.",
    ),
    "regions": About(
        "Metrics by region",
        "A dot with its interval for each region and metric, sorted, with the ideal value.",
    ),
    "shift": About(
        "In and out of distribution",
        "Each metric in and out of the distribution of the training data, with the interval of the difference.",
    ),
    "before_after": About(
        "Before and after recalibration",
        "Reliability diagram and calibration curve before and after recalibration, side by side.",
    ),
    "cells": About(
        "Cell map",
        "Mean squared z of every cell on a map, in colours around 1: red where errors are larger than predicted, blue "
        "where they are smaller. "
        "Of quantiles it is their CRPS, and of classes the Brier score.",
    ),
    "correlogram": About(
        "Correlogram of the residuals",
        "Correlation between cells of what each adds to the mean error, squared error and squared z, by distance.",
    ),
}
