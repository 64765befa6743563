"""Sums by cell and key are added in the order of the pixels, however far apart the keys are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geouq.summary.all_pixels import TABLE, _Sums


def by_dictionary(cell, key, rows):
    """Sums by cell and key, added one row after the other."""
    found = {}
    for c, k, row in zip(cell.tolist(), key.tolist(), rows, strict=True):
        found[c, k] = found.get((c, k), np.zeros(rows.shape[1])) + row
    return sorted(found), np.array([found[pair] for pair in sorted(found)]).reshape(-1, rows.shape[1])


@given(
    counts=st.lists(st.integers(0, 30), max_size=6),
    spread=st.sampled_from([0, 3, 1000, 1 << 40]),
    seed=st.integers(0, 2**32),
)
def test_sums_have_the_bits_of_a_sum_row_by_row(counts, spread, seed):
    rng = np.random.default_rng(seed)
    cell = np.repeat(np.arange(len(counts)) * 3, counts).astype(np.int64)
    key = rng.integers(7, 8 + spread, len(cell))
    rows = rng.lognormal(sigma=9, size=(len(cell), 4))

    found = _Sums.of(cell, key, rows)

    pairs, sums = by_dictionary(cell, key, rows)
    assert list(zip(found.cell.tolist(), found.key.tolist(), strict=True)) == pairs
    assert found.sums.tobytes() == sums.tobytes()
    joined, coarser = found.joined(), found.coarser(2)
    assert joined.sums.tobytes() == by_dictionary(np.zeros_like(found.cell), found.key, found.sums)[1].tobytes()
    assert coarser.sums.tobytes() == by_dictionary(found.cell, found.key >> 2, found.sums)[1].tobytes()


@pytest.mark.parametrize("distance", [2 * TABLE, 2 * TABLE + 1])
def test_the_table_of_keys_is_no_larger_than_the_pixels_allow(distance, monkeypatch):
    sizes, zeros = [], np.zeros
    monkeypatch.setattr(np, "zeros", lambda *size: sizes.append(size[0]) or zeros(*size))
    found = _Sums.of(zeros(2, np.int64), np.array([5, 5 + distance]), np.ones((2, 4)))

    assert found.key.tolist() == [5, 5 + distance]
    assert sizes == ([distance + 1] if distance == 2 * TABLE else [])
