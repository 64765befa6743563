"""Figures of a recalibration: the forecast before and after, out of fold, and the fitted correction itself."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from geouq.config import BinScheme, Variable
from geouq.core.failures import isolated
from geouq.core.gaussian import cdf, half_width
from geouq.core.naming import file_name
from geouq.drawing.cells import cells_of_tiles, unit_of_cells, usual_metric
from geouq.figures import IDEAL, PALETTE, Curve, before_after_figure, cell_map, save_figure
from geouq.figures.style import MARKERS, decades, dress, key, new_figure, note, plain, with_units
from geouq.maps.cell_metrics import scale_of_cells
from geouq.metrics import MetricOptions
from geouq.recalibration.corrections import ByGroup, Conformal, Isotonic, Single
from geouq.recalibration.recalibrator import Recalibrator
from geouq.recalibration.scores import ScoreKey
from geouq.regions import EvaluationUnit
from geouq.runs.store import SavedSummaries
from geouq.summary import Summary
from geouq.summary.form import GAUSSIAN

Floats = NDArray[np.float64]

MOST_LINES = 6
POINTS = 200


def draw_before_after(
    before: Iterable[EvaluationUnit],
    after: Iterable[EvaluationUnit],
    seen: Mapping[str, Sequence[ScoreKey]],
    scheme: BinScheme,
    *,
    variables: Sequence[Variable],
    folder: Path,
) -> list[Path]:
    """Write the figure of each variable in each evaluation unit; `seen` gives the views of what was chosen for it."""
    written = []
    for one, other in zip(before, after, strict=True):
        for variable in (variable for variable in variables if variable.name in seen):
            views, path = seen[variable.name], folder / file_name(one.name) / f"{variable.file_name}_before_after.png"
            with isolated("figures", f"before and after of {variable.name} in {one.name}", outputs=[path]):
                figure = before_after_figure(
                    Curve(one.variables[variable.name]),
                    Curve(_as_one(other, views)),
                    scheme,
                    title=f"{variable.name}, {one.name}: before and after recalibration",
                    units=variable.units,
                    names=("before", f"{views[0].method}, {views[0].judge}"),
                )
                save_figure(figure, path)
                written.append(path)
    return written


def draw_cells(
    before: SavedSummaries,
    after: SavedSummaries,
    views: Sequence[ScoreKey],
    scheme: BinScheme,
    *,
    path: Path,
    whole: Summary,
) -> list[Path]:
    """Write mean z^2 of every cell on a map before, and after out of fold; `path` tells folder and name of both.

    whole : of all pixels before, from which the colours of both follow.
    """
    written = []
    metric = usual_metric(GAUSSIAN)
    first, units = views[0], unit_of_cells(metric, "")
    scale = scale_of_cells(metric, whole, MetricOptions(whole.levels, (scheme,)))
    for when, summaries, name in (("before", before, first.variable), ("after", after, first.label)):
        title = f"{first.variable}: {when} recalibration" + (f" ({first.method}, {first.judge})" * (when == "after"))
        own = path.with_name(f"{path.name}_cells_{when}.png")
        with isolated("figures", f"cells of {first.variable} {when} recalibration", outputs=[own]):
            cells = cells_of_tiles(summaries, [summaries.part(t) for t in summaries.tiles], name, metric, scheme)
            save_figure(cell_map(cells, metric, scale, title=title, units=units), own)
            written.append(own)
    return written


def draw_correction(recalibrator: Recalibrator, whole: Summary, variable: Variable, folder: Path) -> list[Path]:
    """Write the figure of a fitted correction, over the variances of the pixels that it was fitted on."""
    path = folder / f"{variable.file_name}_correction.png"
    with isolated("figures", f"correction of {variable.name}", outputs=[path]):
        save_figure(correction_figure(recalibrator, whole), path)
        return [path]
    return []


def correction_figure(recalibrator: Recalibrator, whole: Summary) -> Figure:
    """Return a figure of the correction: corrected against predicted std; of `isotonic` R(p), of `conformal` factors.

    On the dashed line nothing is changed. Of a correction by group, the first six groups.
    """
    figure = new_figure(f"{recalibrator.variable}: fitted correction ({recalibrator.correction.method})")
    axes = figure.subplots()
    own = dict(_singles(recalibrator.correction))
    kind = type(next(iter(own.values())))
    for number, (name, one) in enumerate(own.items()):
        x, y = _line(one, whole)
        style = {"color": PALETTE[number % len(PALETTE)], "linewidth": 1.5}
        if kind is Conformal:
            style |= {"marker": MARKERS[number % len(MARKERS)]}
        axes.plot(x, y, label=plain(name), **style)  # type: ignore[arg-type]
    if kind is Isotonic:
        limits = [0.0, 1.0]
        dress(axes, "PIT of the forecast, p (1)", "PIT of the corrected forecast, R(p) (1)")
    elif kind is Conformal:
        limits = [0.0, float(max(*axes.get_xlim(), *axes.get_ylim()))]
        dress(axes, "half width of the normal interval (std)", "half width of the conformal interval (std)")
    else:
        limits = [float(np.sqrt(whole.variance.lowest)), float(np.sqrt(whole.variance.highest))]
        units = recalibrator.units
        dress(axes, with_units("predicted std", units), with_units("corrected std", units))
        decades(axes, limits[1] / limits[0])
    axes.plot(limits, limits, color=IDEAL, linewidth=1, linestyle="--", label="nothing changed", zorder=1)
    note(figure, f"fitted on {len(recalibrator.fitted_on.tiles)} tiles, {recalibrator.fitted_on.n} pixels", _moved(own))
    key(figure, [axes])
    return figure


def _as_one(unit: EvaluationUnit, views: Sequence[ScoreKey]) -> Summary:
    """Return mean and variance from the first view; if the forecast is not normal, z follows from the view of PIT."""
    found = unit.variables[views[0].label]
    for view in views:
        if view.pit:
            found = found.having(z=unit.variables[view.label].z)
    return found.having(given=None)


def _singles(correction: Single | ByGroup) -> Iterator[tuple[str, Single]]:
    if not isinstance(correction, ByGroup):
        yield correction.method, correction
        return
    yield "all others", correction.otherwise
    yield from list(correction.groups.items())[:MOST_LINES]


def _line(correction: Single, whole: Summary) -> tuple[Floats, Floats]:
    if isinstance(correction, Isotonic):
        z = np.linspace(-4, 4, POINTS)
        return cdf(z), cdf(correction.scores_of(z))
    if isinstance(correction, Conformal):
        return np.array([half_width(level) for level in correction.levels]), np.array(correction.multiples)
    variance = np.geomspace(float(whole.variance.lowest), float(whole.variance.highest), POINTS)
    return np.sqrt(variance), np.sqrt(correction.moments(np.zeros(POINTS), variance)[1])


def _moved(corrections: Mapping[str, Single]) -> str:
    """Return what is not to be seen: by how much a mean is moved."""
    biases = [(name, getattr(one, "bias", None)) for name, one in corrections.items()]
    return ", ".join(f"{name}: bias {bias:.4g} taken away" for name, bias in biases if bias is not None)
