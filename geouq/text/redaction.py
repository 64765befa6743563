"""Remove credentials from every text that leaves the program: messages, logs, tables, pages and files.

Secrets are known in two ways. `secret_parts` recognises them by how addresses, options and headers are written. Values
that were seen in a configuration, on the command line or in the environment are kept in mind, so that they are also
recognised where other programs repeat them alone, percent-encoded, escaped or cut off.
"""

import base64
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from geouq.text.secret_parts import PRIVATE_NAME, Part, joined, secret_parts

MARK = "***"
SHORTEST = 6  # characters of a value that is recognised alone; shorter ones are part of many words
PLACEHOLDER = re.compile(r"\{(?:tile|model|member)\}")
_DIVIDERS = re.compile(r"[&;#?\s]+|%(?:25)*(?:26|3b|23|3f)", re.IGNORECASE)
_EQUALS = re.compile(r"=|%(?:25)*3d", re.IGNORECASE)
_HARMLESS = re.compile(
    r"url|file|list_dir|use_head|empty_dir|max_retry|retry_delay|bands?|ovr|a_srs|if|versionid", re.IGNORECASE
)
_OF_SERVERS = re.compile(r"(?:GDAL|CPL|VSI|OGR|AWS|AZURE|GS|GOOGLE|GOA2|OSS|SWIFT|PG|MYSQL|MSSQL|HTTPS?|CURL)")
_PRIVATE_OF_SERVERS = re.compile(
    r"SECRET|TOKEN|PASS|PWD|AUTH|BEARER|COOKIE|CREDENTIAL|SIGNATURE|STRING|HEADERS?|KEY|SAS"
)
_PRIVATE = re.compile(r"SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|(?<![A-Z])TOKEN(?![A-Z])")
# what may stand before the secret within a value, and stands in many other texts
_OPENING = re.compile(
    rf"(?:(?:{PRIVATE_NAME}|{_HARMLESS.pattern})(?:{_EQUALS.pattern})|(?:bearer|basic)(?:\s|\+|%(?:25)*20)+"
    r"|/vsi\w+/?|[a-z][a-z0-9+.-]*:/+)*",
    re.IGNORECASE,
)
_OF_USER = re.compile(r"[^:/]+:(?!//)(.+)", re.DOTALL)
_OF_ADDRESSES = re.compile(r"PROXY|UR[IL]|DSN|CONN|ENDPOINT", re.IGNORECASE)
_NAME_OF_FILE = re.compile(r"_?FILE$|APPLICATION_CREDENTIALS$|_PATH$")
_WAYS_TO_LOG_IN = frozenset({"BASIC", "NTLM", "NEGOTIATE", "ANY", "ANYSAFE", "BEARER", "DIGEST"})
_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_known: set[str] = set()
_read_once: ContextVar[frozenset[str] | None] = ContextVar("_read_once", default=None)


def without_secrets(text: str, *, whole: bool = False) -> str:
    """Return the text with every secret replaced by `***`; `whole` says that it is one value, such as a path.

    >>> without_secrets("https://me:word@host/a.tif?X-Amz-Signature=5f cannot be read")
    'https://***@host/a.tif?*** cannot be read'
    >>> without_secrets("is it there? see truth/{tile}.tif")
    'is it there? see truth/{tile}.tif'
    """
    return _without(text, _all_known(), whole=whole)


def last_part(path: str) -> str:
    """Return the name of a file by its path or address, without secrets.

    >>> last_part("https://me:word@host/a.tif?sig=5f")
    'a.tif?***'
    """
    return without_secrets(path, whole=True).rsplit("/", 1)[-1]


def redacted(value: Any) -> Any:
    """Return a value of JSON with the secrets of all its texts removed, those of keys too."""
    return _redacted(value, _all_known())


def holds_secret(value: str) -> bool:
    """Return whether a value is written in a way in which credentials are."""
    return bool(secret_parts(value, whole=True))


def remember_secrets(value: str) -> None:
    """Keep the secrets of a value in mind, so that they are recognised wherever they are repeated."""
    for first, last in secret_parts(value, whole=True):
        _known.update(_values(value[first:last]))


def is_private(name: str) -> bool:
    """Return whether a variable of the environment of this name holds a credential.

    >>> [name for name in ("AWS_SECRET_ACCESS_KEY", "GDAL_HTTP_HEADER_FILE", "OLDPWD") if is_private(name)]
    ['AWS_SECRET_ACCESS_KEY']
    """
    found = _PRIVATE_OF_SERVERS if _OF_SERVERS.match(name) else _PRIVATE
    return bool(found.search(name)) and not _NAME_OF_FILE.search(name)


@contextmanager
def environment_read_once() -> Iterator[None]:
    """Read the environment once for all texts that this thread cleans inside; a nested call reads it no second time.

    Reading it takes longer than cleaning a short text, and a wrong configuration may have thousands of messages.
    """
    seen = _read_once.get()
    token = _read_once.set(_environment_now() if seen is None else seen)
    try:
        yield
    finally:
        _read_once.reset(token)


def _all_known() -> frozenset[str]:
    """Return the values that were kept in mind, and those of the environment."""
    seen = _read_once.get()
    return (_environment_now() if seen is None else seen) | _known


def _environment_now() -> frozenset[str]:
    return _of_environment(frozenset(os.environ.items()))


@lru_cache(maxsize=4)
def _of_environment(variables: frozenset[tuple[str, str]]) -> frozenset[str]:
    found: set[str] = set()
    for name, value in variables:
        if is_private(name):
            found.update(_values(value))
        if _OF_SERVERS.match(name) or _OF_ADDRESSES.search(name):
            for first, last in secret_parts(value, whole=True):
                found.update(_values(value[first:last]))
    return frozenset(found)


def _redacted(value: Any, known: frozenset[str]) -> Any:
    if isinstance(value, str):
        return _without(value, known, whole=True)
    if isinstance(value, Mapping):
        return {_redacted(key, known): _redacted(entry, known) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_redacted(entry, known) for entry in value)
    return value


def _without(text: str, known: Iterable[str], *, whole: bool) -> str:
    known_parts = (part for secret in known for part in _parts_of_one(text, secret))
    return "".join(_pieces(text, joined([*known_parts, *secret_parts(text, whole=whole)])))


def _values(secret: str) -> Iterator[str]:
    """Split what stands in the place of a secret, also once it is decoded, into values that may be repeated alone."""
    for written in {secret, unquote(secret), unquote(unquote(secret))}:
        yield from _values_as_written(written)


def _values_as_written(secret: str) -> Iterator[str]:
    yield from _long_enough([secret, secret.strip("'\""), *_EQUALS.split(secret, maxsplit=1)[1:]])
    user, colon, password = secret.partition(":")
    if colon and not _EQUALS.search(user):
        yield from _long_enough([password, base64.b64encode(secret.encode()).decode().rstrip("=")])
    for option in _DIVIDERS.split(secret):
        yield from _of_option(option)
    if not colon:
        yield from _long_enough([user])


def _of_option(option: str) -> Iterator[str]:
    """Yield the value of an option; if it is an address, only the secrets of this address."""
    name, *value = _EQUALS.split(option, maxsplit=1)
    if not _HARMLESS.fullmatch(name):
        yield from _long_enough([option, *value, *(found[1] for text in value if (found := _OF_USER.match(text)))])
    for nested in map(unquote, value):
        for first, last in secret_parts(nested, whole=True):
            yield from _values(nested[first:last])


def _long_enough(values: list[str]) -> Iterator[str]:
    for value in values:
        yield from (one for one in {value, unquote(value), unquote(unquote(value))} if _is_long_enough(one))


def _is_long_enough(value: str) -> bool:
    own = PLACEHOLDER.sub("", value).replace(MARK, "")
    return len(own) >= SHORTEST and own.upper() not in _WAYS_TO_LOG_IN


def _pieces(text: str, parts: list[Part]) -> Iterator[str]:
    """Yield the text between the parts, and a mark in the place of each, with the placeholders that it held."""
    done = 0
    for first, last in parts:
        yield text[done:first] + _mark(text, first, last)
        done = last
    yield text[done:]


def _mark(text: str, first: int, last: int) -> str:
    """Return what stands in the place of a secret: a mark, and the placeholders of paths that it held."""
    return MARK + "".join(dict.fromkeys(PLACEHOLDER.findall(text, first, last)))


def _parts_of_one(text: str, secret: str) -> Iterator[Part]:
    """Find a secret, however it is escaped, and what is left of it where its end is cut off."""
    beginning, letters = _written(secret)
    for found in beginning.finditer(text):
        ends = {found.start()}
        for ways in letters:
            longer = {one.end() for end in ends for way in ways if (one := way.match(text, end))}
            if not longer:
                break
            ends = longer
        yield found.start(), max(ends)


@lru_cache(maxsize=1000)
def _written(secret: str) -> tuple[re.Pattern[str], list[list[re.Pattern[str]]]]:
    """Return a pattern of the beginning of a secret, and patterns of each of its letters, however these are written."""
    ways = [_ways(letter) for letter in secret]
    opening = _OPENING.match(secret)
    beginning = "".join(f"(?:{'|'.join(own)})" for own in ways[: (opening.end() if opening else 0) + SHORTEST])
    return re.compile(beginning), [[re.compile(way) for way in own] for own in ways]


def _ways(letter: str) -> list[str]:
    """Return patterns of one letter: itself, percent-encoded as often as may be, or escaped."""
    encoded = "".join(f"%(?:25)*(?i:{byte:02x})" for byte in letter.encode("utf-8", "surrogatepass"))
    ways = [
        re.escape(repr(letter)[1:-1]),
        re.escape(letter),
        rf"\\{re.escape(letter)}",
        encoded,
        rf"\\u(?i:{ord(letter):04x})",
        rf"&#(?:{ord(letter)}|(?i:x0*{ord(letter):x}));",
    ]
    if letter in _ENTITIES:
        ways[:0] = [f"&{_ENTITIES[letter]};", letter * 2]
    if letter == " ":
        ways.append(r"\+")
    return ways
