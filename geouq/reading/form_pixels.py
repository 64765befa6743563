"""Pixels of predictions that are given by layers: what stands for mean and variance, and how they are added."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import DTypeLike, NDArray

from geouq.core.grid import Places
from geouq.core.validity import NOT_FINITE, Nodata
from geouq.forms import KernelForm, PixelForm
from geouq.kernel import CellSums, Pixels, Sampled, Totals, collect_by_cell
from geouq.kernel.gather import Layers, slabs_of
from geouq.summary.form import Form, Values

Rectangle = tuple[int, int, int, int]

NO_NUMBER: NDArray[np.uint64] = np.empty(0, np.uint64)
NO_LAYERS = Layers(np.empty((0, 0), np.float32), np.empty((0, 0), np.float32), NO_NUMBER)


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
    rounding: float = 0.0,
) -> FormPixels:
    """Return the pixels of a form; values, more (layers, pixels) as of `Layers`, truth (pixels).

    missing : reason for the exclusion of pixels without a layer, for forms that distinguish it. rounding : most by
    which the sum of the layers is off because they are stored as scaled integers.
    """
    assert isinstance(form, (KernelForm, PixelForm))  # noqa: S101  others are not read by layers
    if isinstance(form, KernelForm):
        found = form.prepared(values, more, truth, missing, rounding)
    else:
        found = form.prepared(values, more, truth, missing)
    layers = Layers(values, more if found.more is None else found.more, number)
    return FormPixels(found.mean, found.variance, found.truth, found.status, layers)


def add_form(
    form: Form,
    layers: Layers,
    part: tuple[Pixels, int, Nodata, Rectangle],
    place: tuple[int, int, int],
    room: tuple[CellSums, Totals, Sampled],
) -> None:
    """Add a box of pixels to the sums of its cells; part and place (column, across, cell size) as of `sweep_boxes`."""
    pixels, columns, nodata, box = part
    if isinstance(form, KernelForm):
        form.add((pixels, columns, nodata, slabs_of(box, *place), layers), *room)
    elif isinstance(form, PixelForm):
        (_, _, truth, weight), cell, where = collect_by_cell(*part, *place)
        values = layers.values[:, layers.first + where]
        cells = room[0].form
        cells += form.sums_by_cell(values, truth, weight, cell, len(cells))


def taken(layers: Layers, places: Places) -> Layers:
    """Return the layers of the pixels at these places, side by side."""
    own = layers.first + places
    values, more = np.ascontiguousarray(layers.values[:, own]), np.ascontiguousarray(layers.more[:, own])
    return Layers(values, more, layers.number[own] if layers.number.size else layers.number)


def stacked(layers: Sequence[Values], pixels: int, dtype: DTypeLike) -> Values:
    """Return the layers as rows of a array (layers, pixels); where they are the rows of one already, that one."""
    if _are_rows(layers, np.dtype(dtype)):
        return as_strided(layers[0], (len(layers), pixels), (layers[0].nbytes, layers[0].itemsize))
    out = np.empty((len(layers), pixels), dtype)
    for row, layer in zip(out, layers, strict=True):
        row[:] = layer.ravel()
    return out


def _are_rows(layers: Sequence[Values], dtype: np.dtype[Any]) -> bool:
    """Return whether layers lie one behind the other in the memory of a array of that type."""
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
