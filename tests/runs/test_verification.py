"""Runs know what they read and wrote, and who writes to a folder."""

import hashlib
import json
import os
import subprocess
import sys

import pytest

from geouq.runs.lock import owned


@pytest.fixture
def finished(tile_folder, geouq, tmp_path):
    """The folder of a finished run."""
    tile_folder(("a1", "b1"))
    assert geouq("run", "experiment.yaml", "--quiet").exit_code == 0
    return tmp_path / "results" / "small"


def test_a_run_that_nobody_touched_verifies_and_its_checksums_are_those_of_sha256sum(finished, geouq):
    result = geouq("verify", finished)

    assert (result.exit_code, result.output) == (0, f"{finished}: everything is as the run left it\n")
    done = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=finished, check=False)  # noqa: S607
    assert done.returncode == 0
    listed = {line.split("  ")[1] for line in (finished / "SHA256SUMS").read_text().splitlines()}
    assert {"tables/metrics.csv", "report/index.html", "results.json", "config.yaml"} <= listed


def test_outputs_that_changed_or_are_gone_are_named(finished, geouq):
    (finished / "tables" / "bins.csv").write_text("changed")
    (finished / "results.json").unlink()

    result = geouq("verify", finished)

    assert result.exit_code == 1
    assert "changed: output tables/bins.csv has other bytes than the run wrote" in result.output
    assert "changed: output results.json is gone" in result.output


def drop_line(finished, name):
    """Remove the line of a file from SHA256SUMS."""
    path = finished / "SHA256SUMS"
    lines = path.read_text().splitlines(keepends=True)
    kept = [line for line in lines if not line.endswith(f"  {name}\n")]
    assert len(kept) == len(lines) - 1
    path.write_text("".join(kept))


def test_a_line_that_is_missing_from_the_checksums_is_a_change(finished, geouq):
    drop_line(finished, "tables/bins.csv")

    result = geouq("verify", finished)

    assert result.exit_code == 1
    assert "changed: SHA256SUMS has no line for output tables/bins.csv" in result.output


def test_an_output_that_is_gone_with_its_line_is_a_change(finished, geouq):
    drop_line(finished, "tables/bins.csv")
    (finished / "tables" / "bins.csv").unlink()

    result = geouq("verify", finished)

    assert result.exit_code == 1
    assert "changed: output tables/bins.csv is gone" in result.output


def test_an_output_that_changed_with_its_line_is_a_change(finished, geouq):
    drop_line(finished, "tables/bins.csv")
    (finished / "tables" / "bins.csv").write_text("changed")
    with (finished / "SHA256SUMS").open("a") as file:
        file.write(f"{hashlib.sha256(b'changed').hexdigest()}  tables/bins.csv\n")

    result = geouq("verify", finished)

    assert result.exit_code == 1
    assert "changed: SHA256SUMS has another checksum for output tables/bins.csv than the run wrote" in result.output


def test_files_that_the_run_did_not_record_are_named_and_are_no_change(finished, geouq):
    (finished / "tables" / "notes.txt").write_text("mine")

    result = geouq("verify", finished)

    assert result.exit_code == 0
    assert result.output.splitlines()[0] == "not recorded: tables/notes.txt"


def test_a_report_records_its_outputs_anew(finished, geouq):
    (finished / "tables" / "bins.csv").unlink()
    assert geouq("report", finished, "--quiet").exit_code == 0

    assert geouq("verify", finished).exit_code == 0


def test_inputs_that_changed_or_are_gone_are_named(finished, geouq, tmp_path):
    os.utime(tmp_path / "truth" / "a1.tif", (1, 1))
    (tmp_path / "predictions" / "b1_mean.tif").unlink()

    result = geouq("verify", finished)

    assert result.exit_code == 1
    assert "changed: input truth of tile a1, a1.tif, was written or touched since" in result.output
    assert "changed: input mean of tile b1, b1_mean.tif, is gone" in result.output


def test_with_checksums_a_touched_input_is_the_same_and_other_bytes_are_not(tile_folder, geouq, tmp_path):
    tile_folder(("a1",), text="fingerprint: checksum\n")
    geouq("run", "experiment.yaml", "--quiet")
    truth = tmp_path / "truth" / "a1.tif"
    os.utime(truth, (1, 1))
    assert geouq("verify", "results/small").exit_code == 0

    truth.write_bytes(truth.read_bytes() + b"more")

    result = geouq("verify", "results/small")
    assert result.exit_code == 1
    assert "input truth of tile a1, a1.tif, has other bytes than the run read" in result.output


def test_a_folder_without_a_run_is_a_plain_error(geouq, tmp_path):
    result = geouq("verify", tmp_path)

    assert result.exit_code == 2
    assert "holds no run" in result.output


def test_a_second_run_on_the_same_folder_stops_and_names_the_owner(tile_folder, geouq, tmp_path):
    tile_folder(("a1",))
    code = (
        "import sys, time; from pathlib import Path; from geouq.runs.lock import owned\n"
        "with owned(Path('results/small')): print('owned', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "owned\n"
        result = geouq("run", "experiment.yaml", "--quiet")
        other.kill()

    assert result.exit_code == 2
    assert f"is being written to by process {other.pid} of" in result.output
    assert geouq("run", "experiment.yaml", "--quiet").exit_code == 0  # an owner that was killed owns nothing


def test_an_owner_leaves_no_name_behind(tmp_path):
    with owned(tmp_path):
        assert (tmp_path / ".geouq.owner").exists()

    assert not (tmp_path / ".geouq.owner").exists()


def sums_of(folder):
    """The checksum of each file, by its path."""
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    return {name: checksum for checksum, name in (line.split("  ") for line in lines)}


def test_the_same_inputs_give_the_same_bytes_at_any_time_and_in_any_folder(tile_folder, geouq, tmp_path, monkeypatch):
    tile_folder(("a1", "b1"), text="regions: {west: [a1]}\noutput: {maps: [z, cells]}\n")
    assert geouq("run", "experiment.yaml", "--out", "one", "--quiet").exit_code == 0
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert geouq("run", "experiment.yaml", "--out", "two", "--quiet", "--workers", "1").exit_code == 0

    one, two = sums_of(tmp_path / "one"), sums_of(tmp_path / "two")

    assert one == two
    assert {path.rpartition(".")[2] for path in one} >= {"csv", "tif", "png", "html", "md", "tex", "json", "parquet"}


def test_run_json_tells_settings_and_the_command_but_no_secret(tile_folder, geouq, tmp_path, monkeypatch):
    tile_folder(("a1",), text="output: {maps: none, figures: none}\n")
    monkeypatch.setenv("GDAL_HTTP_USERPWD", "me:hunter2")
    monkeypatch.setenv("PROJ_NETWORK", "OFF")
    monkeypatch.setattr("sys.argv", ["/somewhere/geouq", "run", "experiment.yaml"])
    geouq("run", "experiment.yaml", "--quiet")

    text = (tmp_path / "results/small/run.json").read_text()
    told = json.loads(text)

    assert "hunter2" not in text
    assert told["gdal"]["PROJ_NETWORK"] == "OFF"
    assert told["gdal"]["GDAL_HTTP_USERPWD"] == "***"
    assert told["command"] == "geouq run experiment.yaml"
    assert {"gdal", "proj", "numpy"} <= set(told["versions"])
