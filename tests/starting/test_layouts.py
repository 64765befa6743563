"""`geouq init`, `check` and `run` of each published layout give the numbers that were simulated."""

import published
import pytest
import yaml

import geouq as package

GAUSSIAN = {
    published.biomass_tiles: ("agb", "lidar"),
    published.height_maps: ("eth", "reference"),
    published.folders_of_layers: (".",),
    published.folders_of_tiles: (".",),
    published.global_grids: (".",),
    published.two_bands: ("boreal", "field"),
    published.bathymetry: ("UTM19", "sonar"),
    published.two_bands_in_folders: (".",),
    published.hdf5: ("nisar.h5",),
    published.two_bands_without_names: ("p", "truth"),
    published.tenths: (".",),
    published.tenths_in_the_header: (".",),
    published.percent_errors: (".",),
    published.shares_as_std: (".",),
    published.percentiles: (".",),
    published.netcdf: ("cci", "truth"),
    published.netcdf_with_truth: ("cci",),
    published.zarr: ("cci", "truth"),
    published.archive: ("maps.zip",),
    published.vrts: ("ocs",),
}
OTHERS = {
    published.quantiles_in_tenths: (".",),
    published.quantile_bands: ("heads", "labels"),
    published.member_files: (".",),
    published.member_bands: (".",),
    published.class_probabilities: ("cover", "cover_ref"),
}


def started(layout, sources, folder, geouq):
    """Make a layout, write its configuration and check it; its data."""
    layout(folder)
    done = geouq("init", *sources, "--out", "maps.yaml")
    assert done.exit_code == 0, done.output
    checked = geouq("check", "maps.yaml")
    assert checked.exit_code == 0, checked.output
    return yaml.safe_load((folder / "maps.yaml").read_text(encoding="utf-8"))


def numbers_of(folder):
    """The numbers of the whole, with the file as it was written."""
    quick = {"output": {"maps": "none", "figures": "none"}, "intervals": {"resamples": 100}}
    results = package.run(package.load_experiment(folder / "maps.yaml", overrides=quick))
    assert not results.failures
    whole = results.metrics.query("level == 'all'")
    return dict(zip(whole.metric, whole.value, strict=True))


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")  # of HDF5
@pytest.mark.parametrize("layout", GAUSSIAN, ids=lambda layout: layout.__name__)
def test_a_layout_with_mean_and_spread_is_evaluated_as_it_was_simulated(layout, geouq, tmp_path):
    started(layout, GAUSSIAN[layout], tmp_path, geouq)

    found = numbers_of(tmp_path)

    assert found["coverage_90"] == pytest.approx(0.9, abs=0.01)
    assert found["zms"] == pytest.approx(1, abs=0.04)


@pytest.mark.parametrize(
    "layout", [published.quantiles_in_tenths, published.quantile_bands], ids=lambda own: own.__name__
)
def test_quantiles_are_evaluated_as_they_were_simulated(layout, geouq, tmp_path):
    written = started(layout, OTHERS[layout], tmp_path, geouq)

    assert list(written["data"]["quantiles"]) == [0.05, 0.5, 0.95]
    assert numbers_of(tmp_path)["coverage_90"] == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize("layout", [published.member_files, published.member_bands], ids=lambda own: own.__name__)
def test_members_are_evaluated_as_they_were_simulated(layout, geouq, tmp_path):
    started(layout, OTHERS[layout], tmp_path, geouq)

    found = numbers_of(tmp_path)

    assert found["zms"] == pytest.approx((1 + 1 / 20) * 19 / 17, abs=0.05)  # of t with 19 degrees of freedom
    assert found["bias"] == pytest.approx(0, abs=0.5)


def test_probabilities_are_evaluated_as_they_were_simulated(geouq, tmp_path):
    layout = published.class_probabilities
    written = started(layout, OTHERS[layout], tmp_path, geouq)

    assert written["data"]["class_codes"] == {"open": 1, "sparse": 2, "dense": 3}
    assert numbers_of(tmp_path)["ece"] == pytest.approx(0, abs=0.02)
