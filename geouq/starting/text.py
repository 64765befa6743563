"""A guess as YAML with a comment for each line, and as lines for the terminal."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from geouq.config.load import TODO
from geouq.core.wording import counted, one_line
from geouq.starting.guess import PATH, Entry, Guess
from geouq.starting.named_files import is_listed

QUANTILES = "quantiles"
OF_LISTS = ("stac", "index")  # keys of tiles that name a file


def as_yaml(guess: Guess, name: str, folder: Path) -> str:
    """Return the configuration; paths are relative to the folder in which it will be, unless they are absolute."""
    tiles = f"{counted(len(guess.tiles), 'tile')}, such as {guess.first}" if guess.tiles else "one tile"
    tiles += f"; {len(guess.times)} times, such as {guess.times[0]}" if guess.times else ""
    lines = [
        "# Written by geouq init; paths are relative to this file. Check the guesses behind #.",
        "version: 1",
        _line("name", re.sub(r"[^\w.-]+", "-", name).strip("-.") or "experiment", ""),
        f"data:  # {one_line(guess.layout)}; {one_line(tiles)}",
        *_data(guess, folder),
        *_variables(guess),
        *(_line(key, _relative(entry.value, folder), entry.why) for key, entry in guess.others.items()),
        *(f"# {one_line(note)}" for note in guess.notes),
        "# regions:            # lists of tiles; they may overlap",
        "#   north: [tile1, tile2]",
    ]
    return "\n".join(lines) + "\n"


def said(guess: Guess) -> list[str]:
    """Return the guesses in lines for people."""
    lines = [f"layout      {guess.layout}"]
    lines += [f"tiles       {len(guess.tiles)}, such as {guess.first}"] if guess.tiles else []
    lines += [f"times       {len(guess.times)}, such as {guess.times[0]}"] if guess.times else []
    entries = {**guess.layers, **guess.data, **guess.others}
    for key, entry in entries.items():
        lines.append(f"{key:<11} {_shown(entry)}")
    if guess.variables:
        why = f": {guess.why_variables}" if guess.why_variables else ""
        lines.append(f"variables   {', '.join(guess.variables)}{why}")
    return [one_line(line) for line in (*lines, *(f"note        {note}" for note in guess.notes))]


def _shown(entry: Entry) -> str:
    value = entry.value[PATH] if isinstance(entry.value, Mapping) and PATH in entry.value else entry.value
    return f"{value}: {entry.why}" if entry.why else str(value)


def _data(guess: Guess, folder: Path) -> Iterator[str]:
    """Yield the lines below data."""
    above = ""
    for key, entry in guess.layers.items():
        first, _, last = key.partition(".")
        if last and first != above:
            yield f"  {first}:"
        above = first
        indent, name = ("    ", last) if last else ("  ", key)
        yield indent + _line(float(name) if first == QUANTILES and last else name, _layer(entry, folder), entry.why)
    for key, entry in guess.data.items():
        yield f"  {_line(key, entry.value, entry.why)}"


def _layer(entry: Entry, folder: Path) -> Any:
    if entry.value == TODO:
        return TODO
    if PATH not in entry.value:
        return entry.value
    path = as_written(str(entry.value[PATH]), folder)
    settings = {key: value for key, value in entry.value.items() if key != PATH}
    return {PATH: path, **settings} if settings else path


def _relative(value: Any, folder: Path) -> Any:
    """Return a source of tiles with the path of its file relative to a folder; another value as it is."""
    if not isinstance(value, Mapping):
        return value
    return {key: as_written(own, folder) if key in OF_LISTS else own for key, own in value.items()}


def as_written(path: str, folder: Path) -> str:
    """Return a path relative to a folder, if it is relative to the current one."""
    if not is_listed(path) or Path(path).is_absolute():
        return path
    return Path(os.path.relpath(path, folder)).as_posix()


def _variables(guess: Guess) -> Iterator[str]:
    if not guess.variables:
        return
    why = f"  # {one_line(guess.why_variables)}" if guess.why_variables else ""
    yield f"variables:{why}"
    for name, settings in guess.variables.items():
        yield f"  {_line(name, settings, '')}"


def _line(key: str | float, value: object, why: str) -> str:
    """One key with its value in flow style, and the reason as a comment."""
    text = yaml.safe_dump({key: value}, default_flow_style=True, width=10**6, allow_unicode=True, sort_keys=False)
    comment = f"  # {one_line(why)}" if why else ""
    return text.strip()[1:-1] + comment
