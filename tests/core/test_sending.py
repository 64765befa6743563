"""Values that another thread pickles may compute their cached properties meanwhile."""

import importlib
import pickle
import pkgutil
import threading
from dataclasses import dataclass
from functools import cached_property

import pytest

from geouq.core.sending import Sendable

SENT = ("geouq.summary", "geouq.metrics", "geouq.verdict")


class Slow:
    """Something that lets another thread on while it is pickled."""

    def __init__(self, begun, go_on):
        self.begun, self.go_on = begun, go_on

    def __reduce__(self):
        self.begun.set()
        assert self.go_on.wait(10)
        return (str, ())


@dataclass(frozen=True)
class Plain:
    slow: object
    number: int = 3

    @cached_property
    def square(self):
        return self.number**2


@dataclass(frozen=True)
class Sent(Sendable, Plain):
    pass


def pickled_while_computed(kind):
    begun, go_on = threading.Event(), threading.Event()
    value, found = kind(Slow(begun, go_on)), []

    def pickle_it():
        try:
            found.append(pickle.dumps(value))
        except RuntimeError as error:
            found.append(error)

    thread = threading.Thread(target=pickle_it)
    thread.start()
    assert begun.wait(10)
    assert value.square == 9
    go_on.set()
    thread.join()
    return found[0]


def test_a_value_can_be_pickled_while_a_property_is_computed():
    assert isinstance(pickled_while_computed(Plain), RuntimeError)  # the reason for this module
    found = pickle.loads(pickled_while_computed(Sent))  # noqa: S301  our own bytes
    assert found == Sent("")
    assert vars(found) == {"slow": "", "number": 3}


def classes(package):
    module = importlib.import_module(package)
    names = [package, *(one.name for one in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{package}."))]
    for name in names:
        yield from (
            one for one in vars(importlib.import_module(name)).values() if getattr(one, "__module__", "") == name
        )


@pytest.mark.parametrize("package", SENT)
def test_all_summaries_and_verdicts_leave_their_cached_properties_behind(package):
    cached = [
        one
        for one in classes(package)
        if any(isinstance(member, cached_property) for member in getattr(one, "__dict__", {}).values())
    ]
    readers_of_files = {"TilesFile", "_Group"}
    assert [one for one in cached if not issubclass(one, Sendable) and one.__name__ not in readers_of_files] == []
    assert cached
