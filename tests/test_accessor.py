"""`ds.geouq` is the functions of the package on the variables of a Dataset."""

import numpy as np
import pytest
import xarray as xr
from forecasts import heteroscedastic

import geouq
import geouq.accessor
from geouq.errors import DataError

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
