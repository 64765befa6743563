"""Which pixels count: nodata, masks, scales and types in files on disk, against the rule restated in plain numpy."""

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import rasterio
from rasterio.enums import ColorInterp

from geouq import metrics
from geouq.config import load_experiment
from geouq.core.validity import REASONS, classify
from geouq.rasters.catalog import find_tiles
from geouq.rasters.gdal import gdal_options
from geouq.reading.reader import read_window

BANDS, SHAPE, SIDE = 2, (40, 56), 16
SIZE = (BANDS, *SHAPE)


@dataclass(frozen=True)
class Layer:
    """What is written to one file: stored values, and what the header says of them; `masked` (rows, columns)."""

    stored: Any
    nodata: float | None = None
    scale: float = 1.0
    offset: float = 0.0
    masked: Any = None
    mask_as: str = "internal"


def missing(layer):
    if layer.nodata is None:
        return np.zeros(layer.stored.shape, bool)
    if np.isnan(layer.nodata):
        return np.isnan(layer.stored)
    return layer.stored == np.array(layer.nodata).astype(layer.stored.dtype)


def scaled(name, layer):
    values = layer.stored.astype(np.float64) * layer.scale + layer.offset
    return values * np.abs(values) if name == "std" else values


def restated(layers):
    """Reason of every pixel, -1 for a valid one, and the values of mean, variance and truth."""
    spread = "std" if "std" in layers else "variance"
    m, v, y = (scaled(name, layers[name]) for name in ("mean", spread, "truth"))
    hidden = {
        name: np.broadcast_to(layer.masked, y.shape) for name, layer in layers.items() if layer.masked is not None
    }
    if "mask" in layers:
        out = (layers["mask"].stored == 0) | missing(layers["mask"]) | hidden.get("mask", False)
        hidden["mask"] = np.broadcast_to(out, y.shape)
    masked = np.any([np.zeros(y.shape, bool), *hidden.values()], axis=0)
    holds = {
        "truth_nodata": missing(layers["truth"]),
        "mean_nodata": missing(layers["mean"]),
        "variance_nodata": missing(layers[spread]),
        "not_finite": ~(np.isfinite(m) & np.isfinite(v) & np.isfinite(y)),
        "masked": masked,
        "variance_not_positive": ~(v > 0),
    }
    reason = first_of(holds)
    no_mask = np.zeros(y.shape, bool)
    of_truth = first_of(
        {
            "truth_nodata": holds["truth_nodata"],
            "not_finite": ~np.isfinite(y),
            "masked": hidden.get("truth", no_mask) | hidden.get("mask", no_mask),
        }
    )
    return reason, of_truth, (m, v, y)


def first_of(holds):
    reason = np.full(SIZE, -1)
    for name in reversed(REASONS):
        if name in holds:
            reason[holds[name]] = REASONS.index(name)
    return reason


def expected(layers, side):
    """Reasons, where predictions of windows of `side` pixels without any valid truth are left unread."""
    reason, of_truth, values = restated(layers)
    for band in range(BANDS):
        for row in range(0, SHAPE[0], side):
            for column in range(0, SHAPE[1], side):
                window = band, slice(row, row + side), slice(column, column + side)
                if (of_truth[window] >= 0).all():
                    reason[window] = of_truth[window]
    return reason, values


def plain(seed=1, kind=np.float32):
    rng = np.random.default_rng(seed)
    if np.issubdtype(kind, np.integer):
        return rng.integers(1, 100, SIZE).astype(kind)
    return (rng.random(SIZE) * 20 + 1).astype(kind)


def spots(seed, share=0.1, shape=SIZE):
    return np.random.default_rng(seed).random(shape) < share


def holed(seed, kind, *values):
    """Plain values, of which a tenth is replaced by each of `values`, in other pixels in every band."""
    stored = plain(seed, kind)
    for i, value in enumerate(values):
        stored[spots(100 * seed + i)] = value
    return stored


def same(kind, *values, nodata=None, **header):
    """Three layers of one kind with holes of their own."""
    names = ("mean", "variance", "truth")
    return {name: Layer(holed(i, kind, *values), nodata, **header) for i, name in enumerate(names, 1)}


def with_mask(where, mask_as, layers):
    return layers | {where: replace(layers[where], masked=spots(9, 0.2, SHAPE), mask_as=mask_as)}


def mixtures(kind, of_mean, of_variance, of_truth, **header):
    """Every mixture of these values, each both masked and not."""
    choices = itertools.product(of_mean, of_variance, of_truth, (False, True))
    *values, masked = (np.resize(column, SHAPE) for column in zip(*choices, strict=True))
    stored = (np.stack([value] * BANDS).astype(kind) for value in values)
    layers = {name: Layer(each, -9999, **header) for name, each in zip(("mean", "variance", "truth"), stored)}  # noqa: B905
    return layers | {"variance": replace(layers["variance"], masked=masked)}


def empty_corner(layers):
    """The first windows of 16 pixels of the truth's second band say nothing."""
    truth = layers["truth"]
    stored = truth.stored.copy()
    stored[1, :SIDE, : 2 * SIDE] = truth.nodata
    return layers | {"truth": replace(truth, stored=stored)}


F32, F64 = np.float32, np.float64
LOWEST = float(np.finfo(F32).min)
HOLES = (-9999, np.nan, np.inf, -np.inf)

CASES = {
    "nothing is missing": same(F32),
    "nodata -9999 beside NaN and inf": same(F32, -9999, np.nan, nodata=-9999)
    | {"truth": Layer(holed(3, F32, *HOLES), -9999), "mean": Layer(holed(1, F32, *HOLES), -9999)},
    "NaN, no nodata declared": same(F32, np.nan),
    "nodata NaN": same(F32, np.nan, nodata=np.nan),
    "inf is no data even where NaN is": same(F32, np.nan, np.inf, nodata=np.nan),
    "internal mask and nodata": with_mask("truth", "internal", same(F32, -9999, nodata=-9999)),
    "internal mask, NaN as nodata": with_mask("mean", "internal", same(F32, np.nan, nodata=np.nan)),
    "internal mask of the variance over bad values": with_mask("variance", "internal", same(F32, 0, np.nan)),
    "sidecar mask": with_mask("truth", "sidecar", same(F32, -9999, nodata=-9999)),
    "sidecar mask of the mean": with_mask("mean", "sidecar", same(np.int16, -9999, nodata=-9999)),
    "alpha band, bytes": with_mask("truth", "alpha", same(np.uint8)),
    "alpha band, 16 bits": with_mask("mean", "alpha", same(np.uint16, 7, nodata=7)),
    "alpha band, floats": with_mask("variance", "alpha", same(F32, np.nan)),
    "scaled integers": same(np.int16, -9999, nodata=-9999, scale=0.1)
    | {"mean": Layer(holed(1, np.int16, -9999), -9999, 0.1, -5.0)},
    "an offset moves a variance": same(np.int32, 0, nodata=0, scale=0.25)
    | {"variance": Layer(holed(2, np.int32, 0, -1), -1, 0.25, 1000.0)},
    "scaled floats": same(F32, -9999, np.nan, nodata=-9999, scale=0.01, offset=3.0),
    "scaled to the nodata's own number": {
        "mean": Layer(plain(1, np.int16), 5, 0.5),
        "variance": Layer(plain(2, np.int16), 5, 0.5),
        "truth": Layer(plain(3, np.int16), 5, 0.5, 2.5),
    },
    "scaled beside masks": with_mask("mean", "internal", same(np.int16, -9999, nodata=-9999, scale=0.1)),
    "std": {
        "mean": Layer(holed(1, F32, np.nan)),
        "std": Layer(holed(2, F32, -9999, np.nan), -9999),
        "truth": Layer(holed(3, F32, -9999), -9999),
    },
    "std, scaled with an offset": {
        "mean": Layer(plain(1)),
        "std": Layer(holed(2, np.uint8, 255), 255, 0.1, 0.05),
        "truth": Layer(plain(3)),
    },
    "std of 0 and below": {"mean": Layer(plain(1)), "std": Layer(holed(2, F32, 0, -2.5)), "truth": Layer(plain(3))},
    "std with NaN as nodata": {
        "mean": Layer(plain(1)),
        "std": Layer(holed(2, F64, np.nan), np.nan),
        "truth": Layer(plain(3)),
    },
    "lowest float32 as nodata, rounded in the header": same(F32, LOWEST, nodata=-3.4028235e38),
    "lowest float32 as nodata, 15 digits": same(F32, LOWEST, nodata=-3.40282346638529e38),
    "nodata that float32 rounds": same(F32, -9999.9, nodata=-9999.9),
    "float64": same(F64, -9999.9, np.nan, nodata=-9999.9),
    "lowest float64 as nodata": same(F64, float(np.finfo(F64).min), nodata=float(np.finfo(F64).min)),
    "int16": same(np.int16, -32768, nodata=-32768),
    "uint8": same(np.uint8, 255, nodata=255),
    "uint8, a nodata that it cannot hold": same(np.uint8, 0, 255) | {"truth": Layer(holed(3, np.uint8, 0, 255))},
    "int8 -1": same(np.int8, -1, nodata=-1),
    "uint16": same(np.uint16, 65535, nodata=65535),
    "int32": same(np.int32, -(2**31), nodata=-(2**31)),
    "int32 that float32 cannot tell from nodata": same(np.int32, 2**24, 2**24 + 1, nodata=2**24),
    "uint32": same(np.uint32, 2**32 - 1, nodata=2**32 - 1),
    "int64": same(np.int64, -9999, nodata=-9999),
    "types and nodata of their own": {
        "mean": Layer(holed(1, F32, np.nan), np.nan),
        "variance": Layer(holed(2, F64, -1.5), -1.5),
        "truth": Layer(holed(3, np.uint8, 0), 0),
    },
    "nodata of one file is data in another": {
        "mean": Layer(holed(1, F32, -1, 0), 0),
        "variance": Layer(holed(2, F32, 5), -1),
        "truth": Layer(holed(3, F32, 0, -1), -1),
    },
    "mask layer, a band for all": same(F32) | {"mask": Layer(plain(5, np.uint8)[:1] % 3)},
    "mask layer, a band each": same(F32, np.nan) | {"mask": Layer(plain(5, np.uint8) % 3)},
    "mask layer with nodata": same(F32) | {"mask": Layer(plain(5, np.uint8) % 4, 3)},
    "mask layer with NaN as nodata": same(F32) | {"mask": Layer(holed(5, F32, np.nan, 0), np.nan)},
    "mask layer with a mask": with_mask("mask", "internal", same(F32) | {"mask": Layer(plain(5, np.uint8) % 4)}),
    "variance 0": same(F32) | {"variance": Layer(holed(2, F32, 0))},
    "variance below 0": same(F32) | {"variance": Layer(holed(2, F32, -0.5, 0))},
    "bad values under nodata": same(F32, -9999, nodata=-9999)
    | {"variance": Layer(holed(2, F32, -9999, 0), -9999), "truth": Layer(holed(3, F32, -9999, np.inf), -9999)},
    "every mixture of faults": mixtures(
        F32, (1, -9999, np.nan, np.inf), (1, -9999, np.nan, np.inf, -np.inf, 0, -1), (1, -9999, np.nan, -np.inf)
    ),
    "every mixture of faults, scaled": mixtures(np.int16, (1, -9999), (1, -9999, 0, -1), (1, -9999), scale=0.1),
    "inf as nodata": same(F32, np.inf, np.nan, nodata=np.inf),
    "no truth in some windows": empty_corner(same(F32, -9999, np.nan, nodata=-9999)),
    "no truth in some windows, NaN": empty_corner(same(F32, np.nan, nodata=np.nan)),
    "no truth in some windows, masks and scales": empty_corner(
        with_mask("mean", "internal", same(np.int16, -9999, nodata=-9999, scale=0.1))
    ),
    "no truth at all": same(F32) | {"truth": Layer(np.full(SIZE, -1, F32), -1)},
}  # fmt: skip

LAYOUTS = {
    "strips, bands apart": {"interleave": "band"},
    "strips, bands together": {"interleave": "pixel", "compress": "deflate"},
    "odd blocks, bands apart": {"interleave": "band", "tiled": True, "blockxsize": 16, "blockysize": 48},
    "odd blocks, bands together": {"interleave": "pixel", "tiled": True, "blockxsize": 48, "blockysize": 16},
}


def write_layer(write_raster, path, layer, **layout):
    """One file; its mask inside it, in a sidecar or as an alpha band."""
    stored, profile = layer.stored, dict(layout)
    alpha = layer.masked is not None and layer.mask_as == "alpha"
    if alpha:
        most = 1 if stored.dtype.kind == "f" else np.iinfo(stored.dtype).max
        stored = np.concatenate([stored, np.where(layer.masked, 0, most)[np.newaxis].astype(stored.dtype)])
    count = len(stored)
    if count == 1:
        profile["interleave"] = "band"
    inside = layer.masked if layer.mask_as == "internal" else None
    scales, offsets = [layer.scale] * count, [layer.offset] * count
    write_raster(path, stored, mask=inside, scales=scales, offsets=offsets, nodata=layer.nodata, **profile)
    if alpha:
        with rasterio.open(path, "r+") as target:
            target.colorinterp = [*[ColorInterp.gray] * (count - 1), ColorInterp.alpha]
    if layer.masked is not None and layer.mask_as == "sidecar":
        with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=False), rasterio.open(path, "r+") as target:
            target.write_mask(np.where(layer.masked, 0, 255).astype(np.uint8))
        assert path.with_name(path.name + ".msk").exists()


@pytest.fixture
def experiment_of(tmp_path, write_raster):
    """The experiment of one tile with these layers."""

    def make(layers, **layout):
        for name, layer in layers.items():
            write_layer(write_raster, tmp_path / f"{name}_t.tif", layer, **layout)
        config = tmp_path / "one.yaml"
        data = "".join(f"  {name}: {name}_{{tile}}.tif\n" for name in layers)
        names = ", ".join(f"v{band}" for band in range(BANDS))
        config.write_text(f"version: 1\nname: one\ntiles: [t]\nvariables: [{names}]\ndata:\n{data}")
        return load_experiment(config)

    return make


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", CASES)
def test_pixels_read_from_files_count_as_the_rule_says(experiment_of, case, layout):
    layers = CASES[case]
    (tile,) = find_tiles(experiment_of(layers, **LAYOUTS[layout])).tiles
    reasons, values = expected(layers, SIDE)

    with gdal_options():
        for window in tile.grid.windows(SIDE):
            for band, pixels in enumerate(read_window(tile, window)):
                place = (band, *window.slices)
                found = classify(pixels.mean, pixels.variance, pixels.truth, pixels.status, pixels.nodata)
                np.testing.assert_array_equal(found, reasons[place])
                counts = found < 0
                for got, plainly in zip((pixels.mean, pixels.variance, pixels.truth), values, strict=True):
                    np.testing.assert_allclose(got[counts], plainly[place][counts], rtol=1e-15)


@pytest.mark.parametrize("case", CASES)
def test_a_sweep_counts_pixels_as_the_rule_says(experiment_of, sweep_one, case):
    layers = CASES[case]
    summary = sweep_one(experiment_of(layers), negative="exclude")["t"]
    reasons, (mean, variance, truth) = expected(layers, 512)

    for band in range(BANDS):
        found, counts = summary.variables[f"v{band}"], reasons[band] < 0
        excluded = [np.count_nonzero(reasons[band] == reason) for reason in range(len(REASONS))]
        assert found.excluded.tolist() == excluded
        assert found.whole.n == counts.sum() == np.prod(SHAPE) - sum(excluded)
        if counts.any():
            m, v, y = (values[band][counts] for values in (mean, variance, truth))
            assert metrics.rmse(found.whole) == pytest.approx(np.sqrt(np.mean((m - y) ** 2)), rel=1e-12)
            assert metrics.sharpness(found.whole) == pytest.approx(v.mean(), rel=1e-12)


def test_windows_of_a_sweep_without_truth_count_under_what_is_wrong_with_it(experiment_of, sweep_one):
    """Of two windows, the first has no truth and a prediction that would be counted otherwise; the second is sound."""
    stored = np.ones((BANDS, 20, 530), F32)
    truth, negative = stored.copy(), stored.copy()
    truth[:, :, :256], truth[:, :, 256:512] = -1, np.nan
    negative[:, :, :512] = -2
    layers = {"mean": Layer(stored), "variance": Layer(negative), "truth": Layer(truth, -1)}

    found = sweep_one(experiment_of(layers, **LAYOUTS["strips, bands apart"]))["t"].variables["v1"]

    assert found.whole.n == 20 * 18
    assert found.excluded[:4].tolist() == [20 * 256, 0, 0, 20 * 256]
    assert not found.excluded[4:].any()


@pytest.mark.parametrize("layer", ["variance", "std"])
def test_a_negative_variance_or_std_is_named_where_it_is_in_the_tile(experiment_of, sweep_one, layer):
    stored = np.ones((BANDS, 20, 530), F32)
    spread = stored.copy()
    spread[1, 17, 529], spread[1, 18, 528], spread[0, 0, 0] = -2, -2, -9999
    layers = {"mean": Layer(stored), layer: Layer(spread, -9999), "truth": Layer(stored)}
    experiment = experiment_of(layers)

    failure, excluding = sweep_one(experiment)["t"], sweep_one(experiment, negative="exclude")["t"]

    assert failure.error == "DataError"
    assert f"{layer}_t.tif, v1: " in failure.message
    assert "at row 17, column 529 (2 negative values" in failure.message
    assert {REASONS[i]: n for i, n in enumerate(excluding.variables["v0"].excluded) if n} == {"variance_nodata": 1}
    assert {REASONS[i]: n for i, n in enumerate(excluding.variables["v1"].excluded) if n} == {
        "variance_not_positive": 2
    }


def test_negative_nodata_of_a_variance_is_no_negative_variance(experiment_of, sweep_one):
    layers = same(F32, -9999, nodata=-9999)

    found = sweep_one(experiment_of(layers), negative="error")["t"]

    assert found.variables["v0"].excluded[REASONS.index("variance_nodata")] > 0


def test_reasons_come_in_this_order():
    """The restatement takes its order from here, so the order itself is stated once more."""
    order = "truth_nodata mean_nodata variance_nodata not_finite masked variance_not_positive weight_zero other_model "
    order += "not_a_distribution class_not_mapped"

    assert list(REASONS) == order.split()


def test_the_cases_exclude_for_every_reason_but_weights_and_other_models():
    """No case passes by being empty: together they meet each reason, and most have valid pixels too."""
    met = {REASONS[reason] for layers in CASES.values() for reason in np.unique(restated(layers)[0]) if reason >= 0}

    assert met == set(REASONS) - {"weight_zero", "other_model", "not_a_distribution", "class_not_mapped"}
    assert sum((restated(layers)[0] < 0).any() for layers in CASES.values()) == len(CASES) - 1
