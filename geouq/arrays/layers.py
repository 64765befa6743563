"""Layers of a forecast (members, quantiles, classes), taken apart along the dimension that holds them."""

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from geouq.arrays.arguments import is_dask, is_xarray
from geouq.core.errors import DataError

if TYPE_CHECKING:
    import xarray as xr

What = Literal["member", "quantile", "class"]
Reduced = int | Hashable | Sequence[int] | Iterable[Hashable] | None

PLURALS: Mapping[What, str] = {"member": "members", "quantile": "quantiles", "class": "classes"}
USUAL: Mapping[What, tuple[str, ...]] = {
    "member": ("member", "members", "ensemble", "ens", "number", "realization", "realisation", "sample"),
    "quantile": ("quantile", "quantiles", "level", "levels", "percentile", "q", "p"),
    "class": ("class", "classes", "category", "code", "probability"),
}
UNNAMED = re.compile(r"dim_\d+")


def layers_of(stack: Any, truth: Any, what: What, along: Hashable | None = None, dim: Reduced = None) -> list[Any]:
    """Return the layers of a forecast in their order.

    Parameters
    ----------
    stack : DataArray, array or sequence
        A DataArray has its layers along `along`; without it, along the one dimension that the truth does not have, or
        along the one of these that has a usual name. Other arrays have them along the first dimension, and sequences
        hold one layer after the other.
    truth : array
        Truth of the same pixels.
    what : str
        What a layer is.
    along : str, optional
        Name of the dimension of a DataArray that holds the layers.
    dim : as in `geouq.summarize`

    Raises
    ------
    DataError
        If it is not clear which dimension holds the layers, or if a layer has a dimension that the truth does not
        have and that is summed over, so that each truth would count several times.
    """
    if is_xarray(stack):
        name = dimension_of(stack, truth, what, along)
        layers = [stack.isel({name: i}, drop=True) for i in range(stack.sizes[name])]
    elif along is not None:
        raise DataError(f"{what}_dim={along!r}: {PLURALS[what]} are a {type(stack).__name__}; give a DataArray")
    else:
        _require_first(stack, truth, what)
        layers = list(stack)
    for layer in layers:
        _require_same_pixels(layer, truth, what, dim)
    return layers


def dimension_of(stack: "xr.DataArray", truth: Any, what: What, along: Hashable | None = None) -> Hashable:
    """Return the name of the dimension that holds the layers; DataError where that is not clear."""
    dims, others = stack.dims, truth.dims if is_xarray(truth) else ()
    if along is not None:
        if along not in dims:
            raise DataError(f"{what}_dim={along!r}: the dimensions are {_listed(dims)}")
        return along
    own = [name for name in dims if name not in others]
    usual = [name for name in own if str(name).lower() in USUAL[what]]
    named = not any(UNNAMED.fullmatch(str(name)) for name in dims)
    for found in (own, usual):
        if len(found) == 1 and named:
            return found[0]
    raise DataError(
        f"the dimensions are {_listed(dims)}, those of the truth {_listed(others)}: it is not clear which holds the "
        f"{PLURALS[what]}; name it: {what}_dim={what!r}"
    )


def in_front(stack: Any, truth: Any, what: What) -> tuple[Any, Any]:
    """Return a stack and its truth with the layers in front; dimensions of DataArrays are matched by name."""
    if not is_xarray(stack):
        return stack, truth
    name = dimension_of(stack, truth, what)
    if not is_xarray(truth) or set(stack.dims) - {name} != set(truth.dims):
        there = _listed(truth.dims) if is_xarray(truth) else "without names"
        raise DataError(f"the dimensions of {PLURALS[what]} are {_listed(stack.dims)}, those of the truth are {there}")
    return stack.transpose(name, *truth.dims).values, truth.values


def labels_of(stack: Any, truth: Any, what: What, along: Hashable | None = None) -> Any:
    """Return the coordinate along the dimension that holds the layers; None without one."""
    if not is_xarray(stack):
        return None
    name = dimension_of(stack, truth, what, along)
    return stack[name].values if name in stack.coords else None


def _require_first(stack: Any, truth: Any, what: What) -> None:
    """Raise DataError where layers cannot be along the first dimension."""
    if isinstance(stack, Mapping):
        raise DataError(f"{PLURALS[what]} are a {type(stack).__name__}; give its values, in a list")
    if isinstance(stack, list | tuple):
        return
    shape, pixels = np.shape(stack), np.shape(truth)
    if not shape:
        raise DataError(f"{stack!r} is one number; give {PLURALS[what]} along the first dimension, or in a list")
    if (isinstance(stack, np.ndarray) or is_dask(stack)) and pixels and shape[1:] != pixels:
        last = f": they seem to be last, numpy.moveaxis({PLURALS[what]}, -1, 0) puts them first"
        raise DataError(
            f"{PLURALS[what]} have the shape {shape} and truth {pixels}; give {PLURALS[what]} along the first dimension"
            + (last if shape[:-1] == pixels else "")
        )


def _require_same_pixels(layer: Any, truth: Any, what: What, dim: Reduced) -> None:
    """Raise DataError where a layer has a dimension that the truth lacks, unless it is kept."""
    if not (is_xarray(layer) and is_xarray(truth)):
        return
    reduced = layer.dims if dim is None else (dim,) if isinstance(dim, str) or not isinstance(dim, Iterable) else dim
    more = [name for name in layer.dims if name not in truth.dims and name in reduced]
    if more:
        raise DataError(
            f"each of the {PLURALS[what]} has the dimensions {_listed(layer.dims)}, truth has {_listed(truth.dims)}: "
            f"each truth would count once for every {more[0]}; keep it, with dim= of the others, or name the dimension "
            f"of the {PLURALS[what]}: {what}_dim={str(more[0])!r}"
        )


def _listed(dims: Iterable[Hashable]) -> str:
    return f"({', '.join(map(str, dims))})"
