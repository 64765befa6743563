"""Which band of a raster holds a variable."""

from geouq.config import Variable, model_and_layer
from geouq.errors import DataError
from geouq.rasters.raster import Raster

ONE_FOR_ALL = ("mask", "weights", "covariates", "classes")  # layers of which one band may serve all variables


def number_of_band(raster: Raster, layer: str, variable: Variable) -> int:
    """Return the number of the band that holds a variable in the raster of a layer, named as in the configuration.

    Raises DataError where the band is named by a description that the file does not have, or has twice.
    """
    _, own = model_and_layer(layer)
    written = variable.band_in(own)
    if isinstance(written, str):
        return _described(raster, written, f"{variable.variable}.{own}")
    if written is not None:
        return written
    return 1 if serves_all(raster, own) else variable.band


def serves_all(raster: Raster, layer: str) -> bool:
    """Tell whether a layer has one band for all variables."""
    return layer.partition(".")[0] in ONE_FOR_ALL and len(raster.bands) == 1


def descriptions_of(raster: Raster) -> str:
    """Return the bands of a raster with their descriptions, as messages show them."""
    return ", ".join(f"{number} {band.description or '(none)'}" for number, band in enumerate(raster.bands, 1))


def _described(raster: Raster, description: str, key: str) -> int:
    found = [number for number, band in enumerate(raster.bands, 1) if band.description == description]
    if len(found) == 1:
        return found[0]
    count = "no band has" if not found else f"{len(found)} bands have"
    raise DataError(
        f"{raster.path}: {count} the description {description!r} that variables.{key} names; "
        f"its bands are {descriptions_of(raster)}. Name the band by its number"
    )
