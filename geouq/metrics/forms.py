"""The metrics of each form in which a forecast may be given."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from geouq.metrics import classes, ensemble, quantiles
from geouq.metrics.registry import (
    BRIER,
    GNEITING,
    KULESHOV,
    METRICS,
    MURPHY,
    STEPHENSON,
    Choices,
    Metric,
    Value,
    evaluate_metric,
)
from geouq.summary import Summary
from geouq.summary.form import PIT_BINS, Classes, Ensemble, Form, Quantiles, Split

Floats = NDArray[np.float64]

FERRO = "Ferro 2014"
GRIMIT = "Grimit et al. 2006"
FORTIN = "Fortin et al. 2014"
OSBAND = "Osband et al. 2022, arXiv 2110.04629"
KOENKER = "Koenker and Bassett 1978"
RANJAN = "Gneiting and Ranjan 2011"
BRACHER = "Bracher et al. 2021"
GUO = "Guo et al. 2017, arXiv 1706.04599"
KULL = "Kull et al. 2019, arXiv 1910.12656"
DEFINITION = "definition"

PARTS = (
    Metric("variance_aleatoric", ensemble.variance_aleatoric, "V_a", "unit^2", "none", "noisy", DEFINITION),
    Metric("variance_epistemic", ensemble.variance_epistemic, "V_e", "unit^2", "none", "members differ", DEFINITION),
    Metric("aleatoric_share", ensemble.aleatoric_share, "V_a/V", "1", "none", "noise prevails", DEFINITION),
    Metric("epistemic_share", ensemble.epistemic_share, "V_e/V", "1", "none", "ignorance prevails", DEFINITION),
)
JOINT = (
    Metric("joint_log_loss", ensemble.joint_log_loss, "L_10", "1", "small", "worse", OSBAND),
    Metric("joint_log_loss_gain", ensemble.joint_log_loss_gain, "10 L_1 - L_10", "1", "large", "better", OSBAND),
)
DRAWS = (Metric("crps_ensemble", ensemble.crps_ensemble, "fair CRPS", "unit", "small", "worse", FERRO),)
DENSITIES = (Metric("crps_mixture", ensemble.crps_mixture, "CRPS", "unit", "small", "worse", GRIMIT),)
MEMBERS = (
    Metric("spread_skill", ensemble.spread_skill, "spread/RMSE", "1", "1", "over-dispersive", FORTIN),
    Metric(
        "mixture_coverage", ensemble.mixture_coverage, "coverage", "1", "level", "covers too much", DEFINITION, "level"
    ),
    Metric(
        "mixture_coverage_above",
        ensemble.mixture_coverage_above,
        "above",
        "1",
        "(1-level)/2",
        "truth escapes upwards",
        DEFINITION,
        "level",
    ),
    Metric(
        "mixture_coverage_below",
        ensemble.mixture_coverage_below,
        "below",
        "1",
        "(1-level)/2",
        "truth escapes downwards",
        DEFINITION,
        "level",
    ),
)
MARGINAL = (Metric("marginal_log_loss", ensemble.marginal_log_loss, "L_1", "1", "small", "worse", OSBAND),)
QUANTILES = (
    Metric("pinball", quantiles.pinball, "pinball", "unit", "small", "worse", KOENKER, "quantile"),
    Metric("pinball_mean", quantiles.pinball_mean, "pinball", "unit", "small", "worse", KOENKER),
    Metric("crps_quantiles", quantiles.crps_quantiles, "2 x pinball", "unit", "small", "worse", RANJAN),
    Metric("crps_integral", quantiles.crps_integral, "CRPS_i", "unit", "small", "worse", GNEITING),
    Metric("crps_integral_normalized", quantiles.crps_integral_normalized, "CRPS_i/s", "1", "small", "worse", GNEITING),
    Metric("wis", quantiles.wis, "WIS", "unit", "small", "worse", BRACHER),
    Metric(
        "quantile_coverage", quantiles.quantile_coverage, "P(y <= q)", "1", "level", "too high", KULESHOV, "quantile"
    ),
    Metric("coverage", quantiles.pair_coverage, "coverage", "1", "level", "covers too much", DEFINITION, "pair"),
    Metric(
        "coverage_above",
        quantiles.pair_coverage_above,
        "above",
        "1",
        "(1-level)/2",
        "truth escapes upwards",
        DEFINITION,
        "pair",
    ),
    Metric(
        "coverage_below",
        quantiles.pair_coverage_below,
        "below",
        "1",
        "(1-level)/2",
        "truth escapes downwards",
        DEFINITION,
        "pair",
    ),
    Metric("width", quantiles.pair_width, "width", "unit", "small", "wide", DEFINITION, "pair"),
    Metric("interval_score", quantiles.pair_interval_score, "IS", "unit", "small", "worse", GNEITING, "pair"),
    Metric("crossing", quantiles.crossing, "crossing", "1", "0", "quantiles out of order", DEFINITION),
)
CLASSES = (
    Metric("brier", classes.brier, "BS", "1", "small", "worse", BRIER),
    Metric("brier_reliability", classes.brier_reliability, "REL", "1", "0", "probabilities mislead", MURPHY),
    Metric("brier_resolution", classes.brier_resolution, "RES", "1", "large", "they tell apart", MURPHY),
    Metric("brier_uncertainty", classes.brier_uncertainty, "UNC", "1", "none", "hard to foretell", MURPHY),
    Metric("brier_within", classes.brier_within, "WB", "1", "none", "bins are coarse", STEPHENSON),
    Metric("log_loss", classes.log_loss, "log loss", "1", "small", "worse", GNEITING),
    Metric("impossible", classes.impossible, "p = 0", "1", "0", "rules out what is there", "Good 1952"),
    Metric("accuracy", classes.accuracy, "accuracy", "1", "1", "never", DEFINITION),
    Metric("confidence", classes.confidence, "confidence", "1", "none", "sure", GUO),
    Metric("ece", classes.ece, "ECE", "1", "0", "confidence misleads", GUO),
    Metric("ece_classwise", classes.ece_classwise, "ECE_c", "1", "0", "probabilities mislead", KULL),
)
FORM_METRICS = (*DRAWS, *DENSITIES, *MEMBERS, *MARGINAL, *JOINT, *PARTS, *QUANTILES, *CLASSES)


def has_variance(form: Form | None) -> bool:
    """Whether a forecast of that form has a variance, so that bins, curves and maps of it have a meaning."""
    return form is None or not form.alone


def metrics_of(form: Form | None) -> tuple[Metric, ...]:
    """All metrics that a forecast of that form has; None for one by mean and variance alone.

    The joint log-loss needs members that have densities, or a variance that is split into its parts.
    """
    match form:
        case Ensemble(densities=True):
            return (*METRICS, *DENSITIES, *MEMBERS, *MARGINAL, *JOINT, *PARTS)
        case Ensemble():
            return (*METRICS, *DRAWS, *MEMBERS)
        case Split():
            return (*METRICS, *JOINT, *PARTS)
        case Quantiles():
            return QUANTILES
        case Classes():
            return CLASSES
    return METRICS


def evaluate_metrics(summary: Summary, choices: Choices) -> Iterator[Value]:
    """Every metric of the form that is chosen, for every choice, in their order."""
    for metric in metrics_of(choices.form):
        yield from evaluate_metric(metric, summary, choices)


def form_curves(summary: Summary) -> Iterator[tuple[str, Floats, Floats]]:
    """Name, x and y of the curves of a form: ranks of the truth, coverage of quantiles, reliability of classes."""
    match summary.given_as:
        case Ensemble() as form:
            shares = ensemble.rank_histogram(summary)
            yield "rank_histogram", np.arange(form.members + 1.0), (form.members + 1) * shares
            pit = ensemble.mixture_pit(summary)
            yield "mixture_pit_histogram", (np.arange(PIT_BINS) + 0.5) / PIT_BINS, PIT_BINS * pit
        case Quantiles() as form:
            shares = np.array([quantiles.quantile_calibration(summary, level) for level in form.levels])
            yield "quantile_calibration", np.array(form.levels), shares
        case Classes() as form:
            _, probability, frequency = classes.reliability(summary)
            for name, x, y in zip(form.names, probability, frequency, strict=True):
                yield f"reliability_{name}", x, y
