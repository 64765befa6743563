"""The study of intervals knows what is true, and tells intervals that hold from those that do not."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from simulated.fields import gaussian_field
from simulated.forecasts import Forecast
from simulated.maps import Layout
from simulated.methods import CHOICES, NUMBERS, by_blocks, by_pixels
from simulated.study import LEVEL, Field, studied
from simulated.table import COLUMNS, REGIONS, fields, markdown, quick_fields

from geouq.arrays.points import summarize_arrays
from geouq.inference import Intervals
from geouq.inference.long_run import LongRun
from geouq.metrics import evaluate_metrics

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "coverage_study"
SIDE, SIMULATIONS = 192, 30
MIXED = Forecast(1, spread=0.8, long=3, share=0.15)
FEWEST, MOST = 0.88, 0.985  # on average over nine numbers of two forecasts
FEWEST_EACH = 0.8  # of 30 maps whose intervals hold 95 %, fewer hold it once in a thousand times


def rows_of(scale, simulations, **options):
    layout = Layout((SIDE,), (SIDE,))
    kinds = [Field(f"{factor}", Forecast(scale, factor=factor), layout, 16, **options) for factor in (1.0, 0.64)]
    return list(studied(kinds, simulations, seed=0, workers=1))


def told_to_hold(shares):
    """What the study says of shares held, float64 (forecasts, numbers)."""
    return bool(np.min(shares) >= FEWEST_EACH and FEWEST <= np.mean(shares) <= MOST)


@pytest.fixture(scope="module")
def rows():
    return rows_of(6, SIMULATIONS)


def test_intervals_of_blocks_hold_the_true_numbers(rows):
    assert told_to_hold([row.held[0] for row in rows]), [row.held[0] for row in rows]
    assert all((row.effective > 8).all() for row in rows)


def test_intervals_of_independent_pixels_are_told_to_fail(rows):
    shares = np.array([row.held[1] for row in rows])

    assert not told_to_hold(np.nan_to_num(shares))
    assert np.nanmax(shares) < 0.7


def test_blocks_of_one_cell_whose_correlation_is_left_out_are_told_to_fail(monkeypatch):
    monkeypatch.setattr(LongRun, "widening", lambda *_: 1.0)

    assert not told_to_hold([row.held[0] for row in rows_of(16, 15, block="16 px")])


@pytest.mark.parametrize("forecast", [Forecast(1), Forecast(1, factor=0.64), Forecast(1, factor=0.9, power=0.5), MIXED])
def test_the_true_numbers_are_those_of_a_large_map(forecast):
    layers = forecast.simulated(np.random.default_rng(0), (1500, 1500))

    found = {one.name: float(one.value) for one in evaluate_metrics(summarize_arrays(*layers).whole, CHOICES)}

    for name, true in forecast.true_numbers().items():
        assert found[name] == pytest.approx(true, abs=0.005), name


@pytest.mark.parametrize(("kind", "scale", "expected"), [("gauss", 6, np.exp(-4)), ("exp", 6, np.exp(-2))])
def test_fields_are_correlated_as_they_say(kind, scale, expected):
    made = [gaussian_field(np.random.default_rng(seed), (256, 200), scale, kind) for seed in range(12)]

    assert np.mean([field.var() for field in made]) == pytest.approx(1, abs=0.1)
    across = np.mean([(field[:, 2 * scale :] * field[:, : -2 * scale]).mean() for field in made])
    down = np.mean([(field[2 * scale :] * field[: -2 * scale]).mean() for field in made])
    assert (across, down) == pytest.approx((expected, expected), abs=0.04)


def test_tracks_have_a_truth_and_nothing_between_them_does():
    layout = Layout((64,), (64,), tracks=16)
    _, _, truth = layout.with_gaps([np.zeros(layout.shape) for _ in range(3)])

    assert np.isfinite(truth).mean() == pytest.approx(3 / 16, abs=0.01)


def test_maps_of_too_few_effective_cells_are_counted_as_refused():
    (row,) = studied([Field("far", Forecast(80), Layout((SIDE,), (SIDE,)), 16)], 4, seed=0, workers=1)

    assert row.intervals[0, 0] < 4
    assert "% refused" in markdown([row])


def test_tiles_cover_the_map_once_and_the_last_has_a_truth_in_its_corner():
    layout = REGIONS["EAST"]
    covered = np.zeros(layout.shape)
    for _, part, grid in layout.tiles():
        covered[part] += 1
        assert covered[part].shape == grid.shape
    _, _, truth = layout.with_gaps([np.zeros(layout.shape) for _ in range(3)])

    assert (covered == 1).all()
    assert np.isfinite(truth[176:, 176:]).mean() == pytest.approx(0.03, abs=0.003)
    assert np.isnan(truth).sum() == np.isnan(truth[176:, 176:]).sum()


def test_independent_pixels_have_the_limits_of_a_bootstrap_of_pixels():
    mean, variance, truth = Forecast(1, factor=0.8).simulated(np.random.default_rng(0), (40, 40))
    rng, found = np.random.default_rng(1), []
    for _ in range(400):
        drawn = rng.integers(0, truth.size, truth.size)
        summary = summarize_arrays(*(layer.ravel()[drawn] for layer in (mean, variance, truth))).whole
        found.append([float(one.value) for one in evaluate_metrics(summary, CHOICES) if one.name in NUMBERS])
    names = [one.name for one in evaluate_metrics(summary, CHOICES) if one.name in NUMBERS]

    limits = by_pixels((mean, variance, truth), LEVEL)

    for name, low, high in zip(names, *np.quantile(found, [0.025, 0.975], axis=0), strict=True):
        if name in ("uce", "ence"):
            continue
        assert limits[name] == pytest.approx((low, high), abs=0.25 * (high - low)), name


def test_a_map_without_a_pixel_has_no_blocks():
    with pytest.raises(ValueError, match="without any valid pixel"):
        by_blocks([np.full((64, 64), np.nan)] * 3, Layout((64,), (64,)), Intervals(), 16)


def test_the_script_writes_the_same_table_whatever_the_number_of_processes(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- coverage study -->\nold\n<!-- /coverage study -->\nafter\n", encoding="utf-8")
    options = ("--quick", "--simulations", "2", "--workers", "2", "--write", str(page))

    subprocess.run([sys.executable, str(SCRIPT), *options], capture_output=True, check=True)

    table = markdown(list(studied(quick_fields(), 2, seed=0, workers=1)))
    said = f"<!-- coverage study -->\n2 simulations a row, seed 0.\n\n{table}<!-- /coverage study -->"
    assert page.read_text(encoding="utf-8") == f"before\n{said}\nafter\n"


def test_the_table_of_the_page_has_a_row_for_each_field():
    _, _, rest = (
        (ROOT / "docs" / "explanation" / "intervals.md")
        .read_text(encoding="utf-8")
        .partition("<!-- coverage study -->\n")
    )
    lines = [line.strip("| ").split(" | ") for line in rest.partition("<!-- /coverage")[0].splitlines() if "|" in line]

    assert tuple(lines[0]) == COLUMNS
    assert [line[0] for line in lines[2:]] == [field.name for field in fields()]
