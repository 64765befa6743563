"""Find the members of an ensemble, the values of {member}: each is a file or a label of an array."""

import glob
import os
import re
from collections.abc import Container, Sequence
from contextlib import suppress

from geouq.config import Experiment, FormData
from geouq.config.layer_file import ARRAY, array_in_name, is_array, whole_array
from geouq.config.values import MEMBER, TILE, TIME
from geouq.core.errors import DataError

NAME = f"[^{re.escape(os.sep)}]+?"
NAMES = {"tile": NAME, "time": NAME, "member": "[A-Za-z0-9-]+"}


def with_members(experiment: Experiment) -> Experiment:
    """Return the experiment with the names of its members; as it is where they are given, or bands of one file.

    They are in the order of their names, numbers by their values.
    """
    data = experiment.data
    if not isinstance(data, FormData) or data.members is None or data.in_bands or data.member_names:
        return experiment
    patterns, tiles = [own.members or "" for own in experiment.forms.values()], experiment.tile_names
    found = (_labels(own, tiles) if is_array(own) else _names(own) for own in patterns)
    names = tuple(sorted(set().union(*found), key=_order))
    known = names or ("1", "2")  # of no file at all the catalog tells
    return experiment.model_copy(update={"data": data.model_copy(update={"member_names": known})})


def _order(name: str) -> tuple[int, str]:
    return (len(name), name) if name.isdecimal() else (0, name)


def _labels(pattern: str, tiles: Sequence[str] | None) -> set[str]:
    """Return the labels of the members along their dimension, in any file of these tiles, or in any that is there.

    A file without the array is left out: it belongs to another layer, or its tile fails.
    """
    whole, member = whole_array(pattern)
    file, name = array_in_name(whole)
    found = set[str]()
    for path in _files(file, tiles):
        with suppress(DataError):
            found |= _labels_in(f'{ARRAY}:"{path}":{name}', member)
    return found


def _files(file: str, tiles: Sequence[str] | None) -> list[str]:
    if tiles is not None and TIME not in file:
        return [file.replace(TILE, tile) for tile in tiles]
    return glob.glob(glob.escape(file).replace(TILE, "*").replace(TIME, "*"))  # noqa: PTH207  the pattern is absolute


def _labels_in(path: str, dimensions: Container[str]) -> set[str]:
    from geouq.rasters.arrays import array_header  # noqa: PLC0415  xarray is loaded where an array is read

    layout = array_header(path).array
    steps = layout.steps if layout else ()
    along = (one for one in steps if one.dimension in dimensions or one.role in dimensions)
    return {label.text for one in along for label in one.labels}


def _names(pattern: str) -> set[str]:
    parts = re.split(r"(\{tile\}|\{member\}|\{time\})", pattern)
    seen, regex = set[str](), ""
    for part in parts:
        name = part.strip("{}")
        if part not in (TILE, MEMBER, TIME):
            regex += re.escape(part)
        elif name in seen:
            regex += f"(?P={name})"
        else:
            seen.add(name)
            regex += f"(?P<{name}>{NAMES[name]})"
    wanted = re.compile(regex)
    listed = glob.escape(pattern).replace(TILE, "*").replace(MEMBER, "*").replace(TIME, "*")
    found = (wanted.fullmatch(path) for path in glob.iglob(listed))  # noqa: PTH207  the pattern is absolute
    return {match["member"] for match in found if match}
