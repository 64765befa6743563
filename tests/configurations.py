"""Small configurations in files, and what is wrong with them."""

import pytest

from geouq.config import load_experiment
from geouq.core.errors import ConfigError

SMALLEST = """\
version: 1
name: x
data: {mean: "{tile}_m.tif", variance: "{tile}_v.tif", truth: "t/{tile}.tif"}
"""


def written(folder, text, name="x.yaml"):
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def loaded(folder, more=""):
    return load_experiment(written(folder, SMALLEST + more))


def faults(folder, text):
    """The lines of the error, without the folder."""
    with pytest.raises(ConfigError) as caught:
        load_experiment(written(folder, text))
    return [line.removeprefix(f"{folder}/") for line in str(caught.value).splitlines()]
