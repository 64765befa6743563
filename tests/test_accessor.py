"""`ds.geouq` is the functions of the package on the variables of a Dataset."""

import subprocess
import sys

import numpy as np
import pytest
import xarray as xr
from forecasts import heteroscedastic

import geouq
from geouq.core.errors import DataError

ARRAYS = heteroscedastic((30, 40))
DATASET = xr.Dataset({name: (("y", "x"), a) for name, a in zip(("mean", "variance", "truth"), ARRAYS, strict=True)})


def test_metrics_summaries_and_tables_are_methods():
    assert DATASET.geouq.uce(bins=20) == geouq.uce(*ARRAYS, bins=20)
    assert DATASET.geouq.summarize(dim="y").shape == (40,)
    xr.testing.assert_equal(DATASET.geouq.evaluate(), geouq.evaluate(*ARRAYS))
    assert DATASET.geouq.table(dim="x").y.nunique() == 30


def test_variables_may_have_other_names_and_weights():
    renamed = DATASET.rename(truth="lidar").assign(area=("y", np.linspace(1, 2, 30)))

    found = renamed.geouq.named(truth="lidar", weights="area").bias()

    assert found == pytest.approx(geouq.bias(*ARRAYS, weights=np.linspace(1, 2, 30)[:, np.newaxis]))


def test_a_variable_that_is_not_there_is_named():
    with pytest.raises(DataError, match="no variable 'truth' but mean, variance"):
        DATASET.drop_vars("truth").geouq.uce()


def test_it_completes_the_names_of_metrics_and_knows_no_others():
    assert {"uce", "crps", "evaluate"} <= set(dir(DATASET.geouq))
    with pytest.raises(AttributeError, match="ucee"):
        _ = DATASET.geouq.ucee


@pytest.mark.parametrize(
    "order", ["import geouq, xarray", "import xarray, geouq", "import geouq, xarray, geouq.accessor"]
)
def test_importing_geouq_registers_it_whatever_is_imported_first(order):
    code = (
        f"import sys; {order}\n"
        "assert not [finder for finder in sys.meta_path if type(finder).__module__ == 'geouq.core.registration']\n"
        "layers = {name: ('x', [1.0, 2.0]) for name in ('mean', 'variance', 'truth')}\n"
        "print(xarray.Dataset(layers).geouq.bias())"
    )
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)

    assert (run.stdout, run.stderr) == ("0.0\n", "")


def test_a_package_that_is_not_there_is_not_found_either():
    code = (
        "import geouq, sys; sys.path_importer_cache.clear(); sys.path[:] = []\n"
        "try:\n    import xarray\nexcept ModuleNotFoundError as error:\n    print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert run.stdout == "No module named 'xarray'\n", run.stderr


def test_curves_scores_and_intervals_are_methods():
    named = DATASET.assign(area=("y", np.linspace(1, 2, 30))).geouq.named(weights="area")
    weights = np.linspace(1, 2, 30)[:, np.newaxis]

    xr.testing.assert_equal(named.binned(bins=4), geouq.binned(*ARRAYS, weights=weights, bins=4))
    xr.testing.assert_equal(DATASET.geouq.calibration_curve(), geouq.calibration_curve(*ARRAYS))
    np.testing.assert_array_equal(named.pixel_scores().crps, geouq.pixel_scores(*ARRAYS)["crps"])
    assert DATASET.geouq.intervals().ci_low.size == geouq.intervals(*ARRAYS).ci_low.size
    assert {"intervals", "pixel_scores", "binned"} <= set(dir(DATASET.geouq))
