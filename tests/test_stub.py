"""The static signatures of the package are those of its functions, and type checkers use them."""

import ast
import os
import re
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

import geouq

ROOT = Path(__file__).parents[1]
STUB = ROOT / "geouq" / "__init__.pyi"
GOOD = """
import numpy as np

import geouq

m, v, t = np.zeros((4, 5)), np.ones((4, 5)), np.zeros((4, 5))
number: float = geouq.uce(m, v, t, bins=20) + geouq.coverage(m, std=v, truth=t, level=0.8)
array = np.asarray(geouq.coverage(m, v, t, level=[0.5, 0.9])) + np.asarray(geouq.rmse(m, v, t, dim=0))
"""
BAD = """
import numpy as np

import geouq

m, v, t = np.zeros((4, 5)), np.ones((4, 5)), np.zeros((4, 5))
geouq.crps(m, v, t, lvel=3)
geouq.nosuchmetric(m, v, t)
text: str = geouq.uce(m, v, t)
"""


SETTINGS = """[mypy]
strict = True
[mypy-geouq.*,xarray.*]
follow_imports = skip
[mypy-geouq]
follow_imports = normal
"""


def test_the_stub_is_that_of_the_functions():
    loader = SourceFileLoader("stub", str(ROOT / "scripts" / "stub"))
    module = module_from_spec(spec_from_loader("stub", loader))
    loader.exec_module(module)

    assert ast.dump(ast.parse(module.stub())) == ast.dump(ast.parse(STUB.read_text(encoding="utf-8"))), (
        "run scripts/stub"
    )


@pytest.mark.parametrize(("text", "wrong"), [(GOOD, {}), (BAD, {7: "lvel", 8: "nosuchmetric", 9: "str"})])
def test_a_strict_type_checker_accepts_right_calls_and_rejects_wrong_ones(tmp_path, text, wrong):
    (tmp_path / "user.py").write_text(text, encoding="utf-8")
    (tmp_path / "mypy.ini").write_text(SETTINGS, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", "cache", "user.py"]
    there = os.environ | {"MYPYPATH": str(ROOT)}
    told = subprocess.run(command, cwd=tmp_path, env=there, capture_output=True, text=True, check=False).stdout
    found = {int(number): line for number, line in re.findall(r"^user\.py:(\d+): (error: .*)$", told, re.MULTILINE)}

    assert found.keys() == wrong.keys(), told
    assert all(wrong[number] in told for number in found)


def test_dir_shows_public_names_only():
    shown = {name for name in dir(geouq) if not name.startswith("__")}
    assert shown == {*geouq.__all__, "classes", "ensemble", "plot", "quantiles"} - {"__version__"}
