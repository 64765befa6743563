"""Functions are defined without waiting for a process that compiles; each compiles in one process at a time."""

import os
import sys
import textwrap
from contextlib import contextmanager
from subprocess import run
from threading import Thread

import pytest
from filelock import FileLock

import geouq.core.compiled

TWO_FUNCTIONS = """
    from geouq.core.compiled import compile_ahead, compiled, compiled_for

    @compiled_for("f8[:,::1], i8")
    def entry_of(values, index):
        return twice(values[index, 0])

    @compiled
    def twice(value):
        return 2.0 * value
"""


@pytest.fixture
def locked(monkeypatch):
    """Return the names of the functions whose lock was taken."""
    taken = []

    @contextmanager
    def alone(name):
        taken.append(name)
        yield

    monkeypatch.setattr(geouq.core.compiled, "_alone", alone)
    return taken


def test_a_function_takes_the_lock_at_its_first_call_and_not_where_it_is_defined(locked):
    twice = geouq.core.compiled.compiled(lambda x: 2.0 * x)
    assert locked == []
    assert twice(3.0) == 6.0
    assert locked


def test_a_function_of_arrays_that_compiles_where_it_is_made_takes_the_lock(locked):
    half = geouq.core.compiled.elementwise(lambda x: 0.5 * x)
    assert locked == []
    assert half(4.0) == 2.0
    assert locked


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """Return an empty folder for compiled functions."""
    monkeypatch.setattr(geouq.core.compiled, "_cache_folder", lambda: str(tmp_path))
    geouq.core.compiled._lock.cache_clear()
    yield tmp_path
    geouq.core.compiled._lock.cache_clear()


def minus(x):
    return -x


def halve(x):
    return 0.5 * x


def test_a_function_waits_for_the_process_that_compiles_it_and_for_no_other(folder):
    negative, half = geouq.core.compiled.compiled(minus), geouq.core.compiled.compiled(halve)
    found = []
    waiting = Thread(target=lambda: found.append(half(3.0)))

    with FileLock(folder / f"{__name__}.halve.lock"):
        assert negative(2.0) == -2.0
        waiting.start()
        waiting.join(0.5)
        assert found == []
    waiting.join()

    assert found == [1.5]


def test_what_is_compiled_ahead_is_loaded_where_it_is_called(tmp_path, monkeypatch):
    (tmp_path / "two_functions.py").write_text(textwrap.dedent(TWO_FUNCTIONS))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    ahead = "import two_functions; two_functions.compile_ahead()"
    called = """
        import numpy as np
        from two_functions import entry_of
        assert entry_of(np.ones((2, 3)), 1) == 2.0
        print(sum(entry_of._made.stats.cache_hits.values()), sum(entry_of._made.stats.cache_misses.values()))
    """
    run([sys.executable, "-c", ahead], cwd=tmp_path, check=True)
    done = run(
        [sys.executable, "-c", textwrap.dedent(called)], cwd=tmp_path, check=True, capture_output=True, text=True
    )

    assert done.stdout == "1 0\n"


THREADS = """
    import time
    from contextlib import contextmanager
    from threading import Thread
    import numpy as np
    import geouq.core.compiled as own
    from geouq.core.compiled import compiled, elementwise

    as_it_is = own._alone

    @contextmanager
    def slowly(name):
        with as_it_is(name):
            time.sleep(0.5)
            yield

    own._alone = slowly
    callee = compiled(lambda value: 2.0 * value)
    caller = compiled(lambda value: callee(value) + 1.0)
    each = elementwise(lambda value: 3.0 * value)
    work = [lambda: caller(1.0), lambda: each(np.ones(2)), lambda: each(np.ones(3))]
    threads = [Thread(target=one, daemon=True) for one in work]
    for thread in threads:
        thread.start()
        time.sleep(0.1)
    for thread in threads:
        thread.join(60)
    print(any(thread.is_alive() for thread in threads), each(np.ones(2)), flush=True)
"""


def test_threads_that_compile_different_functions_do_not_wait_for_each_other(tmp_path):
    script = tmp_path / "threads.py"
    script.write_text(textwrap.dedent(THREADS))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "XDG_CACHE_HOME": str(tmp_path)}

    done = run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=300, check=False)

    assert done.stdout.startswith("False [3. 3.]"), done.stderr
