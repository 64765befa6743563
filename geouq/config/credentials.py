"""Where a configuration may hold credentials: in the addresses of rasters and vectors, and nowhere else.

Every other text, such as the name of a region, is written to tables, figures and names of files.
"""

from collections.abc import Iterator

from geouq.config.validation_errors import Fault, Steps
from geouq.config.yaml_text import Written
from geouq.text.redaction import holds_secret

_ADDRESSES = ("data", "models", "reference_mean")
_OF_REGIONS = ("polygons", "classes", "where")
_MESSAGE = (
    "holds what looks like a password, a token or a signed query, which would be written to tables and names of files; "
    "write it in the path of a layer, or give it in the environment, such as GDAL_HTTP_BEARER"
)


def faults_of_credentials(root: Written) -> list[Fault]:
    """Return a fault for each text with credentials that is not an address."""
    return [root.fault(steps, _MESSAGE) for steps in _places(root, ())]


def _places(node: Written, steps: Steps) -> Iterator[Steps]:
    if isinstance(node.value, dict):
        for key, entry in node.value.items():
            if holds_secret(key):
                yield steps
            yield from _places(entry, (*steps, key))
    elif isinstance(node.value, list):
        for i, entry in enumerate(node.value):
            yield from _places(entry, (*steps, i))
    elif node.value and not _is_address(steps) and holds_secret(node.value):
        yield steps


def _is_address(steps: Steps) -> bool:
    return steps[:1] in {(key,) for key in _ADDRESSES} or (steps[:1] == ("regions",) and steps[-1] in _OF_REGIONS)
