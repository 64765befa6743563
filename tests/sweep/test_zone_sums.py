"""Zones of a tile: what lies in a polygon or class adds up as if it were alone, whatever the windows."""

import csv
import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest
import rasterio
from affine import Affine
from alike import same
from forecasts import heteroscedastic
from scipy.stats import spearmanr

from geouq import summarize_arrays
from geouq.config import EQUAL_COUNT_10, BinScheme, load_experiment
from geouq.core.errors import DataError
from geouq.core.failures import Failure
from geouq.core.grid import Grid, Window
from geouq.metrics import ence, spearman
from geouq.rasters.catalog import find_tiles
from geouq.reading.cutting import Reading
from geouq.reading.reader import TileReader
from geouq.summary.tail_pixels import FEW
from geouq.sweep.settings import Settings
from geouq.sweep.tiles import Zone, ZoneSweep, all_together, sweep_tiles, sweep_zones
from geouq.sweep.zone_batches import part_for
from geouq.zones.masks import Part, shrunk

SHAPE = (700, 8500)  # more than a band


@dataclass(frozen=True)
class Masked:
    """Zones that are given as masks of the tile."""

    masks: dict[str, np.ndarray]
    fingerprint: str = "masks"
    rasters: tuple = ()

    @property
    def names(self):
        return tuple(self.masks)

    def extent(self, zone):
        rows, columns = (np.flatnonzero(self.masks[self.names[zone]].any(axis)) for axis in (1, 0))
        return Window(rows[0], columns[0], rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1)

    def zones_in(self, window):
        for zone, mask in enumerate(self.masks.values()):
            part = shrunk(zone, window, mask[window.slices])
            if isinstance(part, Part):
                yield part


@pytest.fixture(scope="module")
def masks():
    """Overlapping zones: a disc over the border of two bands, a line, half of all, and a single pixel."""
    row, column = np.ogrid[: SHAPE[0], : SHAPE[1]]
    return {
        "disc": (row - 350) ** 2 + (column - 8200) ** 2 < 280**2,
        "line": np.broadcast_to(row == 511, SHAPE) & (column < 3000),
        "half": np.random.default_rng(1).random(SHAPE) < 0.5,
        "pixel": (row == 699) & (column == 8499),
    }


@pytest.fixture(scope="module")
def wide_tile(tmp_path_factory):
    """A tile wider than a band, of one variable, with a hole in its truth; and its arrays."""
    folder = tmp_path_factory.mktemp("wide")
    arrays = [layer.copy() for layer in heteroscedastic(SHAPE, 4)]
    arrays[2][:300, :2000] = np.nan
    for name, array in zip(("mean", "variance", "truth"), arrays, strict=True):
        with rasterio.open(
            folder / f"t_{name}.tif", "w", driver="GTiff", height=SHAPE[0], width=SHAPE[1], count=1, dtype="float32",
            crs="EPSG:32633", transform=Affine(10, 0, 5e5, 0, -10, 7e6), nodata=np.nan, tiled=True, sparse_ok=True,
        ) as target:  # fmt: skip
            target.write(array, 1)
    config = folder / "x.yaml"
    layers = ", ".join(f"{name}: '{{tile}}_{name}.tif'" for name in ("mean", "variance", "truth"))
    config.write_text(f"version: 1\nname: x\ntiles: [t]\ndata: {{{layers}}}\n")
    (tile,) = find_tiles(load_experiment(config)).tiles
    return tile, arrays


def swept(tile, layers, reading=Reading(), threads=2, batched=all_together, **settings):  # noqa: B008  frozen
    """Zones by name, and what else came."""
    wanted = Settings(**{"levels": (0.5, 0.9), "cell_size": 64} | settings)
    with ThreadPoolExecutor(threads) as pool:
        outcomes = list(sweep_zones([(tile, layers)], wanted, pool, 4, reading_of=lambda _: reading, batched=batched))
    zones = {outcome.name: outcome.summary for outcome in outcomes if isinstance(outcome, Zone)}
    return zones, [outcome for outcome in outcomes if not isinstance(outcome, Zone)]


def test_a_zone_adds_up_to_what_its_pixels_alone_do(wide_tile, masks):
    tile, arrays = wide_tile
    zones, ends = swept(tile, {"drawn": Masked(masks)})

    assert ends == [tile]
    for name, mask in masks.items():
        alone = summarize_arrays(*(np.where(mask, array, np.nan) for array in arrays), (0.5, 0.9), cell_size=64)
        (zone,) = zones[name].variables.values()
        assert zone.whole.n == alone.whole.n, name
        assert np.array_equal(zone.whole.z.counts, alone.whole.z.counts)
        assert np.array_equal(zone.whole.variance.keys, alone.whole.variance.keys)
        np.testing.assert_allclose(zone.whole.moments.sums, alone.whole.moments.sums, rtol=1e-11, atol=1e-9)
        np.testing.assert_allclose(zone.whole.variance.sums, alone.whole.variance.sums, rtol=1e-12)
        assert zone.whole.n + zone.excluded.sum() == mask.sum()
        assert (zone.cells.moments.n > 0).sum() == (alone.cells.moments.n > 0).sum()


def test_of_a_zone_with_few_pixels_each_is_kept_at_its_place(tmp_path, write_raster):
    shape = (300, 700)
    mean, variance, truth = heteroscedastic(shape, 2)
    variance = np.round(4 * variance + 1) / 4  # many pixels have one variance
    for name, array in {"mean": mean, "variance": variance, "truth": truth}.items():
        write_raster(tmp_path / f"t_{name}.tif", array, nodata=np.nan)
    config = tmp_path / "x.yaml"
    layers = ", ".join(f"{name}: '{{tile}}_{name}.tif'" for name in ("mean", "variance", "truth"))
    config.write_text(f"version: 1\nname: x\ntiles: [t]\ndata: {{{layers}}}\n")
    (tile,) = find_tiles(load_experiment(config)).tiles
    row, column = np.mgrid[: shape[0], : shape[1]]
    masks = {"disc": (row - 150) ** 2 + (column - 300) ** 2 < 140**2, "most": column > 10}
    zones, _ = swept(tile, {"drawn": Masked(masks)}, Reading(256, 256), ordering=True)

    valid = masks["disc"] & np.isfinite(mean + variance + truth)
    order = np.lexsort((column[valid], row[valid], variance[valid]))
    (few,), (many,) = (zones[name].variables.values() for name in ("disc", "most"))
    error = mean.astype(float) - truth
    expected = np.column_stack([variance[valid], error[valid] ** 2])[order]
    np.testing.assert_array_equal(few.whole.variance.kept.by_place(), expected)
    assert not many.whole.variance.kept.every
    alone = summarize_arrays(*(np.where(masks["disc"], a, np.nan) for a in (mean, variance, truth)), (0.5, 0.9)).whole
    for scheme in (EQUAL_COUNT_10, BinScheme(scheme="equal-split", count=100)):
        assert float(ence(few.whole, scheme)) == pytest.approx(float(ence(alone, scheme)), rel=1e-13)
    assert float(spearman(few.whole)) == pytest.approx(
        spearmanr(abs(error[valid]), variance[valid]).statistic, rel=1e-12
    )


@pytest.mark.parametrize("reading", [Reading(256, 256), Reading(768, 2048), Reading(512, 8704)])
def test_the_same_bits_whatever_the_windows_and_threads(wide_tile, masks, reading):
    tile, _ = wide_tile
    layers = {"drawn": Masked(masks), "again": Masked({"twice": masks["disc"]})}
    one, other = swept(tile, layers, threads=1)[0], swept(tile, layers, reading, threads=3)[0]

    assert sorted(one) == sorted(other) == ["disc", "half", "line", "pixel", "twice"]
    assert all(same(one[name], other[name]) for name in one)
    assert same(one["disc"], one["twice"])


def test_a_zone_is_saved_in_the_same_form_whatever_the_windows(wide_tile):
    tile, _ = wide_tile
    row, column = np.ogrid[: SHAPE[0], : SHAPE[1]]
    patchy = (row < 512) & (column >= 1920) & (column < 2080)  # more pixels than are kept, fewer valid ones
    readings = Reading(256, 256), Reading(512, 512), Reading(768, 8704)
    saved = []
    for reading in readings:
        zones, _ = swept(tile, {"drawn": Masked({"patchy": patchy})}, reading)
        (zone,) = zones["patchy"].variables.values()
        saved.append({name: array.tobytes() for name, array in zone.whole.variance.to_arrays().items()})
        assert zone.whole.n <= FEW < patchy.sum()

    assert "swept_variance" in saved[0]
    assert saved[0] == saved[1] == saved[2]


def test_the_same_bits_in_one_pass_and_in_several(wide_tile, masks):
    tile, _ = wide_tile
    together, _ = swept(tile, {"drawn": Masked(masks)})
    passes = [{"drawn": Masked({name: mask})} for name, mask in masks.items()]
    apart, ends = swept(tile, {"drawn": Masked(masks)}, batched=lambda *_: passes)

    assert ends == [tile]
    assert list(apart) == list(masks)
    assert all(same(apart[name], together[name]) for name in masks)


def test_only_windows_with_a_zone_in_them_are_read(wide_tile, masks, monkeypatch):
    tile, _ = wide_tile
    windows, read = [], TileReader.read

    def noted(self, variable, window):
        windows.append(window)
        return read(self, variable, window)

    monkeypatch.setattr(TileReader, "read", noted)
    swept(tile, {"drawn": Masked({"pixel": masks["pixel"], "line": masks["line"]})})

    assert {window.row for window in windows if window.column < 3072} == {0}
    assert len([window for window in windows if window.column >= 3072]) == 1


def with_tile(tile, layers, reading):
    """The tile and its zones by name, and failures, of one sweep."""
    settings, taken = Settings(levels=(0.5, 0.9), cell_size=64), []
    with ThreadPoolExecutor(2) as pool:
        zones = ZoneSweep(lambda _: layers, take=taken.append)
        (summary,) = sweep_tiles([tile], settings, pool, 4, reading_of=lambda _: reading, zones=zones)
        (alone,) = sweep_tiles([tile], settings, pool, 4, reading_of=lambda _: reading)
    assert same(summary, alone)
    failures = [one for one in taken if isinstance(one, Failure)]
    return {one.name: one.summary for one in taken if isinstance(one, Zone)}, failures


@pytest.mark.parametrize("reading", [Reading(), Reading(256, 2048)])
def test_zones_that_are_swept_with_their_tile_have_the_bits_of_zones_swept_alone(wide_tile, masks, reading):
    tile, _ = wide_tile
    layers = {"drawn": Masked(masks), "again": Masked({"twice": masks["disc"]})}
    alone, _ = swept(tile, layers)
    together, failures = with_tile(tile, layers, reading)

    assert not failures
    assert sorted(together) == sorted(alone)
    assert all(same(together[name], alone[name]) for name in alone)


def test_zones_whose_pixels_are_summed_before_their_group_ends_have_the_same_bits(wide_tile, masks, monkeypatch):
    tile, _ = wide_tile
    whole, _ = swept(tile, {"drawn": Masked(masks)})
    monkeypatch.setattr("geouq.sweep.zone_sums.MANY", 1000)
    often, _ = swept(tile, {"drawn": Masked(masks)})

    assert all(same(whole[name], often[name]) for name in masks)


def test_a_layer_that_cannot_be_read_fails_the_zones_and_keeps_the_tile(wide_tile):
    @dataclass(frozen=True)
    class Unreadable(Masked):
        def zones_in(self, window):
            raise DataError(f"no codes at row {window.row}")

    tile, _ = wide_tile
    zones, (failure,) = with_tile(tile, {"drawn": Unreadable({"disc": np.ones(SHAPE, bool)})}, Reading())

    assert not zones
    assert (failure.stage, failure.tile, failure.message) == ("zones", "t", "no codes at row 0")


def test_what_is_outside_of_a_zone_is_neither_valid_nor_excluded(wide_tile):
    tile, arrays = wide_tile
    corner = np.zeros(SHAPE, bool)
    corner[250:350, 1900:2100] = True
    zones, _ = swept(tile, {"drawn": Masked({"corner": corner})})
    (zone,) = zones["corner"].variables.values()
    no_truth = np.isnan(arrays[2]) & corner

    assert zone.excluded.sum() == corner.sum() - zone.whole.n
    assert zone.excluded[0] == no_truth.sum()


def test_a_negative_variance_outside_of_all_zones_stops_nothing(tmp_path, write_raster):
    mean, variance, truth = heteroscedastic((60, 60), 2, missing=0)
    variance[50, 50] = -1
    for name, array in {"mean": mean, "variance": variance, "truth": truth}.items():
        write_raster(tmp_path / f"t_{name}.tif", array)
    config = tmp_path / "x.yaml"
    layers = ", ".join(f"{name}: '{{tile}}_{name}.tif'" for name in ("mean", "variance", "truth"))
    config.write_text(f"version: 1\nname: x\ntiles: [t]\ndata: {{{layers}}}\n")
    (tile,) = find_tiles(load_experiment(config)).tiles
    west, east = np.zeros((60, 60), bool), np.zeros((60, 60), bool)
    west[:, :30], east[:, 30:] = True, True

    assert swept(tile, {"drawn": Masked({"west": west})})[1] == [tile]
    (failure,) = swept(tile, {"drawn": Masked({"east": east})})[1]
    assert isinstance(failure, Failure)
    assert "-1 at row 50, column 50" in failure.message


@pytest.mark.parametrize(
    ("extent", "expected"),
    [
        (Window(300, 700, 10, 10), Window(256, 512, 256, 256)),
        (Window(300, 8000, 400, 400), Window(256, 0, 444, 8448)),
        (Window(-50, -50, 10_000, 20_000), Window(0, 0, 700, 8500)),
        (Window(690, 8400, 10, 100), Window(512, 8192, 188, 308)),
    ],
)
def test_the_part_of_a_zone_begins_at_a_square_or_at_a_band(extent, expected):
    assert part_for(extent, Grid(SHAPE, Affine.identity(), "")) == expected


# from files to tables


@pytest.fixture
def landscape(tile_folder, tmp_path, write_raster):
    """Three tiles side by side with fields drawn over two of them, and land cover; and a configuration."""
    place = Affine(10, 0, 500_000, 0, -10, 7_000_000)

    def field(name, left, top, right, bottom):
        corners = [place @ corner for corner in ((left, top), (right, top), (right, bottom), (left, bottom))]
        ring = [*map(list, corners), list(corners[0])]
        return {
            "type": "Feature",
            "properties": {"NAME": name},
            "geometry": {"type": "Polygon", "coordinates": [ring]},
        }

    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::32633"}}
    fields = [field("meadow", 10, 5, 30, 25), field("forest", 40, 0, 70, 40), field("speck", 3.6, 3.6, 3.9, 3.9)]
    (tmp_path / "fields.geojson").write_text(json.dumps({"type": "FeatureCollection", "crs": crs, "features": fields}))
    for index, name in enumerate(("a1", "a2", "b1")):
        cover = np.repeat([1, 2, 3, 0], [10, 20, 15, 5])[np.newaxis].repeat(40, 0).astype(np.uint8)
        write_raster(
            tmp_path / f"cover/{name}.tif", cover, nodata=0, transform=place @ Affine.translation(index * 50, 0)
        )

    def make(regions, more=""):
        return tile_folder(
            text="variables: {height: {band: 1}}\nintervals: {resamples: 100}\noutput: {figures: none}\n"
            f"{more}regions:\n{regions}"
        )

    return make


FIELDS = "  fields: {polygons: fields.geojson, name: NAME}\n"
COVER = "  land: {classes: 'cover/{tile}.tif', names: {1: lake, 2: bog}}\n"
MADE = "  dry: {of: all, without: lake}\n  east: [b1]\n  not-east: {of: all, without: east}\n"


def rows_of(folder, **wanted):
    with (folder / "results/small/tables/metrics.csv").open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if all(row[key] == value for key, value in wanted.items())]


def test_polygons_classes_and_regions_made_of_these_stand_in_the_tables(landscape, tmp_path, geouq):
    result = geouq("run", landscape(FIELDS + COVER + MADE))
    n = {row["name"]: int(row["n"]) for row in rows_of(tmp_path, metric="bias", variable="height")}

    assert result.exit_code == 0, result.output
    assert set(n) == {"all", "east", "meadow", "forest", "lake", "bog", "dry", "not-east", "a1", "a2", "b1"}
    assert n["not-east"] == n["a1"] + n["a2"]
    assert n["dry"] == n["all"] - n["lake"]
    assert "1 of 3 regions of fields hold" in result.output
    assert "speck" in result.output
    with (tmp_path / "results/small/tables/zones.csv").open() as file:
        zones = {row["name"]: (row["layer"], row["tiles"], row["n_pixels"]) for row in csv.DictReader(file)}
    assert zones["forest"] == ("fields", "2", "1200")
    assert zones["meadow"] == ("fields", "1", "400")
    assert zones["speck"] == ("fields", "0", "0")
    assert (zones["lake"], zones["not-east"][1:]) == (("land", "3", "1200"), ("2", "4000"))
    assert (tmp_path / "results/small/report/forest.html").is_file()


def test_a_region_over_two_tiles_is_the_sum_of_its_parts(landscape, tmp_path, geouq):
    """The forest lies on columns 40 to 49 of a1 and 0 to 19 of a2."""
    geouq("run", landscape(FIELDS))
    pieces = [heteroscedastic((40, 50), 0), heteroscedastic((40, 50), 10)]
    mean, variance, truth = (
        np.concatenate([one[:, 40:], other[:, :20]], axis=1).astype(np.float64)
        for one, other in zip(*pieces, strict=True)
    )
    valid = np.isfinite(mean + variance + truth)
    (row,) = rows_of(tmp_path, metric="rmse", variable="height", name="forest")

    assert int(row["n"]) == valid.sum()
    assert float(row["value"]) == pytest.approx(np.sqrt(np.mean((mean - truth)[valid] ** 2)), rel=1e-12)


def test_a_second_run_reads_no_pixel_and_a_new_layer_reads_its_own(landscape, tmp_path, geouq, monkeypatch):
    config = landscape(FIELDS)
    geouq("run", config)
    before = rows_of(tmp_path)
    read, windows = TileReader.read, []

    def noted(self, variable, window):
        windows.append((self.tile.name, window))
        return read(self, variable, window)

    monkeypatch.setattr(TileReader, "read", noted)
    again = geouq("run", config)
    assert not windows
    assert "3 of 3 tiles are summarised already" in again.output
    assert rows_of(tmp_path) == before

    config.write_text(config.read_text() + "  land: {classes: 'cover/{tile}.tif', names: {1: lake}}\n")
    more = geouq("run", config)
    assert "3 of 3 tiles are read for regions of land" in more.output
    assert len(windows) == 3
    assert [row for row in rows_of(tmp_path) if row["name"] != "lake"] == before


def test_each_window_is_decoded_once_for_a_tile_and_all_its_zones(landscape, geouq, monkeypatch):
    windows = []

    class Noted(TileReader):
        def read(self, variable, window):
            windows.append((self.tile.name, window))
            return super().read(variable, window)

    for room in ("tile_sum", "zone_sums"):  # the input checks read windows too
        monkeypatch.setattr(f"geouq.sweep.{room}.TileReader", Noted)
    config = landscape(FIELDS + COVER + MADE)
    geouq("run", config)

    assert len(windows) == len(set(windows)) == 3
    geouq("run", config, "--fresh")
    assert len(windows) == 6


def test_tiles_whose_classes_cannot_be_read_are_kept_and_only_their_regions_read_later(landscape, tmp_path, geouq):
    config, whole = landscape(COVER), tmp_path / "cover/a1.tif"
    content = whole.read_bytes()
    whole.write_bytes(content[:-40])
    stamp = whole.stat()
    first = geouq("run", config)
    whole.write_bytes(content)
    os.utime(whole, ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1))
    again = geouq("run", config)

    assert first.exit_code == 3, first.output
    assert "tile a1 failed" in first.output
    assert again.exit_code == 0, again.output
    assert "3 of 3 tiles are summarised already" in again.output
    assert "1 of 3 tiles are read for regions of land" in again.output


def test_polygons_that_are_gone_leave_no_numbers(landscape, tmp_path, geouq):
    config = landscape(FIELDS)
    geouq("run", config)
    text = (tmp_path / "fields.geojson").read_text()
    (tmp_path / "fields.geojson").write_text(text.replace("forest", "wood"))
    geouq("run", config)

    assert rows_of(tmp_path, name="wood")
    assert not rows_of(tmp_path, name="forest")


def test_check_tells_of_a_region_that_cannot_be(landscape, geouq):
    result = geouq("check", landscape("  fields: {polygons: fields.geojson, name: NAM}\n"))

    assert result.exit_code == 2
    assert "regions.fields.name" in result.output
    assert "did you mean 'NAME'?" in result.output


@pytest.mark.parametrize(("fingerprint", "read"), [("modified", 1), ("checksum", 0)])
def test_a_class_raster_that_is_touched_is_the_same_by_its_checksum(landscape, tmp_path, geouq, fingerprint, read):
    config = landscape(COVER, f"fingerprint: {fingerprint}\n")
    geouq("run", config)
    path = tmp_path / "cover/a1.tif"
    os.utime(path, ns=(1, 1))

    assert ("1 of 3 tiles are read for regions of land" in geouq("run", config).output) == bool(read)
    inputs = json.loads((tmp_path / "results/small/run.json").read_text())["inputs"]["a1"]["regions.land"]
    assert inputs["file"] == "a1.tif"
    assert ("files" in inputs) == (fingerprint == "checksum")
    with rasterio.open(path, "r+") as cover:
        cover.write(np.full((1, 40, 50), 2, np.uint8))
    assert "1 of 3 tiles are read for regions of land" in geouq("run", config).output


def test_exact_bins_say_where_they_are_not(landscape, geouq):
    result = geouq("check", landscape(COVER, "bins: {exact: true}\n"))

    assert "edges of those from land are placed on the profile" in result.output


def test_report_needs_neither_polygons_nor_pixels(landscape, tmp_path, geouq):
    geouq("run", landscape(FIELDS + COVER + MADE))
    before = rows_of(tmp_path)
    for path in [*tmp_path.glob("*/*.tif"), tmp_path / "fields.geojson"]:
        path.unlink()

    assert geouq("report", tmp_path / "results/small").exit_code == 0
    assert rows_of(tmp_path) == before


def test_zones_have_the_numbers_of_groups_and_intervals_too(landscape, tmp_path, geouq):
    geouq("run", landscape(COVER))
    found = {row["metric"] for row in rows_of(tmp_path, name="bog", variable="height")}

    assert found == {row["metric"] for row in rows_of(tmp_path, name="all", variable="height")}


def test_a_class_without_a_pixel_is_told(landscape, geouq):
    result = geouq("run", landscape("  land: {classes: 'cover/{tile}.tif', names: {1: lake, 9: dune}}\n"))

    assert result.exit_code == 0
    assert "note: regions of land: no tile holds a pixel of dune" in result.output


def test_a_tile_without_a_valid_pixel_beside_classes_stops_nothing(tile_folder, tmp_path, write_raster, geouq):
    config = tile_folder(("a1",), text="  classes: {cover: 'cover/{tile}.tif'}\n")
    write_raster(tmp_path / "cover/a1.tif", np.ones((40, 50), np.uint8))
    with rasterio.open(tmp_path / "truth/a1.tif", "r+") as truth:
        truth.write(np.full((3, 40, 50), np.nan, np.float32))

    assert geouq("run", config).exit_code == 3  # no pixel could be evaluated
    assert {row["value"] for row in rows_of(tmp_path, metric="lowest_group_coverage_90")} == {""}


def test_regions_of_few_pixels_have_exact_bins_in_tables(landscape, geouq, tmp_path):
    landscape(FIELDS + COVER + MADE)
    assert geouq("run", "experiment.yaml", "--quiet").exit_code == 0

    with (tmp_path / "results/small/tables/bins.csv").open() as file:
        edges = {(row["name"], row["bins"]): row["edges"] for row in csv.DictReader(file) if row["level"] != "tile"}
    assert {name for name, _ in edges} == {"all", "meadow", "forest", "lake", "bog", "dry", "east", "not-east"}
    assert set(edges.values()) == {"exact"}
