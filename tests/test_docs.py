"""What the pages say is so: the table is that of the registry, and examples print what they show."""

import contextlib
import io
import re
from pathlib import Path

from geouq.metrics.registry import as_markdown

METRICS = (Path(__file__).parents[1] / "docs" / "metrics.md").read_text(encoding="utf-8")


def test_the_table_is_that_of_the_registry():
    _, _, rest = METRICS.partition("<!-- metrics: generated from geouq.metrics.registry -->\n")
    assert rest.partition("<!-- end of metrics -->")[0] == as_markdown()


def test_the_example_prints_what_is_shown():
    (code,), (shown,) = (re.findall(rf"```{kind}\n(.*?)```", METRICS, re.DOTALL) for kind in ("python", "text"))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})  # noqa: S102  a page of ours
    assert printed.getvalue() == shown
