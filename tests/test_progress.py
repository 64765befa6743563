"""What is seen of long work: lines in a log, bars on a terminal, or nothing."""

import re

import pytest
from rich.console import Console

from geouq import progress
from geouq.progress import reporter


@pytest.fixture
def on_terminal(monkeypatch):
    """Make standard error a terminal of 100 columns."""
    monkeypatch.setattr(progress, "Console", lambda **options: Console(force_terminal=True, width=100, **options))


def work(quiet):
    with reporter(quiet=quiet) as told:
        told.stage("sweep", 2)
        told.advance("tile [a]")
        told.say("tile [b] failed: 50% [red]")
        told.advance("tile [b]")
        told.stage("maps", 0)
        told.stage("numbers", 1)
        told.advance("all")


def test_a_log_has_a_line_for_each_step_with_its_time(capsys):
    work(quiet=False)

    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert all(re.match(r"\[ +\d+\.\d s\] ", line) for line in lines)
    assert [line.partition("] ")[2] for line in lines] == [
        "sweep 1/2: tile [a]",
        "tile [b] failed: 50% [red]",
        "sweep 2/2: tile [b]",
        "numbers 1/1: all",
    ]


@pytest.mark.usefixtures("on_terminal")
def test_a_terminal_has_a_bar_for_each_stage_and_keeps_what_is_said(capsys):
    work(quiet=False)

    err = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
    assert "tile [b] failed: 50% [red]" in err
    assert "numbers" in err
    assert "1/1" in err
    assert "tile [a]" not in err


def interrupted_work():
    with reporter(quiet=False) as told:
        told.stage("sweep", 9)
        raise KeyboardInterrupt


@pytest.mark.usefixtures("on_terminal")
def test_an_interrupted_bar_leaves_the_cursor_visible(capsys):
    with pytest.raises(KeyboardInterrupt):
        interrupted_work()

    assert capsys.readouterr().err.rpartition("\x1b[?25")[2].startswith("h")


def test_quiet_says_nothing(capsys):
    work(quiet=True)

    assert capsys.readouterr() == ("", "")
