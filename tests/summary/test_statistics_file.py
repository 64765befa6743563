"""Files that hold one summary."""

import numpy as np
import pytest
import xarray as xr

import geouq
from geouq.core.errors import SummaryError
from geouq.summary.interval_scores import GivenLevel


@pytest.fixture
def layers():
    mean, variance, truth = np.random.default_rng(0).normal(10, 1, (3, 40, 50))
    return mean, np.abs(variance), truth


def members(layers):
    return geouq.ensemble.summarize(np.stack([layers[0], layers[0] + 0.1, layers[1]]), layers[2])


@pytest.mark.parametrize(
    "summarized",
    [
        lambda layers: geouq.summarize(*layers),
        lambda layers: geouq.summarize(*layers, weights=np.ones((40, 50)) / 3),
        lambda layers: geouq.summarize(*layers, levels=(0.9,), thresholds=(9.5, 11)),
        lambda layers: geouq.summarize(*layers).having(given=GivenLevel(0.9)),
        lambda layers: sum(geouq.summarize(*(layer[row : row + 1] for layer in layers)) for row in range(3)),
        lambda layers: geouq.summarize(*(np.full(3, np.nan) for _ in layers)),
        members,
    ],
    ids=["plain", "weighted", "thresholds", "given", "sum", "nothing", "ensemble"],
)
def test_what_is_saved_is_loaded_with_the_same_bits(summarized, layers, tmp_path):
    summary = summarized(layers)

    summary.save(tmp_path / "one.nc")

    assert geouq.Summary.load(tmp_path / "one.nc") == summary


def test_a_loaded_summary_adds_as_the_one_that_was_saved(layers, tmp_path):
    first, second = (geouq.summarize(*(layer[half] for layer in layers)) for half in (slice(20), slice(20, None)))
    first.save(tmp_path / "first.nc")

    assert geouq.Summary.load(tmp_path / "first.nc") + second == first + second


def test_xarray_reads_a_saved_summary(layers, tmp_path):
    summary = geouq.summarize(*layers)
    summary.save(tmp_path / "one.nc")

    with xr.open_dataset(tmp_path / "one.nc") as found:
        assert found["moments_sums"].sel(sum="error").item() == summary.moments.sums[0]
        assert found["moments_n"].attrs["long_name"] == "number of valid pixels"


def test_what_cannot_be_loaded_or_saved_is_refused(layers, tmp_path):
    path = tmp_path / "one.nc"
    summary = geouq.summarize(*layers)
    summary.save(path)
    whole = path.read_bytes()

    for content in (whole[:-100], whole[:5000] + b"x" + whole[5001:], b""):
        path.write_bytes(content)
        with pytest.raises(SummaryError, match=r"one\.nc is no intact file of Summary\.save"):
            geouq.Summary.load(path)
    with pytest.raises(SummaryError, match="missing"):
        geouq.Summary.load(tmp_path / "none.nc")
