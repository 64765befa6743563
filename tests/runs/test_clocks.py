"""Times of day, zones and dates that are odd: no number, no byte and no exit code depends on them."""

import itertools
import json
import time

import pytest

SHORT = "variables: [height]\noutput: {maps: [cells, z], figures: none}\n"


@pytest.fixture
def bytes_of_run(tile_folder, geouq, tmp_path):
    """The checksums of all that a run of one tile writes, into a folder of that name."""
    tile_folder(("a1",), text=SHORT)

    def run(name, code=0):
        done = geouq("run", "experiment.yaml", "--out", name, "--quiet")
        assert done.exit_code == code, done.output
        return (tmp_path / name / "SHA256SUMS").read_text() if not code else done.output

    return run


@pytest.fixture
def zone(monkeypatch):
    """Live in a time zone until the test ends."""

    def live_in(name):
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield live_in
    monkeypatch.undo()
    time.tzset()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the system's zone cannot be set")
def test_no_time_zone_changes_a_byte(bytes_of_run, zone):
    usual = bytes_of_run("usual")

    for number, name in enumerate(("Pacific/Kiritimati", "XYZ+24:59:59", "America/St_Johns", "nowhere/at all", ":")):
        zone(name)
        assert bytes_of_run(f"zone{number}") == usual, name


def test_a_clock_that_goes_back_changes_no_byte_and_no_run_lasts_less_than_nothing(bytes_of_run, monkeypatch, tmp_path):
    usual = bytes_of_run("usual")
    backwards = itertools.count(2**31, -3600)
    monkeypatch.setattr("time.time", lambda: float(next(backwards)))

    assert bytes_of_run("back") == usual
    assert bytes_of_run("back") == usual
    assert json.loads((tmp_path / "back" / "run.json").read_text())["seconds"] >= 0


@pytest.mark.parametrize("told", ["-86400", "0", "4102444800", "253402300799", "007", " 12 "])
def test_a_date_that_is_one_is_the_same_in_each_run(bytes_of_run, monkeypatch, told):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", told)

    assert bytes_of_run("one") == bytes_of_run("other")


@pytest.mark.parametrize("told", ["noon", "1e9", "1.5", "9" * 30, "0x10", "-" + "9" * 15])
def test_a_date_that_is_none_is_refused_before_the_work(bytes_of_run, monkeypatch, tmp_path, told):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", told)

    assert "SOURCE_DATE_EPOCH is" in bytes_of_run("out", code=2)
    assert not (tmp_path / "out").exists()
