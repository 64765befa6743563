"""Functions are defined without waiting for a process that compiles; they compile one process at a time."""

from contextlib import contextmanager

import pytest

import geouq.core.compiled


@pytest.fixture
def locked(monkeypatch):
    """Return the list of what took the lock of the folder of compiled functions."""
    taken = []

    @contextmanager
    def alone():
        taken.append("lock")
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
