"""The columns that the scripts of the map hold."""

import gzip

import numpy as np


def columns_of(sums):
    """Return all columns of the sums of a variable by name."""
    found = {}
    for packed in sums.files.values():
        for part in packed:
            values, start = gzip.decompress(part.data), 0
            for name, kind in part.kinds:
                column = np.frombuffer(values, f"<{kind}", part.blocks, start)
                found.setdefault(name, []).append(column)
                start += column.nbytes
    return {name: np.concatenate(parts) for name, parts in found.items()}
