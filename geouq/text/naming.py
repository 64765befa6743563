"""File names for whatever tiles, regions and variables are called."""

import re
from hashlib import sha256

KEPT = re.compile(r"[A-Za-z0-9._-]")
RESERVED = re.compile(r"^\.|\.$")
LABELS = {"crps_quantiles": "2 x mean pinball"}  # metrics whose name in metrics.csv is not what people call them
LONGEST = 100  # two names and what stands between them fit into the 255 bytes of a file system


def file_name(text: str) -> str:
    """A name that leaves no folder and is safe in any; distinct texts get distinct names.

    Letters, digits and `._-` stay, anything else is written as %XX like in a URL, and so is a dot at either end.
    A long name is cut and ends in ~ and a hash of the text.

    >>> file_name("r0c0"), file_name("Mg/ha 1")
    ('r0c0', 'Mg%2Fha%201')
    """
    escaped = "".join(c if KEPT.match(c) else "".join(f"%{byte:02X}" for byte in c.encode()) for c in text)
    name = RESERVED.sub("%2E", escaped) or "%"
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 17]}~{sha256(text.encode()).hexdigest()[:16]}"


def metric_label(metric: str) -> str:
    """Return what a metric is called in tables, figures and pages for people.

    >>> metric_label("crps_quantiles"), metric_label("wis")
    ('2 x mean pinball', 'wis')
    """
    return LABELS.get(metric, metric)
