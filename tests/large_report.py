"""A report of many small tiles, in numbers that need no run."""

import numpy as np
from landscape import NORTH_UP
from rasterio import Affine
from report_content import content, p_row, row

from geouq.config import Variable
from geouq.core.grid import Grid
from geouq.maps.scales import SIGNED, even
from geouq.metrics.predicted_std import StdDistribution
from geouq.pages import Curves, Groups
from geouq.pages.cells import SUMS, CellMaps, CellSums, MapMetric, layout_of
from geouq.summary import TilePlace
from geouq.verdict import place_of

ACROSS = 100
METRICS = ("bias", "rmse", "sharpness_rms", "zms", "coverage_90", "crps")


def large_content(tiles, regions, variables=1, cell_size=16):
    """Tiles of 64 x 64 pixels in rows of 100, and regions of as many of them each."""
    names = [f"tile_{number:05}" for number in range(tiles)]
    of = {f"region {k} with a name of some length": names[k::regions] for k in range(regions)}
    pools = [("all", "all"), *(("region", name) for name in of), *(("tile", name) for name in names)]
    labels = tuple(Variable(name=f"variable {k}", band=k + 1, units="m") for k in range(variables))
    known = {"ci_low": 1.25, "ci_high": 2.5, "ci_level": 0.95, "ci_method": "bca"}
    metrics = [
        row(*pool, label.name, metric, 1.5 + 0.001 * number) | ({} if pool[0] == "tile" else known)
        for number, pool in enumerate(pools)
        for label in labels
        for metric in METRICS
    ]
    tests = [p_row(name, label.name, "zms", 0.01 * (k % 12)) for k, name in enumerate(of) for label in labels]
    excluded = [
        {"tile": name, "variable": label.name, "model": "", "reason": "masked", "n": 100 + number}
        for number, name in enumerate(names)
        for label in labels
    ]
    return content(
        variables=labels, regions=of, tiles=names, metrics=metrics, tests=tests, excluded=excluded, failures=[],
        figures={}, gates=[], bins="b-10", cells=large_cells(names, labels, cell_size),
    )  # fmt: skip


def large_curves(variables, regions):
    """All types of curves of the whole and of these regions, with bands."""
    rng, places = np.random.default_rng(2), [(k + 0.5) / 10 for k in range(10)]

    def some():
        reliability = [(v, v * rng.uniform(1, 2), 0.8 * v, 2.5 * v) for v in np.linspace(1, 4, 10)]
        calibration = [(k / 20, k / 20 * 0.9, k / 20 * 0.8, min(1, k / 20 * 1.1)) for k in range(1, 20)]
        covered = {"coverage_90_by_truth": [(x, rng.uniform(0.7, 1)) for x in places]}
        std = StdDistribution(
            np.linspace(1, 2, 5), 1.6, np.linspace(0.5, 2.5, 61), rng.random(60), is_logarithmic=False
        )
        groups = {"truth": Groups(places, list(np.linspace(0, 30, 11)), "m")}
        return Curves(reliability, calibration, list(rng.uniform(0.5, 1.5, 20)), 0.3, covered, groups, std)

    return {place_of(name, variable): some() for name in ("all", *regions) for variable in variables}


def large_cells(names, variables, cell_size):
    """Sums of cells that vary smoothly from tile to tile."""
    places = [
        TilePlace(
            name,
            Grid((64, 64), NORTH_UP @ Affine.translation(k % ACROSS * 64, k // ACROSS * 64), "EPSG:32633"),
            cell_size,
        )
        for k, name in enumerate(names)
    ]
    layout = layout_of(places, len(variables))
    rng = np.random.default_rng(1)
    n = np.full(layout.count, (cell_size * layout.side) ** 2, np.uint16)
    columns = {"n": n} | {name: (n * rng.gamma(4, 0.25, len(n))).astype(np.float32) for name in SUMS}
    columns["covered"] = rng.binomial(n, 0.875).astype(np.uint16)
    columns |= {f"pit_{k}": rng.poisson(n / 20).astype(np.uint16) for k in range(20)}
    for k in range(10):
        columns[f"n_{k}"] = (n / 10).astype(np.float32)
        columns |= {
            f"{name}_{k}": (n * rng.gamma(4, 0.025 * (k + 1), len(n))).astype(np.float32)
            for name in ("variance", "squared_error")
        }
    shown = [
        MapMetric(name, name.removesuffix("_90"), name, "1", even(0.0, 2.0, SIGNED), part)
        for name, part in (("zms", ""), ("coverage_90", "coverage"), ("uce", ""))
    ]
    return CellMaps(layout, [CellSums.of(variable, columns, shown) for variable in variables], "b-10")
