"""A run and `geouq aggregate` name pixels of different sizes on the ground."""

import numpy as np
import pytest
from affine import Affine
from landscape import write_raster

CONFIG = """\
version: 1
name: sizes
data: {{mean: "mean_{{tile}}.tif", std: "std_{{tile}}.tif", truth: "truth_{{tile}}.tif"{more}}}
variables: {{AGB: {{band: 1, units: Mg/ha}}}}
cell_size: 16
output: {{maps: none, figures: none}}
{end}"""
NOTE = "pixels differ in area on the ground by a factor of 1."


@pytest.fixture
def written(tmp_path):
    def write(more="", end=""):
        rng, where = np.random.default_rng(0), {"crs": "EPSG:4326", "transform": Affine(0.2, 0, 10, 0, -0.2, 65)}
        mean, std, z = rng.normal(100, 9, (64, 64)), rng.uniform(1, 2, (64, 64)), rng.normal(size=(64, 64))
        for name, layer in {"mean": mean, "std": std, "truth": mean + std * z}.items():
            write_raster(tmp_path / f"{name}_a.tif", layer.astype(np.float32), nodata=np.nan, **where)
        (tmp_path / "sizes.yaml").write_text(CONFIG.format(more=more, end=end), encoding="utf-8")
        return tmp_path / "sizes.yaml"

    return write


@pytest.mark.parametrize("command", ["run", "aggregate"])
def test_pixels_of_degrees_without_weights_have_a_note(geouq, written, command):
    done = geouq(command, written(), "--quiet")

    assert done.exit_code == 0, done.output
    assert NOTE in done.stderr
    assert "weight each by its area (`weights: area` in data)" in done.stderr


@pytest.mark.parametrize(("more", "end"), [(", weights: area", ""), ("", "aggregates: none\n")])
def test_there_is_no_note_with_weights_or_without_means_of_areas(geouq, written, more, end):
    done = geouq("run", written(more, end), "--quiet")

    assert done.exit_code == 0, done.output
    assert NOTE not in done.stderr
