"""Regions and splits: lists of tiles, polygons, classes of a raster, unions and differences of these."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from geouq.config.sections import Names, Section, Text
from geouq.config.tiles import OF_VECTOR_FORMATS, VECTOR_FORMATS
from geouq.config.validation_errors import Steps, quoted, suggestion
from geouq.config.values import problem_of_name

ALL = "all"
IN, OUT = "in", "out"
Splits = dict[Literal["in", "out"], Annotated[Names, Field(min_length=1)]]


def raster_path(path: str) -> str:
    """Accept a path in which {tile} may stand for the tile.

    >>> raster_path("cover/{name}.tif")
    Traceback (most recent call last):
    ValueError: 'cover/{name}.tif': the only placeholder is {tile}
    """
    rest = path.replace("{tile}", "")
    if "{" in rest or "}" in rest:
        raise ValueError(f"{quoted(path)}: the only placeholder is {{tile}}")
    return path


def _one_or_several(written: object) -> object:
    return (written,) if isinstance(written, str) else written


AnyNames = Annotated[Names, BeforeValidator(_one_or_several, json_schema_input_type=list[Text] | Text)]
SomeNames = Annotated[AnyNames, Field(min_length=1)]


class PolygonRegions(Section):
    """Regions from the polygons of a vector file; polygons of the same name are one region."""

    polygons: Text = Field(
        description="vector file (GeoPackage, GeoJSON, Shapefile, FlatGeobuf) in any CRS. A pixel belongs to the "
        "polygons that hold its centre"
    )
    name: Text = Field(description="attribute whose values are the names of the regions")
    where: Text | None = Field(default=None, description="condition in SQL that selects polygons, such as `POP > 1000`")
    layer: Text | None = Field(
        default=None, description="layer of the file; default: its only layer", examples=["counties"]
    )
    drivers: Annotated[Names, Field(min_length=1)] = Field(
        default=VECTOR_FORMATS, validate_default=False, description=OF_VECTOR_FORMATS
    )


class ClassRegions(Section):
    """Regions from the classes of a raster: one with {tile} on the grid of each tile, or one mosaic for all."""

    classes: Annotated[Text, AfterValidator(raster_path)] = Field(
        description="raster of class codes: a path with {tile}, or one mosaic for all tiles"
    )
    band: int = Field(default=1, ge=1, description="band that holds the codes, from 1")
    names: dict[int, Text] = Field(
        min_length=1, description="code: name of the region. Codes without a name belong to no region"
    )


class DerivedRegion(Section):
    """A region that is made of other regions: a union of some, without a union of others."""

    of: SomeNames = Field(description="names of regions that are united; `all` is all tiles")
    without: AnyNames = Field(default=(), description="names of regions that are subtracted")


class StepRegions(Section):
    """Regions from a dimension of arrays or files: the steps at one label, or in a season, month, year or hour."""

    dimension: Text = Field(description="name of the dimension, or `time`, `lead` or `level`")
    by: Literal["value", "season", "month", "year", "hour"] = Field(
        default="value", description="what the steps of a region have in common: their label, or of a date a part of it"
    )


KINDS: Mapping[str, type[Section]] = {
    "polygons": PolygonRegions,
    "classes": ClassRegions,
    "of": DerivedRegion,
    "dimension": StepRegions,
}
TILES = "a list of tiles"


def _kind(written: object) -> str | None:
    """Return the tag of the kind of region. A mapping without a known key is taken for a list."""
    for key, kind in KINDS.items():
        if isinstance(written, kind) or (isinstance(written, Mapping) and key in written):
            return f"region with {key}"
    return None if isinstance(written, Mapping) else TILES


Region = Annotated[
    Annotated[Names, Tag(TILES)]
    | Annotated[PolygonRegions, Tag("region with polygons")]
    | Annotated[ClassRegions, Tag("region with classes")]
    | Annotated[DerivedRegion, Tag("region with of")]
    | Annotated[StepRegions, Tag("region with dimension")],
    Discriminator(
        _kind,
        custom_error_type="fault",
        custom_error_message="needs a list of tiles, or a mapping with one of the keys "
        "polygons, classes, of and dimension",
    ),
]
Regions = dict[Text, Region]


def tile_lists(regions: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return those regions that are lists of tiles.

    >>> tile_lists({"west": ("a", "b"), "rest": DerivedRegion(of="all", without="west")})
    {'west': ('a', 'b')}
    """
    return {name: region for name, region in regions.items() if isinstance(region, tuple)}


def written_names(regions: Mapping[str, Any]) -> dict[str, Steps]:
    """Names of the regions that the configuration itself tells, and where; those of polygons stand in their files.

    >>> written_names({"cover": ClassRegions(classes="cover.tif", names={3: "forest"}), "west": ("a",)})
    {'forest': ('cover', 'names', '3'), 'west': ('west',)}
    """
    names: dict[str, Steps] = {}
    for key, region in regions.items():
        if isinstance(region, ClassRegions):
            names |= {name: (key, "names", str(code)) for code, name in region.names.items() if name not in names}
        elif not isinstance(region, PolygonRegions | StepRegions):
            names[key] = (key,)
    return names


def names_from_files(regions: Mapping[str, Any]) -> bool:
    """Return whether only files tell the names of all regions."""
    return any(isinstance(region, PolygonRegions | StepRegions) for region in regions.values())


def problems_of(regions: Mapping[str, Any], tiles: Sequence[str] | None) -> Iterator[tuple[Steps, str]]:
    """Yield what is wrong with regions in the configuration; `tiles` is None if the rasters give their names."""
    yield from _reserved(regions)
    yield from _missing_in_tables(regions)
    yield from _clashes(regions)
    yield from _alike(regions)
    known = None if tiles is None else frozenset(tiles)
    for name, members in tile_lists(regions).items():
        if not members:
            yield (name,), "a region needs a tile or more"
        for i, tile in enumerate(members):
            if tiles is not None and known is not None and tile not in known:
                yield (name, i), f"{quoted(tile)} is not one of the tiles{suggestion(tile, tiles)}"


def _reserved(regions: Mapping[str, Any]) -> Iterator[tuple[Steps, str]]:
    problem = "the region 'all' always exists and holds all tiles; choose another name"
    if ALL in regions:
        yield (ALL,), problem
    for key, region in regions.items():
        if isinstance(region, ClassRegions):
            yield from (((key, "names", str(code)), problem) for code, name in region.names.items() if name == ALL)


def _missing_in_tables(regions: Mapping[str, Any]) -> Iterator[tuple[Steps, str]]:
    """Yield the names that are read as missing values, of regions and of what several regions come from."""
    names = {name: (name,) for name in regions} | written_names(regions)
    yield from ((steps, problem) for name, steps in names.items() if (problem := problem_of_name(name)))


def _alike(regions: Mapping[str, Any]) -> Iterator[tuple[Steps, str]]:
    """Two names that differ in case alone, and so would their files, which not all systems tell apart."""
    first: dict[str, str] = {ALL: ALL}
    for name, steps in written_names(regions).items():
        if (other := first.setdefault(name.casefold(), name)) != name:
            yield (
                steps,
                f"{quoted(name)} differs from {quoted(other)} in case alone, and so would their files; rename it",
            )


def _clashes(regions: Mapping[str, Any]) -> Iterator[tuple[Steps, str]]:
    """Two regions of one name; codes of a raster may share a name, and are one region then."""
    first: dict[str, str] = {key: key for key, region in regions.items() if not isinstance(region, ClassRegions)}
    for key, region in regions.items():
        if not isinstance(region, ClassRegions):
            continue
        for code, name in region.names.items():
            if (other := first.setdefault(name, key)) != key:
                place = f"regions.{other}" + ("" if other == name else ".names")
                yield (
                    (key, "names", str(code)),
                    f"{quoted(name)} names a region already, at {place}; rename one of them",
                )


def split_lists(splits: Mapping[Any, Sequence[str]] | None, regions: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the tiles of each side. The name of a region stands for its tiles.

    >>> split_lists({"in": ["west", "c"], "out": ["d"]}, {"west": ("a", "b")})
    {'in': ('a', 'b', 'c'), 'out': ('d',)}
    """
    lists = tile_lists(regions)
    return {
        side: tuple(dict.fromkeys(tile for name in names for tile in lists.get(name, (name,))))
        for side, names in (splits or {}).items()
    }


def problems_of_splits(
    splits: Mapping[Any, Sequence[str]], regions: Mapping[str, Any], tiles: Sequence[str] | None
) -> Iterator[tuple[Steps, str]]:
    """Yield what is wrong with splits in the configuration; `tiles` is None if the rasters give their names."""
    for side in (IN, OUT):
        if side not in splits:
            yield (), f"missing key {quoted(side)}: names of tiles, or of regions that are lists of tiles"
        if side in written_names(regions):
            yield (side,), f"there is a region {quoted(side)} already; rename that region"
    yield from _unknown(splits, regions, tiles)
    yield from _on_both_sides(splits, regions)


def _unknown(
    splits: Mapping[Any, Sequence[str]], regions: Mapping[str, Any], tiles: Sequence[str] | None
) -> Iterator[tuple[Steps, str]]:
    lists = tile_lists(regions)
    for side, names in splits.items():
        for i, name in enumerate(names):
            if name in lists:
                continue
            if name in regions or name in written_names(regions):
                yield (side, i), f"region {quoted(name)} is no list of tiles; name tiles, or regions that are lists"
            elif tiles is not None and name not in tiles:
                yield (side, i), f"{quoted(name)} is not one of the tiles{suggestion(name, [*tiles, *lists])}"


def _on_both_sides(splits: Mapping[Any, Sequence[str]], regions: Mapping[str, Any]) -> Iterator[tuple[Steps, str]]:
    inside = split_lists(splits, regions).get(IN, ())
    for i, name in enumerate(splits.get(OUT, ())):
        for tile in split_lists({OUT: [name]}, regions)[OUT]:
            if tile in inside:
                told = quoted(tile) if tile == name else f"{quoted(tile)} of region {quoted(name)}"
                yield (OUT, i), f"tile {told} is in {IN} too; leave it on one side"
