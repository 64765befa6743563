"""Tiles to summaries: the same bits whatever runs them, failures that stop nobody, edges that are exact."""

import itertools
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import numpy as np
import pytest
from affine import Affine
from forecasts import heteroscedastic
from restatement import plain_metrics, valid

from geouq import metrics
from geouq.arrays.points import summarize_arrays
from geouq.config import EQUAL_COUNT_10, EQUAL_WIDTH_10, load_experiment
from geouq.core.errors import DataError
from geouq.core.failures import Failure
from geouq.core.gaussian import half_width
from geouq.core.grid import Grid, Window
from geouq.core.validity import TRUTH_NODATA
from geouq.pipeline.data import Options
from geouq.pipeline.run import run as run_experiment
from geouq.rasters.areas import pixel_areas
from geouq.rasters.catalog import find_tiles
from geouq.reading.cutting import Reading
from geouq.reading.reader import TileReader, _Layer
from geouq.sweep.settings import Settings, cell_size_for
from geouq.sweep.tiles import CompleteTiles, sweep_tiles
from geouq.sweep.workers import TOO_LITTLE, _stopping, in_order, workers

BITS = ("sums", "products", "n")


def bits(summary):
    """Everything in a tile's summary, as bytes."""
    found = []
    for part in summary.variables.values():
        whole, cells = part.whole, part.cells
        found += [getattr(whole.moments, name).tobytes() for name in BITS]
        found += [whole.variance.sums.tobytes(), whole.z.counts.tobytes(), whole.interval_scores.tobytes()]
        found += [whole.variance.kept.variance.tobytes(), cells.entry_sums.tobytes(), part.excluded.tobytes()]
    return b"".join(found)


def copies(tiles, count):
    """The same tile under several names."""
    return [replace(tile, name=f"{tile.name}{number}") for tile in tiles for number in range(count)]


class Backwards(Executor):
    """Runs what it is given in reverse order, many at a time."""

    def __init__(self):
        self._waiting = []

    def submit(self, function, /, *args, **kwargs):
        future = Future()
        self._waiting.append((future, function, args, kwargs))
        if len(self._waiting) == 4:
            self.flush()
        return future

    def flush(self):
        for future, function, args, kwargs in reversed(self._waiting):
            future.set_result(function(*args, **kwargs))
        self._waiting = []


@pytest.fixture
def large_tile(tmp_path, write_raster):
    """One tile of several groups of windows, and its arrays."""
    arrays = heteroscedastic((1100, 4800), seed=20, missing=0.3)
    for path, array in zip(("m/t_mean.tif", "m/t_variance.tif", "y/t.tif"), arrays, strict=True):
        write_raster(tmp_path / path, array, nodata=np.nan, tiled=True, blockxsize=256, blockysize=256)
    config = tmp_path / "large.yaml"
    config.write_text(
        "version: 1\nname: large\n"
        "data: {mean: 'm/{tile}_mean.tif', variance: 'm/{tile}_variance.tif', truth: 'y/{tile}.tif'}\n"
    )
    return config, arrays


def test_the_same_bits_on_one_thread_on_many_and_in_any_order(large_tile):
    config, _ = large_tile
    experiment = load_experiment(config)
    tiles = find_tiles(experiment).tiles
    settings = Settings(experiment.levels, 64)
    found = []
    for count in (1, 2, 5):
        with workers(count) as pool:
            found += [bits(summary) for summary in sweep_tiles(tiles, settings, pool, 2 * count)]
    backwards = list(sweep_tiles(copies(tiles, 4), settings, Backwards(), 4))

    assert {bits(summary) for summary in backwards} == set(found)
    assert len(set(found)) == 1


@pytest.fixture(scope="module")
def wide_bands():
    """Mean, variance and truth of a tile that is wider than a band of windows, two bands each."""
    return [np.stack(pair) for pair in zip(*(heteroscedastic((700, 8500), seed) for seed in (1, 2)), strict=True)]


@pytest.mark.parametrize("interleave", ["band", "pixel"])
@pytest.mark.parametrize("weights", [False, True])
def test_the_same_bits_whatever_the_windows(tmp_path, write_raster, wide_bands, interleave, weights):
    """Windows of one square, of several, of whole bands and of the whole tile, over tiles wider than a band."""
    for path, array in zip(("m/t_mean.tif", "m/t_variance.tif", "y/t.tif"), wide_bands, strict=True):
        write_raster(tmp_path / path, array, nodata=np.nan, interleave=interleave, tiled=True)
    write_raster(tmp_path / "w/t.tif", np.random.default_rng(3).uniform(0, 2, wide_bands[0].shape).astype(np.float32))
    config = tmp_path / "wide.yaml"
    config.write_text(
        "version: 1\nname: wide\ndata: {mean: 'm/{tile}_mean.tif', variance: 'm/{tile}_variance.tif', "
        "truth: 'y/{tile}.tif'" + (", weights: 'w/{tile}.tif'}\n" if weights else "}\n")
    )
    tiles = find_tiles(load_experiment(config)).tiles
    found = set()
    for size in [(256, 256), (512, 512), (256, 1024), (768, 512), (512, 8704), (1024, 8704)]:
        with workers(2) as pool:
            (summary,) = sweep_tiles(
                tiles, Settings((0.5, 0.9), 128), pool, 4, reading_of=lambda _, size=size: Reading(*size)
            )
            found.add(bits(summary))
    assert len(found) == 1


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_cluster_of_processes_gives_the_same_bits(large_tile):
    """A running scheduler with two worker processes."""
    distributed = pytest.importorskip("distributed")
    tiles = find_tiles(load_experiment(large_tile[0])).tiles
    settings = Settings((0.5, 0.9), 64)
    with workers(2) as pool:
        (here,) = sweep_tiles(tiles, settings, pool, 4)
    cluster = distributed.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=":0")

    with cluster, workers(2, cluster.scheduler_address) as pool:
        (there,) = sweep_tiles(tiles, settings, pool, 4)

    assert bits(there) == bits(here)


def test_a_swept_tile_has_the_bits_of_its_arrays(large_tile):
    config, arrays = large_tile
    (tile,) = find_tiles(load_experiment(config)).tiles
    with ThreadPoolExecutor(2) as pool:
        (summary,) = sweep_tiles([tile], Settings((0.5, 0.8, 0.9, 0.95), 64), pool, 4)
    (swept,) = summary.variables.values()
    in_memory = summarize_arrays(*arrays, cell_size=64)

    assert swept.whole.moments.products.tobytes() == in_memory.whole.moments.products.tobytes()
    assert swept.whole.variance.sums.tobytes() == in_memory.whole.variance.sums.tobytes()
    expected = plain_metrics(*valid(*arrays))
    assert metrics.nll(swept.whole) == pytest.approx(expected["nll"], rel=1e-12)
    assert metrics.rmse(swept.whole) == pytest.approx(expected["rmse"], rel=1e-12)


def test_a_failing_tile_stops_no_other(tile_folder, sweep_one, tmp_path):
    config = tile_folder()
    damaged = tmp_path / "predictions" / "a2_mean.tif"
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[: len(whole) // 2])

    found = sweep_one(config)

    failures = {name: outcome for name, outcome in found.items() if isinstance(outcome, Failure)}
    assert set(found) - set(failures) >= {"a1", "b1"}
    assert all("a2_mean.tif" in failure.message for failure in failures.values())


def test_a_negative_variance_is_named_with_its_file_and_pixel(tile_folder, sweep_one, tmp_path, write_raster):
    config = tile_folder(("a1",))
    bands = np.ones((3, 40, 50), np.float32)
    bands[1, 7, 9] = -0.5
    for path in ("predictions/a1_mean.tif", "truth/a1.tif"):
        write_raster(tmp_path / path, np.ones_like(bands))
    write_raster(tmp_path / "predictions/a1_variance.tif", bands, names=["height", "cover", "gini"])

    failure = sweep_one(config)["a1"]
    excluding = sweep_one(config, negative="exclude")["a1"]

    assert "a1_variance.tif" in failure.message
    assert "-0.5 at row 7, column 9" in failure.message
    assert excluding.variables["band_2"].whole.n == 1999


def test_an_unexpected_error_is_a_failure_of_its_tile(tile_folder, sweep_one, monkeypatch):
    def broken(*_):
        raise MemoryError("no room")

    monkeypatch.setattr("geouq.sweep.tile_sum.TileReader.read", broken)

    found = sweep_one(tile_folder(("a1",)))["a1"]

    assert (found.stage, found.error, found.message) == ("sweep", "MemoryError", f"{TOO_LITTLE}: no room")


def test_stopping_ends_the_work_under_way(large_tile, monkeypatch):
    """An exception in the caller stops the tasks at their next window: each of two threads reads one more at most."""
    tiles = copies(find_tiles(load_experiment(large_tile[0])).tiles, 50)
    plain, reads = TileReader.read, itertools.count(1)

    def read(*arguments):
        if next(reads) > 100:
            assert _stopping.wait(600)
        return plain(*arguments)

    monkeypatch.setattr("geouq.sweep.tile_sum.TileReader.read", read)
    with ThreadPoolExecutor(2) as pool:
        outcomes = sweep_tiles(tiles, Settings((0.9,), 64), pool, 100)
        next(outcomes)
        with pytest.raises(KeyboardInterrupt):
            outcomes.throw(KeyboardInterrupt)
    assert next(reads) <= 100 + 2 + 1


def test_tiles_whose_servers_are_asked_are_left_to_be_saved_after_an_interruption(tile_folder, monkeypatch):
    tiles = find_tiles(load_experiment(tile_folder())).tiles
    monkeypatch.setattr("geouq.sweep.tiles._takes_requests", lambda _: True)
    asked, answered = [], Event()

    def unless_changed(tile, stage):
        asked.append(tile.name)
        assert answered.wait(60)
        return Failure(tile.name, stage, "ChangedError", "") if tile.name == "a2" else None

    monkeypatch.setattr("geouq.sweep.tiles._unless_changed", unless_changed)

    def interrupted(tasks, stage, pool, in_flight):
        yield from in_order(tasks, stage, pool, in_flight)
        answered.set()
        raise KeyboardInterrupt

    monkeypatch.setattr("geouq.sweep.tiles.in_order", interrupted)
    complete = CompleteTiles()
    with ThreadPoolExecutor(2) as pool, pytest.raises(KeyboardInterrupt):
        list(sweep_tiles(tiles, Settings((0.9,), 16), pool, 4, complete=complete))

    left = list(complete.left())
    assert sorted(outcome.tile for outcome in left) == sorted(asked) == [tile.name for tile in tiles]
    assert [outcome.tile for outcome in left if isinstance(outcome, Failure)] == ["a2"]
    assert list(complete.left()) == []


def test_an_interrupted_run_saves_the_tiles_that_are_complete(tile_folder, monkeypatch, tmp_path):
    config = tile_folder()
    monkeypatch.setattr("geouq.sweep.tiles._takes_requests", lambda _: True)

    def interrupted(tasks, stage, pool, in_flight):
        yield from in_order(tasks, stage, pool, in_flight)
        raise KeyboardInterrupt

    monkeypatch.setattr("geouq.sweep.tiles.in_order", interrupted)
    monkeypatch.setattr("geouq.sweep.tiles.CompleteTiles.checked", lambda *_: iter(()))
    with pytest.raises(KeyboardInterrupt):
        run_experiment(config, Options(out=tmp_path / "out"))

    assert {path.stem for path in (tmp_path / "out" / "summaries").glob("*.nc")} == {"a1", "a2", "b1"}


@pytest.mark.parametrize(("shape", "size"), [((22, 53), 16), ((200, 200), 16), ((232, 410), 32), ((4096, 4096), 256)])
def test_cells_leave_a_tile_at_least_64_of_them(shape, size):
    assert cell_size_for([Grid(shape, Affine.identity(), "")]) == size


def test_arrays_of_unlike_shape_are_refused():
    with pytest.raises(DataError, match="give one shape"):
        summarize_arrays(np.ones((2, 3)), np.ones((2, 3)), np.ones((3, 2)))


def test_equal_count_edges_are_nearly_those_of_the_sorted_pixels(large_tile):
    _, arrays = large_tile
    found = metrics.bin_edges(summarize_arrays(*arrays).whole.variance, EQUAL_COUNT_10)

    np.testing.assert_allclose(found, np.quantile(valid(*arrays)[1], np.arange(11) / 10), rtol=1e-3)


@pytest.fixture
def weighted_tile(tmp_path, write_raster):
    """A tile on a geographic grid, of one variable, with or without rasters of weights; and its arrays."""

    def make(weights, values=None, shape=(70, 90)):
        arrays = heteroscedastic(shape, seed=7)
        place = {"crs": "EPSG:4326", "transform": Affine(0.5, 0, 10, 0, -0.5, 75)}
        for layer, array in zip(("mean", "variance", "truth"), arrays, strict=True):
            write_raster(tmp_path / f"t_{layer}.tif", array, nodata=np.nan, **place)
        if values is not None:
            write_raster(tmp_path / "t_weights.tif", values.astype(np.float32), nodata=-1, **place)
        config = tmp_path / "weighted.yaml"
        layers = "".join(f"  {layer}: '{{tile}}_{layer}.tif'\n" for layer in ("mean", "variance", "truth"))
        config.write_text(f"version: 1\nname: weighted\ntiles: [t]\ndata:\n{layers}  weights: {weights}\n")
        return config, arrays

    return make


def weighted_metrics(mean, variance, truth, weight):
    """A restatement on whole arrays, by numpy's own weighted averages."""
    error, std = mean - truth, np.sqrt(variance)
    average = lambda values: np.average(values, weights=weight)  # noqa: E731
    edges = np.linspace(variance.min(), variance.max(), 11)
    bins = np.clip(np.searchsorted(edges, variance, side="right") - 1, 0, 9)
    shares = [(weight[bins == k].sum(), bins == k) for k in range(10)]
    gaps = [
        share * abs(np.average((variance - error**2)[own], weights=weight[own])) for share, own in shares if share > 0
    ]
    return {
        "bias": average(error),
        "mae": average(abs(error)),
        "rmse": np.sqrt(average(error**2)),
        "sharpness": average(variance),
        "zms": average((error / std) ** 2),
        "nll": average(0.5 * np.log(2 * np.pi * variance) + error**2 / (2 * variance)),
        "uce": sum(gaps) / weight.sum(),
        "coverage": average(abs(error) <= half_width(0.9) * std),
    }


@pytest.mark.parametrize("kind", ["area", "raster"])
def test_weighted_numbers_equal_the_whole_array_definition(weighted_tile, sweep_one, kind):
    """Areas shrink towards the pole; of a raster of weights, 0 and nodata exclude."""
    rng = np.random.default_rng(8)
    values = rng.choice([0, 0.25, 1.5, 3, -1], (70, 90))
    config, arrays = weighted_tile("area" if kind == "area" else "'{tile}_weights.tif'", values)
    (part,) = sweep_one(config)["t"].variables.values()
    (tile,) = find_tiles(load_experiment(config)).tiles
    weight = pixel_areas(tile.grid, Window(0, 0, 70, 90)) if kind == "area" else np.maximum(values, 0)
    mean, variance, truth = (array.astype(np.float64) for array in arrays)
    counts = np.isfinite(mean + variance + truth) & (variance > 0) & (weight > 0)
    expected = weighted_metrics(mean[counts], variance[counts], truth[counts], weight[counts])

    assert part.whole.n == counts.sum()
    assert part.whole.n + part.excluded.sum() == counts.size
    assert metrics.coverage(part.whole, 0.9) == pytest.approx(expected.pop("coverage"), rel=1e-12)
    assert metrics.uce(part.whole, EQUAL_WIDTH_10) == pytest.approx(expected.pop("uce"), rel=1e-9)
    for name, value in expected.items():
        assert getattr(metrics, name)(part.whole) == pytest.approx(value, rel=1e-9), name


def test_a_negative_weight_names_file_and_pixel(weighted_tile, sweep_one):
    values = np.ones((70, 90))
    values[6, 7] = -0.5

    failure = sweep_one(weighted_tile("'{tile}_weights.tif'", values)[0])["t"]

    assert "t_weights.tif: the weight is -0.5 at row 6, column 7" in failure.message


def test_blocks_that_a_file_leaves_out_are_not_read(tmp_path, write_raster, sweep_one, monkeypatch):
    """Truth in one block of 64; all other pixels count as nodata of the truth, and no file is read there."""
    arrays = heteroscedastic((1024, 1024), missing=0)
    layout = {"tiled": True, "blockxsize": 128, "blockysize": 128, "nodata": -9999.0, "SPARSE_OK": "TRUE"}
    truth = np.full_like(arrays[2], -9999)
    truth[130:200, 520:600] = arrays[2][130:200, 520:600]
    for layer, array in (("mean", arrays[0]), ("variance", arrays[1]), ("truth", truth)):
        write_raster(tmp_path / f"t_{layer}.tif", array, **layout)
    config = tmp_path / "sparse.yaml"
    layers = "".join(f"  {layer}: '{{tile}}_{layer}.tif'\n" for layer in ("mean", "variance", "truth"))
    config.write_text(f"version: 1\nname: sparse\ntiles: [t]\ndata:\n{layers}")
    read = []
    whole = _Layer._decode
    monkeypatch.setattr(
        _Layer, "_decode", lambda self, numbers, window: read.append(window) or whole(self, numbers, window)
    )

    (part,) = sweep_one(config)["t"].variables.values()

    assert part.whole.n == 70 * 80
    assert part.excluded[TRUTH_NODATA] == 1024**2 - 70 * 80
    assert set(read) == {Window(0, 512, 512, 512)}
