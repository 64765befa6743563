"""The benchmark runs and says what it measured, and what it measures against gives the same numbers."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
import rasterio
from benchmarks import packages, samples
from benchmarks.choices import Choice
from benchmarks.large import large_block, wide_strips
from benchmarks.lazily import in_dask
from benchmarks.measure import peak_mib, peak_of, peaks_of
from benchmarks.memory import refusal
from benchmarks.notebook import in_notebook
from benchmarks.ours import in_geouq
from benchmarks.packages import PACKAGES
from benchmarks.peers import in_numpy
from benchmarks.rasters import forecasts, make_tile, valid_forecast
from benchmarks.repeated import repeat_blocks
from benchmarks.tiles import path_of

SCRIPT = Path(__file__).parents[1] / "scripts" / "benchmark"
SIDE, CHUNK = 128, 48
BLOCKWISE = {"blockxsize": 64, "blockysize": 64, "tiled": True}


@pytest.fixture(scope="module")
def layers():
    """Mean, variance and truth, float32, all valid."""
    return valid_forecast(SIDE)


@pytest.fixture(scope="module")
def ours(layers):
    return in_geouq(*layers)


def lazily(layers):
    return [da.from_array(layer, chunks=CHUNK) for layer in layers]


def by_quantiles(name):
    """Whether a number's bins or groups have edges at quantiles, which geouq and dask place in their own ways."""
    return name.endswith(("equal-count-10", " truth"))


def exact_ones(numbers):
    """All others, but those of PIT, which geouq adds up by steps of z."""
    return {name: value for name, value in numbers.items() if not by_quantiles(name) and not name.startswith("pit")}


def of_quantiles(numbers, names):
    return {name: numbers[f"{name} equal-count-10"] for name in names}


def run_benchmark(*arguments):
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def table_in(text):
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]


def test_numpy_gives_the_same_numbers(layers, ours):
    numbers = in_numpy(*layers)

    assert set(numbers) == set(ours)
    assert numbers.pop("crps") == pytest.approx(ours["crps"], rel=1e-8)  # geouq adds it up by steps of z
    assert exact_ones(numbers) == pytest.approx({name: ours[name] for name in exact_ones(numbers)}, rel=1e-11)


def test_edges_on_the_profile_move_the_numbers_little(layers, ours):
    """Edges are within 0.2 % of the variance, so that a few pixels of 1600 change their bin."""
    names, numbers = ("uce", "ence", "ence_null", "ence_excess"), in_numpy(*layers)

    assert of_quantiles(numbers, names) == pytest.approx(of_quantiles(ours, names), rel=2e-3)
    grouped = [name for name in ours if name.endswith(" truth")]
    assert [numbers[name] for name in grouped] == pytest.approx([ours[name] for name in grouped], abs=1e-2)
    assert len(grouped) == 12


def test_mean_and_spread_of_pit_are_near_those_of_all_pixels(layers, ours):
    numbers = in_numpy(*layers)
    for name in ("pit_mean", "pit_std"):
        assert ours[name] == pytest.approx(numbers[name], abs=1e-5)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_dask_gives_the_same_numbers_in_float32(layers, ours, scheduler):
    """It computes as the arrays are, in float32: 1e-5 and no closer."""
    numbers = in_dask(*lazily(layers), gaps=False, scheduler=scheduler)

    assert set(numbers) == set(ours)
    assert exact_ones(numbers) == pytest.approx(exact_ones(ours), rel=1e-5)


def test_dask_leaves_out_the_same_pixels():
    """Its quantiles merge those of chunks: bins by them hold other pixels, and only averages over bins are near."""
    layers = next(forecasts(SIDE))
    ours, numbers = in_geouq(*layers), in_dask(*lazily(layers), gaps=True, scheduler="synchronous")

    assert exact_ones(numbers) == pytest.approx(exact_ones(ours), rel=1e-4)
    names = ("uce", "ence")
    assert of_quantiles(numbers, names) == pytest.approx(of_quantiles(ours, names), rel=0.1)


@pytest.mark.parametrize("pieces", [1, 4])
def test_the_notebook_gives_the_same_four_numbers_whatever_the_tiles(layers, ours, pieces):
    """Its means are taken in float32."""
    numbers = in_notebook(*(np.array_split(layer, pieces) for layer in layers))

    assert numbers == pytest.approx({name: ours[f"{name} equal-width-10"] for name in numbers}, rel=1e-5)
    assert len(numbers) == 4


@pytest.mark.filterwarnings("ignore:Use `@` matmul:PendingDeprecationWarning")  # of affine, for rioxarray
@pytest.mark.parametrize("module", ["notebook", "lazily"])
def test_ways_from_files_give_the_same_numbers(tmp_path, module):
    if module == "lazily":
        pytest.importorskip("rioxarray", reason="rioxarray is of the dependency group `benchmark`")
    name = make_tile(tmp_path, SIDE, "deflate")
    ours, others = (import_module(f"benchmarks.{way}").of_tile(tmp_path, name, 2) for way in ("ours", module))

    assert len(ours) == len(others) == 5
    for own, other in zip(ours, others, strict=True):
        named = {f"{key} equal-width-10": other[key] for key in other} if module == "notebook" else exact_ones(other)
        assert named == pytest.approx({key: own[key] for key in named}, rel=1e-4)


@pytest.mark.parametrize(
    ("section", "options", "first"),
    [
        ("sweep", ("--size", 256), "deflate, band order"),
        ("zones", ("--size", 128), "none"),
        ("recalibration", ("--size", 128), "scale, writes 1"),
        ("kernel", ("--kernel-size", 128), "the notebook's four calls"),
        ("overhead", ("--size", 1024, "--tiles", 3), "`geouq --help` / `import click`"),
        ("remote", ("--size", 128, "--tiles", 3), "seconds of `geouq check` of 120 files"),
        ("pages", ("--size", 128), "map visible"),
    ],
)
def test_a_section_prints_a_table_and_writes_it_between_the_marks(tmp_path, section, options, first):
    """In the place of the one of its title; other tables stay."""
    readme = tmp_path / "README.md"
    readme.write_text("before\n<!-- benchmark -->\n## Other\n\nold\n<!-- /benchmark -->\nafter\n", encoding="utf-8")
    done = run_benchmark(section, *options, "--data", tmp_path, "--rounds", 1, "--write", readme)

    assert done.returncode == 0, done.stderr
    table = done.stdout.removesuffix("\n")
    assert (
        readme.read_text("utf-8")
        == f"before\n<!-- benchmark -->\n## Other\n\nold\n\n{table}<!-- /benchmark -->\nafter\n"
    )
    rows = table_in(table)
    assert rows[0][2:] == ["spread", "target", "others' CPUs"]
    assert rows[2][0] == first
    measured = [row[1] for row in rows[2:]]
    assert all(value == "not installed" or float(value) >= 0 for value in measured)
    assert (section == "pages" and measured[0] == "not installed") or float(measured[0]) > 0


def test_commands_of_the_samples_are_measured_with_the_time_of_all_their_processes(monkeypatch, tmp_path):
    busy = "import time; start = time.process_time()\nwhile time.process_time() < start + 0.3: pass"
    both = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}]); exec({busy!r})"
    monkeypatch.setattr(
        samples, "_works", lambda: {"two": lambda: subprocess.run([sys.executable, "-c", both], check=True)}
    )

    table = samples.samples_section(Choice(tmp_path, None, 0, 0, 2, 1))

    ((what, median, spread, used, others),) = table.rows
    assert what == "two"
    assert float(used) >= 0.6
    assert float(median) > 0.5
    low, high = map(float, spread.split(" - "))
    assert low <= float(median) <= high
    assert float(others) >= 0


def test_the_whole_way_is_measured_in_processes_of_their_own(tmp_path):
    done = run_benchmark("whole", "--size", 256, "--data", tmp_path)

    assert done.returncode == 0, done.stderr
    ours, notebook, _ = table_in(done.stdout)[2:]
    assert ours[0] == "geouq, all metrics"
    assert ours[2] == "1.00"
    assert all(float(row[column]) > 0 for row in (ours, notebook) for column in (1, 2, 5))


def test_more_and_more_small_tiles_are_measured_and_what_one_more_takes(tmp_path):
    done = run_benchmark("small-tiles", "--counts", 1, 4, "--data", tmp_path)

    assert done.returncode == 0, done.stderr
    rows = table_in(done.stdout)[2:]
    assert [row[:2] for row in rows[:3]] == [["1", "1"], ["1", "4"], ["1", "one more"]]
    assert [row[0] for row in rows[3:6]] == ["5"] * 3
    for row in (row for row in rows if row[1] in ("1", "4")):
        assert all(float(cell) > 0 for cells in row[2:7] for cell in cells.split(", "))


def test_the_peak_of_all_processes_counts_those_that_a_program_starts():
    child = "import time; block = bytearray(b'x') * (60 << 20); time.sleep(1)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"

    (largest, together), done = peaks_of([sys.executable, "-c", parent])

    assert done.returncode == 0
    assert 60 < largest <= together + 20  # pages that both share are in the peak of each


def test_an_unknown_section_is_refused():
    done = run_benchmark("swep")

    assert done.returncode == 2
    assert "there is no section swep" in done.stderr


@pytest.mark.parametrize("layout", [BLOCKWISE, {"blockysize": 1}], ids=["blocks", "strips"])
def test_repeated_blocks_are_the_pixels_again_and_again(tmp_path, write_raster, layout):
    bands = np.random.default_rng(0).standard_normal((2, 128, 192)).astype(np.float32)
    options = {"compress": "deflate", "predictor": 3, **layout}
    source = write_raster(tmp_path / "small.tif", bands, names=("a", "b"), bigtiff="YES", interleave="band", **options)
    columns = 500 if "tiled" in layout else 192
    with rasterio.open(source) as file:
        profile = file.profile | options | {"height": 300, "width": columns}
    repeat_blocks(source, tmp_path / "large.tif", profile)

    with rasterio.open(tmp_path / "large.tif") as file:
        assert file.descriptions == ("a", "b")
        assert np.array_equal(file.read(), np.tile(bands, (1, 3, 3))[:, :300, :columns])
    assert (tmp_path / "large.tif").stat().st_size < 1.3 * source.stat().st_size


def test_wide_strips_are_strips_of_one_row(tmp_path):
    name = wide_strips(tmp_path, 600, 40)

    with rasterio.open(path_of(tmp_path, name, "truth")) as file:
        assert file.block_shapes == [(1, 600)] * 2
        assert file.shape == (40, 600)
        pixels = file.read()
    assert np.array_equal(pixels[:, :16], pixels[:, 16:32], equal_nan=True)


def test_a_run_without_enough_memory_is_seen_to_be_refused(tmp_path):
    name = large_block(tmp_path, 256)

    assert refusal(tmp_path, name, "1MB") == "refused before work"


def test_peak_memory_is_that_of_the_program(tmp_path, monkeypatch):
    """The programs end once they have been looked at."""
    ready, seen = tmp_path / "ready", tmp_path / "seen"

    def look(pid):
        was_ready = ready.exists()
        found = peak_mib(pid)
        if was_ready:
            ready.unlink()
            seen.touch()
        return found

    monkeypatch.setattr("benchmarks.measure.peak_mib", look)
    wait = f"open({str(ready)!r}, 'w').close()\nwhile not os.path.exists({str(seen)!r}): time.sleep(0.01)\n"
    small, _ = peak_of([sys.executable, "-c", f"import os, time\n{wait}"])
    seen.unlink()
    large, done = peak_of([sys.executable, "-c", f"import os, time\na = b'1' * (100 << 20)\n{wait}print('done')"])

    assert done.stdout == "done\n"
    assert 90 < large - small < 120


@pytest.mark.parametrize("name", PACKAGES)
def test_other_packages_give_the_same_numbers(name, layers, ours):
    pytest.importorskip(name.replace("-", "_"))

    found = PACKAGES[name](*layers)
    assert {metric: ours[metric] for metric in found} == pytest.approx(found, rel=1e-6)


def test_the_table_of_packages_names_those_that_are_not_installed(monkeypatch):
    monkeypatch.setitem(packages.PACKAGES, "no-such-package", in_numpy)
    choice = Choice(data=Path(), size=None, kernel_size=64, tiles=1, rounds=1, threads=1)
    rows = {row[0]: row[1:] for row in packages.packages_section(choice).rows}

    assert rows["no-such-package"][0] == "not installed"
    assert float(rows["scores"][2]) < 1e-9


def test_a_call_that_makes_an_array_grows_by_it():
    grown = packages.grown_mib(lambda: np.ones(8 << 20).sum())

    assert np.isnan(grown) or grown == pytest.approx(64, abs=16)


def test_the_environment_is_set_up_if_something_is_missing(tmp_path):
    """With a `bash` that prints what it is asked for, in the place of a long installation."""
    bash = tmp_path / "bash"
    bash.write_text(f"#!{sys.executable}\nimport sys\nprint(sys.argv[1:])\n", encoding="utf-8")
    bash.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-I", "-S", SCRIPT, "kernel"], env={"PATH": str(tmp_path)}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip

    assert "prepare benchmark" in done.stdout
    assert done.stdout.rstrip().endswith("'kernel']")
