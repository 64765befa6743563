"""Where a run must not be worse than the first: `--fail-if-worse METRIC[:VARIABLE[:REGION]]`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from geouq.config import suggestion
from geouq.errors import ConfigError
from geouq.inference import judged
from geouq.metrics import METRICS, NOT_JUDGED
from geouq.tables import Row


@dataclass(frozen=True)
class Worse:
    """A run that is significantly worse than the first, or of which that cannot be told for a reason."""

    row: Row
    reason: str = ""

    def __str__(self) -> str:
        row = self.row
        what = " ".join(filter(None, (row["metric"], row["bins"], row["group"] and f"by {row['group']}")))
        where = f"{what} of {row['variable']} in {row['name']}"
        if self.reason:
            return f"whether {row['run']} is worse in {where} cannot be told: {self.reason}"
        return (
            f"{row['run']} is worse in {where}: {row['value']} instead of {row['baseline']}, difference "
            f"{row['difference']} ({row['ci_low']} to {row['ci_high']}), p = {row['p_adjusted']}"
        )


def worse(rows: Sequence[Row], wanted: Sequence[str], level: float) -> list[Worse]:
    """What fails of the numbers wanted; p-values are adjusted among those alone that one of `wanted` names.

    Raises ConfigError where one is not known, or where no value of it is better than another.
    """
    named = _named(rows)
    unjudged = [metric.name for metric in METRICS if metric.name in NOT_JUDGED]
    found: list[Worse] = []
    for one in wanted:
        if one not in named:
            near = [label for label in named if label.count(":") == one.count(":")] or list(named)
            raise ConfigError(f"--fail-if-worse {one}: there is no such number{suggestion(one, near)}")
        if any(one.split(":")[0].startswith(name) for name in unjudged):
            raise ConfigError(f"--fail-if-worse {one}: no value of {one} is better than another; name another metric")
        found += _failing(judged(named[one], level))
    return found


def _failing(rows: Sequence[Row]) -> Iterator[Worse]:
    for row in rows:
        if row["p_value"] is None:
            yield Worse(row, row["ci_method"])
        elif row["significant"] == "yes" and row["better"] not in ("", row["run"]):
            yield Worse(row)


def _named(rows: Sequence[Row]) -> Mapping[str, list[Row]]:
    """Rows by each text that names them; without a region they are those of the whole."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        labels = [f"{row['metric']}:{row['variable']}:{row['name']}"]
        if row["level"] == "all":
            labels += [row["metric"], f"{row['metric']}:{row['variable']}"]
        for label in labels:
            found.setdefault(label, []).append(row)
    return found
