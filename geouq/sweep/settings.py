"""What a sweep measures."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from geouq.core.distribution import NORMAL, Distribution
from geouq.core.grid import Grid
from geouq.summary.form import GAUSSIAN, Form, form_as_words, form_of_words
from geouq.summary.pixel_statistic import names_of_pixel_statistics
from geouq.summary.summary import COVERAGE_BY

SMALLEST_CELL, LARGEST_CELL, CELLS_IN_TILE = 16, 256, 64


@dataclass(frozen=True)
class Settings:
    """What a sweep measures; anything here that changes makes new summaries.

    tail : number of equal-width bins to be exact, 0 for none; negative : "error" or "exclude", what to do with a
        negative variance; groups : by what coverage is kept: of `GROUPED_BY`, then names of covariates, then of
        classes; ordering : whether pixels are kept by variance and |z|; thresholds : whose forecasts of exceeding are
        kept, of arrays; those of tiles stand with their variables; classes : which of the groups are codes of classes;
        given : level of the intervals that the forecast gives, of arrays; those of tiles stand with their models;
        form : how the forecast is given; every : keep every pixel where they are
        few, so that all bins are exact; distribution : for arrays (the variables of tiles have their own); added :
        names of statistics that numpy computes.
    """

    levels: tuple[float, ...]
    cell_size: int
    tail: int = 10
    negative: str = "error"
    groups: tuple[str, ...] = ("truth", "variance")
    ordering: bool = False
    thresholds: tuple[float, ...] = ()
    classes: tuple[str, ...] = ()
    given: float | None = None
    form: Form = GAUSSIAN
    every: bool = True
    distribution: Distribution = NORMAL
    added: tuple[str, ...] = field(default_factory=names_of_pixel_statistics)

    def as_words(self) -> dict[str, Any]:
        """Return the settings as plain values; `of_words` is the inverse."""
        return asdict(self) | {"form": form_as_words(self.form)}

    @classmethod
    def of_words(cls, words: Mapping[str, Any]) -> Self:
        """Return the settings that `as_words` gave the plain values of."""
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in words.items()
        }
        values["form"] = form_of_words(words["form"])
        values["distribution"] = Distribution(**words["distribution"])
        return cls(**values)

    @property
    def statistics(self) -> frozenset[str]:
        """Return the names of the statistics that are kept on request."""
        return frozenset([*(COVERAGE_BY + name for name in self.groups), *(["ordering"] if self.ordering else [])])

    @property
    def keeps_few(self) -> bool:
        """Return whether every pixel is kept where they are few: of forecasts that have a variance."""
        return self.every and self.form.has_variance


def cell_size_for(grids: Iterable[Grid]) -> int:
    """Return the largest power of two from 16 to 256 that leaves the median tile at least 64 cells.

    >>> from affine import Affine
    >>> cell_size_for([Grid((232, 410), Affine.identity(), "")])
    32
    """
    shapes = sorted((grid.shape for grid in grids), key=lambda shape: shape[0] * shape[1])
    rows, columns = shapes[len(shapes) // 2] if shapes else (0, 0)
    size = LARGEST_CELL
    while size > SMALLEST_CELL and -(-rows // size) * -(-columns // size) < CELLS_IN_TILE:
        size //= 2
    return size
