"""The command `rio geouq` of rasterio."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
import rasterio
from click.testing import CliRunner
from rasterio.rio.main import main_group

ROOT = Path(__file__).parents[1]
SAMPLE = [str(ROOT / "data_samples" / f"n1{ending}.tif") for ending in ("_mean", "_variance", "")]
GROUP = "rasterio.rio_plugins"


@pytest.fixture
def rio():
    """Run `rio geouq` as rasterio does: through the entry point."""
    entry = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"][GROUP]
    main_group.add_command(EntryPoint("geouq", entry["geouq"], GROUP).load())
    return lambda *arguments: CliRunner().invoke(main_group, ["geouq", *map(str, arguments)])


def test_the_numbers_are_those_of_numpy(rio):
    done = rio(*SAMPLE, "--variance", "--json", "--metric", "bias", "--metric", "z_std", "--metric", "coverage_90")
    found = {(row["variable"], row["metric"]): row for row in json.loads(done.output)}

    assert len(found) == 15
    for band in range(1, 6):
        layers = []
        for path in SAMPLE:
            with rasterio.open(path) as file:
                name = file.descriptions[band - 1]
                layers.append(file.read(band, masked=True).astype(float).filled(np.nan))
        mean, variance, truth = layers
        z = (truth - mean) / np.sqrt(np.where(variance > 0, variance, np.nan))
        z = z[np.isfinite(z)]
        assert found[name, "z_std"]["value"] == pytest.approx(np.std(z), rel=1e-5)
        assert found[name, "coverage_90"]["value"] == pytest.approx(np.mean(np.abs(z) <= 1.6448536269514722), abs=1e-4)
        assert found[name, "bias"]["n"] == len(z)


def test_a_band_and_metrics_are_shown_as_text(rio):
    done = rio(*SAMPLE, "--variance", "-b", 1, "--metric", "rmse", "--metric", "ence")

    assert done.exit_code == 0
    assert done.output == "P95: 23,648 pixels\n  rmse       3.27225 m\n  ence      0.772519\n"


def test_a_std_gives_the_numbers_of_its_square(rio, tmp_path):
    with rasterio.open(SAMPLE[1]) as file:
        profile, variance = file.profile, file.read(masked=True)
        with rasterio.open(tmp_path / "std.tif", "w", **profile | {"dtype": "float64", "nodata": np.nan}) as target:
            target.write(np.sqrt(variance.astype(float)).filled(np.nan))
    of_variance = json.loads(rio(*SAMPLE, "--variance", "--json", "--metric", "all").output)
    of_std = json.loads(rio(SAMPLE[0], tmp_path / "std.tif", SAMPLE[2], "--json", "--metric", "all").output)

    assert [row["metric"] for row in of_std] == [row["metric"] for row in of_variance]
    values = [[row["value"] for row in rows if row["metric"] == "rmse"] for rows in (of_std, of_variance)]
    assert values[0] == pytest.approx(values[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((SAMPLE[0], "gone.tif", SAMPLE[2]), "there is no file"),
        ((*SAMPLE, "--variance", "-b", "6"), "there is no band 6"),
        ((*SAMPLE, "--variance", "--metric", "zz"), "there is no metric zz; `--metric all` shows all there are"),
        ((*SAMPLE, "--variance", "--metric", "uec"), "there is no metric uec; did you mean 'uce'?"),
    ],
)
def test_mistakes_end_with_one_message(rio, arguments, message):
    done = rio(*arguments)

    assert done.exit_code == 1
    assert message in done.output
    assert "Traceback" not in done.output


def test_a_raster_on_another_grid_is_refused_with_a_command_before_the_key_of_a_configuration(rio, tmp_path):
    with rasterio.open(SAMPLE[1]) as file:
        half = (file.count, file.height // 2, file.width // 2)
        place = {"height": half[1], "width": half[2], "transform": file.transform @ file.transform.scale(2)}
        with rasterio.open(tmp_path / "coarse.tif", "w", **file.profile | place) as target:
            target.write(file.read(out_shape=half))

    done = rio(SAMPLE[0], tmp_path / "coarse.tif", SAMPLE[2], "--variance")

    assert done.exit_code == 1
    advice, command, key = done.output.splitlines()[-3:]
    assert advice == "  bring the file to the grid first:"
    assert command.startswith("  gdalwarp ")
    assert key == ("  or write data.variance: {path: ..., align: bilinear} in a configuration; geouq init writes one")


def test_an_input_that_looks_wrong_is_told_for_the_bands_that_are_shown(rio, tmp_path):
    with rasterio.open(SAMPLE[1]) as file:
        profile, variance = file.profile, file.read()
    with rasterio.open(tmp_path / "variance.tif", "w", **profile) as target:
        target.write(variance * 1e4)

    done = rio(SAMPLE[0], tmp_path / "variance.tif", SAMPLE[2], "--variance", "-b", 1)

    assert re.findall(r"^warning: (\w+): (.*?): ", done.stderr, re.MULTILINE) == [
        ("P95", "variance far from the errors")
    ]
    assert "warning" not in rio(*SAMPLE, "--variance", "-b", 1).output


def test_a_raster_of_another_format_is_read(rio, tmp_path):
    with rasterio.open(SAMPLE[2]) as file:
        keys = ("width", "height", "count", "dtype", "crs", "transform")
        profile, truth = {key: file.profile[key] for key in keys}, file.read(masked=True).filled(-9999)
    with rasterio.open(tmp_path / "truth.img", "w", **profile, driver="HFA", nodata=-9999) as target:
        target.write(truth)

    arguments = ("--variance", "--json", "-b", 2)
    assert rio(*SAMPLE[:2], tmp_path / "truth.img", *arguments).stdout == rio(*SAMPLE, *arguments).stdout


def test_other_commands_of_rasterio_do_not_wait_for_this_package():
    code = "import sys, geouq.rio; print(sorted({'numpy', 'xarray', 'numba', 'rasterio'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stdout.strip() == "[]"


def test_the_page_shows_what_is_printed(rio, monkeypatch):
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "how-to" / "rasterio.md").read_text(encoding="utf-8")
    ((command, shown),) = re.findall(r"^\$ rio geouq (.*)\n((?:.+\n)*?)```", page, re.MULTILINE)

    assert rio(*shlex.split(command)).output == shown
