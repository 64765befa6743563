"""A layer with a file for each variable, as one raster with a band for each."""

from collections.abc import Sequence
from dataclasses import replace

from geouq.config import VARIABLE, Experiment, LayerFile, Variable, model_and_layer
from geouq.core.errors import DataError, GridError
from geouq.core.grid import same_grid, why_not_same
from geouq.core.wording import counted
from geouq.rasters.raster import Raster, VariableFile, number_described, read_header
from geouq.rasters.stored import as_written


def raster_of_variables(experiment: Experiment, layer: str, path: str) -> Raster:
    """Return the raster of a layer of a tile, whose path contains {variable}.

    Raises
    ------
    DataError
        If a file cannot be read, if it has several bands and none is named, or if the grids of the files differ.
    """
    written, drivers = experiment.settings.get(layer), experiment.drivers
    parts = [
        _part(variable, layer, read_header(path.replace(VARIABLE, variable.name), drivers), written)
        for variable in experiment.variables or ()
    ]
    first = parts[0].raster
    for part in parts[1:]:
        if not same_grid(first.grid, part.raster.grid):
            raise GridError(why_not_same(first.grid, part.raster.grid, first.path, part.raster.path))
    rest = None if written is None else written.model_copy(update={"band": None, "select": None})
    return as_written(_together(path, parts), layer, rest)


def _part(variable: Variable, layer: str, raster: Raster, written: LayerFile | None) -> VariableFile:
    """Return the file of one variable and its band: the configured band, or the only one."""
    if written is not None and written.select is not None:
        raster = as_written(raster, layer, LayerFile(path=raster.path, select=written.select))
    if raster.array is not None:
        if many := next((one for one in raster.array.steps if len(one.labels) > 1), None):
            label = many.labels[0].text
            raise DataError(
                f"{raster.path} has a dimension {many.dimension}: choose one of its labels, such as "
                f"{layer}: {{path: ..., select: {{{many.dimension}: {label}}}}}, or write a path without {VARIABLE}"
            )
        raster = raster.changed(array=raster.array.at({one.role: 0 for one in raster.array.steps}))
    if raster.alpha is not None:
        raise DataError(
            f"{raster.path} has an alpha band, which paths with {VARIABLE} do not use; give its mask as nodata"
        )
    key = model_and_layer(layer)[1]
    band = variable.band_in(key) or (written.band if written is not None else None)
    if isinstance(band, str):
        return VariableFile(variable.name, raster, number_described(raster, band, f"data.{layer}"))
    numbers = list(raster.variables.values())
    if band is None and len(numbers) > 1:
        raise DataError(
            f"{raster.path} has {counted(len(numbers), 'band')}; write the one that holds {variable.name}, such as "
            f"{key}: {{path: ..., band: 1}}"
        )
    number = numbers[0] if band is None else band
    if number > len(raster.bands):
        raise DataError(
            f"{raster.path} has {counted(len(raster.bands), 'band')}, but band {number} is to hold {variable.name}"
        )
    return VariableFile(variable.name, raster, number)


def _together(path: str, parts: Sequence[VariableFile]) -> Raster:
    """Return the raster whose bands are those of the files."""
    rasters = [part.raster for part in parts]
    first = rasters[0]
    return replace(
        first,
        path=path,
        bands=tuple(part.raster.bands[part.band - 1] for part in parts),
        alpha=None,
        interleaved=False,
        block=(max(own.block[0] for own in rasters), max(own.block[1] for own in rasters)),
        files=tuple(dict.fromkeys(file for own in rasters for file in own.files)),
        unidentified=tuple(dict.fromkeys(name for own in rasters for name in own.unidentified)),
        identity=" ".join(own.identity for own in rasters),
        read_at=max(own.read_at for own in rasters),
        origins=(),
        has_no_sidecars=False,
        kept=any(own.kept for own in rasters),
        only=None,
        array=None,
        parts=tuple(parts),
        header=None,
    )
