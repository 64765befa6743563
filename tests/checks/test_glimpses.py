"""What `geouq check` says of the few pixels that it shows, without --deep."""

import json

import numpy as np
import pytest

import geouq

RNG = np.random.default_rng(8)
STD = np.exp(RNG.normal(1.3, 0.4, (60, 70)))
MEAN = RNG.uniform(25, 60, STD.shape)
TRUTH = MEAN + STD * RNG.standard_normal(STD.shape)


@pytest.fixture
def findings(tmp_path, write_raster):
    """Write the layers of a map, and return what a check finds."""

    def found(spread="std", given=STD, mean=MEAN, truth=TRUTH, data=(), *, deep=False, **settings):
        layers = {"mean": mean, spread: given, "truth": truth, **dict(data)}
        paths = {key: value for key, value in layers.items() if not isinstance(value, np.ndarray)}
        for key, values in layers.items():
            if key not in paths:
                write_raster(tmp_path / f"{key}.tif", values)
                paths[key] = str(tmp_path / f"{key}.tif")
        return geouq.check({"version": 1, "name": "agb", "data": paths} | settings, deep=deep).findings

    return found


def test_right_layers_have_no_finding(findings):
    assert findings() == ()
    assert findings("variance", STD**2) == ()
    assert findings("relative_std", STD / np.abs(MEAN)) == ()


@pytest.mark.parametrize("deep", [False, True])
def test_a_negative_std_is_found_with_tile_layer_and_value(findings, deep):
    (found,) = findings(given=np.where(STD < 2, -1, STD), deep=deep)

    assert "negative std: the std is -1 in tile agb; " in found
    assert "`std: {path: ..., nodata: -1}`" in found


def test_negative_variances_that_are_excluded_are_no_finding_unless_nearly_all_are(findings):
    exclude = {"variance": {"negative": "exclude"}}

    assert findings("variance", np.where(STD < 2, -1, STD**2), **exclude) == ()
    assert "negative variance" in findings("variance", -(STD**2), **exclude)[0]


def test_a_std_of_0_everywhere_is_found(findings):
    (found,) = findings(given=np.zeros_like(STD))

    assert "std of 0: the std is 0 in 4200 of 4200 pixels of tile agb" in found


@pytest.mark.parametrize(
    ("spread", "given", "kind"),
    [
        ("std", MEAN, "std equal to the mean"),
        ("std", TRUTH, "std equal to the truth"),
        ("variance", MEAN, "variance equal to the mean"),
        ("std", STD**2, "variance stored as std"),
        ("variance", STD, "std stored as variance"),
        ("std", 100 * STD / np.abs(MEAN), "std in per cent of the mean stored as std"),
        ("std", STD / 100, "std of another scale"),
    ],
)
def test_a_spread_that_is_something_else_is_found(findings, spread, given, kind):
    assert any(f": {kind}: " in found for found in findings(spread, given))


def test_exchanged_ends_of_an_interval_are_found(findings):
    low, high = MEAN - 1.64 * STD, MEAN + 1.64 * STD

    assert findings("upper", high, data={"lower": low, "level": 0.9}) == ()
    assert "lower above upper" in findings("upper", low, data={"lower": high, "level": 0.9})[0]


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("layer", ["truth", "mean", "std"])
def test_a_layer_without_values_is_found(findings, layer, deep):
    nothing = np.full_like(STD, np.nan)
    layers = {"given" if layer == "std" else layer: nothing}

    (found,) = findings(**layers, deep=deep)

    assert "no pixel counts: of 4200 pixels of tile agb" in found
    assert f"the {'spread' if layer == 'std' else layer} has no value in any of them" in found


def test_layers_with_values_in_different_places_are_found(findings):
    west = np.arange(STD.shape[1]) < 30
    (found,) = findings(mean=np.where(west, MEAN, np.nan), truth=np.where(west, np.nan, TRUTH))

    assert "each layer has values, but not where the others have some" in found


def test_a_mask_of_0_everywhere_is_found_and_codes_that_count_are_known(findings):
    codes = np.full(STD.shape, 2.0)

    assert "a mask leaves out all of them" in findings(data={"mask": 0 * codes})[0]
    assert findings(data={"mask": 0 * codes + 2}) == ()


def test_quantiles_without_values_are_found(tmp_path, write_raster):
    nothing = np.full_like(STD, np.nan)
    for name, values in {"q05": MEAN - STD, "q50": nothing, "q95": MEAN + STD, "truth": TRUTH}.items():
        write_raster(tmp_path / f"{name}.tif", values)
    quantiles = {level: str(tmp_path / f"q{level[2:]}.tif") for level in ("0.05", "0.50", "0.95")}
    data = {"quantiles": quantiles, "truth": str(tmp_path / "truth.tif")}

    (found,) = geouq.check({"version": 1, "name": "soil", "data": data}).findings

    assert "quantiles.0.5 has no value in any of them" in found


def test_the_error_of_the_truth_is_part_of_the_spread(findings):
    assert (
        findings(given=STD, truth=TRUTH + RNG.normal(0, 20, STD.shape), data={"truth_std": np.full(STD.shape, 20.0)})
        == ()
    )


def test_the_command_prints_findings_and_succeeds(tmp_path, write_raster, geouq):
    for key, values in {"mean": MEAN, "std": MEAN, "truth": TRUTH}.items():
        write_raster(tmp_path / f"{key}.tif", values)
    config = {"version": 1, "name": "agb", "data": {key: f"{key}.tif" for key in ("mean", "std", "truth")}}
    (tmp_path / "agb.yaml").write_text(json.dumps(config), encoding="utf-8")

    done = geouq("check", "agb.yaml")

    assert done.exit_code == 0
    assert done.stdout.splitlines()[-2].startswith("finding    band_1: std equal to the mean")


@pytest.mark.parametrize("transform", ["log", "log1p", "sqrt"])
def test_layers_with_a_transform_are_examined_on_the_scale_of_the_truth(findings, transform):
    inverse = {"log": np.exp, "log1p": np.expm1, "sqrt": np.square}[transform]
    std = STD / 20
    mean = 2 + std + MEAN / 60
    truth = inverse(mean + std * RNG.standard_normal(STD.shape))

    assert findings(given=std, mean=mean, truth=truth, variables={"agb": {"transform": transform}}) == ()
    (found,) = findings(given=std, mean=mean, truth=truth)
    assert f"the prediction is about {transform} of the truth" in found
    assert f"write `transform: {transform}` below it" in found


@pytest.mark.parametrize(
    ("stored", "how"),
    [
        (10, "`transform: log1p` below it, and `scale: 0.1` below mean and std (`scale: 0.01`"),
        (1 / np.log(10), "`transform: log` below it, and `scale: 2.302585` below mean and std (`scale: 5.301898`"),
    ],
)
def test_scaled_logarithms_are_told_which_scale_reads_them(findings, stored, how):
    std, to = STD / 20, np.expm1 if stored == 10 else np.exp
    mean = 4 + MEAN / 60
    truth = to(mean + std * RNG.standard_normal(STD.shape))

    (found,) = findings(given=stored * std, mean=stored * mean, truth=truth)

    assert how in found


def test_a_mask_that_leaves_out_nearly_all_pixels_is_found_in_a_deep_check(findings):
    few, many = np.zeros(STD.shape, np.uint8), np.zeros(STD.shape, np.uint8)
    few[:2], many[:20] = 1, 1

    (found,) = findings(data={"mask": few}, deep=True)

    assert "most pixels masked: of 4200 pixels of tile agb that have all values, a mask leaves out 4060; " in found
    assert findings(data={"mask": many}, deep=True) == ()
