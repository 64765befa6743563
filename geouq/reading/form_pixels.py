"""Pixels of ensembles, quantiles and class probabilities: what stands for mean and variance, and how they are added.

The mean of an ensemble is that of its mixture, and so is the variance. Quantiles and probabilities have no variance;
their error is that of the median, or of the probability of the true class, which ought to be 1.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import DTypeLike, NDArray

from geouq.errors import DataError
from geouq.kernel import CellSums, Pixels, Sampled, Totals
from geouq.kernel.classes import WORK as CLASSES_WORK
from geouq.kernel.classes import add_classes, matched
from geouq.kernel.ensemble import WORK as ENSEMBLE_WORK
from geouq.kernel.ensemble import Wanted, add_ensemble, add_split, fair_crps_of, mixed, wanted_of
from geouq.kernel.gather import Gathered, Layers, comparators, mark_not_finite, new_gathered, slabs_of
from geouq.kernel.quantiles import WORK as QUANTILES_WORK
from geouq.kernel.quantiles import add_losses, add_quantiles
from geouq.summary.form import TAU, Classes, Ensemble, Form, Quantiles, Split
from geouq.validity import NOT_FINITE, Nodata

Values = NDArray[np.floating]
Ints = NDArray[np.int64]
Box = tuple[int, int, int, int]

NO_NUMBER: NDArray[np.uint64] = np.empty(0, np.uint64)
IN_ORDER: NDArray[np.uint8] = np.empty(0, np.uint8)
NO_LAYERS = Layers(np.empty((0, 0), np.float32), np.empty((0, 0), np.float32), NO_NUMBER)
WORK = {"ensemble": ENSEMBLE_WORK, "split": 0, "quantiles": QUANTILES_WORK, "classes": CLASSES_WORK}


@dataclass(frozen=True)
class FormPixels:
    """Pixels in one dimension, with what stands for mean and variance; status : uint8, empty where all are in order."""

    mean: Values
    variance: Values
    truth: Values
    status: NDArray[np.uint8]
    layers: Layers


def form_pixels(
    form: Form,
    values: Values,
    more: Values,
    truth: Values,
    number: NDArray[np.uint64] = NO_NUMBER,
    *,
    missing: int = NOT_FINITE,
) -> FormPixels:
    """Pixels of a form; values, more (layers, pixels) as of `Layers`, NaN where they say nothing, truth (pixels).

    Of classes, `more` is (0, pixels). missing : the reason of pixels of which one quantile is NaN.
    """
    match form:
        case Ensemble():
            mean, variance = np.empty(truth.shape), np.empty(truth.shape)
            mixed(values, more, mean, variance)
            return FormPixels(mean, variance, truth, IN_ORDER, Layers(values, more, number))
        case Split():
            variance = np.where(more[0] > 0, more.sum(0, dtype=np.float64), more[0])
            variance = np.where(more[1] < 0, more[1], variance)
            return FormPixels(values[0], variance, truth, IN_ORDER, Layers(values, more, number))
        case Quantiles():
            status, middle = np.zeros(truth.shape, np.uint8), len(form.levels) // 2
            mark_not_finite(values, status, missing + 1)
            mean = values[middle] if len(form.levels) % 2 else (values[middle - 1] + values[middle]) / 2
            return FormPixels(mean, _ones(len(truth)), truth, status, Layers(values, more, number))
        case Classes():
            status = np.zeros(truth.shape, np.uint8)
            mean, own = np.empty(truth.shape, values.dtype), np.empty((1, len(truth)), values.dtype)
            matched(values, truth, np.array(form.codes), status, mean, own[0])
            return FormPixels(mean, _ones(len(truth)), truth * 0 + 1, status, Layers(values, own, number))


@lru_cache(maxsize=4)
def _ones(count: int) -> Values:
    """Not to be written to."""
    return np.ones(count, np.float32)


_of_thread = threading.local()


def add_form(
    form: Form,
    layers: Layers,
    part: tuple[Pixels, int, Nodata, Box],
    place: tuple[int, int, int],
    room: tuple[CellSums, Totals, Sampled],
) -> None:
    """Add a box of pixels to the sums of its cells; part and place (column, across, cell size) as of `sweep_box`."""
    pixels, columns, nodata, box = part
    cells, totals, sampled = room
    own = pixels, columns, nodata, slabs_of(box, *place), layers
    into = _gathered(form.kind, layers.values, len(layers.more))
    match form:
        case Ensemble():
            add_ensemble(*own, _asked(form), into, cells.form, sampled)
        case Split():
            add_split(*own, _shares(), into, cells.form)
        case Quantiles():
            add_quantiles(*own, np.array(form.levels), _comparators(len(form.levels)), into, cells, totals)
        case Classes():
            first = form.places["by_class"].start, form.places["top"].start
            add_classes(*own, *first, into, cells, totals)


def _gathered(kind: str, values: Values, more: int) -> Gathered:
    """Buffers of this thread."""
    wanted = kind, len(values), more, values.dtype
    if getattr(_of_thread, "wanted", None) != wanted:
        _of_thread.gathered, _of_thread.wanted = new_gathered(*wanted[1:3], WORK[kind], values.dtype), wanted
    gathered: Gathered = _of_thread.gathered
    return gathered


@lru_cache(maxsize=8)
def _asked(form: Ensemble) -> Wanted:
    return wanted_of(form, _comparators(form.members))


@lru_cache(maxsize=8)
def _comparators(count: int) -> Ints:
    return comparators(count)


@lru_cache(maxsize=1)
def _shares() -> NDArray[np.float64]:
    """Probability that k of `TAU` observations are of one of two pixels."""
    return np.array([comb(TAU, k) / 2**TAU for k in range(TAU + 1)])


def taken(layers: Layers, places: Ints) -> Layers:
    """Return the layers of the pixels at these places, side by side."""
    own = layers.first + places
    values, more = np.ascontiguousarray(layers.values[:, own]), np.ascontiguousarray(layers.more[:, own])
    return Layers(values, more, layers.number[own] if layers.number.size else layers.number)


def stacked(layers: Sequence[Values], pixels: int, dtype: DTypeLike) -> Values:
    """Layers as rows of one array (layers, pixels); where they are the rows of one already, that one."""
    if _are_rows(layers, np.dtype(dtype)):
        return as_strided(layers[0], (len(layers), pixels), (layers[0].nbytes, layers[0].itemsize))
    out = np.empty((len(layers), pixels), dtype)
    for row, layer in zip(out, layers, strict=True):
        row[:] = layer.ravel()
    return out


def _are_rows(layers: Sequence[Values], dtype: np.dtype[Any]) -> bool:
    """Whether layers lie one behind the other in the memory of one array of that type."""
    if not layers or layers[0].base is None:
        return False
    owner, start = layers[0].base, layers[0].ctypes.data
    return all(
        layer.base is owner
        and layer.dtype == dtype
        and layer.flags.carray
        and layer.ctypes.data == start + place * layers[0].nbytes
        for place, layer in enumerate(layers)
    )


def pinball_losses(values: Values, levels: Values, truth: Values) -> NDArray[np.float64]:
    """Mean pinball loss of each quantile over all pixels, values (levels, pixels); NaN where one says nothing."""
    above, over = np.zeros(len(levels)), np.zeros(len(levels))
    add_losses(values, truth, above, over)
    return (levels * above + over) / len(truth)


def fair_crps(members: Values, truth: Values) -> NDArray[np.float64]:
    """Fair CRPS of each pixel, members (K, ...) and truth (...), in the variable's unit; NaN where one of them is.

    Raises DataError for fewer than two members, or other shapes.

    >>> fair_crps(np.array([[0.0], [2.0], [3.0]]), np.array([1.0])).tolist()
    [0.333333333333]
    """
    members, truth = np.asarray(members), np.asarray(truth)
    if len(members) < 2 or members.shape[1:] != truth.shape:
        raise DataError(
            f"members have the shape {members.shape} and truth {truth.shape}; give two members or more along the first "
            "dimension, each of the shape of truth"
        )
    rows: Values = np.ascontiguousarray(members, np.float32 if members.dtype == np.float32 else np.float64)
    rows = rows.reshape(len(rows), -1)
    out = np.empty(truth.size)
    into = _gathered("ensemble", rows, 0)
    fair_crps_of(rows, np.ascontiguousarray(truth).ravel(), _comparators(len(rows)), into, out)
    return out.reshape(truth.shape)
