"""The sums of an evaluation unit, read again where they are needed: those of many regions and variables are large."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from geouq.regions import SUMS, EvaluationUnit
from geouq.runs.store import Part, SavedSummaries
from geouq.summary import RunningTotal, Summary


@dataclass(frozen=True, eq=False)
class SavedSums(Mapping[str, Summary]):
    """The summary of each variable in an evaluation unit, added up at each use from the saved summaries of its parts.

    Parts are added in the order in which they were first added, so that the sums have the same bits.
    """

    summaries: SavedSummaries
    parts: Sequence[Part]
    names: tuple[str, ...]

    def __getitem__(self, name: str) -> Summary:
        return self._summed((name,))[name]

    def all(self) -> dict[str, Summary]:
        """Return the summaries of all variables; each part is opened once."""
        return self._summed(self.names)

    def _summed(self, names: tuple[str, ...]) -> dict[str, Summary]:
        totals = {name: RunningTotal(self.summaries.levels) for name in names if name in self.names}
        some = totals if len(totals) == 1 else None  # several are read faster with all
        for part in self.parts:
            found = self.summaries.whole(part, some).variables
            for name, total in totals.items():
                total.add(found[name].whole)
        return {name: total.summary() for name, total in totals.items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def may_stay(regions: int, variables: int) -> bool:
    """Return whether the sums of so many regions and variables may stay in memory."""
    return regions * variables <= SUMS


def parts_of(unit: EvaluationUnit, zones: Mapping[str, Sequence[Part]], summaries: SavedSummaries) -> Sequence[Part]:
    """Return the parts of which an evaluation unit is made, one a tile."""
    return zones[unit.name] if unit.zone else [summaries.part(tile) for tile in unit.tiles]


def without_sums(unit: EvaluationUnit, parts: Sequence[Part], summaries: SavedSummaries) -> EvaluationUnit:
    """Return the evaluation unit, whose sums are read again when they are needed."""
    return replace(unit, variables=SavedSums(summaries, parts, tuple(unit.variables)))


def are_read_again(units: Sequence[EvaluationUnit]) -> bool:
    """Return whether the sums of some evaluation units are not in memory; such units are small."""
    return any(isinstance(unit.variables, SavedSums) for unit in units)


def sums_of(unit: EvaluationUnit) -> Mapping[str, Summary]:
    """Return the summaries of all variables of an evaluation unit; those that are not in memory are read once."""
    return unit.variables.all() if isinstance(unit.variables, SavedSums) else unit.variables


def of_variable(unit: EvaluationUnit, name: str) -> EvaluationUnit:
    """Return the evaluation unit with one variable, whose sums are not read for that."""
    own = unit.variables
    one = replace(own, names=(name,)) if isinstance(own, SavedSums) else {name: own[name]}
    return replace(unit, variables=one)
