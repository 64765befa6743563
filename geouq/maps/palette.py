"""One colour map for each meaning, all of them told apart by colour-blind readers."""

from collections.abc import Sequence

Rgb = tuple[int, int, int]


def _rgb(*colours: str) -> tuple[Rgb, ...]:
    return tuple((int(c[:2], 16), int(c[2:4], 16), int(c[4:], 16)) for c in colours)


def hexadecimal(colour: Rgb) -> str:
    """Return a colour as #rrggbb."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


# RdBu, PuOr and YlOrBr of ColorBrewer (Harrower and Brewer 2003); viridis of matplotlib
SIGNED = _rgb("2166ac", "67a9cf", "d1e5f0", "f7f7f7", "fddbc7", "ef8a62", "b2182b")  # below, about, above
OVER_CONFIDENT_ABOVE = _rgb("542788", "998ec3", "d8daeb", "f7f7f7", "fee0b6", "f1a340", "b35806")
OVER_CONFIDENT_BELOW = OVER_CONFIDENT_ABOVE[::-1]
FAULT = _rgb("ffffe5", "fff7bc", "fee391", "fec44f", "fe9929", "cc4c02", "662506")  # from none to large
AMOUNT = _rgb("440154", "443a83", "31688e", "21908c", "35b779", "8fd744", "fde725")

NEUTRAL = _rgb("e0e0e0")[0]
# Okabe and Ito 2008, then two of Tol 2021
CODES = _rgb(
    "000000", "e69f00", "56b4e9", "009e73", "f0e442", "0072b2", "d55e00", "cc79a7", "882255", "999933"
)  # fmt: skip
MISSED, COVERED = _rgb("d55e00", "e0e0e0")


def colours_of_codes(codes: Sequence[str]) -> tuple[Rgb, ...]:
    """Return a colour for each code: what is as it should be is light grey.

    >>> [hexadecimal(colour) for colour in colours_of_codes(("missed", "covered"))]
    ['#d55e00', '#e0e0e0']
    >>> colours_of_codes(("wrong", "correct")) == colours_of_codes(("missed", "covered"))
    True
    """
    if tuple(codes) in (("missed", "covered"), ("wrong", "correct")):
        return MISSED, COVERED
    return NEUTRAL, *CODES[: len(codes) - 1]
