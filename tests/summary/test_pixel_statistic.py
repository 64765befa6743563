"""A statistic from outside the package: its class and a metric are all that is written."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import rasterio
from affine import Affine
from csv_rows import rows_of
from landscape import SHORT

import geouq as package
from geouq.config import Intervals
from geouq.core.errors import SummaryError
from geouq.core.grid import Grid
from geouq.inference import rows_of_tiles, why_never
from geouq.inference.bootstrap import draws
from geouq.inference.tiles import resampled_by_tiles
from geouq.metrics import METRICS, MetricOptions
from geouq.metrics.record import NOT_NEGATIVE, metric, named
from geouq.summary import TilePlace
from geouq.summary.pixel_statistic import PIXEL_STATISTICS, PixelStatistic
from geouq.summary.tiles_file import load_tile

TILES = [f"r{row}c{column}" for row in range(2) for column in range(4)]


@pytest.fixture
def cubes(request):
    """The sum of |error|^3, and the mean of it; of a true parameter, cells keep it too."""

    @dataclass(frozen=True)
    class Cubes(PixelStatistic):
        sums: np.ndarray
        name: ClassVar[str] = "cubes"
        kept_by_cell: ClassVar[bool] = getattr(request, "param", True)

        @classmethod
        def of_pixels(cls, pixels, cells):
            return cls(np.bincount(pixels.cell, pixels.weight * np.abs(pixels.mean - pixels.truth) ** 3, cells))

    @metric(
        "mean of |error|^3", unit="1", ideal="none", above="over-confident", source="a test", bounds=NOT_NEGATIVE,
        heading="mean cube", rank=0, shown=("page", "table", "regions"),
    )  # fmt: skip
    def mean_cube(summary):
        """Mean of the cubes of the sizes of errors; unit 1."""
        return summary["cubes"].sums / summary.moments.weight

    yield METRICS[-1]
    METRICS.remove(named(mean_cube.__name__)[0])
    del PIXEL_STATISTICS["cubes"]


def cube(folder, tiles):
    """The mean cube of the errors of some tiles, from their rasters."""
    errors = []
    for tile in tiles:
        layers = []
        for path in (f"predictions/{tile}_mean.tif", f"predictions/{tile}_variance.tif", f"truth/{tile}.tif"):
            with rasterio.open(folder / path) as source:
                layers.append(source.read(1, masked=True).astype(float))
        mean, variance, truth = layers
        errors.append((mean - truth + 0 * variance).compressed())
    return (np.abs(np.concatenate(errors)) ** 3).mean()


def test_a_statistic_of_pixels_is_in_files_tables_and_intervals(cubes, tile_folder, geouq, tmp_path):
    config = tile_folder(TILES, text=SHORT, shape=(192, 192))
    assert geouq("run", str(config), "--quiet").exit_code == 0
    results = next(tmp_path.rglob("tables")).parent

    (whole,) = (
        row
        for row in rows_of(results / "tables" / "metrics.csv")
        if (row["level"], row["metric"]) == ("all", cubes.name)
    )
    assert float(whole["value"]) == pytest.approx(cube(config.parent, TILES), rel=1e-12)
    assert float(whole["ci_low"]) < float(whole["value"]) < float(whole["ci_high"])
    saved = [load_tile(path) for path in sorted((results / "summaries").glob("*.nc"))]
    assert len(saved) == len(TILES)
    for tile in saved:
        for part in tile.variables.values():
            np.testing.assert_allclose(part.cells.statistics["cubes"].sums.sum(), part.whole["cubes"].sums, rtol=1e-12)


@pytest.mark.parametrize("cubes", [False], indirect=True)
def test_a_statistic_that_cells_do_not_keep_has_intervals_from_blocks_of_tiles(cubes, tile_folder, geouq, tmp_path):
    tiles = [f"r{row}c{column}" for row in range(4) for column in range(4)]
    config = tile_folder(tiles, text=SHORT, shape=(64, 64))
    assert geouq("run", str(config), "--quiet").exit_code == 0
    (table,) = tmp_path.rglob("metrics.csv")

    (whole,) = (row for row in rows_of(table) if (row["level"], row["metric"]) == ("all", cubes.name))

    assert whole["ci_method"] == "bca, blocks of tiles"
    assert float(whole["value"]) == pytest.approx(cube(config.parent, tiles), rel=1e-12)
    assert float(whole["ci_low"]) < float(whole["value"]) < float(whole["ci_high"])


@pytest.mark.parametrize("cubes", [False], indirect=True)
def test_a_statistic_that_cells_do_not_keep_is_resampled_as_the_sum_of_the_tiles_drawn(cubes):
    rng, settings, options = np.random.default_rng(0), Intervals(resamples=100), MetricOptions((0.9,), ())
    layers = rng.normal(size=(10, 3, 40)) ** [[1], [2], [1]]
    tiles = [{"v": package.summarize(*one)} for one in layers]
    places = [TilePlace(f"t{i}", Grid((8, 5), Affine(10, 0, 50 * i, 0, -10, 0), "EPSG:32633"), 8) for i in range(10)]
    rows = rows_of_tiles({"v": sum(one["v"] for one in tiles)}, {"v": options}, lambda: tiles, len(tiles))["v"]

    ((number,), _) = resampled_by_tiles("all", options, rows, places, settings, wanted={cubes.name})

    counts = np.concatenate(list(draws(10, settings.resamples, settings.seed, "all")))
    means = (np.abs(layers[:, 0] - layers[:, 2]) ** 3).mean(1)
    np.testing.assert_allclose(number.replicates, counts @ means / 10, rtol=1e-12)


@pytest.mark.parametrize(
    ("cubes", "tiles", "reason"),
    [(True, 7, ""), (False, 7, "not kept by cell, and fewer than 8 tiles"), (False, 8, "")],
    indirect=["cubes"],
)
def test_before_any_pixel_is_read_it_is_known_which_statistics_need_tiles(cubes, tiles, reason):
    grid = Grid((64, 64), Affine(10, 0, 0, 0, -10, 0), "EPSG:32633")
    places = [TilePlace(f"t{i}", grid, 8) for i in range(tiles)]

    assert why_never(cubes, MetricOptions((0.9,), ()), places, Intervals()) == reason


@pytest.mark.usefixtures("cubes")
def test_a_statistic_of_pixels_is_in_summaries_of_arrays_and_adds(tmp_path):
    rng = np.random.default_rng(0)
    mean, variance, truth = rng.normal(size=(3, 40)) ** [[1], [2], [1]]
    first, second = (
        package.summarize(*(layer[some] for layer in (mean, variance, truth))) for some in (slice(25), slice(25, None))
    )

    both = first + second

    assert both["cubes"].sums == pytest.approx((np.abs(mean - truth) ** 3).sum(), rel=1e-14)
    both.save(tmp_path / "both.nc")
    assert package.Summary.load(tmp_path / "both.nc") == both


@pytest.mark.usefixtures("cubes")
def test_a_summary_without_a_statistic_and_one_with_it_add_to_one_without():
    one = package.summarize(np.zeros(4), np.ones(4), np.arange(4.0))

    assert "cubes" not in one + one.having(cubes=None)


def test_a_field_must_not_have_the_name_of_a_method():
    with pytest.raises(TypeError, match="total has the name of a method"):

        class Sums(PixelStatistic):
            total: np.ndarray
            name: ClassVar[str] = "sums"

            @classmethod
            def of_pixels(cls, pixels, cells):
                return cls(np.bincount(pixels.cell, minlength=cells))


@pytest.mark.parametrize("taken", ["moments", "coverage_by_truth", "cell_n", "two words"])
def test_a_name_that_is_taken_is_refused(taken):
    with pytest.raises(ValueError, match="is taken or no identifier"):

        class Sums(PixelStatistic):
            sums: np.ndarray
            name: ClassVar[str] = taken

            @classmethod
            def of_pixels(cls, pixels, cells):
                return cls(np.bincount(pixels.cell, minlength=cells))

    assert taken not in PIXEL_STATISTICS


def test_a_class_that_computes_nothing_is_refused():
    with pytest.raises(TypeError, match="Sums has no method of_pixels"):

        class Sums(PixelStatistic):
            sums: np.ndarray
            name: ClassVar[str] = "sums"


def test_a_class_called_as_one_of_the_package_is_refused():
    with pytest.raises(TypeError, match=r"Moments is also a statistic of geouq\.summary\.moments"):

        class Moments(PixelStatistic):
            sums: np.ndarray
            name: ClassVar[str] = "own_moments"

            @classmethod
            def of_pixels(cls, pixels, cells):
                return cls(np.bincount(pixels.cell, minlength=cells))


def test_a_statistic_that_was_not_kept_is_named():
    summary = package.summarize(np.zeros(4), np.ones(4), np.arange(4.0))

    with pytest.raises(SummaryError, match=r"^this summary does not keep cubes; it keeps moments, "):
        summary["cubes"]
    assert summary.get("cubes") is None
    assert "cubes" not in summary
