"""Layers that are one band, bands of single layers, and descriptions that contradict each other."""

import os

import numpy as np
import pytest
import rasterio
import yaml

from geouq import metrics
from geouq.config import load_experiment, to_yaml
from geouq.core.errors import ConfigError
from geouq.rasters.catalog import find_tiles
from geouq.reading.stack import open_stack

SHAPE = (40, 50)
RNG = np.random.default_rng(0)
STD = RNG.uniform(1, 3, (2, *SHAPE)).astype(np.float32)
MEAN = RNG.uniform(20, 40, STD.shape).astype(np.float32)
TRUTH = (MEAN + STD * RNG.standard_normal(STD.shape)).astype(np.float32)
STACK = np.stack([MEAN[0], STD[0], MEAN[1], STD[1]])
FOUR = {"mean": MEAN, "std": STD, "variance": STD**2, "truth": TRUTH}


@pytest.fixture
def folder(tmp_path, write_raster):
    """A folder with tiles a and b: each layer in a file of two bands, and a stack of means and stds."""
    for tile in ("a", "b"):
        for name, bands in FOUR.items():
            write_raster(tmp_path / f"{tile}_{name}.tif", bands)
        names = ("height", "height_std", "cover", "cover_std")
        write_raster(tmp_path / f"{tile}_stack.tif", STACK, names=names)
    return tmp_path


def experiment(folder, text="", **data):
    keys = "".join(f"  {key}: '{{tile}}_{name}.tif'\n" for key, name in data.items())
    config = folder / "one.yaml"
    config.write_text(f"version: 1\nname: one\ndata:\n{keys}{text}", encoding="utf-8")
    return load_experiment(config)


def fault_of(folder, text="", **data):
    with pytest.raises(ConfigError) as caught:
        find_tiles(experiment(folder, text, **data))
    return str(caught.value)


# one band in two layers


@pytest.mark.parametrize(
    ("data", "one", "other"),
    [
        ({"mean": "mean", "std": "mean", "truth": "truth"}, "mean", "std"),
        ({"mean": "mean", "variance": "mean", "truth": "truth"}, "mean", "variance"),
        ({"mean": "mean", "std": "std", "truth": "mean"}, "mean", "truth"),
        ({"mean": "mean", "std": "truth", "truth": "truth"}, "std", "truth"),
        (
            {"mean": "mean", "variance": "variance", "truth": "truth", "truth_variance": "truth"},
            "truth",
            "truth_variance",
        ),
        ({"mean": "mean", "std": "std", "truth": "truth", "mask": "truth"}, "truth", "mask"),
        ({"mean": "mean", "std": "std", "truth": "truth", "weights": "std"}, "std", "weights"),
    ],
)
def test_two_layers_of_one_band_are_refused_with_both_keys(folder, data, one, other):
    told = fault_of(folder, **data)

    assert f"data.{other}: {one} and {other} are one band, 1 of " in told
    assert "one.yaml:" in told


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_link_to_the_mean_is_no_std(folder, link):
    for tile in "ab":
        (folder / f"{tile}_std.tif").unlink()
        link(folder / f"{tile}_mean.tif", folder / f"{tile}_std.tif")

    told = fault_of(folder, mean="mean", std="std", truth="truth")

    assert "mean and std are one band" in told
    assert "which is the same file as" in told


EXPONENT = "<Exponent>0.5</Exponent><SrcMin>0</SrcMin><SrcMax>99</SrcMax><DstMin>0</DstMin><DstMax>9</DstMax>"
BAND = (
    '<VRTRasterBand dataType="Float32" band="{band}"{band_class}>{of_band}<{kind}Source>'
    '<SourceFilename relativeToVRT="1">{tile}_mean.tif'
    '</SourceFilename><SourceBand>{band}</SourceBand><SrcRect xOff="0" yOff="0" xSize="50" ySize="40"/>'
    '<DstRect xOff="{shift}" yOff="0" xSize="50" ySize="40"/>{more}</{kind}Source></VRTRasterBand>'
)


@pytest.mark.parametrize(
    ("kind", "more", "shift", "of_band", "same"),
    [
        ("Simple", "", 0, "", True),
        ("Complex", "", 0, "", True),
        ("Complex", "<ScaleOffset>1</ScaleOffset><ScaleRatio>0.1</ScaleRatio>", 0, "", False),
        ("Complex", EXPONENT, 0, "", False),
        ("Simple", "", 1, "", False),
        ("Simple", "", 0, "<Scale>0.1</Scale>", False),
        ("Simple", "", 0, "<PixelFunctionType>sqrt</PixelFunctionType>", False),
    ],
)
def test_a_vrt_of_the_mean_is_no_std_unless_it_changes_the_values(folder, kind, more, shift, of_band, same):
    band_class = ' subClass="VRTDerivedRasterBand"' if "PixelFunction" in of_band else ""
    for tile in "ab":
        with rasterio.open(folder / f"{tile}_mean.tif") as mean:
            transform = ",".join(map(str, mean.transform.to_gdal()))
            place = f"<SRS>{mean.crs.to_wkt()}</SRS><GeoTransform>{transform}</GeoTransform>"
        bands = "".join(
            BAND.format(band=band, kind=kind, tile=tile, more=more, shift=shift, band_class=band_class, of_band=of_band)
            for band in (1, 2)
        )
        text = f'<VRTDataset rasterXSize="50" rasterYSize="40">{place}{bands}</VRTDataset>'
        (folder / f"{tile}_std.vrt").write_text(text, encoding="utf-8")
    experiment(folder, "drivers: [GTiff, VRT]\n", mean="mean", std="std", truth="truth")
    config = folder / "one.yaml"
    config.write_text(config.read_text().replace("_std.tif", "_std.vrt"))

    if same:
        with pytest.raises(ConfigError, match="mean and std are one band"):
            find_tiles(load_experiment(config))
    else:
        assert not find_tiles(load_experiment(config)).failures


def test_a_tile_alone_whose_layers_are_one_band_fails_alone(folder):
    (folder / "b_truth.tif").unlink()
    (folder / "b_truth.tif").symlink_to("b_mean.tif")

    catalog = find_tiles(experiment(folder, mean="mean", std="std", truth="truth"))

    assert [tile.name for tile in catalog.tiles] == ["a"]
    assert [failure.tile for failure in catalog.failures] == ["b"]
    assert "mean and truth are one band" in catalog.failures[0].message


def test_a_mask_may_be_classes_too(folder):
    data = {"mean": "mean", "std": "std", "truth": "truth", "mask": "cover"}
    for tile in "ab":
        with rasterio.open(folder / f"{tile}_mean.tif") as source:
            profile = source.profile | {"dtype": "uint8", "count": 1}
        with rasterio.open(folder / f"{tile}_cover.tif", "w", **profile) as target:
            target.write(np.ones((1, *SHAPE), np.uint8))

    assert not find_tiles(experiment(folder, "  classes: {c: '{tile}_cover.tif'}\n", **data)).failures


def models(**files):
    lines = "".join(
        f"  {name}: {{mean: '{{tile}}_{m}.tif', std: '{{tile}}_{s}.tif'}}\n" for name, (m, s) in files.items()
    )
    return "models:\n" + lines


def test_the_std_of_one_model_is_not_the_mean_of_another(folder):
    text = models(a=("mean", "std"), b=("std", "variance"))

    told = fault_of(folder, text, truth="truth")

    assert "models.b.mean: models.a.std and models.b.mean are one band" in told


def test_models_may_share_a_mean_but_not_all(folder):
    shared = find_tiles(experiment(folder, models(a=("mean", "std"), b=("mean", "variance")), truth="truth"))
    told = fault_of(folder, models(a=("mean", "std"), b=("mean", "std")), truth="truth")

    assert len(shared.tiles) == 2
    assert "models a and b are the same bands of the same files" in told


def test_a_member_twice_is_refused(folder):
    for tile in "ab":
        (folder / f"{tile}_k1.tif").symlink_to(f"{tile}_mean.tif")
        (folder / f"{tile}_k2.tif").symlink_to(f"{tile}_mean.tif")

    assert "members.1 and members.2 are one band" in fault_of(folder, members="k{member}", truth="truth")


# a band of each layer


BANDS = {
    "numbers": "variables: {height: {mean: 1, std: 2}, cover: {mean: 3, std: 4}}\n",
    "descriptions": "variables: {height: {mean: height, std: height_std}, cover: {mean: cover, std: cover_std}}\n",
}


def wholes(sweep_one, experiment):
    found = sweep_one(experiment)
    return {name: sums.whole for name, sums in found["a"].variables.items()}


@pytest.mark.parametrize("text", BANDS.values(), ids=BANDS)
@pytest.mark.parametrize("interleave", ["band", "pixel"])
def test_a_stack_of_means_and_stds_is_evaluated_as_files_of_their_own(
    folder, sweep_one, write_raster, text, interleave
):
    names = ("height", "height_std", "cover", "cover_std")
    for tile in "ab":
        write_raster(folder / f"{tile}_stack.tif", STACK, names=names, interleave=interleave)
    apart = wholes(sweep_one, experiment(folder, "variables: [height, cover]\n", mean="mean", std="std", truth="truth"))

    stacked = experiment(folder, text, mean="stack", std="stack", truth="truth")
    together = wholes(sweep_one, stacked)

    assert together.keys() == apart.keys()
    for name, whole in together.items():
        assert whole.moments.products.tobytes() == apart[name].moments.products.tobytes()
        assert metrics.zms(whole) == pytest.approx(1, abs=0.1)
    np.testing.assert_array_equal(open_stack(stacked, "a").load(scheduler="synchronous")["mean"].values, MEAN)


def test_truth_mask_and_truth_variance_have_bands_of_their_own(folder, sweep_one, write_raster):
    noise, mask = np.full(SHAPE, 0.5, np.float32), np.ones(SHAPE, np.float32)
    mask[:10] = 0
    for tile in "ab":
        write_raster(folder / f"{tile}_all.tif", np.stack([mask, MEAN[0], noise, STD[0] ** 2, TRUTH[0]]))
        write_raster(folder / f"{tile}_mask.tif", mask)
        write_raster(folder / f"{tile}_noise.tif", noise)
    layers = ("mean", "variance", "truth", "truth_variance", "mask")
    text = "variables: {h: {mean: 2, variance: 4, truth: 5, truth_variance: 3, mask: 1}}\n"
    files = {"mean": "mean", "variance": "variance", "truth": "truth", "truth_variance": "noise", "mask": "mask"}

    together = wholes(sweep_one, experiment(folder, text, **dict.fromkeys(layers, "all")))["h"]
    apart = wholes(sweep_one, experiment(folder, "variables: [h]\n", **files))["h"]

    assert together.n == apart.n == 30 * 50
    assert together.moments.products.tobytes() == apart.moments.products.tobytes()


def test_models_have_bands_of_their_own(folder, sweep_one):
    text = models(a=("stack", "stack"), b=("stack", "stack"))
    text += "variables: {h: {mean: {a: 1, b: 3}, std: {a: 2, b: 4}, truth: 1}}\n"

    found = wholes(sweep_one, experiment(folder, text, truth="truth"))

    error = MEAN[0].astype(float) - TRUTH[0]
    other = MEAN[1].astype(float) - TRUTH[0]
    assert metrics.bias(found["h (a)"]) == pytest.approx(error.mean(), rel=1e-12)
    assert metrics.bias(found["h (b)"]) == pytest.approx(other.mean(), rel=1e-12)


def test_parts_of_a_variance_have_bands_of_their_own(folder, sweep_one, write_raster):
    for tile in "ab":
        write_raster(folder / f"{tile}_parts.tif", np.stack([MEAN[0], STD[0], STD[1]]))
    data = dict.fromkeys(("mean", "variance_aleatoric", "variance_epistemic"), "parts")
    text = "variables: {h: {mean: 1, variance_aleatoric: 2, variance_epistemic: 3}}\n"

    found = wholes(sweep_one, experiment(folder, text, **data, truth="truth"))["h"]

    assert metrics.sharpness(found) == pytest.approx((STD[0] + STD[1].astype(float)).mean(), rel=1e-6)


def test_bands_survive_the_resolved_configuration(folder):
    found = experiment(folder, BANDS["descriptions"], mean="stack", std="stack", truth="truth")
    (folder / "again.yaml").write_text(to_yaml(found), encoding="utf-8")

    assert load_experiment(folder / "again.yaml") == found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{h: {mean: 1, variance: 2}}", "variables.h.variance: names a band of variance, but data gives no variance"),
        ("{h: {mean: 0}}", "variables.h.mean: '0' is no band; the first one is 1"),
        ("{h: {mean: {a: 1}}}", "variables.h.mean.a: 'a' is no model"),
        ("{h: {truth_variance: noise}}", "variables.h.truth_variance: 'noise' is not a number"),
        ("{h: {covariates: {slope: 2}}}", "data has no covariates.slope"),
        ("{h: {mean: 1, std: 2}, k: {band: 1, mean: 1, std: 2}}", "is given twice"),
    ],
)
def test_bands_that_cannot_be_are_refused(folder, text, told):
    assert told in fault_of(folder, f"variables: {text}\n", mean="stack", std="stack", truth="truth")


def test_a_description_that_no_band_has_is_a_failure_that_shows_all(folder):
    text = "variables: {h: {mean: height, std: sigma}}\n"

    (failure, _) = find_tiles(experiment(folder, text, mean="stack", std="stack", truth="truth")).failures

    assert "no band has the description 'sigma' that variables.h.std names" in failure.message
    assert "1 height, 2 height_std, 3 cover, 4 cover_std" in failure.message


def test_a_check_shows_the_bands_of_each_layer(folder, geouq):
    experiment(folder, BANDS["numbers"], mean="stack", std="stack", truth="truth")

    rows = [line.split()[1:5] for line in geouq("check", "one.yaml").stdout.splitlines() if line.startswith("cover: ")]

    assert [(layer, band) for layer, _, band, _ in rows] == [("mean", "3"), ("std", "4"), ("truth", "2")]


# descriptions


def described(folder, write_raster, **names):
    for name, own in names.items():
        for tile in "ab":
            write_raster(folder / f"{tile}_{name}.tif", FOUR[name], names=own)


@pytest.mark.parametrize("variables", ["", "variables: [height, cover]\n", "variables: [one, two]\n"])
def test_truth_in_another_order_is_refused_with_both_orders(folder, write_raster, variables):
    described(folder, write_raster, mean=("height", "cover"), truth=("cover", "Height"))

    told = fault_of(folder, variables, mean="mean", std="std", truth="truth")

    assert "a_mean.tif has 1 height, 2 cover" in told
    assert "a_truth.tif has 1 cover, 2 Height" in told
    assert "band_descriptions: ignore" in told
    assert (
        len(
            find_tiles(
                experiment(folder, variables + "band_descriptions: ignore\n", mean="mean", std="std", truth="truth")
            ).tiles
        )
        == 2
    )


def test_names_of_variables_in_another_order_than_the_bands_are_refused(folder, write_raster):
    described(folder, write_raster, mean=("height", "cover"))

    told = fault_of(folder, "variables: [cover, height]\n", mean="mean", std="std", truth="truth")

    assert "cover is taken from band 1 of" in told
    assert "describes band 2 like variable cover" in told
    right = "variables: {cover: {band: 2}, height: {band: 1}}\n"
    assert len(find_tiles(experiment(folder, right, mean="mean", std="std", truth="truth")).tiles) == 2


def test_descriptions_that_only_differ_contradict_nothing(folder, write_raster):
    described(folder, write_raster, mean=("height", "cover"), std=("height sd", "cover sd"), truth=("h", "c"))

    assert len(find_tiles(experiment(folder, mean="mean", std="std", truth="truth")).tiles) == 2


def test_a_run_on_a_stack_is_recalibrated_and_evaluated_again(folder, geouq):
    text = "output: {maps: none, figures: none}\nintervals: {resamples: 100}\n"
    experiment(folder, BANDS["numbers"] + text, mean="stack", std="stack", truth="truth")
    assert geouq("run", "one.yaml", "--quiet").exit_code == 0
    assert geouq("recalibrate", "results/one", "--method", "scale_bias", "--apply", "all", "--quiet").exit_code == 0

    written = folder / "results/one/recalibration"
    assert yaml.safe_load((written / "evaluate.yaml").read_text())["variables"]["cover"]["variance"] == 2
    with rasterio.open(written / "rasters/a_variance.tif") as source:
        assert source.count == 2
        ratio = source.read(2) / STD[1] ** 2
        assert np.allclose(ratio, ratio[0, 0], rtol=1e-5)
    done = geouq("run", written / "evaluate.yaml", "--quiet", "--out", "again")
    assert done.exit_code == 0, done.output
