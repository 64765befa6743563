"""What is wrong with a configuration, in plain words and with a suggestion."""

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from geouq.core.errors import ConfigError
from geouq.core.redaction import without_secrets

Steps = tuple[str | int, ...]

LONGEST_QUOTE = 60
NEEDS_TEXT = "needs text, not {kind}"
NEEDS_LIST = "needs a list, not {kind}"
NEEDS_MAPPING = "needs a mapping of keys and values, not {kind}"
PLAIN_WORDS = {
    "string_type": NEEDS_TEXT,
    "string_too_short": "must not be empty",
    "string_too_long": "{input} is longer than {max_length} characters",
    "tuple_type": NEEDS_LIST,
    "list_type": NEEDS_LIST,
    "dict_type": NEEDS_MAPPING,
    "model_type": NEEDS_MAPPING,
    "model_attributes_type": NEEDS_MAPPING,
    "too_short": "is too short; give {min_length} or more",
    "int_parsing": "{input} is not a whole number",
    "int_type": "needs a whole number, not {kind}",
    "int_from_float": "{input} is not a whole number",
    "float_parsing": "{input} is not a number",
    "float_type": "needs a number, not {kind}",
    "finite_number": "{input} is not a finite number",
    "bool_parsing": "{input} is neither true nor false",
    "bool_type": "needs true or false, not {kind}",
    "greater_than_equal": "{input} is less than {ge}",
    "less_than_equal": "{input} is more than {le}",
}


@dataclass(frozen=True)
class Problem:
    """One fault: where it is written (no file: an override; line 0: no line), the keys that lead there, what to do."""

    file: Path | None
    line: int
    path: Steps
    message: str

    def __str__(self) -> str:
        line = f":{self.line}" if self.line else ""
        place = f"{one_line(str(self.file))}{line}" if self.file else "overrides"
        keys = ".".join(one_line(str(step)) for step in self.path)
        return ": ".join(part for part in (place, keys, self.message) if part)


def config_error(problems: Iterable[Problem]) -> ConfigError:
    """One error that lists all faults, a line each, by file and line."""
    lines = [str(problem) for problem in sorted(problems, key=lambda problem: (str(problem.file or ""), problem.line))]
    return ConfigError("\n".join(dict.fromkeys(lines)))


def one_line(text: str) -> str:
    """Return the text that stays on one line of a message, cut where it is long."""
    text = without_secrets(text)
    shown = text if text.isprintable() else repr(text)
    return shown if len(shown) <= 4 * LONGEST_QUOTE else f"{shown[: 4 * LONGEST_QUOTE]}…"


def quoted(value: object) -> str:
    """Quote the user's text, shortened if it is long."""
    text = repr(without_secrets(str(value), whole=True))
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…'"


def suggestion(name: str, known: Collection[str]) -> str:
    """End of a message: the nearest known name, or all of them where they are few.

    >>> suggestion("bnad", ["band", "units"])
    "; did you mean 'band'?"
    >>> suggestion("colour", ["band", "units"])
    '; known are band, units'
    """
    folded = {other.casefold(): other for other in known}
    near = difflib.get_close_matches(name.casefold(), folded, n=1)
    if near:
        return f"; did you mean {quoted(folded[near[0]])}?"
    return f"; known are {', '.join(map(one_line, known))}" if 0 < len(known) <= 20 else ""


def several(problems: Iterable[tuple[Steps, str]]) -> ValidationError:
    """Return the problems below the value of a validator, each with the steps that lead to it."""
    details = [
        InitErrorDetails(type=PydanticCustomError("fault", "{words}", {"words": words}), loc=steps, input=None)
        for steps, words in problems
    ]
    return ValidationError.from_exception_data("configuration", details)


def raise_each(problems: Iterable[tuple[Steps, str]]) -> None:
    """Raise all the faults together, if there are any."""
    found = list(problems)
    if found:
        raise several(found)


def in_plain_words(error: ValidationError, section: type[BaseModel]) -> ValidationError:
    """Tell the same faults as the user knows them; unknown and missing keys are those of `section`."""
    problems = error.errors(include_url=False)
    # if every entry of a list is wrong, its length is not reported
    wrong = {problem["loc"][:depth] for problem in problems for depth in range(len(problem["loc"]))}
    told = [problem for problem in problems if problem["type"] != "too_short" or problem["loc"] not in wrong]
    return several((problem["loc"], _words(problem, section)) for problem in told)


def _words(problem: ErrorDetails, section: type[BaseModel]) -> str:
    kind, key, context = problem["type"], str(problem["loc"][-1]) if problem["loc"] else "", problem.get("ctx", {})
    if kind == "fault":
        return problem["msg"]
    if kind == "value_error":
        return str(context["error"])
    if kind == "extra_forbidden":
        return f"unknown key{_belonging(key, section) or suggestion(key, section.model_fields)}"
    if kind == "missing":
        return f"missing key {quoted(key)}: {section.model_fields[key].description}"
    if kind == "literal_error":
        return _not_one_of(problem["input"], re.findall(r"'([^']+)'", context["expected"]))
    template = PLAIN_WORDS.get(kind, problem["msg"].replace("{", "{{").replace("}", "}}"))
    return template.format_map({**context, "input": quoted(problem["input"]), "kind": _kind(problem["input"])})


def _belonging(key: str, section: type[BaseModel]) -> str:
    """Return the end of a message that names where in a section a key is known; "" where it is not known below it."""
    keys = [name for name, field in section.model_fields.items() if key in _keys_below(field.annotation)]
    return f" here; it belongs below {' or '.join(f'`{name}`' for name in keys)}" if 0 < len(keys) <= 3 else ""


def _keys_below(annotation: object) -> set[str]:
    """Return the keys of all sections that a type has among its parts, as a union, a list or a mapping has."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return set(annotation.model_fields)
    return set().union(*map(_keys_below, get_args(annotation)))


def _not_one_of(value: object, known: Collection[str]) -> str:
    if isinstance(value, str):
        return f"{quoted(value)} is not known{suggestion(value, known)}"
    return f"needs one of {', '.join(known)}, not {_kind(value)}"


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, list | tuple) else quoted(value)
