"""How the values of layers are stored, where the configuration says so, and in which units they are."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from geouq.config import LayerFile, Variable, model_and_layer
from geouq.core.errors import DataError
from geouq.core.units import conversion, is_known
from geouq.rasters.mask_rule import MaskRule
from geouq.rasters.raster import (
    ONE_FOR_ALL,
    Band,
    Raster,
    number_described,
    number_of_band,
    stored_nodata,
)

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
    only = (
        number_described(raster, written.band, f"data.{layer}.band") if isinstance(written.band, str) else written.band
    )
    if only is not None and only > len(raster.bands):
        raise DataError(f"{raster.path} has {len(raster.bands)} bands, but data.{layer} names band {only}")
    bands = _bands(raster.bands, written.scale, written.offset, written.nodata, written.units)
    for number in range(1, len(bands) + 1) if only is None else (only,):
        if written.nodata is not None and bands[number - 1].nodata is None:
            kind = bands[number - 1].dtype
            raise DataError(f"{raster.path}: nodata {written.nodata:g} of data.{layer} is no number of type {kind}")
    other = written.nodata is not None and bands != raster.bands
    return raster.changed(bands=bands, only=only, other_nodata=other, rule=MaskRule.of(written))


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
) -> tuple[dict[str, Raster], tuple[str, ...]]:
    """Return the layers in the units of their variables, and a note on each layer that was converted.

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

    Raises
    ------
    DataError
        If a unit that the configuration gives cannot be converted.
    """
    found, notes = dict(rasters), dict[str, None]()
    for layer in filter(_has_units, rasters):
        own = written.get(layer)
        is_written = own is not None and own.units is not None
        for variable in variables[layer]:
            number = number_of_band(rasters[layer], layer, variable)
            wanted = "1" if _kind(layer) in IN_SHARES else units[variable.name]
            bands = rasters[layer].bands
            if number > len(bands) or bands[number - 1] is not found[layer].bands[number - 1]:
                continue  # reported elsewhere, or converted already
            changed = _converted(layer, bands[number - 1], wanted, is_written=is_written)
            if changed is not bands[number - 1]:
                rest = found[layer].bands
                found[layer] = found[layer].changed(bands=(*rest[: number - 1], changed, *rest[number:]))
                notes |= (
                    {} if is_written else {f"{layer} is converted from {bands[number - 1].units} to {wanted}": None}
                )
    return found, tuple(notes)


def _has_units(layer: str) -> bool:
    return _kind(layer) in (*IN_UNITS, *IN_DIFFERENCES, *IN_SHARES, *IN_SQUARES)


def _kind(layer: str) -> str:
    return model_and_layer(layer)[1].partition(".")[0]


def _converted(layer: str, band: Band, wanted: str, *, is_written: bool) -> Band:
    """Return a band in other units; the same band where its unit stays."""
    power = 2 if _kind(layer) in IN_SQUARES else 1
    if _kind(layer) in IN_SHARES and not band.units:
        path = "{path: ..., units: "
        raise DataError(
            f'data.{layer}: whether it is a share of the mean or in per cent is not known; write {path}"1"}} or '
            f'{path}"%"}}'
        )
    if band.units == wanted or not (band.units and (wanted or is_written)):
        return band
    change = conversion(band.units, wanted, power=power, differences=_kind(layer) in IN_DIFFERENCES)
    if change is None and is_written:
        raise DataError(_why_not(layer, band.units, wanted, power))
    if change is None or (change.factor, change.offset) == (1, 0):
        return band
    offset = change.factor * band.offset + change.offset
    return replace(band, scale=change.factor * band.scale, offset=offset, units=wanted)


def _why_not(layer: str, units: str, wanted: str, power: int) -> str:
    if not wanted:
        return f"data.{layer} gives the unit {units}, but that of the variable is not known; write it below variables"
    odd = next((one for one in (units, wanted) if not is_known(one)), "")
    if odd:
        return f"data.{layer}: the unit {odd!r} is not known; leave it out, and write the factor as scale"
    square = f"the square of {wanted}" if power > 1 else wanted
    return f"data.{layer}: {units} cannot be converted to {square}, as the unit of the variable asks for"
