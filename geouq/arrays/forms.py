"""Arrays of members, quantiles and probabilities as points that are summarised."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geouq.arrays.arguments import is_dask, is_xarray
from geouq.arrays.points import Points
from geouq.reading.form_pixels import NO_NUMBER, form_pixels, stacked
from geouq.summary.form import Form
from geouq.summary.joint_sample import numbers_of

VALUE, MORE, PLACE = "value ", "more ", "place"  # names of layers


def places_in(layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the number of each pixel in its array, from which the sampling of pixels follows."""
    some = next((layer for layer in layers.values() if np.ndim(layer)), None)
    if some is None:
        return {}
    data = some.data if is_xarray(some) else some
    size, places = int(np.prod(np.shape(data))), None
    if is_dask(data):
        import dask.array as da  # noqa: PLC0415  loaded already

        places = da.arange(size, dtype=np.float64).reshape(data.shape).rechunk(data.chunks)
    else:
        places = np.arange(size, dtype=np.float64).reshape(np.shape(data))
    return {PLACE: some.copy(data=places) if is_xarray(some) else places}


def points_of_form(form: Form, layers: Mapping[str, NDArray[Any]]) -> Points:
    """Points of a form; layers by name: value 0, value 1, ..., more 0, ..., truth, weights, place, each (points)."""
    truth = layers["truth"]
    values = [layer for name, layer in layers.items() if name.startswith(VALUE)]
    more = [layer for name, layer in layers.items() if name.startswith(MORE)]
    kind = np.float32 if all(layer.dtype == np.float32 for layer in (*values, *more)) else np.float64
    number = NO_NUMBER
    if form.sampled_members:
        number = _numbers(layers[PLACE], (truth, values[0]))
    found = form_pixels(form, stacked(values, len(truth), kind), stacked(more, len(truth), kind), truth, number)
    return Points(
        found.mean, found.variance, found.truth, layers.get("weights"), status=found.status, layers=found.layers
    )


def _numbers(places: NDArray[Any], values: Sequence[NDArray[Any]]) -> NDArray[np.uint64]:
    """Return numbers for the sampling of pixels. They depend on values: sums of arrays must pair other positions."""
    found = numbers_of(places.astype(np.uint64), np.uint64(0))
    for layer in values:
        found = numbers_of(found ^ layer.astype(np.float64).view(np.uint64), np.uint64(0))
    return found
