"""Processes that are asked for, without starting them."""

import pytest

from geouq.core.processes import Helpers


@pytest.fixture
def counts_in(monkeypatch):
    """Function that returns the numbers of processes that a module asks for; none is started."""

    def noted(module):
        found = []

        class Noted:
            def __init__(self, count):
                found.append(count)

            def __enter__(self):
                return Helpers()

            def __exit__(self, *_):
                pass

        monkeypatch.setattr(module, "helpers", Noted)
        return found

    return noted
