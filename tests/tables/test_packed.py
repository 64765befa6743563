"""Rows that are packed column by column: the same rows in the same order, in less memory."""

import copy
import errno
import json
import math
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from geouq.tables import packed as packing
from geouq.tables.columns import COLUMNS
from geouq.tables.packed import TOGETHER, PackedRows
from geouq.tables.rows import Table, as_csv, as_frame, sorted_table

METRICS = COLUMNS["metrics"]
TILES = [
    {"level": "tile", "name": "t1", "metric": "bias", "value": 0.1, "n": 7, "ci_method": "overflow"},
    {"level": "tile", "name": "t2", "metric": "bias", "value": None, "n": 0},
    {"level": "tile", "name": "t2", "metric": "rmse", "value": -1.5e300, "n": 1 << 40, "n_cells": None},
]
WHOLE = {"level": "all", "name": "all", "metric": "bias", "value": 2.0, "n": 8}


@pytest.fixture
def packed():
    rows = PackedRows(METRICS)
    rows.extend(TILES)
    return rows


def full(row):
    return {name: row.get(name) for name in METRICS}


def test_packed_rows_are_the_rows_with_none_for_what_they_lack(packed):
    assert list(packed) == list(map(full, TILES))
    assert (len(packed), packed[1], packed[-1]) == (3, full(TILES[1]), full(TILES[2]))
    assert packed[1:] == list(map(full, TILES[1:]))
    with pytest.raises(IndexError):
        packed[3]


def test_rows_of_tiles_are_left_out_without_unpacking_them(packed, monkeypatch):
    table = Table(METRICS, packed.after([WHOLE]))
    plain = Table(table.columns, list(table.rows))
    monkeypatch.setattr(PackedRows, "__iter__", None)

    assert list(table.without_tiles()) == [WHOLE]
    assert list(plain.without_tiles()) == [WHOLE]


def test_rows_of_many_regions_are_packed_after_those_that_come_first():
    many = [row | {"level": "region", "name": f"r{n}"} for n in range(50) for row in TILES]
    regions, tiles = PackedRows(METRICS, 8), PackedRows(METRICS)
    for start in range(0, len(many), 3):
        regions.extend(many[start : start + 3])
    tiles.extend(TILES)
    table, plain = Table(METRICS, tiles.after(regions)), Table(METRICS, [*many, *TILES])

    assert (list(regions.first), len(regions._columns)) == (many[:6], len(many) - 6)
    assert list(map(full, table.rows)) == list(map(full, plain.rows))
    assert list(map(full, table.without_tiles())) == list(map(full, many))
    assert as_csv(table) == as_csv(plain)


def test_a_text_is_kept_once_whichever_process_it_comes_from(packed):
    packed.extend([json.loads(json.dumps(TILES[0]))])

    assert packed[-1]["name"] is packed[0]["name"]
    assert packed[-1]["metric"] is packed[0]["metric"]


def test_a_table_of_the_whole_followed_by_packed_tiles_is_written_as_the_table_of_all_rows(packed):
    table = Table(METRICS, packed.after([WHOLE]))
    plain = sorted_table("metrics", [*TILES, WHOLE])

    assert as_csv(table) == as_csv(plain)
    assert as_frame(table).equals(as_frame(plain))
    assert (len(table.rows), table.rows[0]) == (4, WHOLE)


def test_rows_of_several_blocks_are_the_rows_in_their_order():
    many = [row | {"name": f"t{n}", "n": n} for n in range(TOGETHER) for row in TILES]
    rows = PackedRows(METRICS)
    for start in range(0, len(many), 7):
        rows.extend(many[start : start + 7])

    assert list(rows) == list(map(full, many))
    assert (len(rows), rows[TOGETHER], rows[-1]) == (len(many), full(many[TOGETHER]), full(many[-1]))


def test_every_bit_of_a_number_is_kept():
    numbers = [-0.0, 5e-324, 0.1 + 0.2, math.inf, -math.inf, 1.7976931348623157e308]
    rows = PackedRows(METRICS)
    rows.extend([{"value": number} for number in numbers] * TOGETHER)

    kept = [row["value"] for row in rows]
    assert list(map(repr, kept)) == list(map(repr, numbers * TOGETHER))


def test_packed_rows_take_a_small_part_of_the_memory():
    rows, plain = PackedRows(METRICS), list(map(full, TILES * TOGETHER))
    rows.extend(TILES * TOGETHER)

    assert rows._columns.bytes < sum(map(sys.getsizeof, plain)) / 50


@pytest.fixture
def in_a_file(monkeypatch):
    monkeypatch.setattr(packing, "IN_MEMORY", 1 << 10)
    rows = PackedRows(METRICS)
    for number in range(3):
        rows.extend([row | {"value": number / 7, "n": k} for k in range(TOGETHER) for row in TILES])
    assert rows._columns._store._file._rolled
    return rows


def test_many_rows_are_in_a_file_and_are_the_same(in_a_file, monkeypatch):
    assert in_a_file._columns.bytes == 1 << 10 < in_a_file._columns._store.bytes
    monkeypatch.undo()
    rows = PackedRows(METRICS)
    for number in range(3):
        rows.extend([row | {"value": number / 7, "n": k} for k in range(TOGETHER) for row in TILES])

    assert not rows._columns._store._file._rolled
    assert list(rows) == list(in_a_file)


def test_rows_in_a_file_are_copied_whole(in_a_file):
    assert list(copy.deepcopy(in_a_file)) == list(in_a_file)


def test_threads_read_rows_in_a_file_at_the_same_time(in_a_file):
    expected = list(in_a_file)
    with ThreadPoolExecutor(4) as pool:
        assert all(found == expected for found in pool.map(list, [in_a_file] * 8))


def test_a_full_disk_is_named_by_its_folder(in_a_file, monkeypatch):
    def refuse(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(in_a_file._columns._store._file, "write", refuse)
    with pytest.raises(OSError, match="No space left on device") as raised:
        in_a_file.extend(TILES * TOGETHER)
    assert raised.value.filename == tempfile.gettempdir()
