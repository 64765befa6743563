"""How values are compressed: one zlib stream that any reader understands, in which noise is stored."""

import zlib

import h5py
import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from isal import isal_zlib

from geouq.summary.netcdf import NetCDFWriter, deflated, piece_of

TYPES = ["u1", "<u2", "<u4", "<i8", "<f4", "<f8"]


def planes_of(values):
    return np.frombuffer(values.tobytes(), np.uint8).reshape(-1, values.dtype.itemsize).T.tobytes()


@given(arrays.arrays(st.sampled_from(TYPES), st.integers(1, 3000)))
def test_any_zlib_gives_the_planes_of_bytes_back(values):
    assert zlib.decompress(deflated(values)) == planes_of(values)


def test_noise_is_stored_and_the_rest_is_not():
    rng = np.random.default_rng(1)
    noise = rng.integers(0, 256, 100_000, np.uint8)
    values = np.stack([noise, np.zeros_like(noise)], axis=1).view("<u2").ravel()

    size = len(deflated(values))

    assert len(noise) < size < 1.01 * len(noise)
    assert noise.tobytes()[:1000] in deflated(values)


def test_it_is_hardly_larger_than_without_a_choice_by_plane():
    rng = np.random.default_rng(2)
    for values in (
        np.sort(np.exp(rng.normal(size=50_000))).astype(np.float32),
        rng.normal(size=50_000).astype(np.float32).astype(np.float64) ** 2,
        rng.integers(0, 9, 50_000).astype(np.uint16),
        np.zeros(50_000),
    ):
        size = len(deflated(values))
        assert size <= 1.02 * len(isal_zlib.compress(planes_of(values), 2)) + 200
        assert size <= 1.05 * len(zlib.compress(planes_of(values), 1)) + 200


def test_fields_are_stored_apart_as_that_takes_less_room(tmp_path):
    rng = np.random.default_rng(4)
    values = np.stack([np.sort(rng.random(50_000)), rng.random(50_000)], axis=1).astype(np.float32).astype(np.float64)
    sizes = {}
    for in_pieces in (False, True):
        with h5py.File(tmp_path / "one.nc", "w") as file:
            NetCDFWriter(file, compressed=True, in_pieces=in_pieces).variable("own", ("row", "field"), values, "some")
            sizes[in_pieces] = file["own"].id.get_storage_size()

    assert sizes[True] < 0.9 * sizes[False]


@pytest.mark.parametrize("in_pieces", [False, True])
@pytest.mark.parametrize("shape", [(100_000,), (3, 30_001, 2), (2, 70_000)])
def test_others_read_the_values(tmp_path, shape, in_pieces):
    values = np.random.default_rng(3).normal(size=shape).round(3)
    names = tuple("abc"[: len(shape)])
    with h5py.File(tmp_path / "one.nc", "w") as file:
        NetCDFWriter(file, compressed=True, in_pieces=in_pieces).variable("own", names, values, "some values")

    with h5py.File(tmp_path / "one.nc") as file:
        np.testing.assert_array_equal(file["own"][()], values)
        whole = shape if len(shape) == 1 else (1, *shape[1:])
        assert file["own"].chunks == (piece_of(values) if in_pieces else whole)
        np.testing.assert_array_equal(file["own"][1:2], values[1:2])
    with xr.open_dataset(tmp_path / "one.nc") as found:
        np.testing.assert_array_equal(found["own"], values)
