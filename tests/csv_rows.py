"""Tables as they are on disk."""

import csv
from pathlib import Path


def rows_of(path):
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
