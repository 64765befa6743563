"""File names for whatever tiles, regions and variables are called."""

import re

KEPT = re.compile(r"[A-Za-z0-9._-]")
RESERVED = re.compile(r"^\.|\.$")


def file_name(text: str) -> str:
    """A name that leaves no folder and is safe in any; distinct texts get distinct names.

    Letters, digits and `._-` stay, anything else is written as %XX like in a URL, and so is a dot at either end.

    >>> file_name("r0c0"), file_name("Mg/ha 1")
    ('r0c0', 'Mg%2Fha%201')
    """
    escaped = "".join(c if KEPT.match(c) else "".join(f"%{byte:02X}" for byte in c.encode()) for c in text)
    return RESERVED.sub("%2E", escaped) or "%"
