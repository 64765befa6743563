"""Copies the sample data and configurations to a new folder and changes to it; tutorials begin with it.

A command after `!` that fails then ends the tutorial, and with it the building of the site.
"""

import os
import shutil
import tempfile
from pathlib import Path

from IPython import get_ipython

_shell = get_ipython()
_system = _shell.system


def _checked(command: str) -> None:
    """Run a command, and raise an error if it fails."""
    _system(command)
    if code := _shell.user_ns["_exit_code"]:
        raise RuntimeError(f"{command} ended with {code}")


_shell.system = _checked
_root = Path(os.environ["GEOUQ_ROOT"])
_folder = Path(tempfile.mkdtemp())
for _name in ("configs", "data_samples"):
    shutil.copytree(_root / _name, _folder / _name)
os.chdir(_folder)
