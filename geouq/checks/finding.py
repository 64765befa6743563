"""What an input check reports."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One finding of an input check.

    Parameters
    ----------
    kind : what is probably wrong
    about : a variable, or tiles
    evidence : what was found
    remedy : what to do if it is right

    Examples
    --------
    >>> print(Finding("constant variance", "AGB", "all 5000 pixels have 4", "map the variance itself"))
    AGB: constant variance: all 5000 pixels have 4; map the variance itself
    """

    kind: str
    about: str
    evidence: str
    remedy: str

    def __str__(self) -> str:
        """Return all of it in one line."""
        return f"{self.about}: {self.kind}: {self.evidence}; {self.remedy}"
