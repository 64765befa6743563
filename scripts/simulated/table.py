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
COLUMNS = ("field", "cells", *("bias", "MAE", "RMSE", "ZMS", "coverage_90", "NLL", "CRPS", "UCE", "ENCE"))
TRACKS = Layout((512,), (512,), tracks=64)
SMALL_TILES = Layout((64,) * 4, (64,) * 6)


def fields() -> list[Field]:
    """Tiles of 512 pixels with errors of several ranges, small tiles, tracks, and regions as those of the samples."""
    return [
        _field(Forecast(8), TILE),
        _field(Forecast(8, "exp", factor=PROUD), TILE, 16),
        _field(Forecast(24, factor=SLIGHTLY), TILE, 16),
        *(_field(Forecast(scale), TILE, 16) for scale in (48, 72, 96)),
        *(_field(Forecast(scale, "exp", factor=factor), TILE, 16) for scale, factor in ((24, PROUD), (40, 1), (60, 1))),
        Field("gauss 8 px, variance 48 px, std 20 % too small", Forecast(8, "gauss", 48, PROUD), TILE, 16),
        Field("gauss 8 px, variance 48 px with sd 1.2, calibrated", Forecast(8, "gauss", 48, spread=1.2), TILE, 16),
        Field("gauss 85 % 4 px and 15 % 100 px, calibrated", Forecast(4, long=100, share=0.15), TILE, 16),
        Field("gauss 8 px, variance too alike", Forecast(8, power=0.5), TILE, 16),
        _field(Forecast(24), SMALL_TILES, 16, where="24 tiles of 64 px, "),
        _field(Forecast(24), TRACKS, 16, where="tracks, "),
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
    """Return the table: share held in percent with its standard error, that of independent pixels in parentheses."""
    lines = [_line(COLUMNS), _line(["---", *["---:"] * (len(COLUMNS) - 1)])]
    return "\n".join([*lines, *(_line(_cells(row)) for row in rows)]) + "\n"


def _cells(row: Row) -> list[str]:
    (ours, theirs), counts, maps = row.held, row.intervals[0], len(row.simulations)
    each = zip(row.effective, ours, theirs, counts, strict=True)
    return [row.field.name, f"{row.simulations[0].cell} px", *(_number(*one, maps) for one in each)]


def _number(effective: float, share: float, other: float, count: int, maps: int) -> str:
    """Effective cells, share held and that of independent pixels, and share of maps without an interval."""
    refused = f", {100 * (maps - count) / maps:.0f} % refused" if count < maps else ""
    pixels = f" ({100 * other:.0f})" if np.isfinite(other) else ""
    return f"n {effective:.0f}: " + (f"{_share(share, count)}{pixels}" if count else "none") + refused


def _share(share: float, count: int) -> str:
    """Return a share in percent and its standard error, in bold outside the target."""
    shown = f"{100 * share:.0f} ± {100 * np.sqrt(share * (1 - share) / count):.0f}"
    return shown if TARGET[0] <= round(share, 2) <= TARGET[1] else f"**{shown}**"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
