"""What is seen of long work: lines in a log, bars on a terminal, or nothing."""

import json
import re
import signal

import pytest
from rich.console import Console
from rich.progress import Progress

from geouq.config import load_experiment
from geouq.core.interrupts import interrupts
from geouq.pipeline.data import Options
from geouq.pipeline.run import run
from geouq.runs import progress, progress_bars
from geouq.runs.progress import Silent, reporter
from geouq.runs.progress_bars import Bars


@pytest.fixture
def on_terminal(monkeypatch):
    """Make standard error a terminal of 100 columns."""
    monkeypatch.setattr(progress_bars, "Console", lambda **options: Console(force_terminal=True, width=100, **options))


def work(how):
    with reporter(how) as told:
        told.stage("sweep", 2)
        told.under_way("tile [a]", 0.25)
        told.advance("tile [a]")
        told.say("tile [b] failed: 50% [red]")
        told.advance("tile [b]")
        told.stage("maps", 0)
        told.stage("numbers", 2)
        told.advance("west")
        told.advance("all")


def test_a_log_has_a_line_for_each_step_with_its_time(capsys):
    work("fitting")

    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert all(re.match(r"\[ +\d+\.\d s\] ", line) for line in lines)
    assert [line.partition("] ")[2] for line in lines] == [
        "sweep 1/2: tile [a]",
        "tile [b] failed: 50% [red]",
        "sweep 2/2: tile [b]",
        "numbers 2/2",
    ]


def test_a_verbose_log_has_a_line_for_every_step(capsys):
    work("verbose")

    said = [line.partition("] ")[2] for line in capsys.readouterr().err.splitlines()]
    assert said[-2:] == ["numbers 1/2: west", "numbers 2/2: all"]


def test_a_json_log_is_an_object_a_line(capsys):
    work("json")

    told = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert all(line.pop("seconds") >= 0 for line in told)
    assert told == [
        {"stage": "sweep", "step": "tile [a]", "done": 1, "total": 2},
        {"message": "tile [b] failed: 50% [red]"},
        {"stage": "sweep", "step": "tile [b]", "done": 2, "total": 2},
        {"stage": "numbers", "step": "west", "done": 1, "total": 2},
        {"stage": "numbers", "step": "all", "done": 2, "total": 2},
    ]


def test_a_log_tells_how_far_a_step_is_only_after_long_silence(capsys, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    with reporter() as told:
        told.stage("sweep", 2)
        for seconds in range(1, 100):
            clock[0] = seconds
            told.under_way("big", seconds / 100)
            if seconds == 45:
                told.advance("small")

    assert capsys.readouterr().err.splitlines() == [
        "[   30.0 s] sweep: big 30 %",
        "[   45.0 s] sweep 1/2: small",
        "[   75.0 s] sweep: big 75 %",
    ]


def test_a_bar_moves_by_shares_of_steps_and_begins_anew_with_each_stage():
    bars = Bars(Progress())

    def seen():
        (task,) = bars._progress.tasks
        return task.completed, task.total

    bars.stage("sweep", 3)
    bars.under_way("a", 0.25)
    bars.under_way("b", 0.5)
    assert seen() == (0.75, 3)
    bars.under_way("a", 0.5)
    assert seen() == (1, 3)
    bars.advance("a")
    assert seen() == (1.5, 3)
    bars.advance("b")
    assert seen() == (2, 3)
    bars.under_way("c", 0.5)
    bars.stage("maps", 1)
    assert seen() == (0, 1)


@pytest.mark.usefixtures("on_terminal")
def test_a_terminal_has_a_bar_for_each_stage_and_keeps_what_is_said(capsys):
    work("fitting")

    err = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
    assert "tile [b] failed: 50% [red]" in err
    assert "numbers" in err
    assert "2/2" in err
    assert "tile [a]" not in err


class Recorder(Silent):
    """Keeps what it is told of the steps of each stage."""

    def __init__(self):
        self.told = {}

    def stage(self, name, total):  # noqa: ARG002
        self._steps = self.told.setdefault(name, [])

    def under_way(self, step, share):
        self._steps.append((step, share))

    def advance(self, done):
        self._steps.append(done)


def test_both_sweeps_of_a_tile_are_told_of_piece_by_piece(tile_folder, tmp_path):
    text = "variables: [height]\noutput: {maps: none}\nbins: {exact: true, schemes: [{scheme: equal-count}]}\n"
    config = tile_folder(("a1",), shape=(1100, 300), text=text)
    recorder = Recorder()

    run(load_experiment(config), Options(tmp_path / "out"), recorder)

    pieces = [("a1", pytest.approx(1 / 3)), ("a1", pytest.approx(2 / 3)), "a1"]
    assert recorder.told["sweep"] == recorder.told["exact bins"] == pieces


def interrupted_work():
    with reporter() as told:
        told.stage("sweep", 9)
        raise KeyboardInterrupt


@pytest.mark.usefixtures("on_terminal")
def test_an_interrupted_bar_leaves_the_cursor_visible(capsys):
    with pytest.raises(KeyboardInterrupt):
        interrupted_work()

    assert capsys.readouterr().err.rpartition("\x1b[?25")[2].startswith("h")


def test_quiet_says_nothing(capsys):
    work("quiet")

    assert capsys.readouterr() == ("", "")


@pytest.fixture
def interruptible():
    """Handle SIGINT as Python does; a shell that starts the tests in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_that_python_dropped_ends_the_work_at_the_next_word():
    class Dropping:
        """What is raised while an object is thrown away goes nowhere."""

        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    with interrupts(), reporter("quiet") as told:
        Dropping()
        with pytest.raises(KeyboardInterrupt):
            told.advance("a tile")
