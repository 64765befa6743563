"""Rasters of ensembles, quantiles and probabilities to measure with: fields that look like maps, in DEFLATE files."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import rasterio
from numpy.typing import NDArray
from scipy.special import ndtri

from benchmarks.rasters import CODECS, Floats, Rng, field, forecasts, profile_of
from benchmarks.tiles import path_of, unfinished

MEMBERS, CLASSES = 15, 8
TILE = "tile"
LEVELS = (0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.95)


@dataclass(frozen=True)
class FormFiles:
    """Files of the tile: its layers, YAML that names them, and its truth."""

    name: str
    layers: tuple[str, ...]
    data: str
    truth: str = "truth"

    def paths(self, folder: Path) -> list[Path]:
        """All of them."""
        return [path_of(folder, TILE, layer) for layer in (*self.layers, self.truth)]

    def config(self, folder: Path) -> Path:
        """Return a configuration of the tile."""
        path = folder / f"{self.name.replace(' ', '-')}.yaml"
        path.write_text(
            f'version: 1\nname: {path.stem}\ndata:\n  {self.data}\n  truth: "{{tile}}_{self.truth}.tif"\n'
            f"tiles: [{TILE}]\nvariables: {{height: {{band: 1}}}}\noutput: {{maps: none}}\n",
            encoding="utf-8",
        )
        return path


MEANS, VARIANCES = (tuple(f"{letter}{k}" for k in range(MEMBERS)) for letter in "mv")
OF_MEANS, OF_VARIANCES = 'members: "{tile}_m{member}.tif"', 'member_variance: "{tile}_v{member}.tif"'
OF_LEVELS = ", ".join(f"{level}: '{{tile}}_quantiles.tif'" for level in LEVELS)
CODES = ", ".join(f"class_{k}: {k}" for k in range(CLASSES))
OF_CLASSES = f"probabilities: '{{tile}}_classes.tif'\n  class_codes: {{{CODES}}}"
FORMS = (
    FormFiles("members", MEANS, OF_MEANS),
    FormFiles("members with variances", MEANS + VARIANCES, f"{OF_MEANS}\n  {OF_VARIANCES}"),
    FormFiles("quantiles", ("quantiles",), f"quantiles: {{{OF_LEVELS}}}"),
    FormFiles("probabilities", ("classes",), OF_CLASSES, "class"),
)


def make_forms(folder: Path, size: int) -> Path:
    """Return the folder of the files of all forms, which are made unless they are there."""
    made = folder / f"forms-{size}"
    if made.exists():
        return made
    parts = unfinished(made)
    parts.mkdir(parents=True, exist_ok=True)
    mean, variance, truth = next(forecasts(size))
    rng = np.random.default_rng(2)
    _write(path_of(parts, TILE, "truth"), [truth], size)
    for m, v in zip(MEANS, VARIANCES, strict=True):
        _write(path_of(parts, TILE, m), [mean + np.float32(0.5) * np.sqrt(variance) * field(size, 1.1, rng)], size)
        _write(path_of(parts, TILE, v), [variance * np.exp(np.float32(0.3) * field(size, 1.1, rng))], size)
    z = (np.float32(ndtri(level)) + np.float32(0.03) * field(size, 1.1, rng) for level in LEVELS)
    _write(path_of(parts, TILE, "quantiles"), (mean + np.sqrt(variance) * own for own in z), size, len(LEVELS))
    _write_classes(parts, np.isnan(truth), np.isnan(mean), rng)
    parts.rename(made)
    return made


def _write_classes(folder: Path, without_truth: NDArray[np.bool_], unpredicted: NDArray[np.bool_], rng: Rng) -> None:
    """Probabilities, and classes that are drawn by them."""
    shape = (CLASSES, *unpredicted.shape)
    p = np.exp([np.float32(1.5) * field(shape[-1], 1.1, rng) for _ in range(CLASSES)])
    p /= p.sum(0)
    drawn = (p.cumsum(0) < rng.random(shape[1:], np.float32)).sum(0).clip(0, CLASSES - 1).astype(np.float32)
    drawn[without_truth] = np.nan
    p[:, unpredicted] = np.nan
    _write(path_of(folder, TILE, "classes"), p, len(drawn), CLASSES)
    _write(path_of(folder, TILE, "class"), [drawn], len(drawn))


def _write(path: Path, bands: Iterable[Floats], size: int, count: int = 1) -> None:
    """One file of this side, band by band."""
    with rasterio.open(path, "w", **profile_of(size, count), **CODECS["deflate"], num_threads="ALL_CPUS") as file:
        for number, band in enumerate(bands, 1):
            file.write(band, number)
