"""Arrays that take little room in a file, and are read back bit by bit."""

import h5py
import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from geouq.summary.netcdf import NetCDFWriter, Stored, Widened, in_steps

ANY = st.lists(st.floats() | st.sampled_from([0.0, -0.0, 5e-324, 2.0**-1074 * 3, 1.7e308, 1.0, -(2.0**31)]))


def differences(count=5000):
    """Differences of float32 values, of which some are no float32 values."""
    mean, truth = np.random.default_rng(0).gamma(3, 10, (2, count)).astype(np.float32).astype(np.float64)
    return np.abs(mean - truth)


def test_differences_of_float32_values_are_whole_numbers_of_steps():
    values = differences()
    assert (values.astype(np.float32) != values).any()

    numbers, step = in_steps(values)

    assert numbers.dtype == np.int32
    assert (numbers * step).tobytes() == values.tobytes()


@given(ANY)
def test_values_that_are_no_multiples_stay_as_they_are(values):
    values = np.array(values, np.float64)

    found, step = in_steps(values)

    assert (found if step is None else found * step).tobytes() == values.tobytes()


@pytest.mark.parametrize("values", [[np.nan, 1.0], [np.inf, 1.0], [-0.0, 1.0], [0.0], [1e-300, 1e300], [1 / 3, 1e6]])
def test_what_steps_would_change_is_not_put_in_steps(values):
    assert in_steps(np.array(values))[1] is None


def test_steps_are_read_back_here_and_by_xarray(tmp_path):
    values = differences()
    with h5py.File(tmp_path / "steps.nc", "w") as file:
        NetCDFWriter(file, compressed=True, narrowed=True).variable("error", ("pixel",), values, "size of the error")

    with h5py.File(tmp_path / "steps.nc") as file:
        assert file["error"].dtype == np.int32
        assert Widened.of(file, "error")[:].tobytes() == values.tobytes()
    with xr.open_dataset(tmp_path / "steps.nc") as dataset:
        assert dataset["error"].values.tobytes() == values.tobytes()


@pytest.mark.parametrize("kind", ["f4", "f8", "u2", "i8"])
@pytest.mark.parametrize("shape", [(5,), (5, 3), (5, 4, 2), (5, 0), (1, 6)])
@pytest.mark.parametrize("options", [{}, {"chunks": True, "compression": "gzip"}])
def test_places_of_a_stored_variable_are_those_that_h5py_gives(tmp_path, kind, shape, options):
    values = np.random.default_rng(1).integers(0, 1000, shape).astype(kind)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=values, **(options if values.size else {}))
        stored, variable = Stored(file, "x"), file["x"]

        for place in ((), 0, shape[0] - 1, slice(0, 0), slice(1, shape[0]), slice(None), slice(0, 99)):
            one, other = stored[place], variable[place]
            assert (type(one), one.dtype, one.shape) == (type(other), other.dtype, other.shape)
            assert one.tobytes() == other.tobytes()
        with pytest.raises(KeyError):
            Stored(file, "y")[0]
