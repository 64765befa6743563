"""What the share of an area is of: where the truth exceeds a threshold, or belongs to a class."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from geouq.forms.classes import Classes
from geouq.summary.exceedance import Exceedance, exceedance_name
from geouq.summary.form import Form, FormSums
from geouq.summary.statistic import Statistic

FORM = "form"


@dataclass(frozen=True)
class Share:
    """A threshold, or the name of a class, and its place among those of the variable.

    >>> Share(2.5, 0).columns, Share("forest", 1).columns
    ({'threshold': 2.5, 'class': ''}, {'threshold': None, 'class': 'forest'})
    """

    of: float | str
    place: int

    @property
    def columns(self) -> dict[str, float | str | None]:
        """Return the columns of tables that tell what the share is of."""
        return (
            {"threshold": None, "class": self.of} if isinstance(self.of, str) else {"threshold": self.of, "class": ""}
        )

    @property
    def statistic(self) -> str:
        """Return the name of the statistic of cells from which the share follows."""
        return FORM if isinstance(self.of, str) else exceedance_name(self.place)

    def sums(self, statistics: Mapping[str, Statistic]) -> Exceedance:
        """Return the sums of the probability p and of o, 1 where the truth is there and 0 elsewhere.

        Of a class, sums of p^2 and p o are those of its bins: (p - o)^2 = p^2 - 2 p o + o.
        """
        found = statistics[self.statistic]
        if not isinstance(self.of, str):
            return cast("Exceedance", found)
        form = cast("FormSums", found)
        _, p, square, observed, both = np.moveaxis(form.of("by_class")[..., self.place, :, :].sum(axis=-2), -1, 0)
        std = form.of("share_std")[..., self.place]
        sums = np.stack([p, observed, std, p - square, square - 2 * both + observed], axis=-1)
        return Exceedance(float("nan"), sums)

    def __str__(self) -> str:
        return f"= {self.of}" if isinstance(self.of, str) else f"> {self.of:g}"


def shares_of(form: Form, thresholds: Sequence[float]) -> Iterator[Share]:
    """Yield the thresholds of a variable, or the classes of a forecast of classes."""
    if isinstance(form, Classes):
        yield from (Share(name, place) for place, name in enumerate(form.names))
    else:
        yield from (Share(threshold, place) for place, threshold in enumerate(thresholds))


def has_areas(form: Form) -> bool:
    """Return whether means or shares of areas are known of forecasts of a form."""
    return form.has_variance or isinstance(form, Classes)


MEAN: dict[str, float | str | None] = {"threshold": None, "class": ""}  # columns of what is no share
