"""Words in names of files, folders, bands and arrays that say which layer it is."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

WORDS = {
    "mean": ("mean", "mu", "avg", "average"),
    "variance": ("variance", "var"),
    "std": ("std", "sd", "sigma", "stdev", "stddev", "se", "stderr"),
    "relative_std": ("cv", "pe", "rse", "rsd"),
    "lower": ("lower", "lwr", "lcl", "lci", "lo"),
    "upper": ("upper", "upr", "ucl", "uci", "hi"),
    "truth": (
        *("truth", "true", "ref", "reference", "lidar", "als", "gedi", "obs", "observed", "observation"),
        *("observations", "gt", "groundtruth", "insitu", "target", "targets", "label", "labels", "measured"),
    ),
    "mask": ("mask",),
    "members": ("members", "ensemble"),
    "quantiles": ("quantiles",),
    "probabilities": ("prob", "probs", "proba", "probability", "probabilities", "softmax"),
}
WEAK = {  # that count where no other word says which layer it is
    "mean": ("pred", "prediction", "predictions", "predicted", "map", "agb", "estimate"),
    "std": ("unc", "uncertainty", "uncertainties"),
}
NOISES = {f"truth_{role}": role for role in ("std", "variance", "relative_std")}
ROLE = {word: role for role, words in WORDS.items() for word in words}
WEAK_ROLE = {word: role for role, words in WEAK.items() for word in words}
AMBIGUOUS = ("se", "pe", "mu", "lo", "hi")  # that may be the name of a tile, as the first word
CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
IN_CAMEL_CASE = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
TOKEN = re.compile(r"[^\W_]+")
ALONE = r"(?<![^\W_]){}(?![^\W_])"
LEVEL = re.compile(ALONE.format(r"(?:median|(?:q|p|quantile[_-]?|perc(?:entile)?[_-]?)(\d+(?:\.\d+)?))"), re.IGNORECASE)
MEMBER = re.compile(
    ALONE.format(r"(?:m|mem|member|ens|real|realization|realisation|run|sim|draw)[_-]?(\d+)"), re.IGNORECASE
)


@dataclass(frozen=True)
class Mark:
    """A word for a layer, and where it stands; value : the level of a quantile, or the number of a member."""

    role: str
    text: str
    start: int
    end: int
    value: str = ""
    is_weak: bool = False


def mark_of(text: str) -> Mark | None:
    """Return the word in a name that says which layer it is; None where none does.

    The last plain word counts, then a level or the number of a member, then a word such as `prediction`.

    >>> [mark.role for name in ("e1_pred_std", "SE_mean", "t1_Q0.05", "t1_m03", "e1_map") if (mark := mark_of(name))]
    ['std', 'mean', 'quantiles', 'members', 'mean']
    >>> mark_of("meanHeight").role, mark_of("heightSD").role
    ('mean', 'std')
    >>> mark_of("e1")
    """
    plain = [mark for mark in _words(text) if not mark.is_weak and mark.role != "truth"]
    for marks in (plain, list(_numbered(text)), [mark for mark in _words(text) if mark.is_weak]):
        if marks:
            return marks[-1]
    return None


def truth_mark(text: str) -> Mark | None:
    """Return the word for the truth in a name, None where there is none."""
    return next((mark for mark in _words(text) if mark.role == "truth"), None)


def _words(text: str) -> Iterator[Mark]:
    for token in TOKEN.finditer(text):
        word = token[0].lower()
        if word in AMBIGUOUS and token.start() == 0 and token[0] != text:
            continue
        if role := ROLE.get(word) or WEAK_ROLE.get(word):
            yield Mark(role, token[0], *token.span(), is_weak=word in WEAK_ROLE)
        else:
            yield from _in_camel_case(token[0], token.start())


def _in_camel_case(token: str, first: int) -> Iterator[Mark]:
    """Yield the words for layers in a token such as meanHeight or heightSD."""
    for part in CAMEL.finditer(token) if IN_CAMEL_CASE.search(token) else ():
        word = part[0].lower()
        role = None if word in AMBIGUOUS or part[0] == token else ROLE.get(word)
        if role:
            yield Mark(role, part[0], first + part.start(), first + part.end())


def camel_parts(word: str) -> list[str]:
    """Return the parts of a word in camel case, if one of them is a word for a layer; otherwise the word.

    >>> camel_parts("stdHeight"), camel_parts("AGBMean"), camel_parts("CanopyHeight")
    (['std', 'Height'], ['AGB', 'Mean'], ['CanopyHeight'])
    """
    return CAMEL.findall(word) if any(_in_camel_case(word, 0)) else [word]


def _numbered(text: str) -> Iterator[Mark]:
    """Yield the numbers of members, then the levels of quantiles."""
    yield from (Mark("members", found[0], *found.span(), found[1]) for found in MEMBER.finditer(text))
    for found in LEVEL.finditer(text):
        level = _level(found[1])
        if 0 < level < 1:
            yield Mark("quantiles", found[0], *found.span(), f"{level:g}")


def _level(digits: str | None) -> float:
    """Return the level that digits mean; that of the median where there are none.

    >>> [_level(digits) for digits in ("0.05", "05", "5", "95", "975", "025", None)]
    [0.05, 0.05, 0.05, 0.95, 0.975, 0.025, 0.5]
    """
    if digits is None:
        return 0.5
    if "." in digits:
        number = float(digits)
        return number if number < 1 else number / 100
    return 1.0 if digits == "100" else int(digits) / 10 ** max(2, len(digits))


def tokens(text: str) -> list[str]:
    """Return the words and numbers of a text."""
    return TOKEN.findall(text)


def without(text: str, mark: Mark | None) -> str:
    """Return a name without a word, its words joined by _.

    >>> without("L4-AGB_SD-100m", mark_of("L4-AGB_SD-100m"))
    'L4_AGB_100m'
    """
    rest = text if mark is None else f"{text[: mark.start]} {text[mark.end :]}"
    return "_".join(tokens(rest))
