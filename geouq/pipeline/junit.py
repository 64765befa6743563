"""JUnit XML for continuous integration: a test for each bound of a gate, each tile or item and each problem."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from geouq.core.atomic import write_text
from geouq.core.redaction import without_secrets

if TYPE_CHECKING:
    from geouq.pipeline.check import Checked
    from geouq.pipeline.results import Results

NOT_XML = "[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # compiled at its use, as that is slow


@dataclass(frozen=True)
class Case:
    """A test: what it tests, and why it failed.

    Parameters
    ----------
    name : str
        What is tested.
    message : str
        Why it failed; "" if it passed.
    error : bool
        Whether it could not be judged, as something is missing.
    """

    name: str
    message: str = ""
    error: bool = False


def cases_of_run(results: "Results", *, strict: bool) -> Iterator[Case]:
    """Yield a test for each bound of a gate, each tile or item that failed, and with `strict` each finding."""
    for gate in results.bounds:
        shown = "missing" if gate["value"] is None else f"{gate['value']:.6g}"
        reason = f": {gate['reason']}" if gate["reason"] else ""
        yield Case(gate["name"], "" if gate["passed"] else f"{gate['metric']} is {shown}{reason}")
    for failure in results.failures:
        yield Case(failure.subject, str(failure), error=True)
    for finding in results.findings if strict else ():
        yield Case("input check", finding)
    if not results.failures:
        yield Case("all tiles and items are evaluated")


def cases_of_check(found: "Checked", *, strict: bool) -> Iterator[Case]:
    """Yield a test for each problem, for each check that failed, and with `strict` for each finding."""
    for problem in found.problems:
        yield Case("configuration and headers", problem)
    for failure in found.failures:
        yield Case(failure.subject, str(failure), error=True)
    for finding in found.findings if strict else ():
        yield Case("input check", finding)
    if not (found.problems or found.failures):
        yield Case("all tiles can be evaluated")


def write_junit(suites: Sequence[tuple[str, Sequence[Case]]], path: Path) -> None:
    """Write suites of tests, each with its name."""
    from xml.etree import ElementTree as ET  # noqa: PLC0415  most commands write no such file

    every = [case for _, cases in suites for case in cases]
    root = ET.Element("testsuites", {"name": "geouq"} | _counts(every))
    for name, cases in suites:
        suite = ET.SubElement(root, "testsuite", {"name": _as_text(name)} | _counts(cases))
        for case in cases:
            own = ET.SubElement(suite, "testcase", classname=_as_text(name), name=_as_text(case.name))
            if case.message:
                kind = "error" if case.error else "failure"
                ET.SubElement(own, kind, message=_as_text(case.message)).text = _as_text(case.message)
    ET.indent(root)
    write_text(path, f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n')


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    failed = [case.error for case in cases if case.message]
    return {"tests": str(len(cases)), "failures": str(failed.count(False)), "errors": str(failed.count(True))}


def _as_text(text: str) -> str:
    """Return a text without credentials and without the characters that XML does not allow."""
    return re.sub(NOT_XML, "?", without_secrets(text))
