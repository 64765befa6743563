"""Strict YAML: every scalar stays the text that was written, and knows its file and line.

A tile called 0346, 1e3 or no keeps its name; what a value means is decided by the key that it stands under.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from geouq.config.validation_errors import Problem, Steps, config_error, one_line, quoted
from geouq.core.redaction import remember_secrets

MOST_BYTES = 2_000_000  # 10 seconds of reading
MOST_VALUES = 100_000
DEEPEST = 50
CORE = "tag:yaml.org,2002:"
TAGS = {
    f"{CORE}{name}" for name in ("str", "int", "float", "bool", "null", "timestamp", "value", "seq", "map", "merge")
}
SURROGATE = re.compile("[\ud800-\udfff]")
IN_BRACES = re.compile(r"\{[^{}'\"\n]*\{\w+\}")  # a placeholder without quotes in a mapping on one line
OPEN_PLACEHOLDER = re.compile(r"^[^#'\"\n]*[:,\[-]\s+\{\w+\}[^\s,\]}]", re.MULTILINE)


@dataclass(frozen=True)
class Written:
    """A value as written, the file it stands in (none: given as an override) and the line of its key."""

    value: "str | dict[str, Written] | list[Written] | None"
    file: Path | None
    line: int

    @property
    def entries(self) -> "dict[str, Written]":
        """Return the values by key; none where this is no mapping."""
        return self.value if isinstance(self.value, dict) else {}

    def plain(self) -> Any:
        """Give the value without its places."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value

    def problem(self, steps: Steps, message: str) -> Problem:
        """Make a fault at the deepest written value that `steps` lead to.

        A number stands for the key at that position in a mapping; steps that are not written are passed over.
        """
        node, path = self, list[str | int]()
        for step in steps:
            written = _step(node, step)
            if written is not None:
                key, node = written
                path.append(key)
        return Problem(node.file, node.line, tuple(path), message)


def _step(node: Written, step: str | int) -> "tuple[str | int, Written] | None":
    if isinstance(node.value, dict):
        keys = list(node.value)
        key = keys[step] if isinstance(step, int) and step < len(keys) else step
        return (key, node.value[key]) if isinstance(key, str) and key in node.value else None
    if isinstance(node.value, list) and isinstance(step, int) and step < len(node.value):
        return step, node.value[step]
    return None


def merged(base: Written, over: Written) -> Written:
    """`over` laid upon `base`: mappings merge, all else replaces, and a null takes away what the base has."""
    if not (isinstance(base.value, dict) and isinstance(over.value, dict)):
        return over
    value = dict(base.value)
    for key, node in over.value.items():
        below = value.get(key)
        if below is not None and below.value is not None and node.value is None:
            del value[key]
        else:
            value[key] = node if below is None else merged(below, node)
    return replace(over, value=value)


def as_written(value: object, file: Path | None = None) -> Written:
    """Return Python values as if they were written in a file: scalars become text."""
    if isinstance(value, Mapping):
        return Written({str(key): as_written(entry, file) for key, entry in value.items()}, file, 0)
    if isinstance(value, list | tuple):
        return Written([as_written(entry, file) for entry in value], file, 0)
    if value is None:
        return Written(None, file, 0)
    remember_secrets(str(value))
    return Written(str(value), file, 0)


def read_yaml(file: Path) -> tuple[Written, list[Problem]]:
    """Read the mapping in a file, with faults that leave it readable, such as a key written twice.

    Raises ConfigError where the file is no UTF-8 YAML mapping, or too large or deep for a configuration.
    """
    node = _composed(file, _text(file))
    if node is None:
        raise _unreadable(file, 1, "the file is empty; it needs keys and values")
    problems: list[Problem] = []
    root = _Reading(file, problems).written(node, (), 1)
    if not isinstance(root.value, dict):
        raise _unreadable(file, root.line, "the file needs keys and values at its top level, such as 'version: 1'")
    return replace(root, line=1), problems


def is_file(path: Path) -> bool:
    """Tell whether there is a file, also of a path that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _text(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except IsADirectoryError:
        raise _unreadable(file, 0, "is a folder; give the YAML file inside it") from None
    except FileNotFoundError:
        raise _unreadable(file, 0, "there is no such file") from None
    except (OSError, ValueError) as error:
        raise _unreadable(file, 0, f"cannot be read: {one_line(str(error))}") from None
    if len(content) > MOST_BYTES:
        raise _unreadable(file, 1, f"is larger than {MOST_BYTES // 1_000_000} MB: not a configuration")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _unreadable(file, line, "is not UTF-8 text; save it with that encoding") from None


class _Composer(yaml.SafeLoader):
    """Composes nodes only as deep as a configuration goes, and no more than it has."""

    depth = nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Return the next node; refuse documents that are nested too deep or hold too many nodes."""
        self.depth += 1
        if self.depth > DEEPEST:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem=f"nested deeper than {DEEPEST}", problem_mark=mark)
        self.nodes += 1
        if self.nodes > 2 * MOST_VALUES:  # keys are nodes, too
            raise yaml.MarkedYAMLError(problem=f"more than {MOST_VALUES} values")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def _composed(file: Path, text: str) -> yaml.Node | None:
    try:
        return _Composer(text).get_single_node()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise _unreadable(
            file, line, f"holds the character {quoted(chr(error.character))}, which YAML forbids"
        ) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(one_line(part) for part in (error.context, error.problem) if part)
        raise _unreadable(
            file, mark.line + 1 if mark else 1, f"not valid YAML: {problem}{_hint(problem, text)}"
        ) from None
    except (ValueError, OverflowError) as error:
        raise _unreadable(file, 1, f"not valid YAML: {one_line(str(error))}") from None


def _hint(problem: str, text: str) -> str:
    if IN_BRACES.search(text):
        return "; put a path that holds a placeholder in quotes where it stands in braces: {path: 'maps/{tile}.tif'}"
    if OPEN_PLACEHOLDER.search(text):
        return "; put a path that begins with a placeholder in quotes, such as '{tile}_mean.tif'"
    if r"\t" in problem:
        return "; indent with blanks, not with tabs"
    return "; put the value in quotes" if "cannot start any token" in problem else ""


@dataclass
class _Reading:
    """One pass over the nodes of a file, counting the values and the characters that aliases expand to."""

    file: Path
    problems: list[Problem]
    values: int = 0
    characters: int = 0

    def written(self, node: yaml.Node, path: Steps, line: int) -> Written:
        """Return the value of a node with its place in the file."""
        self.values += 1
        if self.values > MOST_VALUES or len(path) > DEEPEST:
            bounds = f"more than {MOST_VALUES} values or nested deeper than {DEEPEST}"
            raise _unreadable(self.file, line, f"aliases expand to {bounds}" if len(path) > DEEPEST else bounds)
        if node.tag not in TAGS:
            self.problem(line, path, f"the tag {quoted(node.tag.replace(CORE, '!!'))} is not allowed; leave it out")
        if isinstance(node, yaml.MappingNode):
            return Written(self.mapping(node, path), self.file, line)
        if isinstance(node, yaml.SequenceNode):
            entries = [self.written(entry, (*path, i), _line(entry)) for i, entry in enumerate(node.value)]
            return Written(entries, self.file, line)
        return Written(self.scalar(node, path), self.file, line)

    def mapping(self, node: yaml.MappingNode, path: Steps) -> dict[str, Written]:
        """Return the entries of a mapping."""
        entries: dict[str, Written] = {}
        for key_node, value in node.value:
            line = _line(key_node)
            if not isinstance(key_node, yaml.ScalarNode):
                self.problem(line, path, "a key must be text; put a text with braces or brackets in quotes")
            elif key_node.tag == f"{CORE}merge":
                self.problem(line, path, "merge keys (<<) are not supported; write the keys out, or use extends")
            elif (key := self.text(key_node, path)) in entries:
                first = entries[key].line
                self.problem(line, (*path, key), f"the key is written twice, first in line {first}; remove one")
            else:
                entries[key] = self.written(value, (*path, key), line)
        return entries

    def scalar(self, node: yaml.Node, path: Steps) -> str | None:
        """Return the text of a scalar; None for null."""
        text = self.text(node, path)
        return None if node.tag == f"{CORE}null" else text

    def text(self, node: yaml.Node, path: Steps) -> str:
        """Return the text of a scalar; refuse aliases that expand to too many characters."""
        text = str(node.value)
        remember_secrets(text)
        self.characters += len(text)
        if self.characters > MOST_BYTES:
            raise _unreadable(self.file, _line(node), f"aliases expand to more than {MOST_BYTES} characters")
        if SURROGATE.search(text):
            self.problem(_line(node), path, f"{quoted(text)} is not valid Unicode text")
        return text

    def problem(self, line: int, path: Steps, message: str) -> None:
        """Keep a validation error."""
        self.problems.append(Problem(self.file, line, path, message))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _unreadable(file: Path, line: int, message: str) -> Exception:
    return config_error([Problem(file, line, (), message)])
