"""`geouq init` of several epochs, logarithms and names in camel case."""

import numpy as np
import pytest
import rasterio
import yaml
from landscape import write_raster
from products import calibrated
from published import place

import geouq as package
from geouq.starting import starter_config

QUICK = {"output": {"maps": "none", "figures": "none"}, "intervals": {"resamples": 100}}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, pattern, tiles, times, layers=("mean", "sd", "truth")):
    """Files of tiles and times, with {tile} and {time} and the name of the layer in their paths."""
    for i, tile in enumerate(tiles):
        for k, time in enumerate(times):
            for layer, values in zip(layers, calibrated(10 * i + k), strict=True):
                path = folder / pattern.format(tile=tile, time=time, layer=layer)
                write_raster(path, values, nodata=np.nan, **place(i))


def evaluated(folder, *sources):
    """The configuration that init writes, and the metrics of its run."""
    starter = starter_config(sources or ["."])
    assert not starter.missing
    path = folder / "maps.yaml"
    path.write_text(starter.text, encoding="utf-8")
    results = package.run(package.load_experiment(path, overrides=QUICK))
    assert not results.failures
    return starter, yaml.safe_load(starter.text), results.metrics


def coverage(table):
    (found,) = table.query("level == 'all' and metric == 'coverage_90'").value
    return found


LAYOUTS = {
    "{tile}_{time}_{layer}.tif": ("'{tile}_{time}_mean.tif'", ("N10E020", "N20E020"), ("2010", "2015")),
    "agb_{time}_{layer}.tif": ("agb_{time}_mean.tif", ("",), ("2010", "2015")),
    "{time}/agb_{layer}.tif": ("{time}/agb_mean.tif", ("",), ("201006", "201007")),
}


@pytest.mark.parametrize("pattern", LAYOUTS)
def test_the_part_of_names_that_changes_between_epochs_becomes_time(folder, pattern):
    path, tiles, times = LAYOUTS[pattern]
    write(folder, pattern, tiles, times)

    starter, written, table = evaluated(folder)

    assert written["data"]["mean"] == path.strip("'")
    assert coverage(table) == pytest.approx(0.9, abs=0.01)
    tiles_of_run = set(table.query("level == 'tile'").name)
    assert tiles_of_run == {"_".join(filter(None, (tile, time))) for tile in tiles for time in times}
    assert any(line.startswith("times       2, such as ") for line in starter.said)
    assert "{time} stands for " + ", ".join(times) in starter.text


def test_dates_without_a_second_epoch_are_part_of_the_name_of_a_tile(folder):
    for tile, time in (("a", "2010"), ("b", "2015")):
        write(folder, "{tile}_{time}_{layer}.tif", (tile,), (time,))

    assert "{time}" not in starter_config(["."]).text


def test_numbers_that_are_no_dates_are_names_of_tiles(folder):
    write(folder, "map_{tile}_{layer}.tif", ("0001", "0002", "2010"), ("",))

    assert "{time}" not in starter_config(["."]).text


def test_one_truth_is_the_same_at_all_epochs(folder):
    write(folder, "agb_{time}_{layer}.tif", ("",), ("2010", "2015"), ("mean", "sd", "spare"))
    for path in folder.glob("*_spare.tif"):
        path.unlink()
    write_raster(folder / "truth.tif", calibrated(0)[2], nodata=np.nan, **place(0))

    text = starter_config(["."]).text

    assert "truth: truth.tif  # named 'truth'; the same at all times: check its date" in text


SAID = {
    "description": ({"names": ["log(AGB)"]}, "log", "the description of the mean has 'log'"),
    "unit": ({"units": ["ln(Mg ha-1)"]}, "log", "the unit of the mean has 'ln'"),
    "log1p": ({"names": ["log1p(AGB)"]}, "log1p", "the description of the mean has 'log1p'"),
    "sqrt": ({"names": ["sqrt(AGB)"]}, "sqrt", "the description of the mean has 'sqrt'"),
    "name": ({}, "log", "the name of the file has 'log'"),
    "tag": ({}, "log", "the tag TRANSFORM of the mean has 'log'"),
    "base 10": ({"names": ["log10(AGB)"]}, "log10", "the description of the mean has 'log10'"),
}
FORWARD = {"log": np.exp, "log1p": np.expm1, "sqrt": np.square, "log10": lambda values: 10**values}


def transformed(folder, way, name, **header):
    """Prediction on the transformed scale, truth on its own."""
    rng = np.random.default_rng(3)
    std = rng.uniform(0.05, 0.1, (300, 300))
    mean = rng.uniform(1.5, 2, (300, 300))
    truth = FORWARD[way](mean + std * rng.standard_normal((300, 300)))
    for layer, values in (("mean", mean), ("sd", std)):
        own = header if layer == "mean" else {}
        write_raster(folder / f"{name}_{layer}.tif", values.astype(np.float32), **own)
    write_raster(folder / f"{name}_truth.tif", truth.astype(np.float32))


@pytest.mark.parametrize("said", SAID)
def test_maps_of_logarithms_are_recognised_and_evaluated_as_simulated(folder, said):
    header, way, why = SAID[said]
    transformed(folder, way, "agb_log" if said == "name" else "agb", **header)
    if said == "tag":
        with rasterio.open(folder / "agb_mean.tif", "r+") as target:
            target.update_tags(TRANSFORM="log")

    _, written, table = evaluated(folder)

    ((name, settings),) = written["variables"].items()
    assert name == ("AGB" if "names" in header else "band_1")
    assert settings.get("units") == ("Mg ha-1" if "units" in header else None)
    assert settings["transform"] == ("log" if way == "log10" else way)
    assert why in starter_config(["."]).text
    assert coverage(table) == pytest.approx(0.9, abs=0.01)


def test_a_truth_that_is_a_logarithm_too_needs_no_transform(folder):
    for layer, values in zip(("mean", "sd", "truth"), calibrated(0), strict=True):
        write_raster(folder / f"log_agb_{layer}.tif", values, nodata=np.nan, **place(0))

    _, written, table = evaluated(folder)

    assert all("transform" not in (own or {}) for own in written["variables"].values())
    assert "but the truth is close to the mean as it is stored" in starter_config(["."]).text
    assert coverage(table) == pytest.approx(0.9, abs=0.01)


def test_a_logarithm_without_a_truth_is_a_guess_to_check(folder):
    transformed(folder, "log", "agb", names=["log(AGB)"])
    (folder / "agb_truth.tif").unlink()

    starter = starter_config(["."])

    assert "transform: log" in starter.text
    assert "the description of the mean has 'log': please check" in starter.text


def test_quantiles_of_logarithms_are_not_transformed(folder):
    rng = np.random.default_rng(0)
    for level in ("0.05", "0.5", "0.95"):
        values = rng.uniform(1, 2, (30, 30)).astype(np.float32)
        write_raster(folder / f"agb_log_Q{level}.tif", values, names=["log(AGB)"])

    assert "transform" not in starter_config(["."]).text


@pytest.mark.parametrize(
    "names", [("meanHeight", "stdHeight", "trueHeight"), ("heightMean", "heightSD", "heightTruth")]
)
def test_names_in_camel_case_are_recognised(folder, names):
    for name, values in zip(names, calibrated(0), strict=True):
        write_raster(folder / f"{name}.tif", values, nodata=np.nan, **place(0))

    _, written, table = evaluated(folder)

    assert written["data"] == dict(zip(("mean", "std", "truth"), (f"{name}.tif" for name in names), strict=True))
    assert coverage(table) == pytest.approx(0.9, abs=0.01)


def test_bands_in_camel_case_are_recognised(folder):
    mean, std, truth = calibrated(0)
    write_raster(
        folder / "maps.tif", np.stack([mean, std]), names=["meanHeight", "stdHeight"], nodata=np.nan, **place(0)
    )
    write_raster(folder / "truth.tif", truth, nodata=np.nan, **place(0))

    _, written, table = evaluated(folder)

    assert written["variables"] == {"Height": {"mean": 1, "std": 2, "truth": 1}}
    assert coverage(table) == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize("name", ["CanopyHeight", "SEAsia", "HiRes", "McLeod", "LowerSaxony"])
def test_other_words_in_camel_case_are_parts_of_names(folder, name):
    for layer, values in zip(("mean", "sd", "truth"), calibrated(0), strict=True):
        write_raster(folder / f"{name}_{layer}.tif", values, nodata=np.nan, **place(0))

    written = yaml.safe_load(starter_config(["."]).text)

    assert written["data"] == {"mean": "{tile}_mean.tif", "std": "{tile}_sd.tif", "truth": "{tile}_truth.tif"}
