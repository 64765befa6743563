"""Which command notices a mistake first, and with which message."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import geouq
from geouq.core.errors import ConfigError
from mistaken.maps import Maps

SILENT = "nothing"
CHECK, DEEP, RUN = "`check`", "`check --deep`", "`run`"
LONGEST = 230


@dataclass(frozen=True)
class Mistake:
    """One mistake: its group, what is wrong, and how it changes a right product."""

    group: str
    what: str
    change: Callable[[Maps], None]


@dataclass(frozen=True)
class Outcome:
    """The command that notices a mistake first, whether it refuses it, and the message."""

    by: str
    refused: bool
    message: str


def outcome_of(mistake: Mistake, folder: Path) -> Outcome:
    """Make the mistake in a folder, and return the message of the first command that notices it."""
    maps = Maps.made(folder)
    mistake.change(maps)
    config = maps.written()
    return next(_outcomes(config, folder), Outcome(SILENT, refused=False, message=""))


def _outcomes(config: Path, folder: Path) -> Iterator[Outcome]:
    for by, deep in ((CHECK, False), (DEEP, True)):
        try:
            found = geouq.check(config, deep=deep)
        except ConfigError as error:
            yield Outcome(by, refused=True, message=_short(str(error), folder))
            return
        yield from (Outcome(by, refused=True, message=_short(line, folder)) for line in found.problems)
        notes = [line.removeprefix("note").strip() for line in found.plan if line.startswith("note")]
        yield from (Outcome(by, refused=False, message=_short(line, folder)) for line in (*found.findings, *notes))
    results = geouq.run(config)
    yield from (Outcome(RUN, refused=True, message=_short(failure.message, folder)) for failure in results.failures)
    yield from (Outcome(RUN, refused=False, message=_short(line, folder)) for line in results.input_warnings)


def _short(message: str, folder: Path) -> str:
    """Return the first sentence or two of a message, without the folder."""
    text = " ".join(message.replace(f"{folder}/", "").split())
    text = re.sub(r"^heights\.yaml:\d+: ", "", text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3].rpartition(' ')[0]} ..."
