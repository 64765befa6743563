"""Where a run must not be worse than the first: `--fail-if-worse METRIC[:VARIABLE[:REGION]]`."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from geouq.config import quoted, suggestion
from geouq.errors import ConfigError
from geouq.inference import judged
from geouq.metrics import Metric, is_judged
from geouq.tables.rows import Row

MetricsOf = Mapping[str, Mapping[str, Metric]]


@dataclass(frozen=True)
class Bound:
    """A number in which no run may be worse; an empty variable stands for all of them."""

    metric: str
    variable: str = ""
    region: str = "all"

    def is_about(self, row: Row) -> bool:
        """Whether a row of the comparison is of this number."""
        of_variable = not self.variable or row["variable"] == self.variable
        return of_variable and (row["metric"], row["name"]) == (self.metric, self.region)


@dataclass(frozen=True)
class Worse:
    """A run that is significantly worse than the first, or for which this is not known, for a reason."""

    row: Row
    reason: str = ""

    def __str__(self) -> str:
        row = self.row
        what = " ".join(filter(None, (row["metric"], row["bins"], row["group"] and f"by {row['group']}")))
        where = f"{what} of {row['variable']} in {row['name']}"
        if self.reason:
            return f"it is not known whether {row['run']} is worse in {where}: {self.reason}"
        return (
            f"{row['run']} is worse in {where}: {row['value']} instead of {row['baseline']}, difference "
            f"{row['difference']} ({row['ci_low']} to {row['ci_high']}), p = {row['p_adjusted']}"
        )


def bound_of(written: str, metrics_of: MetricsOf, regions: Collection[str]) -> Bound:
    """Return the number that METRIC, METRIC:VARIABLE or METRIC:VARIABLE:REGION names; names may hold colons.

    metrics_of : by variable, the metrics that there are by name. Raises ConfigError where a part is not known, or where
    no value of the metric is better than another.
    """
    metric, _, rest = written.partition(":")
    variable = next((v for v in sorted(metrics_of, key=len, reverse=True) if f"{rest}:".startswith(f"{v}:")), "")
    region = rest.removeprefix(variable).removeprefix(":") or "all"
    known = {name: own for of in metrics_of for name, own in metrics_of[of].items() if variable in ("", of)}
    wrong = ""
    if metric not in known:
        of = f" of {variable}" if variable else ""
        wrong = f"there is no metric {quoted(metric)}{of}{suggestion(metric, known)}"
    elif not is_judged(known[metric]):
        wrong = f"no value of {metric} is better than another; name another metric, such as crps"
    elif rest and not variable:
        name = rest.split(":")[0]
        wrong = f"there is no variable {quoted(name)} in all runs{suggestion(name, metrics_of)}"
    elif region not in regions:
        wrong = f"there is no region {quoted(region)} in all runs{suggestion(region, regions)}"
    if wrong:
        raise ConfigError(f"--fail-if-worse {written}: {wrong}")
    return Bound(metric, variable, region)


def worse(rows: Sequence[Row], bounds: Sequence[Bound], level: float) -> list[Worse]:
    """Return what fails of the numbers bounded; p-values are adjusted among those alone that one bound names."""
    return [one for bound in bounds for one in _failing(judged([row for row in rows if bound.is_about(row)], level))]


def _failing(rows: Sequence[Row]) -> Iterator[Worse]:
    for row in rows:
        if row["p_value"] is None:
            yield Worse(row, row["ci_method"])
        elif row["significant"] == "yes" and row["better"] not in ("", row["run"]):
            yield Worse(row)
