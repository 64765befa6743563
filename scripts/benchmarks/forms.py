"""Ensembles, quantiles and probabilities in memory, one thread, against peers that have the same arrays."""

import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.choices import Choice
from benchmarks.measure import RATIO, Table, compare, ratio_row
from geouq import classes, ensemble, quantiles

Singles = NDArray[np.float32]
MEMBERS, CLASSES = 15, 6
LEVELS = (0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.95)
BINS = 10


def forms_section(choice: Choice) -> Table:
    """Time of each peer by the time of the same, or more, with geouq."""
    side = choice.kernel_size
    pairs = [*_of_ensembles(side), *_of_quantiles(side), *_of_classes(side)]
    rows = []
    for what, peer, ours, target in pairs:
        ratio = "not installed" if peer is None else compare(peer, ours, choice.times(), time.process_time)
        rows.append(ratio_row(what, ratio, target))
    return Table(
        "Ensembles, quantiles, probabilities: peer / geouq",
        f"One variable of {side**2 / 1e6:.1f} million pixels in memory, float32, one thread; {MEMBERS} members, "
        f"{len(LEVELS)} quantiles, {CLASSES} classes. By the processor's time.",
        ("peer / geouq", *RATIO),
        tuple(rows),
    )


Pair = tuple[str, Callable[[], object] | None, Callable[[], object], str]


def _of_ensembles(side: int) -> list[Pair]:
    members, truth = _drawn(MEMBERS, side)
    crps = _optional("scoringrules", "crps_ensemble")
    lanes = np.ascontiguousarray(np.moveaxis(members, 0, -1))
    peer = crps and partial(crps, truth, lanes, estimator="fair", backend="numba")
    return [
        ("scoringrules' fair CRPS / fair CRPS", peer, partial(ensemble.fair_crps, members, truth), ">= 3"),
        ("scoringrules' fair CRPS / all of an ensemble", peer, partial(ensemble.summarize, members, truth), ""),
    ]


def _of_quantiles(side: int) -> list[Pair]:
    values, truth = _drawn(len(LEVELS), side)
    values.sort(axis=0)
    loss = _optional("sklearn.metrics", "mean_pinball_loss")
    flat = values.reshape(len(LEVELS), -1)
    peer = loss and partial(_each_level, loss, flat, truth.ravel())
    return [
        ("scikit-learn's pinball / pinball", peer, partial(quantiles.mean_pinball, values, LEVELS, truth), ">= 5"),
        ("scikit-learn's pinball / all of quantiles", peer, partial(quantiles.summarize, values, LEVELS, truth), ""),
    ]


def _each_level(loss: Callable[..., float], values: Singles, truth: Singles) -> list[float]:
    return [loss(truth, own, alpha=level) for level, own in zip(LEVELS, values, strict=True)]


def _of_classes(side: int) -> list[Pair]:
    rng = np.random.default_rng(1)
    values = np.exp(2 * rng.standard_normal((CLASSES, side, side))).astype(np.float32)
    values /= values.sum(0)
    truth = rng.integers(0, CLASSES, (side, side)).astype(np.float32)
    ours = partial(classes.summarize, values, truth)
    what = "numpy's Brier score and its parts{} / all of probabilities"
    return [
        (what.format(""), partial(brier_in_numpy, values, truth), ours, ">= 5"),
        (what.format(", a class at a time"), partial(brier_by_class, values, truth), ours, ">= 5"),
    ]


def brier_in_numpy(probabilities: Singles, truth: Singles) -> NDArray[np.float64]:
    """Brier score, reliability, resolution, uncertainty and what is within bins, all classes at once."""
    count = len(probabilities)
    p = probabilities.reshape(count, -1).astype(np.float64)
    o = (truth.ravel() == np.arange(count)[:, np.newaxis]).astype(np.float64)
    place = np.minimum((p * BINS).astype(np.int64), BINS - 1) + BINS * np.arange(count)[:, np.newaxis]
    n, sp, so, spp, spo = (
        np.bincount(place.ravel(), weights=None if w is None else w.ravel(), minlength=count * BINS)
        for w in (None, p, o, p * p, p * o)
    )
    used, pixels = n > 0, p.shape[1]
    n, sp, so, spp, spo = (column[used] for column in (n, sp, so, spp, spo))
    rate = np.repeat(o.mean(1), BINS)[used]
    reliability = ((sp - so) ** 2 / n).sum() / pixels
    resolution = (n * (so / n - rate) ** 2).sum() / pixels
    within = (spp - sp**2 / n - 2 * (spo - sp * so / n)).sum() / pixels
    uncertainty = (o.mean(1) * (1 - o.mean(1))).sum()
    return np.array([((p - o) ** 2).sum() / pixels, reliability, resolution, uncertainty, within])


def brier_by_class(probabilities: Singles, truth: Singles) -> NDArray[np.float64]:
    """Return the same numbers with arrays of one class at a time, which take less memory and time."""
    parts = [brier_in_numpy(own[np.newaxis], truth.ravel() - k) for k, own in enumerate(probabilities)]
    return np.sum(parts, axis=0)


def _drawn(layers: int, side: int) -> tuple[Singles, Singles]:
    rng = np.random.default_rng(0)
    return (
        rng.standard_normal((layers, side, side), np.float32),
        rng.standard_normal((side, side), np.float32),
    )


def _optional(module: str, name: str) -> Callable[..., Any] | None:
    try:
        found: Callable[..., Any] = getattr(import_module(module), name)
    except ImportError:
        return None
    return found
