"""How the values of layers are stored, where the configuration says so, and in which units they are."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from geouq.config import LayerFile, Variable, key_of, model_and_layer
from geouq.config.layer_file import Selected
from geouq.core.errors import DataError
from geouq.core.units import Conversion, conversion, is_known
from geouq.core.wording import counted
from geouq.rasters.array_layout import ArrayLayout
from geouq.rasters.mask_rule import MaskRule
from geouq.rasters.predictions import is_predicted
from geouq.rasters.raster import (
    ONE_FOR_ALL,
    Band,
    Raster,
    number_described,
    number_of_band,
    stored_nodata,
)

BandsIn = Callable[[str, Variable], Sequence[int]]
IN_UNITS = ("mean", "truth", "lower", "upper", "members", "quantiles")
IN_DIFFERENCES = ("std", "truth_std")
IN_SHARES = ("relative_std", "truth_relative_std")
IN_SQUARES = ("variance", "truth_variance", "member_variance", "variance_aleatoric", "variance_epistemic")


def as_written(raster: Raster, layer: str, written: LayerFile | None) -> Raster:
    """Return a raster with the band, scale, offset, nodata and units that the configuration gives for a layer.

    Raises DataError where the file has no such band, or its numbers cannot hold the nodata.
    """
    if written is None:
        return raster
    if written.select is not None:
        raster = raster.changed(array=_selected(raster, layer, written.select))
    only = (
        number_described(raster, written.band, f"data.{layer}.band") if isinstance(written.band, str) else written.band
    )
    if only is not None and only > len(raster.bands):
        raise DataError(f"{raster.path} has {counted(len(raster.bands), 'band')}, but data.{layer} names band {only}")
    bands = _bands(raster.bands, written.scale, written.offset, written.nodata, written.units)
    for number in range(1, len(bands) + 1) if only is None else (only,):
        if written.nodata is not None and bands[number - 1].nodata is None:
            kind = bands[number - 1].dtype
            raise DataError(f"{raster.path}: nodata {written.nodata:g} of data.{layer} is no number of type {kind}")
    other = written.nodata is not None and bands != raster.bands
    stored = np.dtype(bands[(only or 1) - 1].dtype)
    _require_bits(raster, layer, written, stored)
    rule = MaskRule.of(written, signed=stored.kind == "i")
    return raster.changed(bands=bands, only=only, other_nodata=other, rule=rule)


def _require_bits(raster: Raster, layer: str, written: LayerFile, kind: np.dtype[np.generic]) -> None:
    """Raise DataError where the numbers of the file have fewer bits than the configuration names."""
    for first, count, _ in written.bit_fields:
        if kind.kind in "iu" and first + count > 8 * kind.itemsize:
            most = 8 * kind.itemsize - 1
            raise DataError(
                f"{raster.path} is {kind}, which has bits 0 to {most}; data.{layer} names bit {first + count - 1}"
            )


def _selected(raster: Raster, layer: str, select: Mapping[str, Selected]) -> ArrayLayout:
    key = f"{raster.path}: data.{layer}.select"
    if raster.array is None:
        raise DataError(f"{key}: it is no array of a netCDF or Zarr file; name its array as variable")
    return raster.array.selected(select, key)


@lru_cache(64)
def _bands(
    bands: tuple[Band, ...], scale: float | None, offset: float | None, nodata: float | None, units: str | None
) -> tuple[Band, ...]:
    """Return the bands with what is written; tiles whose bands are alike share them."""
    return tuple(
        replace(
            band,
            scale=band.scale if scale is None else scale,
            offset=band.offset if offset is None else offset,
            nodata=band.nodata if nodata is None else stored_nodata(band.dtype, nodata),
            units=band.units if units is None else units,
        )
        for band in bands
    )


def require_one_variable(layer: str, raster: Raster, variables: Sequence[Variable]) -> None:
    """Raise DataError where a layer names one band for several variables, unless it serves all of them."""
    names = list(dict.fromkeys(variable.variable for variable in variables))
    if raster.only is not None and len(names) > 1 and layer.partition(".")[0] not in ONE_FOR_ALL:
        raise DataError(
            f"data.{layer}.band is one band for {len(names)} variables, {', '.join(names)}; write the band of each, "
            f"such as variables: {{{names[0]}: {{{layer}: {raster.only}}}}}"
        )


def in_units_of(
    variables: Mapping[str, Sequence[Variable]],
    rasters: Mapping[str, Raster],
    written: Mapping[str, LayerFile],
    units: Mapping[str, str],
    bands_in: BandsIn,
) -> tuple[dict[str, Raster], tuple[str, ...]]:
    """Return the layers in the units of their variables, and notes on layers whose files have another unit.

    A unit of a file that is not known, or does not fit, is left as it is.

    Parameters
    ----------
    variables : mapping
        Variables that are read from each layer.
    rasters : mapping
        The layers, by their keys in the configuration.
    written : mapping
        What the configuration says of them.
    units : mapping
        Unit of each variable by its name; empty where it is not known.
    bands_in : callable
        Returns the numbers of the bands that hold a variable in a layer.

    Raises
    ------
    DataError
        If a unit that the configuration gives cannot be converted, a relative std is neither a share nor in per cent,
        or one band is to be in two units.
    """
    found, notes = dict(rasters), list[str]()
    for layer in filter(_has_units, rasters):
        is_written = layer in written and written[layer].units is not None
        own, transformed = _by_scale(layer, variables[layer])
        notes += _notes_on_transformed(layer, rasters[layer], transformed, is_written=is_written)
        for number, wanted in _wanted(layer, rasters[layer], own, units, bands_in).items():
            bands = found[layer].bands
            changed = _converted(layer, bands[number - 1], wanted, is_written=is_written)
            if changed is not bands[number - 1]:
                found[layer] = found[layer].changed(bands=(*bands[: number - 1], changed, *bands[number:]))
            if not is_written:
                notes += _notes(layer, bands[number - 1], changed, wanted)
    _require_same_zero(variables, rasters, found)
    return found, tuple(dict.fromkeys(notes))


def _by_scale(layer: str, variables: Sequence[Variable]) -> tuple[list[Variable], list[Variable]]:
    """Return the variables whose values in a layer are in their unit, and those whose values are transformed."""
    is_transformed = [bool(variable.transform) and is_predicted(layer) for variable in variables]
    pairs = list(zip(variables, is_transformed, strict=True))
    return [one for one, other in pairs if not other], [one for one, other in pairs if other]


def _notes_on_transformed(
    layer: str, raster: Raster, variables: Sequence[Variable], *, is_written: bool
) -> Iterator[str]:
    """Yield a note if a file gives a unit of transformed values; raise DataError if the configuration does."""
    for variable in variables:
        number = number_of_band(raster, layer, variable)
        unit = raster.bands[number - 1].units if number <= len(raster.bands) else ""
        if unit and is_written:
            raise DataError(
                f"{layer}: units {unit!r} are of values with transform: {variable.transform}, which have no unit to "
                "convert; leave units out"
            )
        if unit and variable.units and unit != variable.units:
            yield f"{layer}: the unit {unit!r} of {variable.name} is not converted, as the values are transformed"


def _has_units(layer: str) -> bool:
    return _kind(layer) in (*IN_UNITS, *IN_DIFFERENCES, *IN_SHARES, *IN_SQUARES)


def _kind(layer: str) -> str:
    return model_and_layer(layer)[1].partition(".")[0]


def _wanted(
    layer: str, raster: Raster, variables: Sequence[Variable], units: Mapping[str, str], bands_in: BandsIn
) -> dict[int, str]:
    """Return the unit in which each band is wanted, by its number; DataError where a band is to be in two."""
    found: dict[int, str] = {}
    pairs = ((number, units[variable.name]) for variable in variables for number in bands_in(layer, variable))
    for number, unit in pairs:
        if number > len(raster.bands):
            continue  # reported elsewhere
        wanted = "1" if _kind(layer) in IN_SHARES else unit
        if raster.bands[number - 1].units and found.setdefault(number, wanted) != wanted:
            raise DataError(
                f"band {number} of {raster.path} is the {_kind(layer)} of variables in {found[number]} and in "
                f"{wanted}; give them one unit"
            )
        found[number] = wanted
    return found


def _converted(layer: str, band: Band, wanted: str, *, is_written: bool) -> Band:
    """Return a band in other units; the same band where its unit stays."""
    if band.units == wanted or not (wanted or is_written):
        return band
    change = _conversion(layer, band, wanted)
    if change is None and _kind(layer) in IN_SHARES:
        raise DataError(_share_or_percent(layer))
    if change is None and is_written:
        raise DataError(_why_not(layer, band.units, wanted))
    if change is None or (change.factor, change.offset) == (1, 0):
        return band
    offset = change.factor * band.offset + change.offset
    return replace(band, scale=change.factor * band.scale, offset=offset, units=wanted)


def _conversion(layer: str, band: Band, wanted: str) -> Conversion | None:
    if not (band.units and wanted):
        return None
    power = 2 if _kind(layer) in IN_SQUARES else 1
    return conversion(band.units, wanted, power=power, differences=_kind(layer) in IN_DIFFERENCES)


def _notes(layer: str, before: Band, after: Band, wanted: str) -> Iterator[str]:
    """Yield what becomes of the unit that a file gives, where it is not that of the variable."""
    if after is not before:
        yield f"{layer} is converted from {before.units} to {wanted}"
    elif before.units and wanted and before.units != wanted and _conversion(layer, before, wanted) is None:
        yield f"the file of {layer} gives the unit {before.units}, which is not converted to {wanted}"


def _require_same_zero(
    variables: Mapping[str, Sequence[Variable]], before: Mapping[str, Raster], after: Mapping[str, Raster]
) -> None:
    """Raise DataError where a std is relative to values whose zero was moved, as from degrees Celsius to kelvins."""
    for layer in (one for one in before if _kind(one) in IN_SHARES):
        model = model_and_layer(layer)[0]
        base = "truth" if _kind(layer).startswith("truth") else key_of(model, "mean")
        for variable in variables[layer]:
            number = number_of_band(before[base], base, variable)
            one, other = (rasters[base].bands[number - 1] for rasters in (before, after))
            if (change := _conversion(base, one, other.units)) is not None and change.offset:
                raise DataError(
                    f"data.{layer} is relative to the {base} in {one.units}, which is converted to {other.units}; "
                    f"write {one.units} as the unit of the variable, or give the std itself"
                )


def _share_or_percent(layer: str) -> str:
    of, path = "truth" if _kind(layer).startswith("truth") else "mean", "{path: ..., units: "
    return (
        f'data.{layer}: whether it is a share of the {of} or in per cent is not known; write {path}"1"}} or {path}"%"}}'
    )


def _why_not(layer: str, units: str, wanted: str) -> str:
    if not wanted:
        return f"data.{layer} gives the unit {units}, but that of the variable is not known; write it below variables"
    odd = next((one for one in (units, wanted) if not is_known(one)), "")
    if odd:
        return f"data.{layer}: the unit {odd!r} is not known; leave it out, and write the factor as scale"
    square = f"the square of {wanted}" if _kind(layer) in IN_SQUARES else wanted
    return f"data.{layer}: {units} cannot be converted to {square}, as the unit of the variable asks for"
