"""Files are whole or not there, and what a killed process leaves behind is removed."""

import os
import signal
import subprocess
import sys
import time
from unittest.mock import Mock

import pytest

from geouq.core import atomic
from geouq.core.atomic import atomic_write, remove_leftovers

WRITE_AND_WAIT = """
import sys, time
from pathlib import Path
from geouq.core.atomic import atomic_write
with atomic_write(Path(sys.argv[1])) as part:
    part.write_text("half of it")
    print("writing", flush=True)
    time.sleep(60)
"""


def test_a_file_appears_when_it_is_whole(tmp_path):
    path = tmp_path / "new" / "table.csv"
    with atomic_write(path) as part:
        part.write_text("all")
        assert not path.exists()

    assert path.read_text() == "all"
    assert [found.name for found in path.parent.iterdir()] == ["table.csv"]


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("before")
    with pytest.raises(ZeroDivisionError), atomic_write(path) as part:
        part.write_text(f"after {1 / 0}")

    assert path.read_text() == "before"
    assert [found.name for found in tmp_path.iterdir()] == ["table.csv"]


def test_file_and_folder_reach_the_disk_before_and_after_the_rename(tmp_path, monkeypatch):
    path, synced = tmp_path / "table.csv", []

    def sync(descriptor):
        synced.append((os.path.sameopenfile(descriptor, folder), path.exists()))

    folder = os.open(tmp_path, os.O_RDONLY)
    monkeypatch.setattr(os, "fsync", sync)
    with atomic_write(path) as part:
        part.write_text("all")
    os.close(folder)

    assert synced == [(False, False), (True, True)]


def test_a_folder_that_cannot_be_synced_is_no_failure(tmp_path, monkeypatch):
    with atomic_write(tmp_path / "table.csv") as part:
        part.write_text("all")
        monkeypatch.setattr(os, "open", Mock(side_effect=PermissionError))

    assert (tmp_path / "table.csv").exists()


def test_what_a_killed_process_was_writing_is_removed_and_nothing_else(tmp_path):
    path = tmp_path / "maps" / "a.tif"
    command = [sys.executable, "-c", WRITE_AND_WAIT, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "writing\n"
        (left,) = path.parent.iterdir()
        remove_leftovers(tmp_path)
        assert left.exists(), "its process is still at work"
        running.send_signal(signal.SIGKILL)
    others = [tmp_path / ".hidden", tmp_path / ".geouq-notes", path.parent / "b.tif"]
    for other in others:
        other.write_text("kept")

    remove_leftovers(tmp_path)

    assert not left.exists()
    assert all(other.exists() for other in others)


def test_what_another_host_was_writing_goes_when_it_is_old(tmp_path):
    new, old = (tmp_path / f".geouq-00000000-{process}.part.a.tif" for process in (1, 2))
    new.touch()
    old.touch()
    os.utime(old, (time.time() - 2 * atomic.DAY,) * 2)

    remove_leftovers(tmp_path)

    assert [found.name for found in tmp_path.iterdir()] == [new.name]


def test_a_folder_that_is_not_there_has_no_leftovers(tmp_path):
    remove_leftovers(tmp_path / "results")


def test_names_leave_room_for_the_longest_that_are_written(tmp_path):
    """Two names of 100 letters and what stands between them."""
    with atomic_write(tmp_path / f"{'a' * 100}_cells_{'b' * 100}.tif") as part:
        part.touch()


def test_a_disk_that_is_all_but_full_is_told_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr("geouq.core.atomic.SPARE", 1 << 60)

    with pytest.raises(OSError, match="No space left on device"), atomic_write(tmp_path / "a.txt"):
        pass
    assert list(tmp_path.iterdir()) == []
