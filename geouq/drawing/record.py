"""Figures of a run: each is one function with the decorator `figure`.

Configurations, the command line, files, pages and the gallery use its record.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from inspect import getdoc

import numpy as np
from matplotlib.figure import Figure

from geouq.config import quoted, suggestion
from geouq.config.validation_errors import Steps
from geouq.drawing.case import Case

Draws = Callable[[Case], Figure | None]


@dataclass(frozen=True)
class FigureRecord:
    """The record of a figure.

    Parameters
    ----------
    name : str
        In configurations and file names.
    draws : callable
        Returns the figure of a `Case`; None if the case has nothing to show in it.
    title : str
        Title on pages and in the gallery.
    shows : str
        What the figure shows, in words. Readers who cannot see the picture read this.
    needs : str
        What is missing if there is nothing to show.
    needs_variance : bool
        Whether only forecasts with a mean and a variance have the figure.
    of_regions : bool
        Whether the figure is also drawn for single regions by default.
    weighted : bool
        Whether it shows sums with weights of the case itself.
    """

    name: str
    draws: Draws
    title: str
    shows: str
    needs: str = "there are no valid pixels"
    needs_variance: bool = True
    of_regions: bool = False
    weighted: bool = True

    def draw(self, case: Case) -> Figure | None:
        """Return the figure; None if the case has nothing to show in it.

        Raises
        ------
        OverflowError
            If the figure shows sums with weights that exceed the largest float.
        """
        if not case.summary.n or (self.needs_variance and not case.has_variance):
            return None
        if self.weighted and np.isnan(case.summary.moments.weight):
            raise OverflowError("the weights add up to more than the largest float; divide them by a constant")
        return self.draws(replace(case, heading=self.title))


FIGURES: dict[str, FigureRecord] = {}


def figure(**record: str | bool) -> Callable[[Draws], Draws]:
    """Return a decorator that registers a function as a figure of runs.

    The figure has the name of the function. The first line of its docstring is the title, and the rest says what the
    figure shows.

    Parameters
    ----------
    **record
        Other fields of `FigureRecord`.

    Examples
    --------
    >>> @figure(of_regions=True)
    ... def nothing(case):
    ...     "Nothing."
    >>> FIGURES.pop("nothing").title
    'Nothing'
    """

    def registered(draws: Draws) -> Draws:
        """Register the function and return it."""
        name = draws.__name__
        if name in FIGURES:
            raise TypeError(f"there is a figure {name!r} already; give this one another name")
        title, _, shows = (getdoc(draws) or "").partition("\n\n")
        FIGURES[name] = FigureRecord(name, draws, title.rstrip("."), " ".join(shows.split()), **record)  # type: ignore[arg-type]
        return draws

    return registered


def unknown_figures(names: Iterable[str]) -> Iterator[tuple[Steps, str]]:
    """Yield the position of each unknown name of a figure, and a message."""
    for place, name in enumerate(names):
        if name not in FIGURES:
            yield (place,), f"{quoted(name)} is not a figure of a run{suggestion(name, FIGURES)}"
