"""A fitted correction is one readable file, and gives the same on numpy, dask and xarray."""

import json

import dask.array as da
import numpy as np
import pytest
import xarray as xr

import geouq
from geouq.core.errors import DataError, SummaryError
from geouq.recalibration import Recalibrator
from geouq.recalibration.corrections import ByGroup, Scale, ScaleBias, Unchanged
from geouq.recalibration.fitting import FITTED, fit
from geouq.recalibration.recalibrator import Provenance, save_recalibrator

RNG = np.random.default_rng(0)
MEAN, VARIANCE = RNG.normal(0, 3, (20, 30)), np.exp(RNG.normal(0, 1, (20, 30)))
TRUTH = MEAN + 1 + 1.5 * np.sqrt(VARIANCE) * RNG.standard_normal((20, 30))
CODES = RNG.integers(0, 4, (20, 30))
FROM = Provenance("small", "abc", ("a1", "a2"), 600)
GROUPED = ByGroup("cover", {"forest": Scale(4.0), "shrub": ScaleBias(1.0, 9.0)}, Unchanged(), {1: "forest", 2: "shrub"})
CORRECTIONS = {name: fit(name, geouq.summarize(MEAN, VARIANCE, TRUTH)) for name in FITTED} | {"by_group": GROUPED}


def recalibrator(name):
    return Recalibrator("height", "m", CORRECTIONS[name], FROM)


def group_of(name):
    return CODES if name == "by_group" else None


@pytest.mark.parametrize("name", CORRECTIONS)
def test_what_is_saved_is_what_is_loaded(tmp_path, name):
    save_recalibrator(recalibrator(name), tmp_path / "height.json")

    assert geouq.load_recalibrator(tmp_path / "height.json") == recalibrator(name)
    text = json.loads((tmp_path / "height.json").read_text())
    assert text["fitted_on"]["tiles"] == ["a1", "a2"]
    assert text["beyond"]


@pytest.mark.parametrize("name", CORRECTIONS)
def test_numpy_dask_and_xarray_give_the_same(name):
    fitted, group = recalibrator(name), group_of(name)
    plain = fitted.apply(MEAN, VARIANCE, group)
    lazy = fitted.apply(*(da.from_array(a, chunks=7) for a in (MEAN, VARIANCE)), group)
    labelled = fitted.apply(
        *(xr.DataArray(a, dims=("y", "x")).chunk(9) for a in (MEAN, VARIANCE)),
        None if group is None else xr.DataArray(group, dims=("y", "x")),
    )
    for part in (0, 1):
        assert isinstance(lazy[part], da.Array)
        assert isinstance(labelled[part].data, da.Array)
        np.testing.assert_array_equal(lazy[part].compute(), plain[part])
        np.testing.assert_array_equal(labelled[part].values, plain[part])
    quantile = fitted.quantile(0.95, MEAN, VARIANCE, group)
    np.testing.assert_array_equal(fitted.quantile(0.95, da.from_array(MEAN), VARIANCE, group).compute(), quantile)
    assert (quantile >= fitted.quantile(0.05, MEAN, VARIANCE, group)).all()


@pytest.mark.parametrize("name", CORRECTIONS)
def test_pixels_that_do_not_count_are_missing_and_float32_stays(name):
    mean, variance = MEAN.astype(np.float32), VARIANCE.astype(np.float32)
    mean[0, 0], variance[0, 1], variance[0, 2], variance[0, 3] = np.nan, 0, -1, np.inf
    variance[1, 0] = 1e-45

    found = recalibrator(name).apply(mean, variance, group_of(name))

    for part in found:
        assert part.dtype == np.float32
        assert np.isnan(part[0, :4]).all()
        assert np.isfinite(part).sum() == part.size - 4
    assert (found.variance[np.isfinite(found.variance)] > 0).all()


@pytest.mark.parametrize("name", ["scale", "by_group"])
def test_masked_pixels_are_missing_whatever_lies_beneath(name):
    masks = [np.zeros((20, 30), bool) for _ in range(2)]
    masks[0][0, 0] = masks[1][0, 1] = True
    mean, variance = (np.ma.MaskedArray(a, mask) for a, mask in zip((MEAN, VARIANCE), masks, strict=True))
    codes = np.ma.MaskedArray(CODES, CODES == 1)  # a masked code is no group's

    found = recalibrator(name).apply(mean, variance, codes if name == "by_group" else None)
    lazy = recalibrator("scale").apply(*(da.from_array(a, chunks=7) for a in (mean, variance)))

    assert not np.ma.isMaskedArray(found.variance)
    np.testing.assert_array_equal(np.isnan(found.variance), masks[0] | masks[1])
    np.testing.assert_array_equal(np.isnan(lazy.variance.compute()), masks[0] | masks[1])
    if name == "by_group":
        forest = (CODES == 1) & ~masks[0] & ~masks[1]
        np.testing.assert_array_equal(found.variance[forest], VARIANCE[forest])


def test_groups_have_their_own_correction_by_code_or_by_name():
    fitted = recalibrator("by_group")
    names = np.array(["bog", "forest", "shrub", "road"])[CODES]

    mean, variance = fitted.apply(MEAN, VARIANCE, CODES)

    np.testing.assert_allclose(variance, VARIANCE * np.select([CODES == 1, CODES == 2], [4, 9], 1))
    np.testing.assert_allclose(mean, MEAN - (CODES == 2))
    np.testing.assert_array_equal(fitted.apply(MEAN, VARIANCE, names).variance, variance)


def test_a_group_is_given_where_it_is_needed_and_only_there():
    with pytest.raises(SummaryError, match="is by cover; give group="):
        recalibrator("by_group").apply(MEAN, VARIANCE)
    with pytest.raises(SummaryError, match="knows no groups"):
        recalibrator("scale").apply(MEAN, VARIANCE, CODES)


def test_shapes_that_do_not_match_are_told():
    with pytest.raises(DataError, match="do not match"):
        recalibrator("scale").apply(MEAN, VARIANCE[:5])


@pytest.mark.parametrize("text", ["", "{}", '{"format": "other"}', "[1]"])
def test_a_file_that_holds_no_recalibrator_is_told(tmp_path, text):
    (tmp_path / "x.json").write_text(text)

    with pytest.raises(SummaryError, match=r"x\.json"):
        geouq.load_recalibrator(tmp_path / "x.json")
    with pytest.raises(SummaryError, match=r"none\.json"):
        geouq.load_recalibrator(tmp_path / "none.json")
