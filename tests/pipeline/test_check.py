"""Checks before a run, from Python and from the command line."""

import subprocess
import sys

import pytest
import rasterio

import geouq

TEXT = "variables: [height]\noutput: {maps: none, figures: none}\n"


def test_the_plan_is_that_of_the_command_for_a_path_a_mapping_and_an_experiment(tile_folder):
    config = tile_folder(text=TEXT)
    command = geouq.check(config)
    experiment = geouq.load_experiment(config)

    assert command.plan[0].split() == ["tiles", "3"]
    assert geouq.check(experiment) == command
    assert (command.problems, command.findings, command.sample, command.failures) == ((), (), "", ())


def test_a_check_of_headers_imports_nothing_that_only_a_sweep_or_a_figure_needs(tile_folder):
    code = (
        f"import sys, geouq; geouq.check({str(tile_folder(text=TEXT))!r}); "
        "print([m for m in ('numba', 'h5py', 'xarray', 'dask', 'matplotlib', 'jinja2', 'rich') if m in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_pixels_are_examined_on_request(tile_folder):
    config = tile_folder(text=TEXT)
    for path in (config.parent / "predictions").glob("*_variance.tif"):
        with rasterio.open(path, "r+") as raster:
            raster.write(raster.read() ** 0.5)

    found = geouq.check(config, deep=True)

    assert found.sample.startswith("up to ")
    assert any("standard deviation" in finding or "std" in finding for finding in found.findings)


def test_a_tile_without_a_layer_is_a_problem(tile_folder):
    config = tile_folder(text=TEXT)
    (config.parent / "truth/a2.tif").unlink()

    (problem,) = geouq.check(config).problems

    assert problem.startswith("tile a2: ")


@pytest.mark.parametrize("wrong", [3, None])
def test_what_is_no_experiment_is_refused(wrong):
    with pytest.raises(TypeError, match="give the path of a YAML file, a mapping of its keys, or an Experiment"):
        geouq.check(wrong)
