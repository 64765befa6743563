"""`geouq report`: all that follows from the saved summaries."""

import shutil
from pathlib import Path

from geouq.pipeline.run import report

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


def test_pages_of_regions_that_are_no_more_go_unless_they_were_edited(tile_folder, geouq, tmp_path):
    text = "regions: {west: [a1], east: [a2], south: [a1, a2]}\n" + SHORT
    config = tile_folder(("a1", "a2"), text=text)
    geouq("run", config, "--quiet")
    pages = tmp_path / "results" / "small" / "report"
    (pages / "south.html").write_text("my notes")
    (pages / "own.html").write_text("my page")

    config.write_text(config.read_text().replace("{west: [a1], east: [a2], south: [a1, a2]}", "{west: [a1]}"))
    assert geouq("run", config, "--quiet").exit_code == 0

    assert {path.name for path in pages.glob("*.html")} == {"index.html", "west.html", "south.html", "own.html"}


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


def test_a_report_of_damaged_summaries_leaves_the_results_of_the_run(tile_folder, geouq, tmp_path):
    geouq("run", tile_folder(("a1",), text=SHORT), "--quiet")
    folder = tmp_path / "results" / "small"
    before = (folder / "results.json").read_bytes()
    (folder / "summaries/a1.nc").write_bytes((folder / "summaries/a1.nc").read_bytes()[:-100])

    for command in (("report", "results/small"), ("recalibrate", "results/small")):
        told = geouq(*command, "--quiet")
        assert told.exit_code == 2
        assert "a1.nc cannot be read as saved summaries: its content does not match its checksum" in told.stderr
    assert (folder / "results.json").read_bytes() == before


def test_a_damaged_record_of_a_run_gives_no_other_numbers_and_no_traceback(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1", "a2"), text=SHORT)
    geouq("run", config, "--quiet")
    folder = tmp_path / "results/small"
    path, first = folder / "run.json", tables_of(folder)
    whole = path.read_bytes()
    other_tile = whole.replace(b'"a1"', b'"a2"', 1)
    digits = [place for place, byte in enumerate(whole) if chr(byte).isdigit()]
    flipped = [whole[:place] + b"%d" % (whole[place] % 7) + whole[place + 1 :] for place in digits[:: len(digits) // 6]]
    texts = (b"", whole[: len(whole) // 2], whole[:-2], b"null", b"[]", b"[" * 100_000, b"\xff\xfe")
    for damaged in {other_tile, *flipped, *texts} - {whole}:
        path.write_bytes(damaged)
        for command in ("report", "verify", "figures", "recalibrate"):
            told = geouq(command, "results/small")
            assert told.exit_code == 2, (command, damaged)
            assert "run.json cannot be read" in told.stderr
            assert told.stderr.count("\n") == 1
        assert tables_of(folder) == first

    assert geouq("run", config, "--quiet").exit_code == 0
    assert tables_of(folder) == first
    assert path.read_bytes() != b""
    assert geouq("verify", "results/small").exit_code == 0


def test_a_report_says_that_the_saved_configuration_changed(tile_folder, geouq, tmp_path):
    geouq("run", tile_folder(("a1", "a2"), text=SHORT), "--quiet")
    saved = tmp_path / "results/small/config.yaml"
    assert "config.yaml changed" not in geouq("report", "results/small", "--quiet").stderr
    saved.write_text(saved.read_text(encoding="utf-8").replace("count: 10", "count: 11"), encoding="utf-8")

    assert "warning: config.yaml changed since the run" in geouq("report", "results/small", "--quiet").stderr
