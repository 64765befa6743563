"""Numbers and text as people read them: the digits that are certain, and nothing that a format takes for more."""

import math
import re
from collections.abc import Iterable

DECIMALS = 6  # beyond, numbers are written with powers of ten
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MOST_DIGITS = 4  # after the point, of numbers near an ideal
LATEX = {
    **{char: f"\\{char}" for char in "&%$#_{}"},
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
    '"': "\\textquotedbl{}",
}


def for_people(value: float | None) -> str:
    """Return a number with three significant digits, all of those before the point up to a million; n/a where missing.

    >>> for_people(0.123456), for_people(2400.0905), for_people(999.7), for_people(None)
    ('0.123', '2400', '1000', 'n/a')
    """
    if value is None:
        return "n/a"
    rounded = f"{value + 0.0:.3g}"  # no sign before a zero
    return f"{value:.0f}" if 1000 <= abs(float(rounded)) < 1e6 else rounded


def with_interval(value: float | None, low: float | None, high: float | None) -> str:
    """Return a number and its interval, all of them to the place of the second digit of the interval's width.

    Where one end is nearer, it is the width that would be if both were as near; that gives at most two digits more.

    >>> with_interval(1.23456, 1.10049, 1.36821), with_interval(-12345.6, -13000.0, -11000.0)
    ('1.23 [1.10, 1.37]', '-12300 [-13000, -11000]')
    >>> with_interval(2.93, 0.31, 31.2)
    '2.9 [0.3, 31.2]'
    >>> with_interval(0.5, None, None), with_interval(None, None, None)
    ('0.5', 'n/a')
    """
    if value is None or low is None or high is None or not 0 < high - low < math.inf:
        return for_people(value)
    nearer = min(value - low, high - value)
    span = max(2 * nearer, (high - low) / 100) if nearer > 0 else high - low
    place = math.floor(math.log10(span)) - 1
    own, lower, upper = (_to_place(number, place) for number in (value, low, high))
    return f"{own} [{lower}, {upper}]"


def _to_place(number: float, place: int) -> str:
    """Return a number rounded to a power of ten, written out where that is neither long nor small."""
    if not -DECIMALS <= place <= DECIMALS:
        digits = 0 if number == 0 else max(0, math.floor(math.log10(abs(number))) - place)
        return f"{number + 0.0:.{digits}e}"
    text = f"{round(number, -place):.{max(0, -place)}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def digits_from(least: int, ideal: float, numbers: Iterable[float]) -> int:
    """Return how many digits after the point show that numbers differ from an ideal; `least` at least.

    >>> digits_from(1, 90.0, [89.855, 89.974]), digits_from(0, 90.0, [72.0, 90.0])
    (2, 0)
    """
    others = [number for number in numbers if number != ideal]
    wanted = range(least, MOST_DIGITS)
    return next((n for n in wanted if all(round(other, n) != round(ideal, n) for other in others)), MOST_DIGITS)


def true_minus(text: str) -> str:
    """Return a number with a minus sign in place of a hyphen, and powers of ten as they are printed.

    >>> true_minus("-1.5") == "\N{MINUS SIGN}1.5"
    True
    >>> true_minus("1.94e+10") == "1.94\u00a0\N{MULTIPLICATION SIGN}\u00a010\N{SUPERSCRIPT ONE}\N{SUPERSCRIPT ZERO}"
    True
    """
    times = "\u00a0\N{MULTIPLICATION SIGN}\u00a010"
    if "e" in text:
        text = re.sub(r"e([+-]\d+)", lambda power: f"{times}{str(int(power[1])).translate(RAISED)}", text)
    return text.replace("-", "\N{MINUS SIGN}")


def minus_in_text(text: str) -> str:
    """Return a text with minus signs before numbers and between words, but not in names or dates.

    >>> minus_in_text("z = (truth - mean) / std, by -0.7 rows, 2020-01-31, tile-1").replace("\N{MINUS SIGN}", "~")
    'z = (truth ~ mean) / std, by ~0.7 rows, 2020-01-31, tile-1'
    """
    return re.sub(r"(?<![^\s(\[])-(?=\.?\d)|(?<=[\w)] )-(?= [\w(])", "\N{MINUS SIGN}", text)


def counted(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "tile"), counted(2, "tile")
    ('1 tile', '2 tiles')
    """
    return f"{count} {noun}" + ("" if count == 1 else "s")


def one_line(text: str) -> str:
    """Return the text without line breaks and other characters that do not print."""
    return "".join(char if char.isprintable() else " " for char in text)


def markdown_escaped(text: str) -> str:
    r"""Return the text that Markdown shows as it is, on one line.

    >>> print(markdown_escaped("a|b_c\nd"))
    a\|b\_c d
    """
    return re.sub(r"([\\`*_{}\[\]<>#!|~$&])", r"\\\1", one_line(text))


def latex_escaped(text: str) -> str:
    r"""Return the text that LaTeX sets as it is, on one line.

    >>> print(latex_escaped(r"50% of \x_1"))
    50\% of \textbackslash{}x\_1
    """
    return "".join(LATEX.get(char, char) for char in one_line(text))


def latex_numbers(text: str) -> str:
    r"""Return the numbers in LaTeX, with a minus where a hyphen would stand, and powers of ten.

    >>> print(latex_numbers("-1.5 [-2.0, -1.0]"), latex_numbers("2.5e-09"))
    $-$1.5 [$-$2.0, $-$1.0] 2.5$\times10^{-9}$
    """
    powers = re.sub(r"(?<=\d)e([+-]\d+)", lambda found: f"$\\times10^{{{int(found[1])}}}$", text)
    return re.sub(r"(?<![\w{])-(?=\d)", "$-$", powers)
