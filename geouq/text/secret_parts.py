"""Find credentials in text: in addresses, in the options and connection strings of GDAL, in headers.

Parts are given as (start, end) of the text, in order, and do not overlap.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

Part = tuple[int, int]

_COLON, _SLASH, _AT = r"(?::|%(?:25)*3a)", r"(?:/|%(?:25)*2f)", r"(?:@|%(?:25)*40)"
_SEPARATOR, _EQUALS = r"(?:[;&]|%(?:25)*(?:3b|26))", r"(?:=|%(?:25)*3d)"
_OF_SERVERS = (
    r"(?:https?|s?ftps?|s3|gs|az|abfss?|wasbs?|adl|oss|swift|(?:web)?hdfs|postgres(?:ql)?|mysql|mongodb(?:\+srv)?)"
)
# `https:/host` is how a normalised path writes an address, with a backslash on Windows; JSON may write `https:\/\/host`
_NORMALISED = rf"{_OF_SERVERS}{_COLON}(?:{_SLASH}|\\)+"
_START = re.compile(
    rf"[a-z][a-z0-9+.-]{{0,30}}{_COLON}{_SLASH}{_SLASH}|{_NORMALISED}"
    rf"|{_SLASH}vsi[a-z0-9_]+(?:(?={_SLASH}|\?|%(?:25)*3f))",
    re.IGNORECASE,
)
_ADDRESS = rf"[a-z][a-z0-9+.-]*{_COLON}{_SLASH}{_SLASH}|{_NORMALISED}"
_ADDRESS_NEXT = re.compile(rf"{_ADDRESS}|{_SLASH}(?:{_ADDRESS}|file{_COLON}{_SLASH}|{_SLASH}|vsi|\{{)", re.IGNORECASE)
_HOST = re.compile(r"(?:\[[0-9a-f:.]+\]|\d+(?:\.\d+){3}|localhost)(?::\d+)?", re.IGNORECASE)
_VIRTUAL = re.compile(rf"{_SLASH}vsi", re.IGNORECASE)
_END = re.compile(r"[\s'\"<>`]")  # of an address within a sentence
_AUTHORITY_END = re.compile(r"[/?#\\]")
_ENCODED_AUTHORITY_END = re.compile(r"[/?#\\]|%(?:25)*(?:2f|3f|23)", re.IGNORECASE)
_DRIVE = re.compile(r"[a-z]:[/\\]", re.IGNORECASE)
_LAST_AT = re.compile(rf"(?P<user>.*){_AT}", re.IGNORECASE | re.DOTALL)
_OPEN_PASSWORD = re.compile(rf"[^:%\[]+{_COLON}(?!\d*$)(?=.)", re.IGNORECASE | re.DOTALL)
_QUERY = re.compile(rf"(?:[?#]|%(?:25)*(?:3f|23))|{_SEPARATOR}(?=[^=/\s]{{0,100}}{_EQUALS})", re.IGNORECASE)

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
        rf"(?<![\w.-])(?:{PRIVATE_NAME})\s*{_EQUALS}\s*(?P<secret>{_VALUE})",
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
    if _ADDRESS_NEXT.match(rest):
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
