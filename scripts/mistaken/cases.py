"""The mistakes: of layers, spreads, units and scales, nodata, grids, files, and keys."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from affine import Affine

from mistaken.maps import PIXEL, SIDE, TILES, Maps
from mistaken.outcomes import Mistake

Z90 = 1.6448536269514722
PLACE = Affine(PIXEL, 0, 5e5, 0, -PIXEL, 7e6)
LAYERS_GROUP, SPREADS, UNITS = "wrong file or band", "wrong spread", "units and scale"
NODATA, GRIDS, FILES, KEYS, FORMS = "nodata and masks", "grids and places", "files and tiles", "keys", "other forms"


def mistakes() -> list[Mistake]:
    """Return all mistakes in the order of the table."""
    parts = (_layers, _spreads, _units, _nodata, _grids, _files, _keys, _forms)
    return [Mistake(group, what, change) for part in parts for group, what, change in part()]


Cases = Iterator[tuple[str, str, Callable[[Maps], None]]]


def _data(**layers: Any) -> Callable[[Maps], None]:
    """Return a change of keys of data; None removes one."""

    def change(maps: Maps) -> None:
        maps.data.update(layers)
        for key in [key for key, value in maps.data.items() if value is None]:
            del maps.data[key]

    return change


def _all(*changes: Callable[[Maps], object]) -> Callable[[Maps], None]:
    """Return several changes as one."""

    def change(maps: Maps) -> None:
        for one in changes:
            one(maps)

    return change


def _of_layers(of: Callable[[Any, str], Any], *layers: str, **header: Any) -> Callable[[Maps], None]:
    """Return a change of several layers; of : function of the correct layers and a name, returns the values."""
    return _all(*(_values(layer, lambda own, layer=layer: of(own, layer), **header) for layer in layers))


def _values(layer: str, of: Any, **header: Any) -> Callable[[Maps], None]:
    """Return a change of the values or the header of a layer."""
    return lambda maps: maps.write(layer, of, **header)


def _settings(**keys: Any) -> Callable[[Maps], None]:
    return lambda maps: maps.config.update(keys)


def _bands(*names: str, order: tuple[str, ...] = ("mean", "std"), **bands: Any) -> Callable[[Maps], None]:
    """Return a product with a band for each layer in one file, and the bands that the configuration names."""

    def change(maps: Maps) -> None:
        maps.write("both", lambda own: np.stack([own[layer] for layer in order]), names=names)
        maps.data.update({"mean": "both/{tile}.tif", "std": "both/{tile}.tif"})
        maps.config["variables"] = {"height": {"units": "m", "truth": 1, **bands}} if bands else ["height"]

    return change


def _two_variables(mean: tuple[str, str], truth: tuple[str, str], **header: Any) -> Callable[[Maps], None]:
    def change(maps: Maps) -> None:
        maps.write("mean", lambda own: np.stack([own[layer] for layer in mean]), **header)
        maps.write("std", lambda own: np.stack([own["std"], own["other_std"]]))
        maps.write("truth", lambda own: np.stack([own[layer] for layer in truth]))
        maps.config["variables"] = ["height", "cover"]

    return change


def _layers() -> Cases:
    group = LAYERS_GROUP
    yield group, "mean and std exchanged", _data(mean="std/{tile}.tif", std="mean/{tile}.tif")
    yield group, "one file as mean and std", _data(std="mean/{tile}.tif")
    yield group, "one file as truth and mean", _data(truth="mean/{tile}.tif")
    yield group, "a copy of the mean as std", _values("std", lambda own: own["mean"])
    yield group, "a copy of the mean as truth", _values("truth", lambda own: own["mean"])
    yield group, "a copy of the truth as std", _values("std", lambda own: own["truth"])
    yield group, "truth and mean exchanged with the std left", _data(std="truth/{tile}.tif", truth="std/{tile}.tif")
    yield group, "the truth of another variable", _data(truth="other_truth/{tile}.tif")
    yield group, "the mean of another variable", _data(mean="other_mean/{tile}.tif")
    yield group, "two bands, and no band named", _bands()
    yield group, "the same band named for mean and std", _bands(mean=1, std=1)
    yield group, "bands of mean and std exchanged", _bands(mean=2, std=1)
    yield group, "a band that the file does not have", _bands(mean=1, std=3)
    yield group, "a description that no band has", _bands("mean", "sd", mean="mean", std="std")
    yield group, "bands of two variables exchanged", _two_variables(("other_mean", "mean"), ("truth", "other_truth"))
    yield (
        group,
        "bands in another order than their descriptions",
        _two_variables(("other_mean", "mean"), ("truth", "other_truth"), names=("cover", "height")),
    )


def _spreads() -> Cases:
    group = SPREADS
    squared = _values("std", lambda own: own["std"] ** 2)
    percent = _values("std", lambda own: 100 * own["std"] / own["mean"])
    share = _values("std", lambda own: own["std"] / own["mean"])
    yield group, "a variance as std", squared
    yield group, "a std as variance", _data(std=None, variance="std/{tile}.tif")
    yield group, "a std in per cent of the mean as std", percent
    yield group, "a std as a share of the mean as std", share
    yield (
        group,
        "a relative std without a unit",
        _all(percent, _data(std=None, relative_std="std/{tile}.tif")),
    )
    yield (
        group,
        "a relative std in per cent as a share",
        _all(percent, _data(std=None, relative_std={"path": "std/{tile}.tif", "units": "1"})),
    )
    yield group, "a negative std", _values("std", lambda own: -own["std"])
    yield group, "a std of 0 everywhere", _values("std", lambda own: 0 * own["std"])
    yield group, "one std for all pixels", _values("std", lambda own: 0 * own["std"] + 3)
    yield group, "a std in classes of 3 m", _values("std", lambda own: 3 * np.ceil(own["std"] / 3))
    yield group, "a std 100 times too small (in m of cm)", _values("std", lambda own: own["std"] / 100)
    yield group, "a std and a variance", _data(variance="std/{tile}.tif")
    yield group, "no spread", _data(std=None)
    yield from _intervals()


def _intervals() -> Cases:
    def ends(lower: float, upper: float, **keys: Any) -> Callable[[Maps], None]:
        def change(maps: Maps) -> None:
            maps.write("low", lambda own: own["mean"] + lower * own["std"])
            maps.write("high", lambda own: own["mean"] + upper * own["std"])
            _data(std=None, lower="low/{tile}.tif", upper="high/{tile}.tif", **keys)(maps)

        return change

    yield SPREADS, "lower and upper exchanged", ends(Z90, -Z90, level=0.9)
    yield SPREADS, "one end twice", ends(Z90, Z90, level=0.9)
    yield SPREADS, "an interval without its level", ends(-Z90, Z90)
    yield SPREADS, "a level in per cent", ends(-Z90, Z90, level=90)
    yield SPREADS, "the mean as lower end", ends(0, Z90, level=0.9)


def _units() -> Cases:
    group = UNITS
    yield group, "a truth in cm without a unit", _values("truth", lambda own: 100 * own["truth"])
    yield group, "a truth in feet without a unit", _values("truth", lambda own: 3.28084 * own["truth"])
    yield (
        group,
        "integers of tenths without a scale",
        _of_layers(lambda own, layer: np.round(10 * own[layer]), "mean", "std", dtype="int16"),
    )
    yield group, "a scale that divides instead of multiplies", _data(mean={"path": "mean/{tile}.tif", "scale": 10})
    yield group, "a scale of 0", _data(mean={"path": "mean/{tile}.tif", "scale": 0})
    yield group, "the logarithm of the truth", _values("truth", lambda own: np.log1p(np.abs(own["truth"])))
    yield (
        group,
        "the logarithm of mean and std",
        _all(_values("mean", lambda own: np.log(own["mean"])), _values("std", lambda own: own["std"] / own["mean"])),
    )
    yield group, "a truth in kelvin, a mean in degrees Celsius", _values("truth", lambda own: own["truth"] + 273.15)
    yield group, "a unit that cannot be converted", _data(truth={"path": "truth/{tile}.tif", "units": "kg"})
    yield group, "a unit that is none", _data(truth={"path": "truth/{tile}.tif", "units": "metrs"})
    yield (
        group,
        "a truth in cm with its unit in the header",
        _values("truth", lambda own: 100 * own["truth"], units=("cm",)),
    )


def _nodata() -> Cases:
    group = NODATA

    def holes(value: float) -> Any:
        def of(own: Any) -> Any:
            hidden = np.random.default_rng(5).random(own["truth"].shape) < 0.2
            return np.where(hidden, value, own["truth"])

        return of

    yield group, "-9999 in the truth, not declared", _values("truth", holes(-9999))
    yield (
        group,
        "-9999 in the mean, not declared",
        _values("mean", lambda own: np.where(np.random.default_rng(5).random((SIDE, SIDE)) < 0.2, -9999, own["mean"])),
    )
    yield (
        group,
        "-1 in the std, not declared",
        _values("std", lambda own: np.where(np.random.default_rng(5).random((SIDE, SIDE)) < 0.2, -1, own["std"])),
    )
    yield group, "a truth without a value", _values("truth", lambda own: np.nan * own["truth"])
    yield (
        group,
        "truth only where there is no prediction",
        _all(
            _values("truth", lambda own: np.where(np.arange(SIDE) < 80, np.nan, own["truth"])),
            _values("mean", lambda own: np.where(np.arange(SIDE) < 80, own["mean"], np.nan)),
        ),
    )

    def inverted(maps: Maps) -> None:
        cloud = np.arange(SIDE) < 50
        maps.write("truth", lambda own: np.where(cloud, np.nan, own["truth"]))
        maps.write("mask", lambda own: np.broadcast_to(cloud, own["mean"].shape), dtype="uint8")
        maps.data["mask"] = "mask/{tile}.tif"

    yield group, "a mask that is 1 in clouds", inverted
    yield (
        group,
        "a mask that is 0 everywhere",
        _all(_values("mask", lambda own: 0 * own["mean"], dtype="uint8"), _data(mask="mask/{tile}.tif")),
    )
    yield (
        group,
        "a nodata that the type cannot hold",
        _all(
            _values("truth", lambda own: np.round(np.abs(own["truth"])), dtype="uint8"),
            _data(truth={"path": "truth/{tile}.tif", "nodata": -1}),
        ),
    )


def _grids() -> Cases:
    group = GRIDS
    yield group, "a truth in another CRS", _values("truth", lambda own: own["truth"], crs="EPSG:32634")
    yield group, "a truth without a CRS", _values("truth", lambda own: own["truth"], crs=None)
    half = Affine.translation(PIXEL / 2, -PIXEL / 2)
    yield (
        group,
        "a truth half a pixel away in its header",
        lambda maps: maps.write("truth", lambda own: own["truth"], tiles=TILES[:1], transform=half @ PLACE),
    )
    yield (
        group,
        "a truth of twice the resolution",
        lambda maps: maps.write(
            "truth",
            lambda own: np.kron(own["truth"], np.ones((2, 2))),
            tiles=TILES[:1],
            transform=PLACE @ Affine.scale(0.5),
        ),
    )
    yield group, "a truth of fewer columns", _values("truth", lambda own: own["truth"][:, :-1])
    yield (
        group,
        "a prediction moved by two columns",
        _of_layers(lambda own, layer: np.roll(own[layer], 2, 1), "mean", "std"),
    )
    yield group, "a truth upside down", _values("truth", lambda own: own["truth"][::-1])
    yield group, "a truth with rows for columns", _values("truth", lambda own: own["truth"].T)
    yield (
        group,
        "one tile under two names",
        _one_twice,
    )
    yield group, "truths of two tiles exchanged", _exchanged_files


def _files() -> Cases:
    group = FILES
    yield group, "a folder that does not exist", _data(truth="truths/{tile}.tif")
    yield group, "a pattern that matches no file", _data(truth="truth/{tile}_agb.tif")
    yield group, "a tile without its truth", lambda maps: (maps.folder / "truth" / "t2.tif").unlink()
    yield group, "a file that is no raster", _junk
    yield group, "a file that is cut off", _cut_off
    yield group, "a path without {tile} for two tiles", _data(truth="truth/t1.tif")
    yield group, "a placeholder that is not known", _data(truth="truth/{name}.tif")
    yield group, "{time} in the path of the truth alone", _data(truth="truth/{time}.tif")
    yield group, "a tile that there is not", _settings(tiles=["t1", "t3"])
    yield group, "a region of a tile that there is not", _settings(regions={"north": ["t1", "T2"]})


def _one_twice(maps: Maps) -> None:
    for layer in ("mean", "std", "truth"):
        maps.write(layer, lambda _, layer=layer: maps.values["t1"][layer], transform=PLACE)


def _exchanged_files(maps: Maps) -> None:
    folder = maps.folder / "truth"
    for old, new in (("t1", "t0"), ("t2", "t1"), ("t0", "t2")):
        (folder / f"{old}.tif").rename(folder / f"{new}.tif")


def _junk(maps: Maps) -> None:
    for tile in TILES:
        (maps.folder / "truth" / f"{tile}.tif").write_text("<html>404</html>", encoding="utf-8")


def _cut_off(maps: Maps) -> None:
    path = maps.folder / "truth" / "t1.tif"
    path.write_bytes(path.read_bytes()[:20_000])


def _keys() -> Cases:
    group = KEYS
    yield group, "an unknown key", _settings(level=0.9)
    yield group, "a misspelt layer", _data(std=None, sdt="std/{tile}.tif")
    yield group, "no truth", _data(truth=None)
    yield group, "a std with a list of paths", _data(std=["std/{tile}.tif"])
    yield group, "levels in per cent", _settings(levels=[50, 90])
    yield group, "one variable twice", _settings(variables=["height", "height"])
    yield group, "more variables than bands", _settings(variables=["height", "cover"])
    yield group, "a TODO that is left", _data(truth="TODO")
    yield group, "no version", lambda maps: maps.config.pop("version")
    yield (
        group,
        "a gate on a metric that there is not",
        _settings(gates=[{"metric": "coverage_91", "variable": "height", "min": 0.8}]),
    )


def _forms() -> Cases:
    group = FORMS

    def quantiles(low: float, middle: float, high: float) -> Callable[[Maps], None]:
        def change(maps: Maps) -> None:
            for name, z in (("q05", low), ("q50", middle), ("q95", high)):
                maps.write(name, lambda own, z=z: own["mean"] + z * own["std"])
            paths = {0.05: "q05/{tile}.tif", 0.5: "q50/{tile}.tif", 0.95: "q95/{tile}.tif"}
            maps.config["data"] = {"quantiles": paths, "truth": "truth/{tile}.tif"}

        return change

    yield group, "quantiles in reverse order", quantiles(Z90, 0, -Z90)
    yield (
        group,
        "quantile levels in per cent",
        _settings(data={"quantiles": {5: "mean/{tile}.tif", 95: "std/{tile}.tif"}, "truth": "truth/{tile}.tif"}),
    )
    yield group, "one quantile three times", quantiles(0, 0, 0)
    yield group, "one member alone", _settings(data={"members": "mean/{tile}.tif", "truth": "truth/{tile}.tif"})

    def members(maps: Maps) -> None:
        maps.write("members", lambda own: np.stack([own["mean"]] * 5))
        maps.config["data"] = {"members": "members/{tile}.tif", "truth": "truth/{tile}.tif"}

    yield group, "five copies of one member", members

    def classes(factor: float) -> Callable[[Maps], None]:
        def change(maps: Maps) -> None:
            shares = np.random.default_rng(1).dirichlet([1, 1, 1], (SIDE, SIDE)).transpose(2, 0, 1)
            maps.write("prob", lambda _: shares * factor)
            maps.write("truth", lambda _: np.random.default_rng(2).integers(1, 4, (SIDE, SIDE)), dtype="uint8")
            maps.config |= {
                "data": {
                    "probabilities": "prob/{tile}.tif",
                    "class_codes": {"a": 1, "b": 2, "c": 3},
                    "truth": "truth/{tile}.tif",
                },
                "variables": ["cover"],
            }

        return change

    yield group, "probabilities in per cent", classes(100)
    yield group, "probabilities that add up to 0.9", classes(0.9)
