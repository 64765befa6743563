"""A file for each layer: words in names of files or folders say which, and the rest of the name is the tile."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from geouq.config.load import TODO
from geouq.starting.guess import Entry, Guess, layer
from geouq.starting.named_files import rasters
from geouq.starting.tiles import as_spelled, pattern_of, tile_names
from geouq.starting.words import NOISES, Mark, mark_of, truth_mark, without

SPREADS = ("variance", "std", "relative_std")
MEDIAN = "quantiles.0.5"
STANDARD_ERRORS = ("se", "stderr")  # not used if there is a std
Roles = Mapping[str, "Named"]  # files of a tile by layer; levels and numbers of members follow a dot


@dataclass(frozen=True)
class Named:
    """A file and what its name says: its layer ("" for none), with the word for it, and the rest of the name.

    folder : the names of the folders below the common one that are not words for layers.
    """

    path: str
    role: str
    mark: Mark | None
    key: str
    folder: str

    @property
    def is_weak(self) -> bool:
        """Return whether another file may be this layer."""
        return self.mark is None or self.mark.is_weak

    @property
    def why(self) -> str:
        """Return the reason for the layer."""
        if self.mark is None:
            return "its name is that of the other layer without the word for it"
        meaning = {"se": " (standard error)", "cv": " (relative std)", "pe": " (relative std)"}
        return f"named '{self.mark.text}'{meaning.get(self.mark.text.lower(), '')}"


def named(paths: Sequence[str]) -> list[Named]:
    """Return what the names of files say; folders that all of them have in common say nothing."""
    common = os.path.commonpath([PurePosixPath(path).parent for path in paths]) if len(paths) > 1 else ""
    return [_named(path, len(PurePosixPath(common).parts)) for path in paths]


def _named(path: str, common: int) -> Named:
    *folders, _ = PurePosixPath(path).parts[common:] or (path,)
    stem = PurePosixPath(path).stem
    own, above = mark_of(stem), [mark for folder in reversed(folders) if (mark := mark_of(folder))]
    strong = [mark for mark in (own, *above) if mark and not mark.is_weak]
    mark = next(filter(None, (*strong, own, *above)), None)
    true = truth_mark(stem) or next(filter(None, map(truth_mark, folders)), None)
    role = mark.role + (f".{mark.value}" if mark.value else "") if mark else ""
    if true:
        spread = own.role if own and not own.is_weak and own.text != stem else ""
        role = f"truth_{spread}" if f"truth_{spread}" in NOISES else "truth"
    rest = [folder for folder in folders if not (mark_of(folder) or truth_mark(folder))]
    return Named(path, role, true if role == "truth" else mark, without(stem, own), "_".join(rest))


def recognise(paths: Sequence[str]) -> Guess | None:
    """Return the layers, if the names of some files say which are a prediction with its uncertainty."""
    files = named(rasters(paths))
    by_key = _by_key(files)
    forms = Counter(form for roles in by_key.values() if (form := _form_of(roles)))
    if not forms:
        return None
    form, _ = forms.most_common(1)[0]
    complete = {key: roles for key, roles in by_key.items() if set(form) <= roles.keys()}
    return _guess(form, complete)


def recognise_incomplete(paths: Sequence[str]) -> Guess | None:
    """Return a mean or a spread alone, with TODO for the other one."""
    by_key = _by_key(named(rasters(paths)))
    for role in ("mean", *SPREADS):
        own = {key: roles for key, roles in by_key.items() if role in roles}
        if own and (guess := _guess((role,), own)):
            other, words = ("std", "sd, std, se, variance or cv") if role == "mean" else ("mean", "mean or map")
            missing = Entry(TODO, f"no file of the same name with {words}: write its path")
            layers = {**guess.layers, other: missing}
            return replace(guess, layers={key: layers[key] for key in sorted(layers, key=lambda key: key != "mean")})
    return None


def _by_key(files: Sequence[Named]) -> dict[str, dict[str, Named]]:
    """Return the files of each tile by layer; where names repeat, folders belong to the name of the tile."""
    files = list(files)
    listed = sorted(
        (one for one in files if one.role and not one.role.startswith("truth")),
        key=lambda own: (own.is_weak, own.mark is not None and own.mark.text.lower() in STANDARD_ERRORS),
    )
    found, repeated = _together(listed, with_folders=False)
    if repeated:
        found, _ = _together(listed, with_folders=True)
    for one in (one for one in files if not one.role):
        found.get(_key(one, one.key, with_folders=repeated), {}).setdefault("", one)
    for own in found.values():
        mean = own.pop("", None) or own.get(MEDIAN)
        if mean and "mean" not in own and own.keys() & {*SPREADS, "lower"}:
            own["mean"] = mean
    return found


def _together(listed: Iterable[Named], *, with_folders: bool) -> tuple[dict[str, dict[str, Named]], bool]:
    """Return the files of each tile by layer, and whether two files are one layer of a tile."""
    found: dict[str, dict[str, Named]] = {}
    repeated = False
    for one in listed:
        key = _key(one, one.key, with_folders=with_folders)
        if one.is_weak:
            key = _key_of_weak(one, found, key, with_folders=with_folders)
        repeated |= one.role in found.get(key, {}) and not one.is_weak
        found.setdefault(key, {}).setdefault(one.role, one)
    return found, repeated


def _key(one: Named, name: str, *, with_folders: bool) -> str:
    return "_".join(filter(None, (one.folder, name))) if with_folders else name


def _key_of_weak(one: Named, found: Mapping[str, object], key: str, *, with_folders: bool) -> str:
    """Return the key with the weak word, where other files have it in their names too, as in X_Map and X_Map_SD."""
    whole = _key(one, without(PurePosixPath(one.path).stem, None), with_folders=with_folders)
    return whole if whole in found else key


def _form_of(roles: Roles) -> tuple[str, ...]:
    """Return the layers of the prediction; none where they do not make one."""
    strong = {role for role, one in roles.items() if not one.is_weak}
    levels = sorted((role for role in strong if role.startswith("quantiles.")), key=_number)
    members = sorted((role for role in strong if role.startswith("members.")), key=_number)
    if "mean" in roles and (spread := next((one for one in SPREADS if one in strong), "")):
        return ("mean", spread)
    if len(levels) > 2 or (len(levels) == 2 and "mean" not in roles):
        return tuple(levels)
    if "mean" in roles and len(levels) == 2:
        return ("mean", *levels)
    if {"mean", "lower", "upper"} <= roles.keys():
        return ("mean", "lower", "upper")
    if len(members) > 1:
        return tuple(members)
    return ("mean", "std") if {"mean", "std"} <= roles.keys() else ()


def _number(role: str) -> float:
    return float(role.partition(".")[2])


def _guess(form: tuple[str, ...], complete: Mapping[str, Roles]) -> Guess | None:
    """Return the layers of the tiles that have all of them."""
    names = {key: as_spelled(tile, complete[key][form[0]].path) for key, tile in tile_names(list(complete)).items()}
    patterns = {role: pattern_of({names[key]: [own[role].path] for key, own in complete.items()}) for role in form}
    first = next(iter(complete))
    tiles = tuple(tile for tile in names.values() if all(tile in covered for _, covered in patterns.values()))
    if not tiles:
        if len(complete) > 1:
            return None
        patterns = {role: (complete[first][role].path, ()) for role in form}
    key = next((key for key, tile in names.items() if tile in tiles), first)
    found = {role: Entry({"path": patterns[role][0]}, complete[key][role].why) for role in form}
    guess = Guess("a file for each layer", tiles, names[key] if tiles else "", found)
    return _with_form(guess, complete[key])


def _with_form(guess: Guess, roles: Roles) -> Guess:
    """Return the guess with the keys that intervals, quantiles and members have."""
    levels = [role for role in guess.layers if role.startswith("quantiles.")]
    members = [role for role in guess.layers if role.startswith("members.")]
    if len(levels) == 2 and "mean" in guess.layers:
        return as_interval(guess, levels)
    if "lower" in guess.layers:
        return with_data(guess, {"level": Entry(TODO, "level of the interval, such as 0.9")})
    if members:
        return _as_members(guess, members, roles)
    also = sorted((role for role in roles if role.startswith("quantiles.") and role not in guess.layers), key=_number)
    note = f"quantiles {', '.join(role.partition('.')[2] for role in also)} are there too; this does not use them"
    return with_notes(guess, [note] if also else [])


def with_data(guess: Guess, data: Mapping[str, Entry]) -> Guess:
    """Return the guess with more keys of data."""
    return replace(guess, data={**guess.data, **data})


def with_notes(guess: Guess, notes: Sequence[str]) -> Guess:
    """Return the guess with more notes."""
    return replace(guess, notes=(*guess.notes, *notes))


def as_interval(guess: Guess, levels: Sequence[str]) -> Guess:
    """Return a mean with two quantiles as an interval, if they are as far from 0.5; as quantiles alone if not."""
    low, high = map(_number, levels)
    others = {role: entry for role, entry in guess.layers.items() if role not in levels}
    if abs(low + high - 1) > 1e-9:
        return replace(guess, layers={role: guess.layers[role] for role in levels})
    ends = {"lower": guess.layers[levels[0]], "upper": guess.layers[levels[1]]}
    level = Entry(round(high - low, 6), f"between the quantiles {low:g} and {high:g}")
    return with_data(replace(guess, layers={**others, **ends}), {"level": level})


def _as_members(guess: Guess, members: Sequence[str], roles: Roles) -> Guess:
    """Return members in files of their own as one path with {member}."""
    first, mark = guess.layers[members[0]].value["path"], roles[members[0]].mark
    number = members[0].partition(".")[2]
    word = mark.text if mark else number
    before, _, after = first.rpartition(word)
    path = f"{before}{word[: len(word) - len(number)]}{{member}}{after}"
    why = f"{len(members)} members, from '{word}' on"
    return replace(guess, layers={"members": layer(path, why)}, member=number)
