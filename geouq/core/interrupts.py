"""Signals that end the program: Ctrl-C, the end of a session, and a request to terminate.

The handler raises `Interrupted` in the main thread, so that each block removes what is not complete. Python drops an
exception in callbacks of libraries and while objects are deleted: `raise_if_interrupted` raises it again later.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
SIGNALLED = 128  # and the number of the signal: the exit code of a program that a signal ends


class Interrupted(KeyboardInterrupt):
    """The program received a signal that ends it."""


@dataclass
class _State:
    """What was received.

    Parameters
    ----------
    number : int
        The first signal; 0 before there is one.
    raised : bool
        Whether its exception is on its way to the end of the program.
    deferred : int
        Number of blocks around the main thread in which no exception may be raised.
    """

    number: int = 0
    raised: bool = False
    deferred: int = 0


_state = _State()


@contextmanager
def interrupts() -> Iterator[None]:
    """Raise `Interrupted` in this block at the first signal that ends the program; later ones are ignored.

    Only the main thread can handle signals. A signal that the caller ignores, as `nohup` does, stays ignored. What was
    received is forgotten after the block, so that no later work in the same process ends because of it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handled = [number for number in ENDING if signal.getsignal(number) not in (signal.SIG_IGN, None)]
    before = {number: signal.signal(number, _receive) for number in handled}
    try:
        with _dropped_exceptions_noticed():
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _state.number, _state.raised, _state.deferred = 0, False, 0


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Raise `Interrupted` only at the end of this block, as a library that it calls must not be interrupted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _state.deferred += 1
    try:
        yield
    finally:
        _state.deferred -= 1
    if not (_state.raised or _state.deferred):
        raise_if_interrupted()


def raise_if_interrupted() -> None:
    """Raise `Interrupted` if a signal was received, also if its exception was raised and dropped before."""
    if _state.number:
        _state.raised = True
        raise Interrupted(signal.Signals(_state.number).name)


def received() -> int:
    """Return the number of the first signal that was received; 0 for none."""
    return _state.number


def _receive(number: int, _frame: object) -> None:
    _state.number = _state.number or number
    if not (_state.raised or _state.deferred):
        raise_if_interrupted()


@contextmanager
def _dropped_exceptions_noticed() -> Iterator[None]:
    """Let the next signal raise again if Python drops the exception of this one."""
    before = sys.unraisablehook

    def unraisable(dropped: "sys.UnraisableHookArgs", /) -> None:
        """Note a dropped `Interrupted`; pass other exceptions on."""
        if isinstance(dropped.exc_value, Interrupted):
            _state.raised = False
        else:
            before(dropped)

    sys.unraisablehook = unraisable
    try:
        yield
    finally:
        sys.unraisablehook = before
