"""The page of mistakes in the documentation."""

from collections import Counter
from collections.abc import Sequence

from geouq.core.wording import markdown_escaped
from mistaken.outcomes import SILENT, Mistake, Outcome

BEGINNING = """# Mistakes and their messages

Each row has one mistake in a correct product of two tiles with mean, std and truth. The mistake is in the files or in
the configuration. The table shows the command that notices it first, and its message, which may be cut (...). A mistake
is *refused* if the map or a tile cannot be evaluated. It is *reported* if geouq warns, because some correct maps look
the same. `geouq check --deep` and `geouq run` examine more pixels than `geouq check`
([which](../explanation/checks.md)). `scripts/mistakes` writes the table, and a test makes each mistake.
"""


def page_of(found: Sequence[tuple[Mistake, Outcome]]) -> str:
    """Return the page in Markdown."""
    by = Counter(outcome.by for _, outcome in found)
    refused = sum(outcome.refused for _, outcome in found)
    silent = by.pop(SILENT, 0)
    counts = ", ".join(f"{name} {count}" for name, count in by.most_common())
    lines = [
        f"Of {len(found)} mistakes, {refused} are refused and {len(found) - refused - silent} are reported; first by"
    ]
    passed = f"{silent or 'None'} {'pass' if silent > 1 else 'passes'} without a word"
    lines[0] += f" {counts}. {passed}, where the product is calibrated but for the mistake."
    for group in dict.fromkeys(mistake.group for mistake, _ in found):
        lines += ["", f"## {group[0].upper()}{group[1:]}", "", "| mistake | noticed by | message |", "|---|---|---|"]
        lines += [row_of(mistake, outcome) for mistake, outcome in found if mistake.group == group]
    return f"{BEGINNING}\n" + "\n".join(lines) + "\n"


def row_of(mistake: Mistake, outcome: Outcome) -> str:
    """Return the row of a mistake."""
    how = f"{outcome.by}, {'refused' if outcome.refused else 'reported'}" if outcome.message else outcome.by
    return f"| {markdown_escaped(mistake.what)} | {how} | {markdown_escaped(outcome.message)} |"
