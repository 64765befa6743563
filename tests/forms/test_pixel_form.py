"""A form from outside the package: one module defines it, its metric and its curve, and finds them everywhere."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import rasterio
from csv_rows import rows_of
from landscape import write_raster

import geouq as package
from geouq.forms import PixelForm
from geouq.metrics import METRICS, metrics_of
from geouq.metrics.form_curves import FORM_CURVES, curves_of
from geouq.metrics.form_sums import mean_of
from geouq.metrics.record import SHARE, as_markdown, metric, named
from geouq.summary.form import FORMS

NAMES = ("a", "b", "c", "d", "e", "f")
CONFIG = """version: 1
name: toy
cell_size: 16
data:
  form: uniform
  layers: {high: 'high/{tile}.tif', low: 'low/{tile}.tif'}
  truth: 'truth/{tile}.tif'
output: {maps: [cells, z, n], figures: [reliability, pit]}
"""


@pytest.fixture
def uniform():
    """Forecasts that are uniform between two layers."""

    @dataclass(frozen=True)
    class Uniform(PixelForm):
        key = "uniform"
        layer_files: ClassVar = {"low": "lower end of the distribution", "high": "its upper end"}
        pixel_fields: ClassVar = {"outside": (), "place": (2,)}

        def moments(self, values):
            low, high = values
            return (low + high) / 2, (high - low) ** 2 / 12

        def numbers(self, values, truth):
            low, high = values
            return {"outside": (truth < low) | (truth > high), "place": np.stack([truth < low, truth > high], -1)}

    @metric(
        "truth outside", unit="1", ideal="0", above="too narrow", source="a test", forms=("uniform",), bounds=SHARE,
        heading="outside", rank=0, shown=("page", "table", "regions"),
    )  # fmt: skip
    def outside_share(summary):
        """Share of truth outside the distribution; unit 1."""
        return mean_of(summary, "uniform", "outside")

    @curves_of("uniform")
    def uniform_curves(summary) -> Iterator:
        """Yield the shares of truth below and above."""
        yield "outside_of_uniform", np.array([0.0, 1.0]), mean_of(summary, "uniform", "place")

    yield Uniform()
    METRICS.remove(named(outside_share.__name__)[0])
    del FORMS["uniform"], FORM_CURVES["uniform"]


def layers_of(seed, shape=(96, 96)):
    """Ends of distributions of changing width, a fifth too narrow, and truth; some pixels without a value."""
    rng = np.random.default_rng(seed)
    middle, half = rng.normal(size=shape).cumsum(0) / 9, rng.uniform(0.5, 2, shape)
    truth = middle + 1.2 * half * rng.uniform(-1, 1, shape)
    low, high = middle - half, middle + half
    low[:2], high[5, 5] = np.nan, np.nan
    return {"low": low.astype(np.float32), "high": high.astype(np.float32), "truth": truth.astype(np.float32)}


@pytest.fixture
def folder(tmp_path):
    for seed, name in enumerate(NAMES):
        for layer, values in layers_of(seed).items():
            write_raster(tmp_path / layer / f"{name}.tif", values, names=["height"], units=["m"])
    (tmp_path / "toy.yaml").write_text(CONFIG)
    return tmp_path


def outside(layers):
    """Share of truth outside, and its number of pixels."""
    low, high, truth = (layers[name].astype(float) for name in ("low", "high", "truth"))
    there = np.isfinite(low + high)
    return ((truth < low) | (truth > high))[there].mean(), there.sum()


@pytest.mark.usefixtures("uniform")
def test_a_form_from_outside_is_in_tables_intervals_maps_figures_and_pages(folder, geouq):
    done = geouq("run", "toy.yaml", "--quiet")

    assert done.exit_code == 0, done.output
    results = folder / "results" / "toy"
    rows = [row for row in rows_of(results / "tables" / "metrics.csv") if row["metric"] == "outside_share"]
    (whole,) = (row for row in rows if row["level"] == "all")
    every = {name: np.stack([layers_of(seed)[name] for seed in range(len(NAMES))]) for name in ("low", "high", "truth")}
    share, n = outside(every)
    assert float(whole["value"]) == pytest.approx(share, rel=1e-12)
    assert int(whole["n"]) == n
    assert float(whole["ci_low"]) < share < float(whole["ci_high"])
    assert {row["name"] for row in rows if row["level"] == "tile"} == set(NAMES)
    assert any(row["metric"] == "zms" and row["ci_low"] for row in rows_of(results / "tables" / "metrics.csv"))
    assert "outside_of_uniform" in {row["curve"] for row in rows_of(results / "tables" / "curves.csv")}
    with rasterio.open(results / "maps" / "a_cells_height.tif") as cells:
        band = cells.descriptions.index("outside_share") + 1
        assert 0 < np.nanmean(cells.read(band)) < 1
    assert list((results / "maps").rglob("*_z.tif"))
    assert list((results / "figures").rglob("*reliability*"))
    assert "outside" in (results / "report" / "index.html").read_text()


@pytest.mark.usefixtures("uniform", "folder")
def test_a_second_run_reads_no_tile_again(geouq):
    geouq("run", "toy.yaml", "--quiet")

    again = geouq("run", "toy.yaml")

    assert f"{len(NAMES)} of {len(NAMES)} tiles are summarised already" in again.output
    assert geouq("report", "results/toy", "--quiet").exit_code == 0


def test_summaries_of_arrays_are_those_of_files_and_add(uniform, tmp_path):
    layers = layers_of(0)
    truth = layers.pop("truth")

    whole = package.summarize_form(uniform, layers, truth)
    parts = [package.summarize_form(uniform, {k: v[some] for k, v in layers.items()}, truth[some])
             for some in (np.s_[:40], np.s_[40:])]  # fmt: skip

    share, n = outside(layers | {"truth": truth})
    np.testing.assert_allclose(whole.form.of("outside") / n, share, rtol=1e-12)
    np.testing.assert_array_equal((parts[0] + parts[1]).form.sums, whole.form.sums)
    assert float(package.table(whole).set_index("metric").value["outside_share"]) == pytest.approx(share, rel=1e-12)
    whole.save(tmp_path / "whole.nc")
    assert package.Summary.load(tmp_path / "whole.nc") == whole


def test_the_docs_list_its_metric(uniform):
    assert "outside_share" in as_markdown(metrics_of(uniform))


@pytest.mark.usefixtures("uniform")
@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ("form: uniform", "form: unifrom", "'unifrom' is no form that is known here; did you mean 'uniform'?"),
        ("high: 'high/{tile}.tif', ", "", "data.layers: missing key 'high': its upper end"),
        ("{high:", "{mode: 'high/{tile}.tif', high:", "data.layers.mode: form uniform has no such layer"),
        ("  layers: {high: 'high/{tile}.tif', low: 'low/{tile}.tif'}\n", "", "missing key 'layers'; form needs it"),
        ("  form: uniform\n", "", "layers"),
        ("form: uniform", "form: uniform\n  mean: 'low/{tile}.tif'", "mean"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(written, instead, message, folder, geouq):
    text = (folder / "toy.yaml").read_text()
    assert written in text
    (folder / "toy.yaml").write_text(text.replace(written, instead))

    done = geouq("run", "toy.yaml")

    assert done.exit_code == 2
    assert message in done.output


def test_a_key_that_is_taken_is_refused():
    with pytest.raises(ValueError, match="'ensemble' belongs to another form"):

        @dataclass(frozen=True)
        class Mine(PixelForm):
            key = "ensemble"
