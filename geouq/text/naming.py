"""File names for whatever tiles, regions and variables are called."""

import re
from hashlib import sha256

KEPT = re.compile(r"[A-Za-z0-9._-]")
DOT_AT_AN_END = re.compile(r"^\.|\.$")
# of Windows, where no file has such a name, whatever its suffix
DEVICE = re.compile(r"^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)", re.IGNORECASE)
# what pandas.read_csv takes for a missing value
MISSING = frozenset({
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
})  # fmt: skip
LONGEST = 100  # two names and what stands between them fit into the 255 bytes of a file system


def reads_as_missing(name: str) -> bool:
    """Tell whether programs that read a table take a name for a missing value.

    >>> reads_as_missing("NA"), reads_as_missing("Namibia")
    (True, False)
    """
    return name in MISSING


def file_name(text: str) -> str:
    """Return a name that leaves no folder and is safe in any; distinct texts get distinct names.

    Letters, digits and `._-` stay. Anything else is written as %XX like in a URL, and so are a dot at either end and
    the last letter of a device of Windows. A long name is cut and ends in ~ and a hash of the text.

    >>> file_name("r0c0"), file_name("Mg/ha 1"), file_name("aux.1")
    ('r0c0', 'Mg%2Fha%201', 'au%78.1')
    """
    escaped = "".join(c if KEPT.match(c) else "".join(f"%{byte:02X}" for byte in c.encode()) for c in text)
    name = DOT_AT_AN_END.sub("%2E", escaped) or "%"
    name = DEVICE.sub(lambda device: f"{device[0][:-1]}%{ord(device[0][-1]):02X}", name, count=1)
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 17]}~{sha256(text.encode()).hexdigest()[:16]}"
