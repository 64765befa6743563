"""All metrics at once are those that are asked for one by one."""

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from forecasts import heteroscedastic

import geouq
from geouq.arrays.datasets import evaluate, table
from geouq.arrays.summary_array import SummaryArray
from geouq.core.errors import SummaryError
from geouq.metrics import metrics_of
from geouq.summary.form import GAUSSIAN

ARRAYS = [layer.reshape(2, 20, 50) for layer in heteroscedastic((40, 50))]
NAMED = [xr.DataArray(a, {"variable": ["a", "b"]}, ("variable", "y", "x"), attrs={"units": "m"}) for a in ARRAYS]


def test_every_metric_is_a_variable_along_what_is_kept_and_its_bins():
    found = evaluate(*NAMED, dim=("y", "x"), thresholds=[0.5])

    for metric in metrics_of(GAUSSIAN):
        name = metric.name + {"level": "_90", "group": "_90", "threshold": "_0.5"}.get(metric.choice, "")
        assert found[name].attrs["symbol"] == metric.symbol, name
    assert found["uce"].dims == ("variable", "bins")
    assert found["rmscd_90"].dims == ("variable", "group")
    assert found["uce"].sel(variable="b", bins="equal-count-10") == geouq.uce(*(a[1] for a in ARRAYS))
    assert found["rmse"].attrs["units"] == "m"
    assert found["uce"].attrs["units"] == "m^2"
    assert found["n"].to_numpy().tolist() == [
        int(np.isfinite(a[0] + a[1]).sum()) for a in zip(*ARRAYS[::2], strict=True)
    ]


def assert_close(one, other):
    """To rounding; means of PIT, which are tabulated, to within 1e-5."""
    pit = ["pit_mean", "pit_std"]
    xr.testing.assert_allclose(one.drop_vars(pit), other.drop_vars(pit), rtol=1e-9)
    xr.testing.assert_allclose(one[pit], other[pit], rtol=4e-5)


def test_a_summary_a_lazy_one_and_arrays_give_the_same():
    expected = evaluate(*ARRAYS)
    lazy = geouq.summarize(*(da.from_array(a, chunks=(2, 7, 50)) for a in ARRAYS), ordering=True)

    xr.testing.assert_identical(evaluate(geouq.summarize(*ARRAYS, ordering=True)), expected)
    assert_close(evaluate(lazy), expected)


def test_summaries_that_were_added_evaluate_as_the_whole():
    parts = [geouq.summarize(*(a[i] for a in ARRAYS), ordering=True) for i in range(2)]

    assert_close(evaluate(parts[0] + parts[1]), evaluate(*ARRAYS))


def test_the_table_is_tidy_and_tells_the_same_numbers():
    dataset, rows = evaluate(*NAMED, dim=("y", "x")), table(*NAMED, dim=("y", "x"))

    assert list(rows.columns) == ["variable", "metric", "value", "units", "bins", "group", "n"]
    for row in rows[rows.bins != ""].itertuples():
        assert row.value == dataset[row.metric].sel(variable=row.variable, bins=row.bins)
    for row in rows[(rows.bins == "") & (rows.group == "")].itertuples():
        assert row.value == dataset[row.metric].sel(variable=row.variable)


def test_dimensions_without_names_are_numbered():
    assert table(*ARRAYS, dim=(1, 2))["dim_0"].unique().tolist() == [0, 1]
    assert evaluate(*ARRAYS, dim=(1, 2))["zms"].dims == ("dim_0",)


def test_levels_bins_reference_mean_and_units_are_as_asked():
    found = evaluate(*ARRAYS, levels=[0.7], bins=["equal-count-5", [0, 1, 100]], reference_mean=4, units="kg")

    assert "coverage_70" in found
    assert "coverage_90" not in found
    assert found["bins"].to_numpy().tolist() == ["equal-count-5", "edges-2"]
    assert found["nbias"] == found["bias"] / 4
    assert found["bias"].attrs["units"] == "kg"


def test_what_a_summary_does_not_keep_is_left_out():
    assert "ause" not in evaluate(geouq.summarize(*ARRAYS))


def test_what_one_summary_keeps_and_another_does_not_is_told_not_left_out():
    whole = geouq.summarize(*ARRAYS, ordering=True)
    for lacks, message in (
        (whole.having(coverage_by_mean=None, coverage_by_variance=None), "coverage by mean was not kept"),
        (whole.having(ordering=None), "ordering: true"),
    ):
        both = SummaryArray(("tile",), np.array([whole, lacks], np.object_))
        with pytest.raises(SummaryError, match=message):
            evaluate(both)


def test_places_without_pixels_are_missing_beside_others():
    mean, variance, truth = (a.copy() for a in ARRAYS)
    truth[0] = np.nan

    found = evaluate(mean, variance, truth, dim=(1, 2))

    assert found["n"][0] == 0
    assert all(np.isnan(found[name][0]).all() for name in found if name != "n")
    assert np.isfinite(found["uce"][1]).all()


def test_cells_of_a_tile_evaluate_too():
    cells = geouq.summarize_arrays(*heteroscedastic((64, 64)), cell_size=32).cells.summary()

    found = evaluate(cells)

    assert found["zms"].dims == ("dim_0",)
    assert "mace_interval" not in found
    with pytest.raises(SummaryError, match=r"level 0\.7"):
        evaluate(cells, levels=[0.7])
    assert len(table(cells)["dim_0"].unique()) == 4


def test_no_pixel_at_all_is_missing_not_zero():
    rows = table([np.nan], [1.0], [1.0])

    assert rows.value.isna().all()
    assert (rows.n == 0).all()


@pytest.mark.parametrize("bins", ["equal-count-5", 5])
def test_one_scheme_needs_no_list(bins):
    assert evaluate(*ARRAYS, bins=bins).sizes["bins"] == 1


def test_a_table_of_no_pixel_has_the_levels_of_its_summary():
    empty = np.full(3, np.nan)
    found = table(geouq.summarize(empty, empty, empty, levels=[0.9]))

    assert {"coverage_90"} == {name for name in found.metric if name.startswith("coverage_") and name[-1].isdigit()} - {
        name for name in found.metric if "below" in name or "above" in name
    }
