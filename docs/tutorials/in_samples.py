"""Copies the sample data and configurations to a new folder and changes to it; tutorials begin with it."""

import os
import shutil
import tempfile
from pathlib import Path

_root = Path(os.environ["GEOUQ_ROOT"])
_folder = Path(tempfile.mkdtemp())
for _name in ("configs", "data_samples"):
    shutil.copytree(_root / _name, _folder / _name)
os.chdir(_folder)
