"""Signs for findings, the same in tables, on the scorecard and in scripts."""

from collections.abc import Mapping

MARKS: Mapping[str, str] = {
    "over-confident": "▲",
    "under-confident": "▼",
    "over-prediction": "↑",
    "under-prediction": "↓",
    "errors larger than predicted": "△",
    "errors smaller than predicted": "▽",
    "covers too little": "△",
    "covers too much": "▽",
    "better": "✓",
    "worse": "✗",
}
HOLDS = "✓"  # no large effect
ELSEWHERE = "*"  # no significant effect in this tab, but one in another tab or in the shape of PIT
OPEN = "?"  # not conclusive
NOT_TESTED = "†"  # cannot be tested
