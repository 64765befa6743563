"""`geouq report`: all that follows from the saved summaries."""

import shutil
from pathlib import Path

from geouq.experiment import report

SHORT = "variables: [height]\noutput: {maps: none, figures: none}\n"


def tables_of(folder):
    """The bytes of all tables of a run, by path."""
    found = (path for path in (folder / "tables").rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_report_writes_the_same_tables_again(tile_folder, geouq, tmp_path):
    geouq("run", tile_folder(text="regions: {west: [a1, a2]}\n"), "--quiet")
    folder = tmp_path / "results" / "small"
    first = tables_of(folder)
    shutil.rmtree(folder / "tables")
    shutil.rmtree(tmp_path / "predictions")

    again = geouq("report", folder, "--quiet")

    assert again.exit_code == 0
    assert tables_of(folder) == first
    assert report(str(folder)).folder == folder  # a plain string will do in Python too


def test_a_damaged_run_is_told_by_report_and_mended_by_run(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1",), text=SHORT)
    geouq("run", config, "--quiet")
    folder = tmp_path / "results" / "small"
    damages = {"summaries/a1.nc": b"junk", "config.yaml": b"version: 1", "run.json": b"[]"}
    for name, content in [*damages.items(), ("run.json", b"{"), *((name, None) for name in damages)]:
        whole = (folder / name).read_bytes()
        (folder / name).unlink()
        if content is not None:
            (folder / name).write_bytes(content)
        told = geouq("report", "results/small", "--quiet")
        assert told.exit_code == 2
        assert Path(name).name in told.stderr
        (folder / name).write_bytes(whole)
    for name, content in damages.items():
        (folder / name).write_bytes(content)

    assert geouq("run", config, "--quiet").exit_code == 0
    assert geouq("report", "results/small", "--quiet").exit_code == 0
