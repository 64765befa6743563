"""Each simulated fault of the input gives the finding that names it, and no other."""

import re

import numpy as np
import pytest
from simulated.inputs import crop, each, field, forecast, patches_of

from geouq.checks import examine_model

SMALL = {"shape": (96, 96), "tiles": 3, "scale": 8}
TRUTH_UNITS = "different units"


def findings(windows, layer="std", **options):
    return list(examine_model({"height": patches_of(windows, **options)}, layer))


def kinds(windows, layer="std", **options):
    return [finding.kind for finding in findings(windows, layer, **options)]


def scaled(layer, factor):
    return {layer: lambda one: factor * getattr(one, layer)}


FACTORS = [
    ("height", scaled("truth", 10), TRUTH_UNITS, "the truth is 10 times the prediction"),
    ("biomass", scaled("truth", 0.01), TRUTH_UNITS, "the prediction is 100 times the truth"),
    ("biomass", {"truth": lambda one: np.round(100 * one.truth)}, TRUTH_UNITS, "the truth is 100 times"),
    ("celsius", scaled("truth", 10), TRUTH_UNITS, "the truth is 10 times the prediction"),
    ("rain", scaled("truth", 1000), TRUTH_UNITS, "the truth is 1000 times the prediction"),
    ("fraction", scaled("truth", 100), TRUTH_UNITS, "the truth is 100 times the prediction"),
    ("counts", scaled("mean", 10), TRUTH_UNITS, "the prediction is 10 times the truth"),
    ("height", scaled("truth", 3.28084), TRUTH_UNITS, "3.28 (feet per metre)"),
    ("celsius", {"truth": lambda one: one.truth + 273.15}, TRUTH_UNITS, "kelvin and degrees Celsius"),
    ("celsius", {"truth": lambda one: 1.8 * one.truth + 32}, TRUTH_UNITS, "degrees Fahrenheit and degrees Celsius"),
]


@pytest.mark.parametrize(("variable", "change", "kind", "text"), FACTORS)
def test_a_scale_that_no_header_declares_is_reported_with_its_factor(variable, change, kind, text):
    (found,) = findings(each(forecast(7, variable, **SMALL), **change))

    assert found.kind == kind
    assert text in found.evidence
    assert "gdal_edit" not in found.remedy


@pytest.mark.parametrize(("variable", "factor"), [("celsius", 10), ("celsius", 0.01)])
def test_a_unit_factor_is_reported_of_uncertain_forecasts_of_values_about_0(variable, factor):
    windows = forecast(1, variable, tiles=12, shape=(64, 64), scale=2, spread=1.2, smooth=0.0)

    assert kinds(each(windows, **scaled("truth", factor))) == [TRUTH_UNITS]


@pytest.mark.parametrize(
    ("variable", "layer", "factor"), [("biomass", "truth", 6.8), ("height", "truth", 6.8), ("biomass", "mean", 5)]
)
def test_a_scale_that_is_no_round_number_is_reported_as_it_is_estimated(variable, layer, factor):
    (found,) = findings(each(forecast(7, variable, **SMALL), **scaled(layer, factor)))

    larger = "truth" if layer == "truth" else "prediction"
    assert found.kind == "different scale"
    estimate = re.match(rf"the {larger} is ([\d.]+) times the", found.evidence)
    assert float(estimate[1]) == pytest.approx(factor, rel=0.03)
    assert "gdal_edit" not in found.remedy


@pytest.mark.parametrize("factor", [6.8, 13.5, 0.15])
def test_a_factor_that_is_no_power_of_ten_is_not_reported_as_one(factor):
    for found in findings(each(forecast(7, "biomass", **SMALL), **scaled("truth", factor))):
        assert found.kind == "different scale"
        assert " 10 times" not in found.evidence


POSITIVE = {"truth": lambda one: np.maximum(one.truth, 0.1)}
TRANSFORMS = [
    ("biomass", "truth", np.log, "about log of"),
    ("height", "truth", np.log, "about log of"),
    ("biomass", "truth", np.log1p, "of the prediction"),
    ("biomass", "truth", np.log10, "about log10 of"),
    ("biomass", "truth", np.sqrt, "about sqrt of"),
    ("biomass", "truth", lambda values: np.round(10 * np.log1p(values)), "about 10 log1p of"),
    ("height", "truth", np.sqrt, "about sqrt of"),
    ("biomass", "mean", np.log1p, "of the truth"),
    ("height", "mean", np.sqrt, "about sqrt of"),
]


@pytest.mark.parametrize(("variable", "layer", "function", "text"), TRANSFORMS)
def test_a_transformed_variable_is_reported_with_its_function(variable, layer, function, text):
    positive = each(forecast(7, variable, **SMALL), **POSITIVE)

    (found,) = findings(each(positive, **{layer: lambda one: function(np.maximum(getattr(one, layer), 0))}))

    assert found.kind == f"transformed {'truth' if layer == 'truth' else 'prediction'}"
    assert text in found.evidence


@pytest.mark.parametrize("power", [9, 12])
def test_a_prediction_that_is_larger_by_orders_of_magnitude_is_reported_whatever_its_shape(power):
    one = forecast(7, "height", **SMALL)

    (found,) = findings(
        each(one, mean=lambda one: 10.0**power * np.exp(one.mean), std=lambda one: 10.0**power * one.std)
    )

    assert found.kind == "prediction out of proportion"
    assert "`transform`, leave that out" in found.remedy


SPREADS = [
    ("height", "std", lambda one: 10 * one.std, "std of another scale"),
    ("biomass", "std", lambda one: one.std / 100, "std of another scale"),
    ("fraction", "std", lambda one: 100 * one.std, "std of another scale"),
    ("celsius", "variance", lambda one: 10 * one.std, "variance of another scale"),
    ("height", "std", lambda one: one.std**2, "variance stored as std"),
    ("biomass", "std", lambda one: one.std**2, "variance stored as std"),
    ("height", "variance", lambda one: np.sqrt(one.std), "std stored as variance"),
    ("biomass", "variance", lambda one: np.sqrt(one.std), "std stored as variance"),
    ("height", "std", lambda one: 100 * one.std / one.mean, "std in per cent of the mean stored as std"),
    ("height", "std", lambda one: one.std / one.mean, "std relative to the mean stored as std"),
]


@pytest.mark.parametrize(("variable", "layer", "change", "kind"), SPREADS)
def test_a_std_that_is_not_what_its_key_says_is_reported(variable, layer, change, kind):
    assert kinds(each(forecast(7, variable, spread=0.9, **SMALL), std=change), layer) == [kind]


@pytest.mark.parametrize("factor", [0.6, 1.6])
def test_a_std_in_another_unit_is_reported_even_if_the_model_is_not_calibrated(factor):
    windows = forecast(7, "height", spread=0.9, **SMALL)

    (found,) = findings(each(windows, std=lambda one: 100 * factor * one.std), "std")
    assert found.kind == "std far from the errors"
    assert f"{1 / (100 * factor):.2g}"[:4] in found.evidence
    assert kinds(each(windows, std=lambda one: factor * one.std), "std") == []


@pytest.mark.parametrize(
    ("layer", "change", "kind"),
    [
        ("variance", lambda one: np.sqrt(one.std), "std stored as variance"),
        ("std", lambda one: one.std**2, "variance stored as std"),
    ],
)
@pytest.mark.parametrize("scale", [2, 12])
def test_a_wrong_reading_of_a_std_near_1_is_reported_by_its_variation(layer, change, kind, scale):
    windows = forecast(7, "height", shape=(96, 96), tiles=4, scale=scale, spread=0.25)

    (found,) = findings(each(windows, std=change), layer)

    assert found.kind == kind
    as_written, as_it_is = re.findall(r"([\d.]+) to ([\d.]+) times", found.evidence)
    assert float(as_written[1]) / float(as_written[0]) > 1.3 > float(as_it_is[1]) / float(as_it_is[0])


def test_a_wrong_reading_is_reported_of_few_independent_errors_where_it_is_far_off():
    windows = forecast(7, "biomass", shape=(64, 64), tiles=12, scale=60, spread=0.5, smooth=0.5)

    assert kinds(each(windows, std=lambda one: one.std**2), "std") == ["variance stored as std"]


WIRING = [
    ("std", lambda one: one.mean, "std equal to the mean"),
    ("std", lambda one: one.truth, "std equal to the truth"),
    ("variance", lambda one: np.sqrt(one.mean), "variance equal to the mean"),
    ("variance", lambda one: np.sqrt(np.abs(one.truth)), "variance equal to the truth"),
]


@pytest.mark.parametrize("variable", ["height", "biomass"])
@pytest.mark.parametrize(("layer", "change", "kind"), WIRING)
def test_a_layer_that_holds_another_one_is_reported(variable, layer, change, kind):
    (found,) = findings(each(forecast(7, variable, **SMALL), std=change), layer)

    assert found.kind == kind
    assert f"`{layer}` and `{kind.rsplit(maxsplit=1)[1]}` may name the same file or band" in found.remedy


ENDS = [
    (lambda one: (0.9 * one.mean,) * 2, "upper equal to lower"),
    (lambda one: (one.mean, one.mean + one.std), "mean equal to lower"),
    (lambda one: (one.mean - one.std, one.mean), "mean equal to upper"),
]


@pytest.mark.parametrize(("ends", "kind"), ENDS)
def test_ends_of_an_interval_that_hold_another_layer_are_reported(ends, kind):
    def as_read(one):
        return tuple(end.astype(np.float32).astype(float) for end in ends(one))

    windows = forecast(7, **SMALL)
    if kind == "upper equal to lower":
        windows = each(windows, std=lambda one: 0 * one.std)

    assert kinds(windows, "interval", ends=as_read) == [kind]


def cloud(one):
    """Where a mask hides pixels, correctly."""
    return field(np.random.default_rng(5), one.mean.shape, 10) > 0.3


BENEATH = {
    "no truth": {"truth": lambda one: np.where(cloud(one), np.nan, one.truth)},
    "truth of 0": {"truth": lambda one: np.where(cloud(one), 0, one.truth)},
    "a prediction of something else": {
        "mean": lambda one: np.where(cloud(one), one.mean[::-1, ::-1] + 4 * one.std.mean(), one.mean)
    },
}


@pytest.mark.parametrize("variable", ["height", "biomass", "rain"])
@pytest.mark.parametrize("beneath", BENEATH)
def test_an_inverted_mask_is_reported_and_the_right_one_is_not(variable, beneath):
    windows = each(forecast(7, variable, **SMALL), **BENEATH[beneath])

    assert kinds(each(windows, hidden=cloud)) == []
    assert kinds(each(windows, hidden=lambda one: ~cloud(one))) == ["inverted mask"]


@pytest.mark.parametrize("fill", [-9999, 0, 65535])
@pytest.mark.parametrize("layer", ["truth", "mean"])
def test_nodata_that_is_not_declared_is_reported_with_its_value_and_without_an_edit_in_place(layer, fill):
    def filled(one):
        return np.where(cloud(one), fill, getattr(one, layer))

    found = findings(each(forecast(7, "kelvin", **SMALL), **{layer: filled}))

    assert [one.kind for one in found] == ["undeclared nodata"]
    assert f"of the {layer} is {fill}" in found[0].evidence
    assert "gdal_edit" not in found[0].remedy


def test_messages_on_a_std_show_the_std_and_not_its_square():
    windows = forecast(7, **SMALL)
    (constant,) = findings(each(windows, std=lambda one: np.full(one.std.shape, 3.0)))
    (few,) = findings(each(windows, std=lambda one: np.clip(np.round(one.std), 2, 4)))
    (filled, *_) = findings(each(windows, std=lambda one: np.where(cloud(one), 9999, one.std)))

    assert constant.evidence.endswith("have the std 3")
    assert "has 3 values, 2, 3, 4 ..." in few.evidence
    assert "of the std is 9999" in filled.evidence


def test_a_wrong_reading_of_the_std_is_reported_of_shifted_pixels_too():
    windows = crop(forecast(3, "biomass", shape=(256, 256), scale=20, smooth=0.0), 1, 0, "mean")

    found = findings(each(windows, std=lambda one: np.sqrt(one.std)), "variance")

    assert [one.kind for one in found] == ["shifted pixels", "std stored as variance"]
    assert "moved by +1.0 rows and +0.0 columns" in found[0].evidence


def test_a_std_that_is_far_off_may_be_in_another_unit_or_another_quantity():
    windows = forecast(7, "biomass", shape=(96, 96), tiles=4, scale=5)
    (found,) = findings(each(windows, std=lambda one: one.std**2), "std")

    assert "write `variance:` in the place of `std:`" in found.remedy
    assert found.remedy.endswith("if not, it may be in another unit, or its header may lack a scale")


def test_a_unit_factor_that_means_and_slope_agree_on_is_no_transform():
    windows = forecast(1, "rain", tiles=12, shape=(64, 64), scale=2, spread=0.5, smooth=0.5)

    assert kinds(each(windows, **scaled("truth", 10))) == [TRUTH_UNITS]


def test_a_shift_by_one_pixel_is_reported_where_its_error_is_a_fifth_of_a_pixel():
    windows = forecast(6, "height", shape=(256, 256), scale=40, spread=1.2, smooth=0.0)

    assert kinds(crop(windows, 1, 0, "mean")) == ["shifted pixels"]


SHIFTS = [(5, 1.0, 1, 0), (5, 1.0, 0, -1), (20, 0.0, 1, 0), (20, 0.5, 1, 0), (40, 0.0, 1, 0)]


@pytest.mark.parametrize(("scale", "smooth", "down", "across"), SHIFTS)
def test_a_shift_by_one_pixel_is_reported_for_rough_and_for_smooth_fields(scale, smooth, down, across):
    windows = crop(forecast(3, shape=(256, 256), scale=scale, smooth=smooth), down, across, "mean")

    (found,) = findings(windows)

    assert found.kind == "shifted pixels"
    moved = re.search(r"moved by (\S+) rows and (\S+) columns", found.evidence).groups()
    assert [float(size) for size in moved] == pytest.approx([down, across], abs=0.45)


def test_a_band_of_another_variable_is_not_reported_as_other_units():
    own, other = forecast(7, "height", **SMALL), forecast(8, "biomass", **SMALL)
    mixed = [
        patches_of([a.__class__(b.mean, b.std, a.truth) for a, b in zip(one, two, strict=True)], name)
        for name, one, two in (("height", own, other), ("biomass", other, own))
    ]

    found = list(examine_model(dict(zip(("height", "biomass"), mixed, strict=True)), "std"))

    assert [one.kind for one in found] == ["bands in another order"]
