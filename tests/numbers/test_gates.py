"""Gates: what can never pass is refused before the work, and what has no interval tells why."""

import json

import numpy as np
import pytest
import rasterio

QUICK = "variables: [height]\noutput: {maps: none}\nintervals: {resamples: 200}\n"


def on_interval(metric, region="all", more=""):
    return f"gates: [{{metric: {metric}, variable: height, region: {region}, max: 9{more}, on: interval}}]\n"


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (QUICK + on_interval("rmscd_90"), "10: gates.0.on: rmscd_90 of region all can have no interval: "),
        (
            QUICK + on_interval("lowest_group_coverage_90"),
            "can have no interval: the lowest of several noisy numbers; write `on: estimate`\n",
        ),
        (
            QUICK + "cell_size: 64\n" + on_interval("zms"),
            "11: gates.0.on: zms of region all can have no interval: fewer",
        ),
        (
            QUICK.replace("200", "200, block: tile") + on_interval("zms"),
            "10: gates.0.on: zms of region all can have no interval: fewer than 8 blocks; write `on: estimate`",
        ),
        (
            QUICK.replace("200", "200, block: 40 px") + on_interval("zms"),
            "can have no interval: fewer than 8 blocks; write `on: estimate`, or see that there are enough tiles",
        ),
        (
            QUICK + "cell_size: 32\nregions: {west: [a1]}\n" + on_interval("zms", "west"),
            "12: gates.0.on: zms of region west can have no interval: fewer than 8 cells",
        ),
    ],
)
def test_an_interval_that_there_cannot_be_is_refused_before_the_work(tile_folder, geouq, tmp_path, command, text, said):
    done = geouq(command, tile_folder(text=text))

    assert done.exit_code == 2
    assert said in done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        (
            "metric: coverage_90, min: 85",
            "gates.0.min: coverage_90 lies between 0 and 1: no value can pass; write 0.85?",
        ),
        ("metric: rmse, max: -1", "gates.0.max: rmse lies between 0 and inf: no value can pass"),
    ],
)
def test_a_bound_that_no_value_can_keep_is_refused_before_the_work(tile_folder, geouq, bound, said):
    done = geouq("check", tile_folder(text=QUICK + f"gates: [{{{bound}, variable: height}}]\n"))

    assert done.exit_code == 2
    assert said in done.stderr


def test_a_gate_on_the_joint_log_loss_of_one_variance_is_refused_with_the_reason(tile_folder, geouq):
    done = geouq("check", tile_folder(text=QUICK + on_interval("joint_log_loss")))

    assert done.exit_code == 2
    assert "there is no joint_log_loss for variable height" in done.stderr
    assert "of a forecast with one variance is 10 times its marginal log-loss" in done.stderr


@pytest.mark.parametrize("text", [on_interval("zms"), on_interval("ence", more=", bins: equal-count-10")])
def test_an_interval_that_there_may_be_is_not_refused(tile_folder, geouq, text):
    assert geouq("check", tile_folder(text=QUICK + text)).exit_code == 0


def test_where_tiles_have_failed_the_others_are_evaluated_and_the_gate_fails(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1", "b1"), text=QUICK + "cell_size: 32\n" + on_interval("zms"))
    (tmp_path / "truth/b1.tif").unlink()

    done = geouq("run", config, "--quiet")

    assert done.exit_code == 3
    assert "gate failed: zms of height in all is" in done.stderr


def test_a_gate_without_an_interval_tells_why_it_failed(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1",), (96, 96), QUICK + on_interval("zms"))
    with rasterio.open(tmp_path / "truth/a1.tif", "r+") as file:
        truth = file.read()
        truth[:, 20:] = truth[:, :, 20:] = np.nan
        file.write(truth)
    assert geouq("check", config).exit_code == 0

    done = geouq("run", config, "--quiet")

    (gate,) = json.loads((tmp_path / "results/small/gates.json").read_text())
    assert done.exit_code == 1
    assert gate["reason"] == "fewer than 8 cells"
    assert (gate["passed"], gate["low"]) == (False, None)
    assert f"is {gate['value']:.6g}, and there is no interval: fewer than 8 cells (max 9.0)" in done.stderr


def test_a_gate_without_a_pixel_tells_why_it_failed(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1",), text=QUICK + "gates: [{metric: zms, variable: height, max: 9}]\n")
    with rasterio.open(tmp_path / "truth/a1.tif", "r+") as file:
        file.write(np.full_like(file.read(), np.nan))

    done = geouq("run", config, "--quiet")

    assert done.exit_code == 3  # no pixel could be evaluated
    assert "zms of height in all is missing, and there is no value: no pixel (max 9.0)" in done.stderr
