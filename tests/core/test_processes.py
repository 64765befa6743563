"""Work that processes share gives the results of one process, in order, and loses nothing."""

import gc
import os
import signal
import sys
import textwrap
import threading
import time
from functools import partial
from subprocess import PIPE, Popen, run

import numpy as np
import pytest

from geouq.core.errors import DataError
from geouq.core.failures import collecting, isolated
from geouq.core.processes import Helpers, helpers, results


def square(x):
    return x * x


def process_of(_):
    return os.getpid()


def half(x):
    with isolated("numbers", f"half of {x}"):
        if x % 2:
            raise ArithmeticError("odd")
        return x // 2
    return None


def refuse(x):
    raise DataError(f"{x} is not a raster")


def end_the_first_time(folder):
    """End the process that computes this, as a system without memory does, unless one has ended before."""
    if not (folder / "ended").exists():
        (folder / "ended").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "computed"


def overflows(x):
    return float(np.float64(x) * np.float64(1e300))


def of_others(work):
    """Return the results of work, all of which other processes compute."""
    while not all(one.is_done for one in work):
        time.sleep(0.01)
    return [one.result() for one in work]


@pytest.fixture(scope="module")
def two():
    with helpers(2) as shared:
        yield shared


def test_shared_results_come_in_the_order_of_the_items(two):
    assert list(two.share(square, range(50))) == [x * x for x in range(50)]
    assert list(results(two.begin(square, range(50)))) == [x * x for x in range(50)]


def test_without_helpers_all_is_computed_here():
    assert set(Helpers().share(process_of, range(3))) == {os.getpid()}
    assert set(results(Helpers().begin(process_of, range(3)))) == {os.getpid()}


def test_work_begun_is_computed_by_other_processes(two):
    assert os.getpid() not in of_others(two.begin(process_of, range(20)))


def nap(_):
    time.sleep(0.2)
    return os.getpid()


def test_what_is_little_is_left_to_the_other_processes(two):
    work = two.begin(nap, range(6))
    two.leave(3)
    assert os.getpid() not in results(work)
    assert len({*of_others(two.begin(nap, range(8)))}) == 2  # the processes are free again, and share what comes


def test_what_is_much_is_not_left_to_the_other_processes(two):
    work = two.begin(nap, range(12))
    two.leave(3)
    assert os.getpid() in [*results(work)]


def test_what_is_begun_next_comes_before_what_waits(two, tmp_path):
    def noted(item):
        time.sleep(0.1)
        with (tmp_path / "order").open("a") as file:
            file.write(f"{item} ")
        return item

    waiting = two.begin(noted, range(8))
    first = two.begin_next(noted, "next")

    assert of_others([first, *waiting]) == ["next", *range(8)]
    assert (tmp_path / "order").read_text().split().index("next") < 5


def test_items_are_taken_as_there_is_room_for_them(two):
    taken = []

    def items():
        for x in range(1000):
            taken.append(x)
            yield x

    first = next(two.share(square, items()))

    assert (first, len(taken) < 100) == (0, True)


@pytest.mark.loses_items
def test_failures_of_items_are_recorded_once_wherever_they_are_computed(two):
    with collecting() as failures:
        found = list(results(two.begin(half, range(20))))

    assert found == [None if x % 2 else x // 2 for x in range(20)]
    assert sorted(one.item for one in failures) == sorted(f"half of {x}" for x in range(1, 20, 2))
    assert {(one.stage, one.error, one.message) for one in failures} == {("numbers", "ArithmeticError", "odd")}


def test_errors_of_the_user_keep_their_type_and_message(two):
    with pytest.raises(DataError, match=r"^4 is not a raster$"):
        list(results(two.begin(refuse, [4])))


def test_a_process_that_ends_costs_no_result(tmp_path):
    with helpers(1) as shared:
        work = shared.begin(end_the_first_time, [tmp_path])
        while not (tmp_path / "ended").exists():
            pass

        assert list(results(work)) == ["computed"]
        assert list(results(shared.begin(square, [3, 4]))) == [9, 16]


def test_what_cannot_be_sent_is_computed_here(two):
    work = two.begin(process_of, [threading.Lock(), "sent"])
    time.sleep(0.5)
    assert [one == os.getpid() for one in results(work)] == [True, False]


def hold(size):
    kept.append(np.ones(size))
    time.sleep(1.1)  # loky looks once a second
    return os.getpid()


kept = []


def test_a_process_may_take_more_memory_than_at_its_first_work():
    with helpers(1) as shared:
        assert len({*of_others(shared.begin(hold, [1, 1, 50_000_000, 1, 1]))}) == 1


def test_numbers_that_overflow_warn_in_no_other_process(two):
    assert of_others(two.begin(overflows, [1e10] * 8)) == [np.inf] * 8


def test_a_script_without_a_guard_is_not_run_again_by_the_processes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        from geouq.core.processes import helpers, results

        print("once")
        with helpers(1) as shared:
            print(*results(shared.begin(abs, [-1, -2])))
        """)
    )

    done = run([sys.executable, script], capture_output=True, text=True, check=True)

    assert done.stdout.split("\n")[:2] == ["once", "1 2"]
    assert done.stdout.count("once") == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows does not tell that a parent is gone")
def test_processes_end_when_the_first_one_is_killed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import os, time
        from geouq.core.processes import helpers

        with helpers(1) as shared:
            (work,) = shared.begin(eval, ["__import__('os').getpid()"])
            print(work.result(), flush=True)
            time.sleep(600)
        """)
    )
    with Popen([sys.executable, script], stdout=PIPE, text=True) as first:
        other = int(first.stdout.readline())
        first.kill()

    deadline = time.monotonic() + 60
    while is_running(other) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not is_running(other)


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def wait_long():
    time.sleep(600)


def note_process(folder):
    (folder / str(os.getpid())).touch()


def fail():
    raise ArithmeticError("not ready")


def test_processes_make_ready_before_their_work(tmp_path):
    with helpers(1) as shared:
        shared.prepare(partial(note_process, tmp_path))
        (process,) = of_others(shared.begin(process_of, [None]))

        assert [path.name for path in tmp_path.iterdir()] == [str(process)]


def test_a_process_that_cannot_make_ready_still_works():
    with helpers(1) as shared:
        shared.prepare(fail)

        assert of_others(shared.begin(square, [3])) == [9]


def test_nobody_waits_for_a_process_that_still_makes_ready():
    begun = time.monotonic()
    with helpers(1) as shared:
        shared.prepare(wait_long)
        work = shared.begin(square, [1] * 8)
        time.sleep(1)  # the process has begun to make ready
        assert list(results(work)) == [1] * 8
        assert list(shared.share(square, [1] * 8)) == [1] * 8

    assert time.monotonic() - begun < 60


def test_without_helpers_nothing_is_made_ready():
    Helpers().prepare(fail)


def threshold_of_garbage(_):
    return gc.get_threshold()[0]


def test_processes_look_for_garbage_more_rarely_than_a_program_that_imports_geouq(two):
    (elsewhere,) = of_others(two.begin(threshold_of_garbage, [None]))

    assert elsewhere > 10 * gc.get_threshold()[0]
