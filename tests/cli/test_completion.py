"""Completion of commands and options in shells, as its page describes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "shell-completion.md"
PROGRAM = [sys.executable, "-m", "geouq"]


def completed(words, shell="bash"):
    """What is offered for the last word, a line each."""
    own = {"_GEOUQ_COMPLETE": f"{shell}_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    done = subprocess.run(PROGRAM, env=os.environ | own, capture_output=True, text=True, timeout=600, check=True)
    return {line.partition(",")[2] for line in done.stdout.splitlines()}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_on_the_page_is_printed(shell):
    (command,) = re.findall(rf"(_GEOUQ_COMPLETE={shell}_source) geouq >", PAGE.read_text(encoding="utf-8"))
    name, value = command.split("=")
    done = subprocess.run(
        PROGRAM, env=os.environ | {name: value}, capture_output=True, text=True, timeout=600, check=False
    )

    assert f"_GEOUQ_COMPLETE={shell}_complete" in done.stdout


def test_commands_and_options_are_completed():
    assert completed("geouq re") == {"report", "recalibrate"}
    assert {"--junit", "--strict", "--out"} <= completed("geouq run --")
