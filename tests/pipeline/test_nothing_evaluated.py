"""A run without a single valid pixel judges nothing, says so, and does not succeed."""

import json

import numpy as np
import pytest
import rasterio

SHORT = "variables: [height]\noutput: {maps: none, figures: none}\n"


def rewrite(path, change):
    with rasterio.open(path, "r+") as raster:
        raster.write(change(raster.read()))


@pytest.mark.parametrize(
    ("layer", "change"),
    [
        ("truth/a1.tif", lambda values: values * np.nan),
        ("predictions/a1_variance.tif", lambda values: values * 0),
    ],
)
@pytest.mark.parametrize("command", ["run", "report"])
def test_a_run_without_a_valid_pixel_says_that_nothing_was_evaluated(tile_folder, geouq, layer, change, command):
    config = tile_folder(("a1",), text=SHORT)
    rewrite(config.parent / layer, change)

    done = geouq("run", config, "--quiet")
    if command == "report":
        done = geouq("report", config.parent / "results/small", "--quiet")

    assert done.exit_code == 3
    lines = done.stdout.splitlines()
    assert lines[0] == "Nothing was evaluated: no variable has a valid pixel."
    assert len(lines) == 2
    assert "1 tile without a valid pixel, 0 failed" in lines[1]
    assert "failed: all numbers (numbers): no pixel of 1 tile counts" in done.stderr


def test_results_for_programs_have_no_success_and_name_the_failure(tile_folder, geouq):
    config = tile_folder(("a1",), text=SHORT)
    rewrite(config.parent / "truth/a1.tif", lambda values: values * np.nan)

    geouq("run", config, "--quiet")

    outcome = json.loads((config.parent / "results/small/results.json").read_text())
    assert not outcome["success"]
    assert [failure["error"] for failure in outcome["failures"]] == ["NothingEvaluated"]
    page = (config.parent / "results/small/report/index.html").read_text()
    assert "Nothing was evaluated" in page
    assert "trustworthy" not in page.partition("</header>")[0].lower()


def test_a_run_whose_tiles_all_fail_has_no_verdict(tile_folder, geouq):
    config = tile_folder(("a1",), text=SHORT)
    (config.parent / "truth/a1.tif").write_bytes(b"no raster")

    done = geouq("run", config, "--quiet")

    assert done.exit_code == 3
    assert done.stdout.splitlines()[0] == "There is no verdict: nothing could be judged."
    assert "0 tiles evaluated, 1 failed" in done.stdout


def test_a_variable_without_a_valid_pixel_is_named_beside_the_verdict_of_the_others(tile_folder, geouq):
    config = tile_folder(("a1",), text="variables: [height, cover]\noutput: {maps: none, figures: none}\n")

    def without_second(values):
        values[1] = np.nan
        return values

    rewrite(config.parent / "truth/a1.tif", without_second)

    done = geouq("run", config, "--quiet")

    assert done.exit_code == 0
    assert done.stdout.splitlines()[0].endswith("Not evaluated, for lack of valid pixels: cover.")
    assert "cover: no pixels" in done.stdout
