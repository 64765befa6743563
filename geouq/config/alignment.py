"""How a layer may be brought to the grid of the mean, and which layers may."""

from typing import Literal, get_args

Alignment = Literal["average", "bilinear", "nearest"]
ALIGNMENTS: tuple[Alignment, ...] = get_args(Alignment)

CODES = ("mask", "classes")  # averages and interpolated values of codes have no meaning
AVERAGED = ("truth", "weights", "covariates")
OF_SPREAD = (
    *("variance", "std", "relative_std", "lower", "upper"),
    *("truth_variance", "truth_std", "truth_relative_std"),
)


def problem_of_alignment(align: Alignment | None, layer: str) -> str | None:
    """Return why a layer cannot be brought to another grid in this way; None where it can.

    >>> problem_of_alignment("average", "mask")
    'codes cannot be averaged; write nearest'
    >>> problem_of_alignment("average", "truth")
    """
    if align is None:
        return None
    if layer in CODES:
        return None if align == "nearest" else f"codes cannot be {_DONE[align]}; write nearest"
    if layer in OF_SPREAD:
        return _OF_A_MEAN if align == "average" else None
    return None if layer in AVERAGED else _GIVES_THE_GRID


_DONE = {"average": "averaged", "bilinear": "interpolated"}
_OF_A_MEAN = (
    "the uncertainty of an average is not the average of the uncertainties, as it depends on how errors are "
    "correlated; write nearest or bilinear for a file of larger pixels"
)
_GIVES_THE_GRID = "predictions define the grid; align the other layers"
