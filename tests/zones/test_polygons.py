"""Polygons as masks of windows: the pixel-centre rule, names, CRS, and files that are of no use."""

import builtins
import pickle
import sys

import numpy as np
import pytest
import shapely
import shapely.ops
from affine import Affine
from hypothesis import given, settings
from hypothesis import strategies as st
from rasterio.crs import CRS
from rasterio.features import rasterize
from rasterio.warp import transform
from vectors import feature, geojson, mask_of, polygons_of, square

from geouq.core.errors import DataError
from geouq.core.grid import Grid, Window
from geouq.rasters.outlines import inside, outlines
from geouq.rasters.vector import Polygons
from geouq.zones.polygons import polygon_zones

UTM = CRS.from_epsg(32633).to_wkt()
LONLAT = CRS.from_epsg(4326).to_wkt()
TILE = Grid((40, 50), Affine(10, 0, 500_000, 0, -10, 7_000_000), UTM)


def polygons(shapes, names=None, crs=UTM):
    names = names or [f"p{i}" for i in range(len(shapes))]
    unique = tuple(dict.fromkeys(names))
    return Polygons("x.gpkg", crs, unique, np.array(shapes, object), np.array([unique.index(n) for n in names]), ())


def placed(points, grid=TILE):
    """A polygon from columns and rows."""
    t = grid.transform
    return shapely.Polygon([t @ point for point in points])


def whole_masks(zones, grid=TILE, size=1000):
    return mask_of(zones, grid.windows(size), grid.shape)


def centres_inside(shape, grid, source=UTM):
    rows, columns = np.mgrid[: grid.shape[0], : grid.shape[1]] + 0.5
    t = grid.transform
    x, y = t.a * columns + t.b * rows + t.c, t.d * columns + t.e * rows + t.f
    if source != grid.crs:
        x, y = (np.reshape(v, x.shape) for v in transform(grid.crs, source, x.ravel(), y.ravel())[:2])
    return shapely.contains_xy(shape, x, y)


# of points that lie 1e-300 apart, GEOS makes hulls that are not valid
corner = st.tuples(*(st.floats(-10, most).map(lambda value: round(value, 9)) for most in (60, 50)))
stars = st.lists(corner, min_size=3, max_size=8).map(
    lambda points: shapely.MultiPoint(points).convex_hull.difference(shapely.Point(20.3, 20.7).buffer(4.9))
)


@settings(deadline=None)  # the first one compiles
@given(
    shape=stars.filter(lambda s: s.area > 0),
    box=st.tuples(st.integers(0, 39), st.integers(0, 49), st.integers(1, 40), st.integers(1, 50)),
)
def test_a_window_is_that_part_of_the_whole_tile_as_gdal_fills_it(shape, box):
    shape = shapely.transform(shape, lambda xy: np.stack([500_000 + 10 * xy[:, 0], 7_000_000 - 10 * xy[:, 1]], 1))
    row, column, height, width = box
    window = Window(row, column, min(height, 40 - row), min(width, 50 - column))
    zones = polygon_zones(polygons([shape]), TILE)
    mask = np.zeros(TILE.shape, bool)
    for part in zones.zones_in(window):
        mask[part.box.slices] = part.mask
    edges, _ = outlines(polygons([shape]), TILE)

    whole = inside(edges, Window(0, 0, *TILE.shape))
    centres = centres_inside(shape, TILE)
    filled = rasterize([shape], out_shape=TILE.shape, transform=TILE.transform).astype(bool)
    assert (mask[window.slices] == whole[window.slices]).all()
    assert mask.sum() == whole[window.slices].sum()
    near = centres_inside(shape.boundary.buffer(1e-6), TILE)  # there, rounding decides
    assert ((whole == centres) | near).all()
    assert ((whole == filled) | near).all()


@settings(deadline=None)  # the first one compiles
@given(cut=st.lists(st.tuples(st.integers(-3, 103), st.integers(-3, 83)), min_size=2, max_size=2, unique=True))
def test_polygons_that_share_an_edge_share_no_pixel_and_leave_none_out(cut):
    (x, y), (to_x, to_y) = cut  # in halves of a pixel, so that many centres lie on the edge
    frame = shapely.box(-200, -200, 300, 300)
    line = shapely.LineString(
        [(x / 2 - 1e4 * (to_x - x), y / 2 - 1e4 * (to_y - y)), (x / 2, y / 2), (to_x / 2, to_y / 2)]
    )
    line = shapely.LineString([*line.coords, (to_x / 2 + 1e4 * (to_x - x), to_y / 2 + 1e4 * (to_y - y))])
    halves = list(shapely.get_parts(shapely.ops.split(frame, line)))
    shapes = [placed(half.exterior.coords) for half in halves]

    zones = polygon_zones(polygons(shapes), TILE)

    assert (sum(mask.astype(int) for mask in whole_masks(zones).values()) == 1).all()


def test_a_centre_on_an_edge_is_in_the_polygon_below_or_to_the_right_of_it():
    zones = polygon_zones(polygons([placed([(1.5, 0.5), (3.5, 0.5), (3.5, 2.5), (1.5, 2.5)])]), TILE)

    (mask,) = whole_masks(zones).values()

    assert np.argwhere(mask).tolist() == [[0, 1], [0, 2], [1, 1], [1, 2]]


def test_windows_of_any_size_give_the_same_masks():
    rng = np.random.default_rng(0)
    shapes = [placed(rng.uniform((-5, -5), (55, 45), (3, 2))) for _ in range(30)]
    zones = polygon_zones(polygons(shapes), TILE)

    wanted = whole_masks(zones)
    for size in (1, 7, 16, 64):
        found = whole_masks(zones, size=size)
        assert all((found[name] == wanted[name]).all() for name in wanted)


def test_a_window_without_polygons_holds_none():
    zones = polygon_zones(polygons([placed([(0, 0), (9, 0), (9, 9)])]), TILE)

    assert list(zones.zones_in(Window(20, 20, 10, 10))) == []
    assert list(polygon_zones(polygons([shapely.box(0, 0, 1, 1)]), TILE).zones_in(Window(0, 0, 9, 9))) == []


def test_holes_islands_and_parts():
    outer, hole, island = ([(a, a), (b, a), (b, b), (a, b)] for a, b in ((2, 30), (10, 20), (13, 17)))
    ring = shapely.Polygon(placed(outer).exterior, [placed(hole).exterior])
    mask = whole_masks(polygon_zones(polygons([shapely.MultiPolygon([ring, placed(island)])][:1]), TILE))["p0"]

    expected = np.zeros(TILE.shape, bool)
    expected[2:30, 2:30] = True
    expected[10:20, 10:20] = False
    expected[13:17, 13:17] = True
    assert (mask == expected).all()


def test_polygons_that_overlap_count_each_and_those_of_one_name_once():
    shapes = [placed([(a, 0), (a + 10, 0), (a + 10, 10), (a, 10)]) for a in (0, 5, 8)]
    zones = polygon_zones(polygons(shapes, ["a", "b", "a"]), TILE)

    masks = whole_masks(zones)

    assert zones.names == ("a", "b")
    assert masks["a"].sum() == 180
    assert masks["b"].sum() == 100
    assert (masks["a"] & masks["b"]).sum() == 100


def test_only_polygons_that_hold_a_pixel_centre_of_the_tile_are_zones_of_it():
    tiny = placed([(3.6, 3.6), (3.9, 3.6), (3.9, 3.9)])
    one = placed([(3.4, 3.4), (3.6, 3.4), (3.6, 3.6), (3.4, 3.6)])
    sliver = placed([(0, 5.6), (50, 5.6), (50, 5.9), (0, 5.9)])
    away = placed([(60, 0), (70, 0), (70, 10)])

    zones = polygon_zones(polygons([tiny, one, sliver, away], ["tiny", "one", "sliver", "away"]), TILE)

    assert zones.names == ("one",)
    assert zones.extent(0) == Window(3, 3, 1, 1)
    assert whole_masks(zones)["one"].sum() == 1


@pytest.mark.parametrize(
    ("grid", "crs"),
    [
        (TILE, LONLAT),
        (TILE, CRS.from_epsg(3857).to_wkt()),
        (Grid((60, 70), Affine(0.01, 0, 14.8, 0, -0.01, 63.4), LONLAT), UTM),
        (Grid((60, 70), Affine(0.01, 0, 14.8, 0, -0.01, 63.4), LONLAT), CRS.from_epsg(4258).to_wkt()),
        (Grid((60, 70), Affine(5000, 0, 4_000_000, 0, -5000, 4_000_000), CRS.from_epsg(3035).to_wkt()), LONLAT),
        (Grid((60, 70), Affine(40, 9, 500_000, 7, -45, 7_000_000), UTM), LONLAT),
    ],
    ids=["utm-lonlat", "utm-mercator", "lonlat-utm", "lonlat-etrs", "laea-lonlat", "turned"],
)
def test_edges_are_straight_in_the_crs_of_the_polygons(grid, crs):
    """A pixel is inside when its centre, brought to their CRS, is; but for some 0.001 pixels along the border."""
    rows, columns = grid.shape
    around = [(columns * a, rows * b) for a, b in ((-0.3, 0.2), (0.5, -0.2), (1.4, 0.1), (0.9, 0.8), (0.2, 1.5))]
    x, y = transform(grid.crs, crs, *zip(*(grid.transform @ point for point in around), strict=True))[:2]
    shape = shapely.Polygon(zip(x, y, strict=True))
    mask = whole_masks(polygon_zones(polygons([shape], crs=crs), grid), grid)["p0"]

    expected = centres_inside(shape, grid, crs)
    assert 0.2 < expected.mean() < 0.97
    assert (mask != expected).sum() <= 1


def test_longitudes_count_modulo_360():
    pacific = Grid((20, 40), Affine(1, 0, 170, 0, -1, 10), LONLAT)
    fiji = shapely.MultiPolygon([shapely.box(177.2, -5, 180, 3), shapely.box(-180, -5, -175.2, 3)])
    parts = shapely.get_parts(fiji)

    mask = whole_masks(polygon_zones(polygons(list(parts), ["fiji", "fiji"], LONLAT), pacific), pacific)["fiji"]

    expected = np.zeros(pacific.shape, bool)
    expected[7:15, 7:15] = True
    assert (mask == expected).all()


def test_a_projected_tile_across_longitude_180_takes_polygons_of_both_sides():
    grid = Grid((40, 40), Affine(10_000, 0, 600_000, 0, -10_000, 8_200_000), CRS.from_epsg(32760).to_wkt())
    shapes = [shapely.box(178, -20, 180, -17), shapely.box(-180, -20, -178, -17), shapely.box(-10, -20, 10, -17)]
    zones = polygon_zones(polygons(shapes, ["fiji", "fiji", "africa"], LONLAT), grid)

    rows, columns = np.mgrid[:40, :40] + 0.5
    x, y = 600_000 + 10_000 * columns, 8_200_000 - 10_000 * rows
    longitude, latitude = (np.reshape(v, x.shape) for v in transform(grid.crs, LONLAT, x.ravel(), y.ravel())[:2])
    expected = (np.abs(longitude) > 178) & (latitude > -20) & (latitude < -17)
    assert zones.names == ("fiji",)
    assert (whole_masks(zones, grid)["fiji"] != expected).sum() <= 1  # 2 m from the border
    assert expected.sum() > 100


def test_a_country_around_the_world_needs_no_place_in_the_crs_of_the_tile():
    world = shapely.box(-180, -90, 180, 90).difference(shapely.box(14.9, 63.1, 15.05, 63.12))
    mask = whole_masks(polygon_zones(polygons([world], crs=LONLAT), TILE))["p0"]

    assert (mask == centres_inside(world, TILE, LONLAT)).all()


def test_zones_go_to_workers_and_keep_their_fingerprint():
    shapes = [placed([(a, 0), (a + 9, 0), (a + 9, 9)]) for a in (0, 10, 200)]
    zones = polygon_zones(polygons(shapes), TILE)

    copy = pickle.loads(pickle.dumps(zones))  # noqa: S301  our own

    assert copy.fingerprint == zones.fingerprint
    assert all((mask == whole_masks(copy)[name]).all() for name, mask in whole_masks(zones).items())
    far = [*shapes[:2], placed([(300, 0), (309, 0), (309, 9)])]
    assert polygon_zones(polygons(far), TILE).fingerprint == zones.fingerprint  # what is not here does not matter
    moved = [*shapes[:1], placed([(10, 0), (19, 0), (19, 10)])]
    assert polygon_zones(polygons(moved), TILE).fingerprint != zones.fingerprint
    assert polygon_zones(polygons(shapes, ["p0", "other", "p2"]), TILE).fingerprint != zones.fingerprint


def test_zones_can_be_narrowed_down():
    shapes = [placed([(a, 0), (a + 9, 0), (a + 9, 9)]) for a in (0, 10, 20, 5)]
    zones = polygon_zones(polygons(shapes, ["a", "b", "c", "a"]), TILE)

    found = zones.only({"c", "a", "x"})

    assert found.names == ("a", "c")
    assert all((mask == whole_masks(zones)[name]).all() for name, mask in whole_masks(found).items())


def test_a_tile_without_crs_holds_no_polygons():
    with pytest.raises(DataError, match="the tile has no CRS"):
        polygon_zones(polygons([shapely.box(0, 0, 1, 1)]), Grid((4, 4), Affine.identity(), ""))


@pytest.mark.parametrize("driver", ["GPKG", "FlatGeobuf", "ESRI Shapefile", "GeoJSON"])
def test_files_of_any_kind_are_read(tmp_path, driver):
    import pyogrio

    path = tmp_path / f"x.{ {'GPKG': 'gpkg', 'FlatGeobuf': 'fgb', 'GeoJSON': 'geojson'}.get(driver, 'shp') }"
    shapes = shapely.to_wkb([shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 1), shapely.box(5, 5, 6, 6)])
    fields = [np.array(["a", "b", "a"], object), np.array([1, 2, 3])]
    pyogrio.raw.write(path, shapes, fields, ["NAME", "POP"], geometry_type="Polygon", crs="EPSG:4326", driver=driver)

    read = polygons_of(path)

    assert sorted(read.names) == ["a", "b"]
    found = {(read.names[i], shape.normalize()) for i, shape in zip(read.zone, read.geometry, strict=True)}
    assert found == {(n, s.normalize()) for n, s in zip("aba", shapely.from_wkb(shapes), strict=True)}
    assert CRS.from_wkt(read.crs) == CRS.from_epsg(4326)
    assert read.notes == ()
    assert polygons_of(path, where="POP > 2").names == ("a",)
    assert set(polygons_of(path, name="POP").names) == {"1", "2", "3"}


def test_what_is_left_out_is_told(tmp_path):
    bow = [[0, 0], [2, 2], [2, 0], [0, 2], [0, 0]]
    path = geojson(
        tmp_path / "x.geojson",
        feature("a", square(0, 0, 1)),
        feature(None, square(0, 0, 1)),
        feature(" ", square(0, 0, 1)),
        feature("empty"),
        feature("point", [0, 0], kind="Point"),
        feature("bow", bow),
    )

    read = polygons_of(path)

    assert read.names == ("a", "bow")
    assert read.notes[0] == f"{path}: 2 features without a name are in no region (number 2, 3)"
    assert read.notes[1] == f"{path}: 2 features without a polygon are in no region (number 4, 5)"
    assert read.notes[2].startswith(
        f"{path}: 1 polygons are not valid, the first one of 'bow' (Self-intersection[1 1]);"
    )
    assert len(read.notes) == 3


def test_numbers_that_some_features_lack_are_names_without_a_fraction(tmp_path):
    path = geojson(tmp_path / "x.geojson", *(feature(n, square(i, 0, 1)) for i, n in enumerate((12, None, 3))))

    assert polygons_of(path).names == ("12", "3")

    path = geojson(tmp_path / "y.geojson", *(feature(n, square(i, 0, 1)) for i, n in enumerate((2**60 + 1, None))))
    with pytest.raises(DataError, match="numbers too large to be names; make the attribute text"):
        polygons_of(path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": "NAMES"}, "name: {path} has no attribute 'NAMES'; did you mean 'NAME'?"),
        ({"where": "NAME = = 'a'"}, "where: \"NAME = = 'a'\" is no condition on {path}"),
        ({"where": "NAM = 'a'"}, "where: \"NAM = 'a'\" is no condition on {path}"),
        ({"where": "NAME = 'z'"}, "where: {path} has no feature of which \"NAME = 'z'\" holds"),
        ({"layer": "y"}, "layer: {path} has no layer 'y'; known are x"),
    ],
)
def test_a_setting_of_no_use_is_told_with_its_key(tmp_path, settings, message):
    path = geojson(tmp_path / "x.geojson", feature("a", square(0, 0, 1)))

    with pytest.raises(DataError) as caught:
        polygons_of(path, **settings)

    assert str(caught.value).startswith(message.format(path=path))


def test_a_file_of_no_use_is_told(tmp_path):
    path = tmp_path / "x.gpkg"
    with pytest.raises(DataError, match=r"polygons: there is no file .*x\.gpkg"):
        polygons_of(path)
    path.write_text("nothing")
    with pytest.raises(DataError, match=r"polygons: .*x\.gpkg cannot be read"):
        polygons_of(path)
    point = geojson(tmp_path / "p.geojson", feature("p", [0, 0], kind="Point"))
    with pytest.raises(DataError, match="holds no polygon that has a name"):
        polygons_of(point)


def test_a_layer_without_crs_is_refused(tmp_path):
    import pyogrio

    path = tmp_path / "x.shp"
    with pytest.warns(UserWarning, match="crs"):
        pyogrio.raw.write(
            path,
            shapely.to_wkb([shapely.box(0, 0, 1, 1)]),
            [np.array(["a"], object)],
            ["NAME"],
            geometry_type="Polygon",
        )

    with pytest.raises(DataError, match=r"has no CRS; give it the one that its coordinates are in, .* -a_srs"):
        polygons_of(path)


def test_metres_without_their_crs_are_refused(tmp_path):
    path = geojson(tmp_path / "x.geojson", feature("a", square(500_000, 7_000_000, 100)), crs=None)

    with pytest.raises(
        DataError, match=r"polygons: .* has coordinates up to 7000100, which are no degrees, .*EPSG:4326"
    ):
        polygons_of(path)


def test_a_file_of_several_layers_needs_one_named(tmp_path):
    import pyogrio

    path = tmp_path / "x.gpkg"
    for layer in ("towns", "states"):
        pyogrio.raw.write(
            path, shapely.to_wkb([shapely.box(0, 0, 1, 1)]), [np.array([layer], object)], ["NAME"],
            geometry_type="Polygon", crs="EPSG:4326", layer=layer, append=path.exists(),
        )  # fmt: skip

    with pytest.raises(DataError, match=r"layer: .* has the layers towns, states; name one with 'layer'"):
        polygons_of(path)
    assert polygons_of(path, layer="states").names == ("states",)


def test_the_extra_that_polygons_need_is_named(tmp_path, monkeypatch):
    found = builtins.__import__

    def without(name, *rest):
        if name.split(".")[0] == "pyogrio":
            raise ImportError(name)
        return found(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.delitem(sys.modules, "pyogrio", raising=False)

    with pytest.raises(DataError, match=r"pip install 'geouq\[polygons\]'"):
        polygons_of(tmp_path / "x.gpkg")
