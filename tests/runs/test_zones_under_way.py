"""Where the entries of the cells of a zone go: few stay in memory, many go to disk as they come."""

import numpy as np
import pytest

from geouq.runs import store
from geouq.summary.variance_profile import FIELDS, UNWEIGHTED


class Noted:
    """Takes entries as a file does, and keeps the order in which they came."""

    def __init__(self):
        self.taken = []

    def append(self, variable, cell, key, sums):  # noqa: ARG002  only the order counts
        self.taken.append((variable, cell.tolist()))

    def entries(self, variable):  # noqa: ARG002  there are none of any
        return np.empty(0, np.uint32), np.empty(0, np.uint16), np.empty((0, UNWEIGHTED), np.float32)


def append(entries, variable, cells, columns=UNWEIGHTED):
    count = len(cells)
    entries.append(
        variable, np.array(cells, np.uint32), np.zeros(count, np.uint16), np.ones((count, columns), np.float32)
    )


def test_few_entries_stay_in_memory_and_are_given_back_in_order():
    entries = store._EntriesOfZone(pytest.fail, UNWEIGHTED)
    append(entries, 0, [3, 4])
    append(entries, 1, [7])
    append(entries, 0, [1])

    assert entries.entries(0)[0].tolist() == [1, 3, 4]
    assert entries.entries(1)[0].tolist() == [7]


def test_many_entries_are_all_handed_on_in_the_order_in_which_they_came(monkeypatch):
    monkeypatch.setattr(store, "ENTRIES", 4)
    file = Noted()
    entries = store._EntriesOfZone(lambda: file, UNWEIGHTED)
    append(entries, 0, [3, 4])
    assert file.taken == []

    append(entries, 1, [7, 8])
    append(entries, 0, [9])

    assert file.taken == [(0, [3, 4]), (1, [7, 8]), (0, [9])]
    assert len(entries.entries(0)[0]) == 0


def test_no_entry_has_as_many_sums_as_others():
    for columns in (UNWEIGHTED, len(FIELDS)):
        entries = store._EntriesOfZone(pytest.fail, columns)
        append(entries, 0, [1], columns)

        assert [entries.entries(variable)[2].shape for variable in (0, 1)] == [(1, columns), (0, columns)]
