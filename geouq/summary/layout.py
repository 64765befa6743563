"""What stands in the file of a tile's summaries: names, dimensions, and what each of them says of itself."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geouq.summary.coverage_profile import ClassCoverage
from geouq.summary.form import Form, form_as_words, no_sums
from geouq.summary.kept_pixels import KeptPixels
from geouq.summary.moments import PRODUCTS, SUMS
from geouq.summary.threshold_sums import FIELDS as THRESHOLD_FIELDS
from geouq.summary.tile import TileSummary
from geouq.summary.variance_profile import FIELDS
from geouq.summary.z_histogram import FINE, edge_probabilities
from geouq.validity import REASONS

FORMAT = "geouq tile summary 7"
EXPLAINED = {
    "variable": "names of the variables",
    "level": "nominal levels of central intervals",
    "sum": "what is summed",
    "product": "which deviations are multiplied",
    "reason": "why a pixel does not count",
    "field": "what is summed over the pixels of one key",
    "kept_field": "what is kept of a single pixel",
    "z_edge": "cumulative normal probabilities of the edges between which z is counted",
    "n": "number of valid pixels",
    "weight": "sum of the weights of the valid pixels; their number where there are no weights",
    "sums": "sums over the valid pixels; divide by weight for means",
    "products": "sums of products of deviations from the means",
    "interval_scores": "sums of the interval score of each level",
    "z_counts": "counts of z = (truth - mean) / std between the normal quantiles of z_edge",
    "excluded": "pixels that do not count, each under its first reason",
    "variance_range": "lowest and highest predicted variance",
    "profile_variable": "number of the variable that an entry of the profile belongs to, from 0",
    "profile_key": "leading bits of the float32 variance, shifted right by 14",
    "profile_sums": "sums over the pixels of one key of the predicted variance",
    "kept_tail": "pixels with at least highest variance / kept_tail are kept (0: none; -1: not recorded)",
    "kept_every": "1 where every pixel of the variable is kept",
    "kept_place": "row << 32 | column of each kept pixel, of variables of which every pixel is kept",
    "kept_variable": "number of the variable that a kept pixel belongs to, from 0",
    "kept_pixels": "single pixels, kept so that edges of bins are exact",
    "wanted_variable": "number of the variable that a wanted key belongs to, from 0",
    "wanted_key": "other keys of which every pixel is kept",
    "grouping": "what pixels are grouped by",
    "coverage_variable": "number of the variable that a coverage entry belongs to, from 0",
    "coverage_grouping": "number of the grouping that a coverage entry belongs to, from 0",
    "coverage_key": "leading bits of the float32 value, shifted right by 14, in the order of the values; 0 for 0",
    "coverage_counts": "pixels (weights) of one key outside the k narrowest intervals and inside the others, k from 0",
    "ordering_variable": "number of the variable that an ordering entry belongs to, from 0",
    "ordering_key": "leading bits of the float32 variance, shifted right by 17, times 256, plus the class of |z|",
    "ordering_counts": "pixels (weights) of one key of the variance and one class of |z|, 8 an octave from 2^-16 on",
    "threshold_variable": "number of the variable that a threshold belongs to, from 0",
    "threshold_value": "value that the truth is forecast to exceed",
    "threshold_sum": "what is added up of the probability p of exceeding, and of o, 1 where the truth does",
    "threshold_sums": "sums over the pixels in ten bins of the probability of exceeding",
    "form_sum": "what is summed of an ensemble, quantiles or probabilities, and its place",
    "form_sums": "sums over the valid pixels of a prediction that is given in the form that the attribute form tells",
    "sample_variable": "number of the variable that a sampled pixel belongs to, from 0",
    "sample_number": "hashed number of a pixel that is sampled for the joint log-loss",
    "sample_log_density": "logarithm of the density of each member at the truth",
    "cell_entry_variable": "number of the variable that an entry of the cells' profiles belongs to, from 0",
    "cell_entry_cell": "number of the cell that an entry belongs to, in rows from the top left, from 0",
    "cell_key": "leading bits of the float32 variance, shifted right by 19",
    "cell_entry_sums": "sums over the pixels of one cell and key of the predicted variance",
}
MOMENTS: dict[str, tuple[str, ...]] = {"n": (), "weight": (), "sums": ("sum",), "products": ("product",)}
KEPT = ("variance", "squared_error", "weight")
ENTRY = {
    "cell_entry_variable": ("cell_entry",),
    "cell_entry_cell": ("cell_entry",),
    "cell_key": ("cell_entry",),
    "cell_entry_sums": ("cell_entry", "field"),
}

Array = NDArray[Any]
Dimensions = tuple[str, ...]
Values = Callable[[Any], Any]
Make = Callable[[Dimensions, Values, Sequence[Any]], tuple[Dimensions, Array]]


def long_name(name: str) -> str:
    """Return what a variable says of itself; what is kept by cell as of the whole is said once."""
    base = name.removeprefix("cell_")
    return EXPLAINED[name] if name in EXPLAINED else f"{EXPLAINED[base]}, by cell"


def coordinates(summary: TileSummary, columns: int) -> dict[str, Any]:
    """Dimensions with a value for each place; `columns` is the number of fields of an entry."""
    levels = next(iter(summary.variables.values())).whole.levels
    return {
        "variable": list(summary.variables),
        "level": np.array(levels),
        "sum": list(SUMS),
        "product": [f"{left}*{right}" for left, right in PRODUCTS],
        "reason": list(REASONS),
        "field": list(FIELDS[:columns]),
        "kept_field": list(KEPT if columns == len(FIELDS) else KEPT[:-1]),
        "z_edge": edge_probabilities(levels, FINE),
        "grouping": list(_groupings(summary)),
        "threshold_sum": list(THRESHOLD_FIELDS),
        **({} if (form := _form(summary)) is None else {"form_sum": form.columns}),
    }


def global_attributes(summary: TileSummary, key: str) -> dict[str, Any]:
    """Return what the file says of itself."""
    return {
        "format": FORMAT,
        "key": key,
        "tile": summary.tile,
        "cell_size": summary.cell_size,
        "shape": list(summary.grid.shape),
        "transform": list(summary.grid.transform)[:6],
        "crs": summary.grid.crs,
        "class_groupings": [name for name, one in _groupings(summary).items() if isinstance(one, ClassCoverage)],
        "given_levels": [-1.0 if part.whole.given is None else part.whole.given for part in summary.variables.values()],
        "ordering": int(all(part.whole.ordering for part in summary.variables.values())),
        "form": "" if (form := _form(summary)) is None else json.dumps(form_as_words(form)),
        "summary": "What the valid pixels of one tile contribute to every metric; such files add up to regions.",
    }


def arrays(summary: TileSummary) -> Iterator[tuple[str, Dimensions, Array]]:
    """All but the entries of the cells' profiles: name, dimensions and values, made one after the other."""
    parts = list(summary.variables.values())
    wholes, cells = [part.whole for part in parts], [part.cells for part in parts]
    kept = [whole.variance.kept or KeptPixels(-1) for whole in wholes]
    by = [(i, g, each) for i, whole in enumerate(wholes) for g, each in enumerate(whole.groups.values())]
    ordered = [whole for whole in wholes if whole.ordering]
    layout: dict[str, tuple[Make, Dimensions, Values, Sequence[Any]]] = {
        **{name: (_stacked, dims, attrgetter(f"moments.{name}"), wholes) for name, dims in MOMENTS.items()},
        "interval_scores": (_stacked, ("level",), lambda s: s.interval_scores, wholes),
        "z_counts": (_stacked, ("z_bin",), lambda s: s.z.counts, wholes),
        "variance_range": (_stacked, ("bound",), lambda s: [s.variance.lowest, s.variance.highest], wholes),
        "excluded": (_stacked, ("reason",), lambda part: part.excluded, parts),
        "profile_variable": (_owner, ("profile_entry",), lambda s: s.variance.keys, wholes),
        "profile_key": (_ragged, ("profile_entry",), lambda s: s.variance.keys.astype(np.uint32), wholes),
        "profile_sums": (_ragged, ("profile_entry", "field"), lambda s: s.variance.sums, wholes),
        "kept_tail": (_stacked, (), lambda k: k.tail, kept),
        "kept_every": (_stacked, (), lambda k: np.int64(k.every), kept),
        "kept_place": (_ragged, ("kept_place_entry",), lambda k: k.place, kept),
        "kept_variable": (_owner, ("kept_pixel",), lambda k: k.pixels, kept),
        "kept_pixels": (_ragged, ("kept_pixel", "kept_field"), lambda k: k.pixels, kept),
        "wanted_variable": (_owner, ("wanted_entry",), lambda k: k.wanted, kept),
        "wanted_key": (_ragged, ("wanted_entry",), lambda k: k.wanted.astype(np.uint32), kept),
        "coverage_variable": (_ragged, ("coverage_entry",), lambda of: np.full(len(of[2].keys), of[0], np.uint16), by),
        "coverage_grouping": (_ragged, ("coverage_entry",), lambda of: np.full(len(of[2].keys), of[1], np.uint8), by),
        "coverage_key": (_ragged, ("coverage_entry",), lambda of: of[2].keys.astype(np.int32), by),
        "coverage_counts": (_ragged, ("coverage_entry", "outside"), lambda of: of[2].counts, by),
        "ordering_variable": (_owner, ("ordering_entry",), lambda s: s.ordering.keys, ordered),
        "ordering_key": (_ragged, ("ordering_entry",), lambda s: s.ordering.keys.astype(np.uint32), ordered),
        "ordering_counts": (_ragged, ("ordering_entry",), lambda s: s.ordering.n, ordered),
        "threshold_variable": (_owner, ("threshold",), lambda s: s.thresholds.thresholds, wholes),
        "threshold_value": (_ragged, ("threshold",), lambda s: np.array(s.thresholds.thresholds), wholes),
        "threshold_sums": (
            _ragged,
            ("threshold", "p_bin", "threshold_sum"),
            lambda s: s.thresholds.sums,
            wholes,
        ),
        **{
            f"cell_{name}": (_stacked, ("cell", *dims), attrgetter(f"moments.{name}"), cells)
            for name, dims in MOMENTS.items()
        },
        "cell_interval_scores": (_stacked, ("cell", "level"), lambda c: c.interval_scores, cells),
        "cell_z_counts": (_stacked, ("cell", "cell_z_bin"), lambda c: c.z_counts, cells),
        "cell_variance_range": (_stacked, ("cell", "bound"), lambda c: c.extremes, cells),
    }
    if form := wholes[0].given_as:
        layout |= _of_form(form, wholes, cells)
    for name, (make, dimensions, values, of) in layout.items():
        yield name, *make(dimensions, values, of)


def _of_form(
    form: Form, wholes: Sequence[Any], cells: Sequence[Any]
) -> dict[str, tuple[Make, Dimensions, Values, Sequence[Any]]]:
    """Return sums of variables that are given as ensembles, quantiles or probabilities."""
    found: dict[str, tuple[Make, Dimensions, Values, Sequence[Any]]] = {
        "form_sums": (_stacked, ("form_sum",), lambda s: s.form.sums, wholes),
        "cell_form_sums": (_stacked, ("cell", "form_sum"), lambda c: c.form.sums, cells),
    }
    if no_sums(form).sample is not None:
        found |= {
            "sample_variable": (_owner, ("sampled",), lambda s: s.form.sample.number, wholes),
            "sample_number": (_ragged, ("sampled",), lambda s: s.form.sample.number, wholes),
            "sample_log_density": (_ragged, ("sampled", "member"), lambda s: s.form.sample.log_density, wholes),
        }
    return found


def _form(summary: TileSummary) -> Form | None:
    """Return the form in which the variables are given, one and the same."""
    return next(iter(summary.variables.values())).whole.given_as


def _groupings(summary: TileSummary) -> Mapping[str, Any]:
    """Return what the pixels of each variable are grouped by."""
    return next(iter(summary.variables.values())).whole.groups


def _stacked(dimensions: Dimensions, values: Values, of: Sequence[Any]) -> tuple[Dimensions, Array]:
    """Return what each variable has, all of one shape."""
    return ("variable", *dimensions), np.stack([np.asarray(values(one)) for one in of])


def _ragged(dimensions: Dimensions, values: Values, of: Sequence[Any]) -> tuple[Dimensions, Array]:
    """Return what each variable has, one after the other."""
    found = [values(one) for one in of] or [np.empty(0)]
    return dimensions, np.concatenate([some for some in found if len(some)] or found[:1])


def _owner(dimensions: Dimensions, values: Values, of: Sequence[Any]) -> tuple[Dimensions, Array]:
    """Return the number of the variable to which each of these belongs."""
    return dimensions, np.repeat(np.arange(len(of), dtype=np.uint16), [len(values(one)) for one in of])
