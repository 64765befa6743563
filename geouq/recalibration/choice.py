"""Which correction is best: the lowest score of what it delivers, unless it makes something else worse."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from geouq.metrics import named
from geouq.recalibration.corrections import Unchanged
from geouq.recalibration.delivered import SCORE
from geouq.tables.rows import Row
from geouq.text.wording import for_people

TITLE = "mean pinball loss"


@dataclass(frozen=True)
class Best:
    """The best method of a variable, by the score of what it delivers out of fold, and the second best.

    judge : on what it is judged. before, row : score without correction; the row of its score. next : row of the second
    best, or of the first where none is better. refused : by method, what it makes worse.
    """

    variable: str
    method: str
    judge: str
    before: float
    row: Row | None = None
    next: Row | None = None
    refused: Mapping[str, str] | None = None

    def sentence(self) -> str:
        """Return what is best and by how much, and which methods are refused."""
        return f"{self._chosen()}{self._next()}{self._refused()}"

    def _chosen(self) -> str:
        if self.row is None:
            return (
                f"{self.variable}: no method is better than the forecast as it is, {TITLE} {for_people(self.before)}, "
                f"by {self.judge}"
            )
        row, share = self.row, self.row["difference"] / self.before
        interval = ""
        if row["ci_low"] is not None:
            interval = f", {for_people(row['ci_low'])} to {for_people(row['ci_high'])}"
        return (
            f"{self.variable}: {self.method}, {TITLE} {for_people(row['after'])} instead of {for_people(self.before)} "
            f"({share:+.1%}: {for_people(row['difference'])}{interval}) by {self.judge}"
        )

    def _next(self) -> str:
        if self.next is None:
            return ""
        which = "nearest" if self.row is None else "next"
        return f"; {which} is {self.next['method']} with {for_people(self.next['after'])}"

    def _refused(self) -> str:
        each = [f"{method}, which worsens {what}" for method, what in (self.refused or {}).items()]
        return f"; refused: {'; '.join(each)}" if each else ""


def best_of(rows: Sequence[Row], variable: str, judge: str) -> Best | None:
    """Return the method with the lowest score of all tiles out of fold; None where no method of it has a score.

    A method that worsens NLL, an interval score or ENCE beyond chance is refused, however low its score is.
    """
    own = [row for row in rows if (row["level"], row["variable"], row["judged"]) == ("all", variable, judge)]
    scored = [row for row in own if row["metric"] == SCORE and row["difference"] is not None]
    if not scored:
        return None
    refused = {row["method"]: worse for row in scored if (worse := ", ".join(_worse(own, row["method"])))}
    allowed = sorted((row for row in scored if row["method"] not in refused), key=itemgetter("after"))
    better = [row for row in allowed if row["difference"] < 0]
    before = float(scored[0]["before"])
    if not better:
        return Best(variable, Unchanged.method, judge, before, None, next(iter(allowed), None), refused)
    return Best(variable, better[0]["method"], judge, before, better[0], next(iter(allowed[1:]), None), refused)


def _worse(rows: Sequence[Row], method: str) -> Iterator[str]:
    """Return what a method makes worse beyond chance; where chance is not known, whatever it makes worse."""
    for row in rows:
        if row["method"] != method or not _is_guarded(row["metric"]) or row["better"] != "before":
            continue
        low, high = row["ci_low"], row["ci_high"]
        if low is None or high is None or low > 0 or high < 0:
            yield f"{row['metric']} ({for_people(row['before'])} to {for_people(row['after'])})"


def _is_guarded(name: str) -> bool:
    """Whether a winner must not make a number worse."""
    found = named(name)
    return found is not None and found[0].is_guarded
