"""Other packages with the same numbers: how far theirs are from those of geouq, and what they take."""

from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from benchmarks.choices import Choice
from benchmarks.measure import Ratio, Table, compare_all, peak_mib, resident_mib
from benchmarks.ours import in_geouq
from benchmarks.peers import Floats, Numbers
from benchmarks.rasters import valid_forecast
from geouq.core.usage import give_back

Package = Callable[[Floats, Floats, Floats], Numbers]


def packages_section(choice: Choice) -> Table:
    """Return the numbers that each package shares with geouq, the largest difference, time and memory."""
    layers = valid_forecast(choice.kernel_size)
    there = {name: version(name) for name in PACKAGES if _is_installed(name)}
    base, ours = partial(in_geouq, *layers), in_geouq(*layers)
    works = {name: partial(PACKAGES[name], *layers) for name in there}
    ratios = dict(zip(there, compare_all(list(works.values()), base, choice.times()), strict=True))
    rows = [("geouq", version("geouq"), "all metrics", "", "1", "", _shown(grown_mib(base)))]
    rows += [_row_of(name, there[name], works[name], ours, ratios[name]) for name in there]
    rows += [(name, "not installed", "", "", "", "", "") for name in PACKAGES if name not in there]
    return Table(
        "Packages with the same numbers: package / geouq with all metrics",
        f"One variable of {layers[0].size / 1e6:.1f} million valid pixels in memory, float32, one thread.",
        ("package", "version", "numbers", "largest relative difference", "time ratio", "spread", "memory (MiB)"),
        tuple(rows),
    )


def _row_of(name: str, number: str, work: Callable[[], Numbers], ours: Numbers, ratio: Ratio) -> tuple[str, ...]:
    found = work()
    apart = max(abs(value - ours[metric]) / abs(ours[metric]) for metric, value in found.items())
    median, spread, _ = ratio.cells
    return (name, number, ", ".join(found), f"{apart:.1e}", median, spread, _shown(grown_mib(work)))


def _shown(mib: float) -> str:
    return "< 1" if mib < 1 else f"{mib:.0f}"


def _is_installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def grown_mib(work: Callable[[], object]) -> float:
    """Return by how much the resident memory of this process grew at most in a call; NaN where the system hides it."""
    give_back()
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the highest mark so far
    except OSError:
        return float("nan")
    before = resident_mib()
    work()
    return peak_mib() - before


def in_scores(mean: Floats, variance: Floats, truth: Floats) -> Numbers:
    """Return the numbers of a mean with `scores`; it has none of a mean and a variance."""
    import xarray as xr  # noqa: PLC0415  only where it is measured
    from scores import continuous  # noqa: PLC0415

    del variance
    forecast, observed = (xr.DataArray(layer.astype(float)) for layer in (mean, truth))
    return {
        "rmse": float(continuous.rmse(forecast, observed)),
        "mae": float(continuous.mae(forecast, observed)),
        "bias": float(continuous.additive_bias(forecast, observed)),
    }


def in_xskillscore(mean: Floats, variance: Floats, truth: Floats) -> Numbers:
    """Return accuracy and CRPS with `xskillscore`."""
    import xarray as xr  # noqa: PLC0415  only where it is measured
    import xskillscore as xs  # noqa: PLC0415

    layers = (xr.DataArray(layer.astype(float), dims=("y", "x")) for layer in (mean, variance, truth))
    forecast, spread, observed = layers
    return {
        "rmse": float(xs.rmse(forecast, observed)),
        "mae": float(xs.mae(forecast, observed)),
        "crps": float(xs.crps_gaussian(observed, forecast, np.sqrt(spread))),
    }


def in_scoringrules(mean: Floats, variance: Floats, truth: Floats) -> Numbers:
    """Return proper scores with `scoringrules`."""
    import scoringrules as sr  # noqa: PLC0415  only where it is measured

    m, s, y = (layer.astype(float) for layer in (mean, np.sqrt(variance), truth))
    half = 1.6448536269514722 * s
    return {
        "crps": float(np.mean(sr.crps_normal(y, m, s))),
        "nll": float(np.mean(sr.logs_normal(y, m, s))),
        "interval_score_90": float(np.mean(sr.interval_score(y, m - half, m + half, 0.1))),
    }


def in_uncertainty_toolbox(mean: Floats, variance: Floats, truth: Floats) -> Numbers:
    """Return scores and sharpness with `uncertainty-toolbox`."""
    from uncertainty_toolbox import metrics  # noqa: PLC0415  only where it is measured

    m, s, y = (layer.ravel().astype(float) for layer in (mean, np.sqrt(variance), truth))
    return {
        "crps": float(metrics.crps_gaussian(m, s, y)),
        "nll": float(metrics.nll_gaussian(m, s, y)),
        "sharpness_rms": float(metrics.sharpness(s)),
    }


PACKAGES: Mapping[str, Package] = {
    "scores": in_scores,
    "xskillscore": in_xskillscore,
    "scoringrules": in_scoringrules,
    "uncertainty-toolbox": in_uncertainty_toolbox,
}
