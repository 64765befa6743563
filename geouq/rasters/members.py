"""Find the members of an ensemble, the values of {member}: each is a file or a label of an array."""

import glob
import os
import re

from geouq.config import Experiment, FormData
from geouq.config.layer_file import ARRAY, array_in_name, is_array, whole_array
from geouq.config.values import MEMBER, TILE

NAMES = {"tile": f"[^{re.escape(os.sep)}]+?", "member": "[A-Za-z0-9-]+"}


def with_members(experiment: Experiment) -> Experiment:
    """Return the experiment with the names of its members; as it is where they are given, or bands of one file.

    They are in the order of their names, numbers by their values.
    """
    data = experiment.data
    if not isinstance(data, FormData) or data.members is None or data.in_bands or data.member_names:
        return experiment
    patterns = [own.members or "" for own in experiment.forms.values()]
    names = tuple(sorted(set().union(*(_labels(p) if is_array(p) else _names(p) for p in patterns)), key=_order))
    found = names or ("1", "2")  # of no file at all the catalog tells
    return experiment.model_copy(update={"data": data.model_copy(update={"member_names": found})})


def _order(name: str) -> tuple[int, str]:
    return (len(name), name) if name.isdecimal() else (0, name)


def _labels(pattern: str) -> set[str]:
    """Return the labels of the members along their dimension, in the first of the files."""
    from geouq.rasters.arrays import array_header  # noqa: PLC0415  xarray is loaded where an array is read

    whole, member = whole_array(pattern)
    file, name = array_in_name(whole)
    found = sorted(glob.iglob(glob.escape(file).replace(TILE, "*")))  # noqa: PTH207  the pattern is absolute
    if not found:
        return set()
    layout = array_header(f'{ARRAY}:"{found[0]}":{name}').array
    steps = layout.steps if layout else ()
    return {label.text for one in steps if {one.dimension, one.role} & member.keys() for label in one.labels}


def _names(pattern: str) -> set[str]:
    parts = re.split(r"(\{tile\}|\{member\})", pattern)
    seen, regex = set[str](), ""
    for part in parts:
        name = part.strip("{}")
        if part not in (TILE, MEMBER):
            regex += re.escape(part)
        elif name in seen:
            regex += f"(?P={name})"
        else:
            seen.add(name)
            regex += f"(?P<{name}>{NAMES[name]})"
    wanted = re.compile(regex)
    listed = glob.escape(pattern).replace("{tile}", "*").replace("{member}", "*")
    found = (wanted.fullmatch(path) for path in glob.iglob(listed))  # noqa: PTH207  the pattern is absolute
    return {match["member"] for match in found if match}
