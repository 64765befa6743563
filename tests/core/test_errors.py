"""Errors of users are the built-in ones too, and name the argument that is wrong."""

import ast
import pickle
from pathlib import Path

import numpy as np
import pytest
from forecasts import heteroscedastic

import geouq
from geouq.arrays import metric_functions
from geouq.core import errors
from geouq.core.errors import (
    ArgumentError,
    ClusterError,
    ConfigError,
    DataError,
    GeouqError,
    GridError,
    RunLockedError,
    SummaryError,
    WorkersLostError,
)

PACKAGE = Path(errors.__file__).parent
ARRAYS = heteroscedastic((20, 30))
BUILT_IN = {
    ConfigError: ValueError,
    ArgumentError: TypeError,
    GridError: ValueError,
    DataError: ValueError,
    SummaryError: ValueError,
    RunLockedError: OSError,
    ClusterError: OSError,
    WorkersLostError: OSError,
}


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.__name__)
def test_an_error_of_a_user_is_a_built_in_one(kind):
    error = kind("height.tif: what to do")

    assert isinstance(error, BUILT_IN[kind])
    assert isinstance(error, GeouqError)
    assert str(error) == "height.tif: what to do"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301  our own


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_error_is_raised_that_is_of_no_kind(path):
    raised = (node.exc for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Raise))
    names = [call.func.id for call in raised if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)]

    assert "GeouqError" not in names


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("level", lambda: geouq.coverage(*ARRAYS, level="0.9")),
        ("level", lambda: geouq.coverage(*ARRAYS, level=["0.9"])),
        ("level", lambda: geouq.coverage(*ARRAYS, level=True)),
        ("bins", lambda: geouq.uce(*ARRAYS, bins=None)),
        ("edge", lambda: geouq.uce(*ARRAYS, bins=["low", "high"])),
        ("by", lambda: geouq.rmscd(*ARRAYS, by=3)),
        ("groups", lambda: geouq.rmscd(*ARRAYS, groups="10")),
        ("threshold", lambda: geouq.threshold_brier(*ARRAYS, threshold="20")),
        ("reference_mean", lambda: geouq.nbias(*ARRAYS, reference_mean="20")),
        ("levels", lambda: geouq.mace(*ARRAYS, levels="0.9")),
        ("levels", lambda: geouq.summarize(*ARRAYS, levels="0.9")),
        ("thresholds", lambda: geouq.summarize(*ARRAYS, thresholds="20")),
        ("tail", lambda: geouq.summarize(*ARRAYS, tail="10")),
        ("covariates", lambda: geouq.summarize(*ARRAYS, covariates=ARRAYS[0])),
        ("level", lambda: geouq.summarize_intervals(ARRAYS[0], ARRAYS[0], ARRAYS[0], ARRAYS[2], "0.9")),
        ("levels", lambda: geouq.evaluate(*ARRAYS, levels="0.9")),
        ("units", lambda: geouq.table(*ARRAYS, units=3)),
        ("codes", lambda: geouq.classes.summarize([[0.5], [0.5]], [0], codes=3)),
        ("names", lambda: geouq.classes.summarize([[0.5], [0.5]], [0], names="ab")),
        ("experiment", lambda: geouq.run(3)),
        ("options", lambda: geouq.run("forest.yaml", "results")),
        ("experiment", lambda: geouq.open_stack(3)),
        ("chunk", lambda: geouq.open_stack("forest.yaml", chunk="512")),
        ("overrides", lambda: geouq.load_experiment({}, overrides=[1])),
        ("folder", lambda: geouq.report(3)),
        ("runs", lambda: geouq.compare("results/one")),
        ("runs", lambda: geouq.compare([3, 4])),
        ("folder", lambda: geouq.recalibrate(None)),
        ("path", lambda: geouq.load_recalibrator(3)),
    ],
)
def test_an_argument_of_a_wrong_type_is_named(name, call):
    with pytest.raises(TypeError, match=rf"^{name}=.* has the type \w+; give "):
        call()


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("groups=0: give 1 or more", lambda: geouq.rmscd(*ARRAYS, groups=0)),
        ("level_weights='x': give one of equal, counts", lambda: geouq.calibration_error(*ARRAYS, level_weights="x")),
        (r"levels \[90.0\]: give different numbers", lambda: geouq.coverage(*ARRAYS, level=90)),
        ("an array holds values of type <U1; give numbers", lambda: geouq.summarize_arrays("a", 1.0, 1.0)),
        ("mean holds values of type <U1; give numbers", lambda: geouq.summarize("a", 1.0, 1.0)),
        ("chunk=0: give a side", lambda: geouq.open_stack("forest.yaml", chunk=0)),
        ("there is no metric 'crsp'", lambda: metric_functions.measure("crsp")),
    ],
)
def test_a_wrong_value_is_named(message, call):
    with pytest.raises(ValueError, match=f"^{message}"):
        call()


def test_one_level_needs_no_list_and_a_number_of_numpy_is_one():
    once = geouq.evaluate(*ARRAYS, levels=[0.8])

    assert geouq.evaluate(*ARRAYS, levels=0.8).identical(once)
    assert geouq.coverage(*ARRAYS, level=np.array(0.8)) == float(once.coverage_80)
