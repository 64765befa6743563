"""What a run hands back to Python."""

import numpy as np
import pandas as pd

import geouq
from geouq.config import load_experiment


def test_a_path_or_an_experiment_gives_tables_as_frames_and_the_files_written(tile_folder):
    config = tile_folder(("a1",))

    results = geouq.run(str(config))

    assert list(results.frames) == list(results.tables)
    written = pd.read_csv(results.folder / "tables" / "metrics.csv")
    np.testing.assert_array_equal(results.metrics["value"].astype(float), written["value"])
    assert results.metrics["metric"].tolist() == written["metric"].tolist()
    assert all(path.is_file() for path in results.files)
    kept = {path for path in results.folder.rglob("*") if path.is_file() and path.parent.name != "summaries"}
    left = {path.name for path in kept - set(results.files)}
    assert left == {"config.yaml", "run.json", ".geouq.lock"}
    again = geouq.run(load_experiment(config))
    pd.testing.assert_frame_equal(again.metrics, results.metrics)
