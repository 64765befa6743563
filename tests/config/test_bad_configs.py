"""Configurations from the internet: whatever they hold, one clear message and the right exit code."""

import numpy as np
import pytest
from faulty.configs import KINDS, WHOLE
from faulty.evaluated import verdict_on
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FEW = settings(  # `scripts/faults configs` tries hundreds of each kind
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture
def landscape(tmp_path, write_raster, monkeypatch):
    """What the configuration names that others are made from."""
    monkeypatch.chdir(tmp_path)
    for tile in ("a1", "a2"):
        for layer in ("_mean", "_variance", ""):
            write_raster(tmp_path / f"{tile}{layer}.tif", np.ones((20, 20), np.float32))
    return tmp_path


def test_the_configuration_that_others_are_made_from_is_valid(landscape, geouq):
    (landscape / "x.yaml").write_text(WHOLE, encoding="utf-8")

    assert geouq("check", "x.yaml").exit_code == 0


@pytest.mark.parametrize("kind", KINDS)
@FEW
@given(random=st.randoms(use_true_random=False))
def test_a_configuration_is_checked_or_refused_plainly(landscape, kind, random):
    (landscape / "x.yaml").write_bytes(KINDS[kind](random))

    assert verdict_on("check", "x.yaml") == ""
    assert not (landscape / "owned").exists()
