"""Keywords are the same everywhere: a std may be given wherever a variance may, and dim names what is reduced."""

import inspect

import numpy as np
import pytest
from forecasts import heteroscedastic

import geouq
from geouq.core.errors import DataError
from geouq.recalibration import Recalibrator
from geouq.recalibration.corrections import Scale
from geouq.recalibration.recalibrator import Provenance

MEAN, VARIANCE, TRUTH = (array.astype(np.float64) for array in heteroscedastic((20, 30)))
STD = np.sqrt(VARIANCE)
PUBLIC = {name: getattr(geouq, name) for name in geouq.__all__} | {
    f"{room.__name__}.{name}": function
    for room in (geouq.plot, geouq.ensemble)
    for name, function in vars(room).items()
    if name in room.__all__
}
ON_ARRAYS = {
    name: own
    for name, own in PUBLIC.items()
    if inspect.isfunction(own) and "variance" in inspect.signature(own).parameters
}
OF_ONE_MAP = (
    "geouq.plot.",
    "pixel_scores",
    "summarize_arrays",
)  # all pixels of a figure; every pixel alone; rows and columns


def test_functions_are_found():
    assert {"uce", "evaluate", "intervals", "binned", "geouq.plot.pit", "geouq.ensemble.summarize"} <= set(ON_ARRAYS)


@pytest.mark.parametrize("name", ON_ARRAYS)
def test_a_std_stands_for_the_variance_and_dim_is_what_is_reduced(name):
    parameters = inspect.signature(ON_ARRAYS[name]).parameters

    assert parameters["std"].kind is inspect.Parameter.KEYWORD_ONLY
    assert parameters["std"].default is parameters["variance"].default is None
    assert ("dim" in parameters) != name.startswith(OF_ONE_MAP)


def test_stds_of_members_are_their_variances():
    members, stds = np.stack([MEAN, MEAN + 1]), np.stack([STD, 2 * STD])
    expected = geouq.ensemble.summarize(members, TRUTH, variance=stds**2)

    assert geouq.ensemble.summarize(members, TRUTH, std=stds) == expected
    assert geouq.ensemble.summarize(list(members), TRUTH, std=list(stds)) == expected
    with pytest.raises(DataError, match="both variance and std are given"):
        geouq.ensemble.summarize(members, TRUTH, variance=stds, std=list(stds))


def test_a_recalibrator_takes_stds():
    fitted = Recalibrator("height", "m", Scale(4.0), Provenance("small", "", ("a1",), 100))

    np.testing.assert_allclose(fitted.apply(MEAN, std=STD).variance, fitted.apply(MEAN, VARIANCE).variance)
    np.testing.assert_allclose(fitted.quantile(0.9, MEAN, std=STD), fitted.quantile(0.9, MEAN, VARIANCE))
    with pytest.raises(DataError, match="variance or std is missing"):
        fitted.apply(MEAN)
    with pytest.raises(TypeError, match=r"^probability='0.9' has the type str"):
        fitted.quantile("0.9", MEAN, VARIANCE)


def test_rows_and_columns_take_stds():
    one = geouq.summarize_arrays(MEAN, std=STD, truth=TRUTH)
    assert one.whole == geouq.summarize_arrays(MEAN, STD**2, TRUTH).whole
