"""Units, as files and people write them."""

import pytest

from geouq.core.units import conversion, is_known


@pytest.mark.parametrize(
    ("units", "wanted", "factor", "offset"),
    [
        ("cm", "m", 0.01, 0),
        ("metres", "m", 1, 0),
        ("t/ha", "Mg ha-1", 1, 0),
        ("kg m-2", "Mg ha-1", 10, 0),
        ("kg/m^2", "kg m**-2", 1, 0),
        ("dg/kg", "g kg-1", 0.1, 0),
        ("%", "1", 0.01, 0),
        ("degC", "K", 1, 273.15),
        ("K", "degrees_celsius", 1, -273.15),
        ("degF", "degC", 5 / 9, -160 / 9),
    ],
)
def test_values_are_converted_as_units_are_defined(units, wanted, factor, offset):
    found = conversion(units, wanted)

    assert found.factor == pytest.approx(factor, rel=1e-14)
    assert found.offset == pytest.approx(offset, rel=1e-13, abs=1e-13)


@pytest.mark.parametrize(
    ("units", "wanted", "factor"), [("degC", "K", 1), ("degF", "K", 5 / 9), ("K", "degC", 1), ("mm", "m", 1e-3)]
)
def test_differences_have_no_zero_of_a_scale(units, wanted, factor):
    assert conversion(units, wanted, differences=True) == (pytest.approx(factor, rel=1e-14), 0)


@pytest.mark.parametrize(
    ("units", "wanted", "factor"),
    [("cm2", "m", 1e-4), ("m^2", "m", 1), ("degC2", "K", 1), ("(m)", "m", None), ("%2", "%", 1), ("%2", "1", 1e-4)],
)
def test_a_variance_has_the_square_of_the_unit(units, wanted, factor):
    found = conversion(units, wanted, power=2)

    assert found == (None if factor is None else (pytest.approx(factor, rel=1e-14), 0))


@pytest.mark.parametrize(
    ("units", "wanted"),
    [("m", "K"), ("dB", "1"), ("no such unit", "m"), ("m", "trees per plot"), ("", "m"), ("m(", "m"), ("__", "m")],
)
def test_what_cannot_be_converted_is_none(units, wanted):
    assert conversion(units, wanted) is None


def test_texts_that_are_no_units_are_not_known():
    assert [is_known(text) for text in ("Mg ha-1", "%", "m[", "exec('x')", "ha ha ha nothing")] == [
        True, True, False, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize(("units", "wanted"), [("m2", "m"), ("m^2", "m"), ("%2", "%"), ("degC2", "degC")])
def test_the_square_of_a_unit_that_is_one_word_is_known_without_pint(monkeypatch, units, wanted):
    monkeypatch.setattr("geouq.core.units._registry", None)

    assert conversion.__wrapped__(units, wanted, power=2) == (1, 0)
