"""Which layers a tile is wired from: one band in two layers, and descriptions that contradict each other."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from geouq.config import LayerBands, Variable, model_and_layer
from geouq.rasters.layered import Layered
from geouq.rasters.raster import ONE_FOR_ALL, Raster, descriptions_of

if TYPE_CHECKING:
    from geouq.rasters.catalog import Tile


@dataclass(frozen=True)
class Wire:
    """One band of a layer, named as in the configuration, that holds a variable."""

    layer: str
    raster: Raster
    band: int
    variable: Variable

    @property
    def place(self) -> tuple[str, int]:
        """Return what tells the band from any other one: the file and the number."""
        return self.raster.origin(self.band)

    @property
    def role(self) -> str:
        """Return what the band stands for, whichever model it belongs to."""
        return model_and_layer(self.layer)[1]

    @property
    def auxiliary(self) -> bool:
        """Return whether it only says which pixels count, how much, or in which group."""
        return self.role.partition(".")[0] in ONE_FOR_ALL

    @property
    def description(self) -> str:
        """Return the description of the band."""
        return self.raster.bands[self.band - 1].description


def problems_of_wiring(tile: "Tile", *, descriptions: bool, truth: bool = True) -> Iterator[tuple[str, str]]:
    """Yield the layer and the fault where one band is two layers, or descriptions contradict each other.

    descriptions : whether the descriptions of bands are compared. truth : whether the truth is read.
    """
    wires = [wire for variable in tile.variables for wire in _wires(tile, variable) if truth or wire.role != "truth"]
    yield from _used_twice(wires)
    yield from _same_models(tile, wires)
    if descriptions:
        described = {raster.path: _described(raster) for raster in {w.raster.path: w.raster for w in wires}.values()}
        for variable in tile.variables:
            yield from _contradictions([wire for wire in wires if wire.variable is variable], described)


def _wires(tile: "Tile", variable: Variable) -> Iterator[Wire]:
    """Yield the bands that hold a variable; of members in one file, all of them."""
    prediction = tile.predictions[variable.model]
    in_bands = isinstance(prediction, Layered) and prediction.places is not None
    for layer, band in tile.bands_of(variable).items():
        key = model_and_layer(layer)[1]
        if not (in_bands and key in prediction.rasters):
            yield Wire(layer, tile.rasters[layer], band, variable)
        elif isinstance(prediction, Layered):
            own = [*prediction.values(variable), *prediction.more(variable)]
            numbers = (number for name, bands in own if name == key for number in bands)
            yield from (Wire(layer, tile.rasters[layer], number, variable) for number in numbers)


def _used_twice(wires: list[Wire]) -> Iterator[tuple[str, str]]:
    """Yield bands that stand for two things; auxiliary layers may share one, as a mask and classes do."""
    first: dict[tuple[str, int], Wire] = {}
    reported = set[tuple[str, str]]()
    for wire in wires:
        other = first.setdefault(wire.place, wire)
        pair = other.layer, wire.layer
        if other.role != wire.role and not (other.auxiliary and wire.auxiliary) and pair not in reported:
            reported.add(pair)
            yield wire.layer, _one_band(other, wire)


def _one_band(one: Wire, other: Wire) -> str:
    same = "" if one.raster.path == other.raster.path else f", which is the same file as {other.raster.path}"
    bands = f"{{{other.variable.variable}: {{{one.role}: 1, {other.role}: 2}}}}"
    named = {one.role, other.role} <= LayerBands.model_fields.keys()
    remedy = f", or, where one file holds both, its own band, such as variables: {bands}" if named else ""
    return (
        f"{one.layer} and {other.layer} are one band, {one.band} of {one.raster.path}{same}; "
        f"give each its own file{remedy}"
    )


def _same_models(tile: "Tile", wires: list[Wire]) -> Iterator[tuple[str, str]]:
    """Yield models whose layers are all those of another one."""
    first: dict[object, str] = {}
    for model, prediction in tile.predictions.items():
        own = [wire for wire in wires if wire.variable.model == model and model_and_layer(wire.layer)[0] == model]
        places = tuple((wire.role, wire.place) for wire in own), prediction.read_as
        other = first.setdefault(places, model)
        if other != model:
            yield own[0].layer, f"models {other} and {model} are the same bands of the same files; remove one"


def _contradictions(wires: list[Wire], described: Mapping[str, Mapping[str, int]]) -> Iterator[tuple[str, str]]:
    """Yield a layer of a variable whose file describes another band by the name that the variable has elsewhere."""
    own = {wire.place for wire in wires}
    names = {_plain(wires[0].variable.variable): f"variable {wires[0].variable.variable}"}
    names |= {
        _plain(wire.description): f"band {wire.band} of {wire.raster.path}" for wire in wires if not wire.auxiliary
    }
    for wire in wires:
        for name, source in names.items():
            band = described[wire.raster.path].get(name, 0)
            if wire.auxiliary or not band or _plain(wire.description) == name or wire.raster.origin(band) in own:
                continue
            yield wire.layer, _other_order(wire, band, source, wires)
            return


def _other_order(wire: Wire, band: int, source: str, wires: list[Wire]) -> str:
    name = wire.variable.variable
    rasters = {one.raster.path: one.raster for one in wires if not one.auxiliary}.values()
    orders = "; ".join(f"{raster.path} has {descriptions_of(raster)}" for raster in rasters)
    return (
        f"{name} is taken from band {wire.band} of {wire.raster.path}, but that file describes band {band} like "
        f"{source}. {orders}. Write the band, such as variables: {{{name}: {{{wire.role}: {band}}}}}; where the "
        "descriptions are wrong, write band_descriptions: ignore"
    )


def _described(raster: Raster) -> dict[str, int]:
    """Return the number of the only band with each description, 0 where there are several."""
    found: dict[str, int] = {}
    for number, band in enumerate(raster.bands, 1):
        name = _plain(band.description)
        found[name] = 0 if name in found else number
    found.pop("", None)
    return found


def _plain(name: str) -> str:
    """Return a name without case, blanks and signs.

    >>> _plain("Canopy height"), _plain("canopy_height")
    ('canopyheight', 'canopyheight')
    """
    return re.sub(r"[\W_]+", "", name).casefold()
