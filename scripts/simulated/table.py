"""The fields of the study, and its rows as Markdown."""

from collections.abc import Iterable

import numpy as np

from simulated.forecasts import Forecast
from simulated.maps import Layout
from simulated.study import TARGET, Field, Row

TILE, SMALL = Layout((512,), (512,)), Layout((256,), (256,))
REGIONS = {
    "EAST": Layout((176, 168), (176, 184), last_valid=0.03),
    "WEST": Layout((176,), (176, 184, 168)),
    "NORTH": Layout((168, 184), (176,)),
}
CALIBRATED, SLIGHTLY, PROUD = 1.0, 0.95**2, 0.8**2  # predicted variance by the true one
SAID = {CALIBRATED: "calibrated", SLIGHTLY: "std 5 % too small", PROUD: "std 20 % too small"}
COLUMNS = ("field", "cells", "range", "effective cells", "blocks", "bias", "RMSE", "ZMS", "coverage_90", "UCE", "ENCE")


def fields() -> list[Field]:
    """Tiles of 512 pixels with errors of several ranges, then regions of tiles as those of the samples."""
    return [
        *(_field(Forecast(8, factor=factor), TILE) for factor in (CALIBRATED, PROUD)),
        *(_field(Forecast(8, "exp", factor=factor), TILE, 16) for factor in (CALIBRATED, PROUD)),
        *(_field(Forecast(24, factor=factor), TILE, 16) for factor in (CALIBRATED, SLIGHTLY, PROUD)),
        *(_field(Forecast(24, "exp", factor=factor), TILE, 16) for factor in (CALIBRATED, PROUD)),
        Field("gauss 8 px, variance 48 px, std 20 % too small", Forecast(8, "gauss", 48, PROUD), TILE, 16),
        Field("gauss 8 px, variance too alike", Forecast(8, power=0.5), TILE, 16),
        *(
            _field(Forecast(5, factor=factor), REGIONS[region], where=f"{region}, ")
            for region, factor in (("EAST", CALIBRATED), ("WEST", CALIBRATED), ("NORTH", PROUD))
        ),
    ]


def quick_fields() -> list[Field]:
    """Two small ones."""
    return [_field(Forecast(8, factor=factor), SMALL, 16) for factor in (CALIBRATED, PROUD)]


def _field(forecast: Forecast, layout: Layout, cell_size: int | None = None, where: str = "") -> Field:
    name = f"{where}{forecast.kind} {forecast.scale} px, {SAID[forecast.factor]}"
    return Field(name, forecast, layout, cell_size)


def markdown(rows: Iterable[Row]) -> str:
    """The table: share held in percent with its standard error, that of independent pixels in parentheses."""
    lines = [_line(COLUMNS), _line(["---", *["---:"] * (len(COLUMNS) - 1)])]
    return "\n".join([*lines, *(_line(_cells(row)) for row in rows)]) + "\n"


def _cells(row: Row) -> list[str]:
    (ours, theirs), counts, maps = row.held, row.intervals[0], len(row.simulations)
    found = f"{row.average('blocks'):.0f} of {row.average('side'):.0f} px"
    return [
        row.field.name,
        f"{row.average('cell'):.0f} px",
        f"{row.average('range'):.0f} px",
        f"{row.average('effective'):.0f}",
        found if row.reached >= 0.5 else f"{found}, too small",
        *(
            f"{_share(own, count)} ({100 * other:.0f}){_without(maps - count)}"
            for own, other, count in zip(ours, theirs, counts, strict=True)
        ),
    ]


def _without(maps: int) -> str:
    return f", {maps} without" if maps else ""


def _share(share: float, count: int) -> str:
    """A share in percent and its standard error, in bold outside the target."""
    shown = f"{100 * share:.1f} ± {100 * np.sqrt(share * (1 - share) / count):.1f}"
    return shown if TARGET[0] <= share <= TARGET[1] else f"**{shown}**"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
