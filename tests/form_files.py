"""Predictions in files of every form: two tiles side by side, of which each layer is written in several ways."""

from pathlib import Path

import numpy as np
from affine import Affine

from geouq.config import load_experiment
from geouq.pipeline.data import Options

SHAPE = (40, 50)
TILES = ("a1", "a2")
LEVELS = (0.1, 0.5, 0.9)
CODES = (3, 7, 9)
FOREST = {"open": 3, "sparse": 7, "dense": 9}


def members_of(seed, count=4):
    """Members, variances and truth of two variables, (variables, members, rows, columns)."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(10, 3, (2, *SHAPE))
    members = truth[:, None] + rng.normal(0, 1, (2, count, *SHAPE)) + 0.5
    variances = rng.lognormal(0, 0.3, members.shape)
    members[0, 1, 0, 0], truth[1, 3, 3] = np.nan, np.nan
    return [layer.astype(np.float32) for layer in (members, variances, truth)]


def classes_of(seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1, 1, 1], SHAPE).transpose(2, 0, 1).astype(np.float32)
    truth = np.array(CODES)[(rng.random(SHAPE) > p.cumsum(0)[:2]).sum(0)].astype(np.uint8)
    p[:, 1, 1], truth[2, 2], truth[0, 0] = 0.5, 200, 0
    return p, truth


def write_forms(tmp_path, write_raster):
    """Write all of them; the folder."""
    for i, tile in enumerate(TILES):
        members, variances, truth = members_of(i)
        where = {"transform": Affine(10, 0, 5e5 + i * 500, 0, -10, 7e6), "nodata": np.nan}
        write_raster(tmp_path / f"truth/{tile}.tif", truth, names=("height", "cover"), units=("m", "%"), **where)
        write_raster(tmp_path / f"by_variable/{tile}.tif", members.reshape(-1, *SHAPE), **where)
        write_raster(tmp_path / f"variances/{tile}.tif", variances.reshape(-1, *SHAPE), **where)
        write_raster(tmp_path / f"by_layer/{tile}.tif", members.swapaxes(0, 1).reshape(-1, *SHAPE), **where)
        pixelwise = {**where, "interleave": "pixel"}
        write_raster(tmp_path / f"pixelwise/{tile}.tif", members.reshape(-1, *SHAPE), **pixelwise)
        for k in range(4):
            write_raster(tmp_path / f"single/{tile}_m{k + 1}.tif", members[:, k], **where)
            write_raster(tmp_path / f"single/{tile}_m{k + 1}_variance.tif", variances[:, k], **where)
        for k, level in enumerate(LEVELS):
            write_raster(tmp_path / f"quantiles/{tile}_{level}.tif", np.sort(members, 1)[:, k], **where)
        parts = {"mean": members.mean(1), "noise": variances.mean(1), "disagreement": members.var(1)}
        for name, layer in parts.items():
            write_raster(tmp_path / f"parts/{tile}_{name}.tif", layer, **where)
        p, codes = classes_of(i)
        write_raster(tmp_path / f"classes/{tile}_p.tif", p, **where)
        write_raster(tmp_path / f"classes/{tile}.tif", codes, **where | {"nodata": 0})
    return tmp_path


def experiment_of(folder, data, text=""):
    config = folder / "experiment.yaml"
    lines = "\n".join(f"  {key}: {value}" for key, value in data.items())
    config.write_text(f"version: 1\nname: forms\ndata:\n{lines}\ncell_size: 16\n{text}", encoding="utf-8")
    return load_experiment(config)


ENSEMBLES = {
    "by variable": {"members": "by_variable/{tile}.tif", "member_variance": "variances/{tile}.tif"},
    "pixelwise": {"members": "pixelwise/{tile}.tif", "member_variance": "variances/{tile}.tif"},
    "files": {"members": "single/{tile}_m{member}.tif", "member_variance": "single/{tile}_m{member}_variance.tif"},
}
TRUTH = {"truth": "truth/{tile}.tif"}
QUANTILES = {"quantiles": "{" + ", ".join(f"{p}: 'quantiles/{{tile}}_{p}.tif'" for p in LEVELS) + "}"}
PARTS = {
    "mean": "parts/{tile}_mean.tif",
    "variance_aleatoric": "parts/{tile}_noise.tif",
    "variance_epistemic": "parts/{tile}_disagreement.tif",
    "truth": "truth/{tile}.tif",
}
CLASSES = {
    "probabilities": "classes/{tile}_p.tif",
    "class_codes": "{open: 3, sparse: 7, dense: 9}",
    "truth": "classes/{tile}.tif",
}


def options(out: Path):
    return Options(out=out, workers=1)
