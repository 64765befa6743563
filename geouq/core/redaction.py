"""Remove credentials from every text that leaves the program: messages, logs, tables, pages and files.

Secrets are known in two ways. `secret_parts` recognises them by how addresses, options and headers are written. Values
that were seen in a configuration, on the command line or in the environment are kept in mind, so that they are also
recognised where other programs repeat them alone, percent-encoded, escaped or cut off.
"""

import base64
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from contextvars import ContextVar
from functools import lru_cache
from types import TracebackType
from typing import Any, TextIO
from urllib.parse import unquote

Part = tuple[int, int]

_COLON, _SLASH, _AT = r"(?::|%(?:25)*3a)", r"(?:/|%(?:25)*2f)", r"(?:@|%(?:25)*40)"
_SEPARATOR, _EQUALS_SIGN = r"(?:[;&]|%(?:25)*(?:3b|26))", r"(?:=|%(?:25)*3d)"
_SCHEMES_OF_SERVERS = (
    r"(?:https?|s?ftps?|s3|gs|az|abfss?|wasbs?|adl|oss|swift|(?:web)?hdfs|postgres(?:ql)?|mysql|mongodb(?:\+srv)?)"
)
# `https:/host` is how a normalised path writes an address, with a backslash on Windows; JSON may write `https:\/\/host`
_NORMALISED = rf"{_SCHEMES_OF_SERVERS}{_COLON}(?:{_SLASH}|\\)+"
_START = re.compile(
    rf"[a-z][a-z0-9+.-]{{0,30}}{_COLON}{_SLASH}{_SLASH}|{_NORMALISED}"
    rf"|{_SLASH}vsi[a-z0-9_]+(?:(?={_SLASH}|\?|%(?:25)*3f))",
    re.IGNORECASE,
)
# a single letter is a user with a password that begins with slashes, not a scheme
_ADDRESS = rf"[a-z][a-z0-9+.-]+{_COLON}{_SLASH}{_SLASH}|{_NORMALISED}"
_ADDRESS_NEXT = re.compile(rf"{_ADDRESS}|{_SLASH}(?:{_ADDRESS}|file{_COLON}{_SLASH}|{_SLASH}|vsi|\{{)", re.IGNORECASE)
# behind the scheme of a server, what looks like another scheme is a user with a password that begins with slashes
_SERVER, _USER_NEXT = re.compile(_NORMALISED, re.IGNORECASE), re.compile(rf"(?!{_NORMALISED})[a-z]", re.IGNORECASE)
_HOST = re.compile(r"(?:\[[0-9a-f:.]+\]|\d+(?:\.\d+){3}|localhost)(?::\d+)?", re.IGNORECASE)
_VIRTUAL = re.compile(rf"{_SLASH}vsi", re.IGNORECASE)
_END = re.compile(r"[\s'\"<>`]")  # of an address within a sentence
_AUTHORITY_END = re.compile(r"[/?#\\]")
_ENCODED_AUTHORITY_END = re.compile(r"[/?#\\]|%(?:25)*(?:2f|3f|23)", re.IGNORECASE)
_DRIVE = re.compile(r"[a-z]:[/\\]", re.IGNORECASE)
_LAST_AT = re.compile(rf"(?P<user>.*){_AT}", re.IGNORECASE | re.DOTALL)
_OPEN_PASSWORD = re.compile(rf"[^:%\[]+{_COLON}(?!\d*$)(?=.)", re.IGNORECASE | re.DOTALL)
_QUERY = re.compile(rf"(?:[?#]|%(?:25)*(?:3f|23))|{_SEPARATOR}(?=[^=/\s]{{0,100}}{_EQUALS_SIGN})", re.IGNORECASE)

PRIVATE_NAME = (
    r"[\w.-]{0,60}(?:passw(?:or)?d|passphrase|pwd|secret|token|signature|credential|bearer|api[_-]?key|access[_-]?key"
    r"|account[_-]?key|shared[_-]?key|authorization|cookie|header|connection[_-]?string|x-(?:amz|goog|ms)-)[\w.-]{0,60}"
    r"|sig|sas|pass|auth|key(?:_b64)?"
)
_VALUE = (
    r"""(?:\*{3}(?=[,;&])|'(?:[^'\\]|\\.|'')*(?:'|$)|"(?:[^"\\]|\\.)*(?:"|$)"""
    r"""|(?:\\.|[^\s\\])+?(?=[])'"]*(?:\s|$)))"""
)
_HEADER = (
    r"(?:proxy-)?authorization|(?:set-)?cookie"
    r"|(?:x|private|job|deploy|access|auth|api|ocp)-[\w-]*(?:token|key|auth)[\w-]*"
)
_KEY = (  # of YAML; only whole words, as sentences may begin with others, such as `tokens: 5`
    r"(?:(?:client|user|db|access|auth|api|aws)[_-]?)?(?:password|passwd|passphrase|pwd|secret|token)"
    r"|(?:aws_)?(?:api|access|account|secret_access)[_-]?key"
)
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        rf"(?<![\w.-])(?:{PRIVATE_NAME})\s*{_EQUALS_SIGN}\s*(?P<secret>{_VALUE})",
        rf"""["'](?:{PRIVATE_NAME})["']\s*:\s*(?P<secret>{_VALUE})""",
        rf"(?<![\w-])(?:{_HEADER})\s*(?::|%(?:25)*3a)\s*(?P<secret>[^\n]+)",
        r"(?<!\w)bearer(?:\s|\+|%(?:25)*20)+(?P<secret>[^\s'\"]{4,})",
        rf"<(?:{PRIVATE_NAME})(?:\s[^>]*)?>(?P<secret>[^<]+)",
        rf"""(?:^|[\n{{,(\[`'"])[ \t-]*(?:{_KEY})[ \t]*:[ \t]+(?P<secret>{_VALUE})""",
        rf"(?<![\w-])--(?:config[ \t]+)?(?:{PRIVATE_NAME})[ \t]+(?P<secret>{_VALUE})",
        r"(?<!\w)(?:oci|odbc|geor|georaster|idb):[^\s/,@]*/(?P<secret>\S*(?=@)|[^\s,@]+)",
        r"(?<!\w)(?:geor|georaster):[^\s/,@]*,(?P<secret>[^\s,@]+)",
    )
)
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
MOST_PASSES = 5
_known: set[str] = set()
_read_once: ContextVar[frozenset[str] | None] = ContextVar("_read_once", default=None)


def secret_parts(text: str, *, whole: bool = False) -> list[Part]:
    """Return where the secrets of a text are.

    Parameters
    ----------
    text : str
        A sentence with addresses or options in it.
    whole : bool
        The text is one value, such as a path: an address in it goes on to its end, over blanks and quotes.
    """
    return list(_parts(text, whole))


@lru_cache(maxsize=256)
def _parts(text: str, whole: bool) -> tuple[Part, ...]:  # noqa: FBT001  a key of the cache
    """Return the parts of a text; aliases of YAML repeat one text many thousand times."""
    return tuple(joined([*_of_addresses(text, whole=whole), *_of_options(text)]))


def _of_options(text: str) -> Iterator[Part]:
    return (found.span("secret") for pattern in _PATTERNS for found in pattern.finditer(text))


def _of_addresses(text: str, *, whole: bool) -> Iterator[Part]:
    for start in _START.finditer(text):
        end = None if whole else _END.search(text, start.end())
        rest = text[start.end() : end.start() if end else len(text)]
        for first, last in (*_of_user(rest, start.group()), *_of_query(rest)):
            yield start.end() + first, start.end() + last


def _of_user(rest: str, start: str) -> Iterator[Part]:
    """Find the user and the password before a host, which may hold any character; also where the host is cut off.

    start : what stands before it, the beginning of an address or of a virtual file. In an address that is encoded as a
    whole, encoded characters end the host, too.
    """
    begin, is_encoded = 0, start[-1] not in "/\\"
    if _ADDRESS_NEXT.match(rest) and not (_SERVER.fullmatch(start) and _USER_NEXT.match(rest)):
        return
    if rest[:1] == "/" or (rest[:1] == "%" and _VIRTUAL.match(start)):
        is_encoded = rest[:1] == "%"
        if not (slash := re.match(_SLASH, rest, re.IGNORECASE)):
            return
        begin = slash.end()
        if _DRIVE.match(rest, begin):
            return
    found = (_ENCODED_AUTHORITY_END if is_encoded else _AUTHORITY_END).search(rest, begin)
    authority = rest[begin : found.start() if found else len(rest)]
    last = _LAST_AT.match(rest, begin)
    if _HOST.fullmatch(authority):
        return
    if last and re.search(rf"{_AT}|{_COLON}", authority, re.IGNORECASE):
        yield begin, last.end("user")
    elif password := _OPEN_PASSWORD.match(authority):
        yield begin + password.end(), begin + len(authority)


def _of_query(rest: str) -> Iterator[Part]:
    """Find the query and the fragment, whichever way their beginning is written."""
    if (found := _QUERY.search(rest)) and found.end() < len(rest):
        yield found.end(), len(rest)


def joined(parts: Iterable[Part]) -> list[Part]:
    """Join parts that overlap or touch."""
    found: list[Part] = []
    for first, last in sorted(part for part in parts if part[0] < part[1]):
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return found


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


def _without(text: str, known: Collection[str], *, whole: bool) -> str:
    """Replace secrets until the text does not change: what is left around `***` may look like a secret again."""
    for _ in range(MOST_PASSES):
        known_parts = (part for secret in known for part in _parts_of_one(text, secret))
        shown = "".join(_pieces(text, joined([*known_parts, *secret_parts(text, whole=whole)])))
        if shown == text:
            break
        text = shown
    return text


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


class CleanStream:
    """Write to another stream, without the secrets of what is written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text, and return how long it is."""
        self._stream.write(without_secrets(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write lines one by one."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def clean_streams() -> Iterator[None]:
    """Remove credentials from all that Python code writes to standard output and standard error."""
    out: Any = CleanStream(sys.stdout)
    error: Any = CleanStream(sys.stderr)
    with redirect_stdout(out), redirect_stderr(error):
        yield


@contextmanager
def undecodable_unsaid() -> Iterator[None]:
    """Print nothing if rasterio cannot decode a message of GDAL on a damaged file, which is refused all the same."""
    before = sys.unraisablehook, sys.excepthook

    def unraisable(arguments: "sys.UnraisableHookArgs", /) -> None:
        """Drop a UnicodeDecodeError that Python cannot raise."""
        if not isinstance(arguments.exc_value, UnicodeDecodeError):
            before[0](arguments)

    def printed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Drop a UnicodeDecodeError that ends nothing."""
        if kind is not UnicodeDecodeError:
            before[1](kind, error, trace)

    sys.unraisablehook, sys.excepthook = unraisable, printed  # Cython calls both
    try:
        yield
    finally:
        sys.unraisablehook, sys.excepthook = before
