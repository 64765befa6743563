"""The pages of the site: each stands in one list, and tutorials call what exists."""

import re
import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LISTS = [DOCS / "index.md", *sorted(DOCS.glob("*/index.md"))]
PAGES = sorted({*DOCS.glob("*/*.md")} - set(LISTS))


def listed(index):
    """Return the pages that a list names, without their ending."""
    (body,) = re.findall(r"```\{toctree\}\n(?::.*\n)+\n((?:.+\n)+)```", index.read_text(encoding="utf-8"))
    return [(index.parent / name).resolve() for name in body.split()]


def test_each_page_is_in_one_list():
    found = [page for index in LISTS for page in listed(index)]

    assert len(found) == len(set(found))
    assert {page.with_suffix("") for page in (*PAGES, *LISTS[1:])} <= set(found)
    assert all(page.with_suffix(".md").is_file() for page in found)


@pytest.mark.parametrize("page", sorted(DOCS.glob("tutorials/*.md")), ids=lambda page: page.stem)
def test_tutorials_begin_with_a_title_and_end_with_where_to_go(page):
    text = re.sub(r"\A---\n.*?\n---\n\n", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)

    assert text.startswith("# ")
    assert page.stem == "index" or re.search(r"\]\(\.\./[\w/.-]+\.md", text.splitlines()[-1] + text.splitlines()[-3])


def test_a_command_that_fails_ends_a_tutorial(monkeypatch):
    ran, shell = [], SimpleNamespace(user_ns={})

    def system(command):
        ran.append(command)
        shell.user_ns["_exit_code"] = int(command == "false")

    shell.system = system
    notebook = ModuleType("IPython")
    notebook.get_ipython = lambda: shell
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setenv("GEOUQ_ROOT", str(ROOT))
    monkeypatch.chdir(ROOT)  # the script changes it, and this changes it back

    runpy.run_path(str(DOCS / "tutorials" / "in_samples.py"))

    shell.system("true")
    with pytest.raises(RuntimeError, match="false ended with 1"):
        shell.system("false")
    assert ran == ["true", "false"]
