"""What is probably not meant in the input."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Suspicion:
    """One doubt: its kind, what it is about (a variable, or tiles), what was seen, and what to do if it is right.

    >>> print(Suspicion("constant variance", "AGB", "all 5000 pixels have 4", "map the variance itself"))
    AGB: constant variance: all 5000 pixels have 4; map the variance itself
    """

    kind: str
    about: str
    evidence: str
    remedy: str

    def __str__(self) -> str:
        """All of it in one line."""
        return f"{self.about}: {self.kind}: {self.evidence}; {self.remedy}"
