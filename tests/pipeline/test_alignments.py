"""A layer that is brought to another grid, as the configuration says, is noted and no warning."""

import numpy as np
import pytest
from affine import Affine
from forecasts import heteroscedastic

import geouq
from geouq.runs.provenance import load_record

SIDE = 48
COARSE = Affine(30, 0, 500000, 0, -30, 5000000)


@pytest.fixture
def results(tmp_path, write_raster):
    mean, variance, truth = (layer.astype(np.float32) for layer in np.stack(heteroscedastic((SIDE, SIDE), 0)))
    write_raster(tmp_path / "a_mean.tif", mean, transform=COARSE)
    write_raster(tmp_path / "a_variance.tif", variance, transform=COARSE)
    fine = np.kron(truth, np.ones((3, 3), np.float32))
    write_raster(tmp_path / "a_truth.tif", fine, transform=COARSE @ Affine.scale(1 / 3))
    layers = {layer: str(tmp_path / f"{{tile}}_{layer}.tif") for layer in ("mean", "variance")}
    truth_layer = {"path": str(tmp_path / "{tile}_truth.tif"), "align": "average"}
    config = {"version": 1, "name": "aligned", "tiles": ["a"], "data": {**layers, "truth": truth_layer}}
    return geouq.run({**config, "output": {"directory": str(tmp_path / "results"), "maps": "none", "figures": "none"}})


def test_a_layer_that_is_aligned_as_configured_is_a_note_and_no_warning(results):
    (note,) = [note for note in results.notes if "averaged" in note]

    assert note.startswith("truth is averaged from pixels of 10 x 10")
    assert not any("averaged" in warning for warning in results.input_warnings)


def test_the_note_is_kept_for_a_report_that_is_made_again(results):
    assert load_record(results.folder).alignments == tuple(note for note in results.notes if "averaged" in note)
    assert [note for note in geouq.report(results.folder).notes if "averaged" in note]
