#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.10.14"]
# ///
"""The tasks of ./scripts for users of nox: `nox -l` lists them. Each script sets up its own environment."""

import nox

nox.needs_version = ">=2025.10.14"
nox.options.default_venv_backend = "none"

TASKS = {
    "demo": "Evaluate the sample data.",
    "check": "Check format, lint, types and spelling.",
    "test": "Run the tests.",
    "versions": "Run quick tests with the lowest and the newest dependencies on each Python.",
    "docs": "Build the site of the documentation.",
    "package": "Build wheel and source distribution, and check them.",
    "benchmark": "Measure the speed.",
    "reference": "Write the generated parts of the documentation.",
}
DEFAULT = ("check", "test")


def add_task(name: str, about: str) -> None:
    """Add a task that runs a script, with the arguments after `--`."""

    def task(session: nox.Session) -> None:
        session.run(f"./scripts/{name}", *session.posargs, external=True)

    task.__doc__ = about
    nox.session(name=name, default=name in DEFAULT)(task)


for each, text in TASKS.items():
    add_task(each, text)

if __name__ == "__main__":
    nox.main()
