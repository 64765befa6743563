"""Which figures a run draws; matplotlib, which is large, is not needed to tell."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from geouq.config import Variable
from geouq.core.naming import file_name
from geouq.regions import EvaluationUnit

# figures that show no rows of tables, which a run draws by default, and their titles on pages
OF_SUMS = {"reliability": "Reliability diagram of the variance", "calibration": "Calibration curve"}
OF_VARIANCE = frozenset({"reliability"})  # of these, figures of forecasts with a variance alone
MOST = 240  # figures: a minute or two


@dataclass(frozen=True)
class Wanted:
    """One figure of a variable of an evaluation unit."""

    evaluation_unit: EvaluationUnit
    variable: Variable
    figure: str

    @property
    def path(self) -> Path:
        """Return the path of its file, relative to the folder of the run."""
        return path_of_figure(self.evaluation_unit.name, self.variable, self.figure)


def path_of_figure(unit: str, variable: Variable, name: str, kind: str = "png") -> Path:
    """Return where a figure is written, relative to the folder of the run."""
    return Path("figures", file_name(unit), f"{variable.file_name}_{name}.{kind}")


def by_default(
    shown: Sequence[EvaluationUnit],
    variables: Sequence[Variable],
    figures: Collection[str],
    of_regions: Collection[str],
) -> tuple[list[Wanted], int]:
    """Return the figures to draw, and how many others exceed the limit.

    Figures of the whole come first, then figures of the regions, figure by figure.

    Parameters
    ----------
    figures, of_regions : collections of str
        Names of the figures of the whole and of the regions.
    """
    everything = list(_in_order(shown, variables, figures, of_regions))
    chosen = list(islice(everything, MOST))
    return chosen, len(everything) - len(chosen)


def _in_order(
    shown: Sequence[EvaluationUnit],
    variables: Sequence[Variable],
    figures: Collection[str],
    of_regions: Collection[str],
) -> Iterator[Wanted]:
    for whole, names in ((True, figures), (False, of_regions)):
        evaluation_units = [unit for unit in shown if (unit.level == "all") == whole]
        for name in dict.fromkeys(names):
            yield from (Wanted(unit, variable, name) for unit in evaluation_units for variable in variables)
