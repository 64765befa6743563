"""Sources of tiles other than file names: STAC items, an index, or one mosaic."""

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from geouq.config.sections import Names, Section, Text
from geouq.config.validation_errors import quoted, raise_each, suggestion

SMALLEST_PART = 256  # pixels
OF_SOURCE = "{tile}#"  # how the pattern of a layer begins whose files a source names; the name of an asset follows
SOURCES = ("stac", "index")  # keys that name a file which names the files of tiles
FILES = (*SOURCES, "polygons")
VECTOR_FORMATS = ("GPKG", "GeoJSON", "ESRI Shapefile", "FlatGeobuf")
OF_VECTOR_FORMATS = (
    "GDAL names of the formats that the file may have. An OGR_VRT can make GDAL read any file, database or address: "
    "allow it only if you trust its author"
)
LOCATION = "location"  # attribute of GDAL's tile indices


def _box(sides: tuple[float, ...]) -> tuple[float, ...]:
    if len(sides) != 4 or not (sides[0] < sides[2] and sides[1] < sides[3]):
        raise ValueError("give left, bottom, right and top, in this order")
    return sides


def _on_this_machine(path: str) -> str:
    if re.match(r"\w[\w+.-]*://|/vsi(?!zip/)", path):
        raise ValueError(f"{quoted(path)} is not on this machine; fetch it, so that runs can be repeated")
    return path


LocalFile = Annotated[Text, AfterValidator(_on_this_machine)]


class Tiles(Section):
    """The tiles of a source; some of them if they are named."""

    names: Annotated[Names, Field(min_length=1)] | None = Field(
        default=None, description="names of the tiles that are evaluated; default: all of them"
    )


class MosaicTiles(Tiles):
    """Parts of a mosaic."""


class TileCut(MosaicTiles):
    """One mosaic, cut into squares that are its tiles."""

    grid: int = Field(
        ge=SMALLEST_PART,
        description="side of the squares in pixels, at best a multiple of the blocks of the files, such as 4096",
        examples=[4096],
    )
    bbox: Annotated[tuple[float, ...], AfterValidator(_box)] | None = Field(
        default=None,
        description="left, bottom, right and top of the part that is evaluated, in coordinates of the rasters; "
        "default: all of it",
        examples=[[500000, 7000000, 520000, 7010000]],
    )
    names: Annotated[Names, Field(min_length=1)] | None = Field(
        default=None, description="names of the squares that are evaluated, such as `r0c12`; default: all of them"
    )


class TilePolygons(MosaicTiles):
    """A mosaic; the pixels in each polygon of a vector file are a tile."""

    polygons: Text = Field(
        description="vector file (GeoPackage, GeoJSON, Shapefile, FlatGeobuf) in any CRS, with the extra `polygons`. A "
        "pixel belongs to the polygon that holds its centre; polygons must not overlap"
    )
    name: Text | None = Field(
        default=None,
        description="attribute whose values are the names of the tiles; polygons of the same name are one tile. "
        "Default: the numbers of the features, from 1",
    )
    where: Text | None = Field(default=None, description="condition in SQL that selects polygons, such as `POP > 1000`")
    layer: Text | None = Field(
        default=None, description="layer of the file; default: its only layer", examples=["tiles"]
    )
    drivers: Annotated[Names, Field(min_length=1)] = Field(
        default=VECTOR_FORMATS, validate_default=False, description=OF_VECTOR_FORMATS
    )


class StacTiles(Tiles):
    """STAC items. Each item is a tile; layers name assets."""

    stac: LocalFile = Field(
        description="file of items: an ItemCollection (or one item) as JSON, or stac-geoparquet (with the extra "
        "`parquet`). Its `id` is the name of the tile, unless `name` or `time` is given"
    )
    asset: Text | None = Field(default=None, description="asset of the layers that name none")
    time: Text | None = Field(
        default=None,
        description="property that holds the time of an item, such as `datetime` (or `start_datetime`, which also "
        "counts where `datetime` is null). Items are then times of tiles; default: each item is a tile",
    )
    name: Text | None = Field(
        default=None,
        description="property that holds the name of the tile, such as `grid:code`; default: the `id`, without its "
        "date if there is a `time`",
    )

    @property
    def file(self) -> str:
        """Return the file that names the files of tiles."""
        return self.stac

    @property
    def usual(self) -> str | None:
        """Return the asset of layers that name none."""
        return self.asset


class TileIndex(Tiles):
    """A tile index. Each feature is a tile; layers name attributes that hold paths."""

    index: LocalFile = Field(
        description="GeoPackage, FlatGeobuf, GeoJSON or Shapefile (with the extra `polygons`), or GeoParquet (with "
        "`parquet`). Paths in it are relative to its folder"
    )
    path: Text = Field(
        default=LOCATION, description="attribute that holds the path of the raster, for layers that name no `asset`"
    )
    name: Text | None = Field(
        default=None, description="attribute with the names of the tiles; default: the names of the files in `path`"
    )
    time: Text | None = Field(
        default=None,
        description="attribute that holds the time of a feature, such as a year or a date. Features are then times of "
        "tiles; default: each feature is a tile",
    )
    layer: Text | None = Field(
        default=None, description="layer of the file; default: its only layer", examples=["tiles"]
    )

    @property
    def file(self) -> str:
        """Return the file that names the files of tiles."""
        return self.index

    @property
    def usual(self) -> str:
        """Return the attribute of layers that name none."""
        return self.path


FileTiles = StacTiles | TileIndex
KINDS: Mapping[str, type[Tiles]] = {
    "grid": TileCut,
    "polygons": TilePolygons,
    "stac": StacTiles,
    "index": TileIndex,
}


def tiles_of(written: object) -> object:
    """Return the source of tiles from a mapping; another value as it is written."""
    if not isinstance(written, Mapping):
        return written
    for key, kind in KINDS.items():
        if key in written:
            return kind.model_validate(written)
    keys = dict.fromkeys(key for kind in KINDS.values() for key in kind.model_fields)
    raise_each(((str(key),), f"unknown key{suggestion(str(key), keys)}") for key in written if key not in keys)
    raise ValueError(f"needs a list of names, or a mapping with one of the keys {', '.join(KINDS)}")


def file_tiles_of(written: object) -> object:
    """Return the source of the files of one layer."""
    found = tiles_of(written)
    if isinstance(found, MosaicTiles):
        raise ValueError("a layer takes its files from stac or index")  # noqa: TRY004  reported as a validation error
    return found


def asset_in(pattern: str) -> str | None:
    """Return the asset that a pattern names, '' for the usual one of the source; None for a path.

    >>> asset_in("{tile}#cog"), asset_in("/data/{tile}.tif")
    ('cog', None)
    """
    return pattern.removeprefix(OF_SOURCE) if pattern.startswith(OF_SOURCE) else None
