"""What ensembles are worth: of the mixture of all members itself, not of the normal distribution that is like it."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from geouq.core.compiled import compiled
from geouq.core.errors import SummaryError
from geouq.metrics.form_curves import Curve, curves_of
from geouq.metrics.form_sums import counted, mean_of, sums_of
from geouq.metrics.record import IN_COMPARISONS, IN_DIFFERENCES, NOT_NEGATIVE, SHARE, AroundValue, Ratio, Span, metric
from geouq.metrics.sources import DEFINITION, OSBAND
from geouq.summary import Summary
from geouq.summary.form import PIT_BINS, TAU
from geouq.summary.joint_sample import JointSample

Floats = NDArray[np.float64]

ONE_VARIANCE = (
    f"the joint log-loss of a forecast with one variance is {TAU} times its marginal log-loss, and tells nothing more; "
    "give the variance of each member, or its aleatoric and epistemic parts"
)
NO_DENSITY = "members without a variance of their own have no density; give one for each member"


@metric(
    "fair CRPS",
    unit="unit",
    ideal="small",
    above="worse",
    source="Ferro 2014",
    forms=("members",),
    bounds=NOT_NEGATIVE,
    heading="fair CRPS of members",
    rank=20,
    shown=IN_DIFFERENCES,
)
def crps_ensemble(summary: Summary) -> Floats:
    """Mean fair CRPS of members without variances; the variable's unit, small is good.

    Mean |x - y| less half the mean distance between two different members, so that its expectation does not depend on
    their number. Ferro 2014. Raises SummaryError where members have variances: the fair CRPS of their means ignores
    these, and is not proper there.
    """
    if _has_densities(summary):
        raise SummaryError("crps_ensemble is of members without variances, and these have some; use crps_mixture")
    return mean_of(summary, "ensemble", "crps")


@metric(
    "CRPS",
    unit="unit",
    ideal="small",
    above="worse",
    source="Grimit et al. 2006",
    forms=("densities",),
    bounds=NOT_NEGATIVE,
    heading="CRPS of the mixture",
    rank=21,
    shown=IN_DIFFERENCES,
)
def crps_mixture(summary: Summary) -> Floats:
    """Mean CRPS of the mixture of members with variances; the variable's unit, small is good.

    In closed form: with A(m, v) = E|X| of X ~ N(m, v), the mean of A(y - mean_k, v_k) less half the mean of
    A(mean_j - mean_k, v_j + v_k) over all pairs of members. Grimit et al. 2006. Raises SummaryError where members have
    no variances.
    """
    if not _has_densities(summary):
        raise SummaryError("crps_mixture is of members with variances, and these have none; use crps_ensemble")
    return mean_of(summary, "ensemble", "crps")


@metric(
    "spread/RMSE",
    unit="1",
    ideal="1",
    above="over-dispersive",
    source="Fortin et al. 2014",
    forms=("members", "densities"),
    bounds=NOT_NEGATIVE,
    scale=Ratio(2.0),
    heading="spread / skill",
    rank=22,
    shown=IN_COMPARISONS,
)
def spread_skill(summary: Summary) -> Floats:
    """Root mean variance of forecast and truth about the mean, by RMSE; unit 1, ideal 1, above is over-dispersive.

    The epistemic variance of K members counts (K + 1) / (K - 1) times, as K draws and their mean differ from the truth
    by that on average. Fortin et al. 2014.
    """
    sums = sums_of(summary, "ensemble")
    members = sums.form.layers
    variance = sums.of("aleatoric") + (members + 1) / (members - 1) * sums.of("epistemic")
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(variance / counted(summary) / summary.moments.mean_square("error")))


@metric(
    "coverage",
    unit="1",
    ideal="level",
    above="covers too much",
    source=DEFINITION,
    forms=("members", "densities"),
    choice="level",
    bounds=SHARE,
)
def mixture_coverage(summary: Summary, level: float) -> Floats:
    """Share of truth within the central interval of the mixture, by its distribution function; unit 1, ideal level.

    Where members have no variances, the interval lies between two of them: the lowest that as many do not lie above as
    the level asks for, at either end.
    """
    return 1 - mixture_coverage_below(summary, level) - mixture_coverage_above(summary, level)


@metric(
    "above",
    unit="1",
    ideal="(1-level)/2",
    above="truth escapes upwards",
    source=DEFINITION,
    forms=("members", "densities"),
    choice="level",
    bounds=SHARE,
)
def mixture_coverage_above(summary: Summary, level: float) -> Floats:
    """Share of truth above the central interval of the mixture; unit 1, ideal (1 - level) / 2."""
    return mean_of(summary, "ensemble", "above")[..., summary.level_index(level)]


@metric(
    "below",
    unit="1",
    ideal="(1-level)/2",
    above="truth escapes downwards",
    source=DEFINITION,
    forms=("members", "densities"),
    choice="level",
    bounds=SHARE,
)
def mixture_coverage_below(summary: Summary, level: float) -> Floats:
    """Share of truth below the central interval of the mixture; unit 1, ideal (1 - level) / 2."""
    return mean_of(summary, "ensemble", "below")[..., summary.level_index(level)]


@metric(
    "L_1",
    unit="1",
    ideal="small",
    above="worse",
    source=OSBAND,
    forms=("densities",),
    scale=AroundValue(2.0),
    heading="log-loss",
    rank=24,
    shown=("page", "table", "comparison", "regions"),
)
def marginal_log_loss(summary: Summary) -> Floats:
    """Mean of -log (1/K) sum_k p_k(y), the mixture's density; unit 1, small is good (Osband et al. 2022).

    Raises SummaryError where members have no variances.
    """
    if not _has_densities(summary):
        raise SummaryError(NO_DENSITY)
    return mean_of(summary, "ensemble", "log_loss")


@metric(
    "L_10",
    unit="1",
    ideal="small",
    above="worse",
    source=OSBAND,
    forms=("densities", "split"),
    of_pairs=lambda losses: losses[TAU],
    heading="joint log-loss",
    rank=25,
    shown=(*IN_COMPARISONS, "regions"),
)
def joint_log_loss(summary: Summary) -> Floats:
    """Mean -log joint density of 10 observations at two random pixels; unit 1, small is good (Osband et al. 2022).

    For two pixels, the expectation over k ~ Bin(10, 1/2) of -log (1/K) sum_k p_k(y1)^k p_k(y2)^(10-k), of a sample of
    2048 pixels in the order of their hashed numbers, each with the next; weights do not count. Where a forecast is
    split into aleatoric and epistemic variance, in closed form, of all pixels: all observations at one pixel share one
    epistemic error. Raises SummaryError where there is one variance alone.
    """
    if summary.kind == "split":
        return 2 * mean_of(summary, "split", "joint")
    return np.asarray(joint_loss_of(_sample(summary), TAU))


@metric(
    "10 L_1 - L_10",
    unit="1",
    ideal="large",
    above="better",
    source=OSBAND,
    forms=("densities", "split"),
    of_pairs=lambda losses: TAU * losses[1] - losses[TAU],
)
def joint_log_loss_gain(summary: Summary) -> Floats:
    """What the joint log-loss is below 10 marginal ones of the same pixels; unit 1, large is good.

    It is 0 for a forecast that learns nothing about a pixel from another pixel.
    """
    if summary.kind == "split":
        return TAU * summary.moments.mean("nll") - joint_log_loss(summary)
    sample = _sample(summary)
    return np.asarray(TAU * joint_loss_of(sample, 1) - joint_loss_of(sample, TAU))


@metric(
    "V_a",
    unit="unit^2",
    ideal="none",
    above="noisy",
    source=DEFINITION,
    forms=("densities", "split"),
    bounds=NOT_NEGATIVE,
)
def variance_aleatoric(summary: Summary) -> Floats:
    """Mean of the aleatoric variance, of an ensemble the mean of its members' variances; the unit squared."""
    return mean_of(summary, ("ensemble", "split"), "aleatoric")


@metric(
    "V_e",
    unit="unit^2",
    ideal="none",
    above="members differ",
    source=DEFINITION,
    forms=("densities", "split"),
    bounds=NOT_NEGATIVE,
)
def variance_epistemic(summary: Summary) -> Floats:
    """Mean of the epistemic variance, of an ensemble the population variance of its members' means; unit squared."""
    return mean_of(summary, ("ensemble", "split"), "epistemic")


@metric(
    "V_a/V",
    unit="1",
    ideal="none",
    above="noise dominates",
    source=DEFINITION,
    forms=("densities", "split"),
    bounds=SHARE,
    scale=Span(0.0, 1.0),
)
def aleatoric_share(summary: Summary) -> Floats:
    """Share of the predicted variance that is aleatoric; unit 1."""
    return 1 - epistemic_share(summary)


@metric(
    "V_e/V",
    unit="1",
    ideal="none",
    above="model uncertainty dominates",
    source=DEFINITION,
    forms=("densities", "split"),
    bounds=SHARE,
    scale=Span(0.0, 1.0),
    heading="epistemic share",
    percent="%",
    rank=23,
    shown=("page", "table", "summary"),
)
def epistemic_share(summary: Summary) -> Floats:
    """Share of the predicted variance that is epistemic; unit 1."""
    aleatoric, epistemic = variance_aleatoric(summary), variance_epistemic(summary)
    return np.asarray(epistemic / (aleatoric + epistemic))


def rank_histogram(summary: Summary) -> Floats:
    """Return the share of truth at each rank among the K members, (..., K + 1), 1 / (K + 1) each when calibrated.

    Rank k has k members below the truth. Truth that equals members counts in equal shares at all ranks that it may
    have, so that calibrated forecasts of discrete truth are flat too. Hamill 2001.
    """
    return mean_of(summary, "ensemble", "ranks") + mean_of(summary, "ensemble", "rank_residues")


def mixture_pit(summary: Summary) -> Floats:
    """Return the share of truth in each of 20 bins of the mixture's distribution function, (..., 20).

    Of members without variances it is the non-randomised PIT (Czado et al. 2009): truth with k members below it and t
    equal to it is spread evenly from k / (K + 1) to (k + t + 1) / (K + 1).
    """
    if _has_densities(summary):
        return mean_of(summary, "ensemble", "pit")
    ranks = rank_histogram(summary)
    up_to = np.concatenate([np.zeros((*ranks.shape[:-1], 1)), np.cumsum(ranks, -1)], axis=-1)
    place = np.arange(PIT_BINS + 1) * (ranks.shape[-1] / PIT_BINS)
    below = np.minimum(place.astype(int), ranks.shape[-1] - 1)
    return np.diff(up_to[..., below] + (place - below) * ranks[..., below], axis=-1)


@curves_of("ensemble")
def ensemble_curves(summary: Summary) -> Iterator[Curve]:
    """Yield the densities of the ranks of the truth and of the mixture's PIT, 1 when calibrated."""
    shares, pit = rank_histogram(summary), mixture_pit(summary)
    yield "rank_histogram", np.arange(float(len(shares))), len(shares) * shares
    yield "mixture_pit_histogram", (np.arange(PIT_BINS) + 0.5) / PIT_BINS, PIT_BINS * pit


def _has_densities(summary: Summary) -> bool:
    """Return whether the members have variances; SummaryError where the forecast is no ensemble."""
    return sums_of(summary, "ensemble").form.sampled_members > 0


def _sample(summary: Summary) -> JointSample:
    """Return the pixels for the joint log-loss; SummaryError where there are none."""
    if summary.form is None:
        raise SummaryError(ONE_VARIANCE)
    form = sums_of(summary, "ensemble")
    if not _has_densities(summary):
        raise SummaryError(f"{NO_DENSITY}; {ONE_VARIANCE}")
    if form.sample is None:
        raise SummaryError("the joint log-loss does not follow from cells, which keep no pixels")
    return form.sample


def joint_loss_of(sample: JointSample, count: int) -> float:
    """Mean joint log-loss of that many observations over pairs of pixels, each with the next; NaN below two pixels.

    >>> both = np.log([[0.8, 0.4], [0.3, 0.9]])
    >>> joint_loss_of(JointSample(np.arange(2, dtype=np.uint64), both), 10)
    5.2361771147
    """
    return float(joint_losses_of(sample, count).mean()) if len(sample.number) > 1 else float("nan")


def joint_losses_of(sample: JointSample, count: int) -> Floats:
    """Joint log-loss of that many observations of each pixel and the next, of the last and the first, (pixels)."""
    losses = np.empty(len(sample.number))
    _joint_losses(sample.log_density, count, losses)
    return losses


@compiled
def _joint_losses(log_density: Floats, count: int, losses: Floats) -> None:
    pixels, members = log_density.shape
    for i in range(pixels):
        one, other = log_density[i], log_density[(i + 1) % pixels]
        share, losses[i] = 0.5**count, 0.0
        for k in range(count + 1):
            highest, mean = -np.inf, 0.0
            for j in range(members):
                highest = max(highest, k * one[j] + (count - k) * other[j])
            for j in range(members):
                mean += np.exp(k * one[j] + (count - k) * other[j] - highest)
            losses[i] -= share * (highest + np.log(mean / members))
            share *= (count - k) / (k + 1)
