"""`geouq check`: the plan, the layers and the problems, before a run."""

import zipfile

import pytest


@pytest.mark.parametrize(("fingerprint", "said"), [("modified", False), ("checksum", True)])
def test_checksums_are_announced_and_not_computed(tile_folder, geouq, monkeypatch, fingerprint, said):
    monkeypatch.setattr("geouq.runs.checksums.with_checksums", None)
    config = tile_folder(("a1",), text=f"fingerprint: {fingerprint}\n")

    checked = geouq("check", config)

    assert checked.exit_code == 0
    assert ("checksums  of all files" in checked.stdout) == said


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize("fingerprint", ["modified", "checksum"])
def test_files_in_an_archive_are_identified_by_the_archive(tile_folder, geouq, tmp_path, command, fingerprint):
    config = tile_folder(("a1",), text=f"tiles: [a1]\noutput: {{maps: none}}\nfingerprint: {fingerprint}\n")
    with zipfile.ZipFile(tmp_path / "truth.zip", "w") as archive:
        archive.write(tmp_path / "truth" / "a1.tif", "a1.tif")
    inside = f"/vsizip/{tmp_path}/truth.zip/{{tile}}.tif"
    config.write_text(config.read_text().replace("truth/{tile}.tif", inside))

    done = geouq(command, config)

    assert done.exit_code == 0
    assert "cannot be identified" not in done.stderr


def test_without_gates_no_metric_is_asked_for_its_name(tile_folder, geouq, monkeypatch):
    """Metrics of nothing tell the names that gates may use, and compile what they need."""
    monkeypatch.setattr("geouq.numbers.gates.metric_rows", None)

    assert geouq("check", tile_folder(("a1",))).exit_code == 0


def test_many_tiles_with_the_same_problem_are_one_line(tile_folder, geouq):
    config = tile_folder(("a1", "a2", "a3", "a4", "a5"), text="variables: {height: {mean: 1, variance: 7, truth: 1}}\n")

    done = geouq("check", config)

    (line,) = [line for line in done.stdout.splitlines() if line.startswith("problem ")]
    assert line.startswith("problem    5 of 5 tiles, such as a1: ")


def test_a_check_without_a_problem_names_the_next_command(tile_folder, geouq):
    config = tile_folder(("a1",))

    assert geouq("check", config).stdout.splitlines()[-1] == f"no problem, 0 findings; next: geouq run {config}"
