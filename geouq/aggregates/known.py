"""A correlation of errors that is known, with what tells how certain it is: from a map with truth, or from a file."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from geouq.aggregates.area import AreaPairs, Certainty, freedom_of
from geouq.aggregates.correlation import CorrelationModel
from geouq.aggregates.estimation import ErrorCorrelation
from geouq.core.errors import ConfigError

NOT_ONE = "is no file of correlations of errors; give tables/error_correlation.json of a run"


@dataclass(frozen=True)
class KnownCorrelation:
    """The correlation of errors of a variable.

    Parameters
    ----------
    model : CorrelationModel
        Fitted to all of a map.
    without : tuple of CorrelationModel
        Fitted without each fold of the map.
    parts : tuple of float
        Number of independent parts that the map has for each range of the model.
    tiles : float
        Number of tiles of like weight.
    truth_share : float or None
        Share of z^2 that is the truth's own error, which the model does not contain; None if it is not known.
    """

    model: CorrelationModel
    without: tuple[CorrelationModel, ...]
    parts: tuple[float, ...]
    tiles: float
    truth_share: float | None = None

    @classmethod
    def of(cls, correlation: ErrorCorrelation) -> Self:
        """Return the correlation that was estimated on a map."""
        certainty, model = Certainty.of(correlation), correlation.model
        parts = tuple(map(certainty.parts, model.ranges))
        removed = correlation.cells.truth_share
        known = float(removed) if np.isfinite(removed) else None
        return cls(model, tuple(correlation.each_left_out), parts, certainty.tiles, known)

    def of_cells(self, side: float) -> Self:
        """Return the correlation for cells of another side in metres."""
        without = tuple(model.of_cells(side) for model in self.without)
        return replace(self, model=self.model.of_cells(side), without=without)

    def freedom(self, area: AreaPairs) -> float:
        """Return the degrees of freedom of the variance of an area's mean (Satterthwaite 1946)."""
        return freedom_of(area, self.model, self.without, (*self.parts, self.tiles, 1.0))

    def as_json(self) -> dict[str, Any]:
        """Return the model as plain values, with its formula, and what tells how certain it is."""
        more: dict[str, Any] = {"independent_parts": list(self.parts), "tiles": self.tiles}
        if self.truth_share is not None:
            more["truth_error_share_removed"] = self.truth_share
        return {**self.model.as_json(), **more, "without_folds": [model.as_json() for model in self.without]}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """Return the correlation of plain values; KeyError, TypeError or ValueError if these are none."""
        without = tuple(_model(own) for own in plain["without_folds"])
        model, parts = _model(plain), tuple(float(own) for own in plain["independent_parts"])
        if len(parts) != len(model.ranges):
            raise ValueError("a number of independent parts for each range")
        removed = plain.get("truth_error_share_removed")
        return cls(model, without, parts, float(plain["tiles"]), None if removed is None else float(removed))


def _model(plain: Mapping[str, Any]) -> CorrelationModel:
    sills, ranges = (tuple(float(own) for own in plain[name]) for name in ("sills", "ranges"))
    constant, tile, within, side, zms = (
        float(plain[name]) for name in ("constant", "tile", "within_cell", "cell_side", "zms")
    )
    shares = (*sills, constant, tile, within)
    if len(sills) != len(ranges) or not all(0 <= share <= 1 + 1e-9 for share in shares):
        raise ValueError("shares between 0 and 1, and a range for each sill")
    if not all(np.isfinite(own) and own > 0 for own in (*ranges, side, zms)):
        raise ValueError("ranges, side and zms above 0")
    return CorrelationModel(sills, ranges, constant, tile, within, side, zms)


def read_correlations(path: Path) -> dict[str, KnownCorrelation]:
    """Return the correlation of each variable in a file.

    Raises
    ------
    ConfigError
        If the file cannot be read or holds something else.
    """
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        return {name: KnownCorrelation.from_json(own) for name, own in plain.items()}
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or 'cannot be read'}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ConfigError(f"{path} {NOT_ONE}") from None
