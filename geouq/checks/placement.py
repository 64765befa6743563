"""Checks of where pixels lie: flipped axes, tiles that overlap, and predictions some pixels, or a half, off the truth.

The place of the greatest correlation says little where fields are smooth: there, it depends on errors that vary as
slowly as the fields. Slow variation is therefore filtered away to several degrees; the degree that gives the least
standard error (a jackknife over pieces of the sample) is used, and a shift must be many times that error. Where the
correlation is flat about its top, that error is too small: the correlation there must be higher than opposite, too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geouq.checks.sample import Finding, Patch
from geouq.rasters.catalog import Tile

Floats = NDArray[np.float64]
Spectrum = NDArray[np.complex128]
SHIFTED = "shifted pixels"  # kind of the finding
REACH = 4  # largest shift that is looked for, in pixels
FEWEST = 400  # pixels of a piece
FEWEST_PIECES, MOST_PIECES = 6, 40
LARGEST_UNCUT = 64  # side of a patch that is not cut into quarters where there are few patches
FILTERS = (None, 8.0, 4.0, 2.0)  # std of the Gaussian, in pixels, beyond which variation is removed; None for nothing
LEAST_CORRELATION = 0.05  # of the filtered fields at their best place
LEAST_SHIFT = 0.35  # pixels, which resampling may cause
SIGNIFICANT = 3.5  # standard errors of the shift, and of the correlation, from very many pieces; more from fewer
SMOOTH = 0.3  # correlation of a truth with itself a quarter of the window away, from which any turn may fit by chance
FEW_WINDOWS = 4  # fewer must each show how they are turned; of more, all hardly fit another turn by chance
FLIPS: Mapping[str, Callable[[Floats], Floats]] = {
    "upside down": np.flipud,
    "left to right": np.fliplr,
    "by half a turn": lambda values: np.rot90(values, 2),
    "rows for columns": np.transpose,
}


class _Shift(NamedTuple):
    """The shift in rows and columns at which the prediction fits best, with standard errors from pieces.

    gain : by how much the correlation is higher there than opposite to it, in standard errors.
    """

    down: float
    across: float
    error_down: float
    error_across: float
    gain: float
    pieces: int

    @property
    def error(self) -> float:
        """Return the standard error of the shift."""
        return float(np.hypot(self.error_down, self.error_across))

    @property
    def is_significant(self) -> bool:
        """Return whether the gain and the shift are larger than their errors."""
        errors = _as_t(SIGNIFICANT, self.pieces - 1)
        return self.gain > errors and any(
            abs(size) > max(LEAST_SHIFT, errors * self.error) for size in (self.down, self.across)
        )


def of_shift(variable: str, patches: Sequence[Patch]) -> Iterator[Finding]:
    """Yield a finding if the prediction is shifted in the whole sample."""
    shifts = [shift for width in FILTERS if (shift := _shift(_pieces(patches, width)))]
    if not shifts:
        return
    best = min(shifts, key=lambda shift: shift.error)
    if best.is_significant:
        yield Finding(
            SHIFTED,
            variable,
            f"in {best.pieces} windows the prediction fits the truth best when it is moved by {_tenths(best.down)} "
            f"rows and {_tenths(best.across)} columns "
            f"(standard errors {best.error_down:.2g} and {best.error_across:.2g})",
            "check pixel centres and corners where it was made, and resample it to the grid of the truth",
        )


def _tenths(pixels: float) -> str:
    """Return a number of pixels with its sign, + for 0."""
    return f"{round(pixels, 1) + 0.0:+.1f}"


def _pieces(patches: Sequence[Patch], width: float | None) -> list[tuple[Floats, Floats]]:
    """Return filtered mean and truth of windows, cut into quarters if there are few, without nearly empty ones.

    The truth is limited to the inner pixels, so that each shift compares the same ones: the correlation would otherwise
    be greatest where the border adds variance.
    """
    chosen = patches[:: -(-len(patches) // MOST_PIECES) or 1]
    border = 0 if width is None else int(np.ceil(1.1 * width))
    pairs = [(_filtered(patch.known.mean, width), _inner(_filtered(patch.truth, width), border)) for patch in chosen]
    if len(pairs) < MOST_PIECES // 4:
        pairs = [quarter for pair in pairs for quarter in _quarters(pair)]
    pairs = [(mean, _inner(truth, REACH)) for mean, truth in pairs]
    return [pair for pair in pairs if np.isfinite(pair[1]).sum() >= FEWEST]


def _inner(values: Floats, border: int) -> Floats:
    """Return values with NaN in the outer pixels."""
    found = np.full(values.shape, np.nan)
    inner = np.s_[border : values.shape[0] - border, border : values.shape[1] - border]
    found[inner] = values[inner]
    return found


def _as_t(normal: float, freedom: int) -> float:
    """Return about the quantile of Student's t where the normal one is this (Gaver and Kafadar 1984)."""
    grown = normal**2 * (freedom - 5 / 6) / (freedom - 2 / 3 + 0.1 / freedom) ** 2
    return float(np.sqrt(freedom * np.expm1(grown)))


def _quarters(pair: tuple[Floats, Floats]) -> list[tuple[Floats, Floats]]:
    rows, columns = (length // 2 for length in pair[0].shape)
    if min(rows, columns) < LARGEST_UNCUT // 2:
        return [pair]
    places = [np.s_[a, b] for a in (np.s_[:rows], np.s_[rows:]) for b in (np.s_[:columns], np.s_[columns:])]
    return [(pair[0][place], pair[1][place]) for place in places]


def _shift(pieces: Sequence[tuple[Floats, Floats]]) -> _Shift | None:
    """Return the best place of all pieces together with its jackknife error, None where there is no clear one."""
    if len(pieces) < FEWEST_PIECES:
        return None
    sums = np.array([moments(mean, truth) for mean, truth in pieces])
    total = sums.sum(0)
    best = _peak(total)
    without = [peak for own in sums if (peak := _peak(total - own))]
    if best is None or len(without) < len(sums):
        return None
    down, across = _jackknife(np.array(without))
    return _Shift(*best, float(down), float(across), _gain(best, total, sums), len(sums))


def _gain(best: tuple[float, float], total: Floats, sums: Floats) -> float:
    """Return by how many standard errors the correlation is higher at the best place than opposite to it."""
    down, across = (int(np.copysign(max(round(abs(size)), abs(size) > LEAST_SHIFT), size)) for size in best)
    parts = np.array([total, *(total - piece for piece in sums)])
    found = [correlations(part) for part in parts]
    own, *others = (each[REACH + down, REACH + across] - each[REACH - down, REACH - across] for each in found)
    error = float(_jackknife(np.array(others)))
    return float(own) / error if error else 0.0


def _jackknife(without: Floats) -> Floats:
    """Return the standard error from values that each leave out one piece, along the first axis."""
    n = len(without)
    found: Floats = np.sqrt((n - 1) / n * np.square(without - without.mean(0)).sum(0))
    return found


def _peak(sums: Floats) -> tuple[float, float] | None:
    """Return the place of the greatest correlation, None at the border of those computed and where it is small."""
    found = correlations(sums)
    if np.isnan(found).any() or found.max() < LEAST_CORRELATION:
        return None
    row, column = divmod(int(found.argmax()), found.shape[1])
    if {row, column} & {0, 2 * REACH}:
        return None
    down = row - REACH + _vertex(found[row - 1 : row + 2, column])
    across = column - REACH + _vertex(found[row, column - 1 : column + 2])
    return down, across


def correlations(sums: Floats) -> Floats:
    """Return Pearson's correlation at each shift of -REACH to REACH rows and columns, from `moments`."""
    n, a, b, aa, bb, ab = sums
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_a, mean_b = a / n, b / n
        found = (ab / n - mean_a * mean_b) / np.sqrt((aa / n - mean_a**2) * (bb / n - mean_b**2))
        return np.where(n < FEWEST // 4, np.nan, found)


def moments(one: Floats, other: Floats) -> Floats:
    """Return sums over the pixels that both have at each shift of the first: n, a, b, a^2, b^2 and ab.

    They are float64 (6, shifts, shifts), from Fourier transforms (Padfield 2012, doi 10.1109/TIP.2011.2181402).
    """
    shape = [_fast(length + REACH) for length in one.shape]  # so that nothing comes round from the other side
    (n_a, a, aa), (n_b, b, bb) = (_transforms(values, shape) for values in (one, other))
    rows, columns = (np.arange(-REACH, REACH + 1) % length for length in shape)

    def sums(f: Spectrum, g: Spectrum) -> Floats:
        """Return the sums of products of two fields at each shift; rows of others are not transformed back."""
        return np.fft.irfft(np.fft.ifft(np.conj(f) * g, axis=0)[rows], shape[1])[:, columns]

    return np.stack([np.round(sums(n_a, n_b)), sums(a, n_b), sums(n_a, b), sums(aa, n_b), sums(n_a, bb), sums(a, b)])


def _transforms(values: Floats, shape: Sequence[int]) -> tuple[Spectrum, Spectrum, Spectrum]:
    """Return Fourier transforms of where a value is, of the values less their mean, and of their squares."""
    known = np.isfinite(values)
    middle = values[known].mean() if known.any() else 0.0
    centred = np.where(known, values - middle, 0.0)
    presence, spectrum, squares = (np.fft.rfft2(part, shape) for part in (known.astype(float), centred, centred**2))
    return presence, spectrum, squares


def _fast(length: int) -> int:
    """Return the next length without prime factors above 5, whose Fourier transform is up to ten times faster."""
    while 60 ** length.bit_length() % length:
        length += 1
    return length


def _filtered(values: Floats, width: float | None) -> Floats:
    """Return what is left of a field without its Gaussian mean, but where that would be one-sided, as at borders."""
    if width is None:
        return values
    known = np.isfinite(values)
    shape = [_fast(length + int(4 * width)) for length in values.shape]
    down, across = np.fft.fftfreq(shape[0])[:, None], np.fft.rfftfreq(shape[1])[None, :]
    kernel = np.exp(-2 * (np.pi * width) ** 2 * (down**2 + across**2))
    centred = np.where(known, values - values[known].mean(), 0.0)
    rows, columns = values.shape
    sums, weights = (
        np.fft.irfft2(np.fft.rfft2(part, shape) * kernel, shape)[:rows, :columns]
        for part in (centred, known.astype(float))
    )
    inside = known & (weights > 0.85 * np.median(weights[known]))
    return np.where(inside, centred - sums / np.maximum(weights, 1e-6), np.nan)


def _vertex(three: Floats) -> float:
    """Return where a parabola through three neighbouring values is highest, from the middle one."""
    before, middle, after = three
    bend = before - 2 * middle + after
    return float((before - after) / (2 * bend)) if bend < 0 else 0.0


def of_placement(variable: str, patches: Sequence[Patch]) -> Iterator[Finding]:
    """Yield findings about the place of a variable's prediction on its truth."""
    middle = [patch for patch in patches if patch.place == 0 and patch.n >= FEWEST]
    flips = list(_of_flips(variable, middle))
    yield from flips or of_shift(variable, [patch for patch in patches if patch.n >= FEWEST])


def of_overlaps(tiles: Sequence[Tile], patches: Sequence[Patch]) -> Iterator[Finding]:
    """Yield the tiles with the same CRS that overlap by more than half a pixel.

    Those on the very same pixels, such as years of one place, are meant unless they have the same truth.
    """
    truths = {(patch.tile, patch.variable): patch.truth for patch in patches if patch.place == 0}
    names = {patch.variable for patch in patches}
    found = [
        f"{one.name} and {other.name} ({pixels:.0f} pixels)"
        for one, other, pixels in _pairs(tiles)
        if one.grid != other.grid
        or any((one.name, name) in truths and _same(truths, one.name, other.name, name) for name in names)
    ]
    if found:
        yield Finding(
            "overlapping tiles",
            "tiles",
            f"{len(found)} pairs lie on each other: {', '.join(found[:3])}{', ...' if len(found) > 3 else ''}",
            "pixels there count twice in regions and the whole: cut the tiles, or give a mask to one of them",
        )


def _same(truths: Mapping[tuple[str, str], Floats], one: str, other: str, variable: str) -> bool:
    return (other, variable) in truths and np.array_equal(
        truths[one, variable], truths[other, variable], equal_nan=True
    )


def _pairs(tiles: Sequence[Tile]) -> Iterator[tuple[Tile, Tile, float]]:
    """Yield the pairs of tiles with the same CRS that overlap, and the number of shared pixels."""
    boxes = np.array([_box(tile) for tile in tiles]).reshape(-1, 4)
    for i, tile in enumerate(tiles):
        sides = np.minimum(boxes[i, 2:], boxes[i + 1 :, 2:]) - np.maximum(boxes[i, :2], boxes[i + 1 :, :2])
        pixel = abs(tile.grid.transform.determinant)
        for j in map(int, np.flatnonzero((sides > np.sqrt(pixel) / 2).all(-1))):
            other = tiles[i + 1 + j].grid
            is_apart = tile.outline is not None and tiles[i + 1 + j].outline is not None  # polygons do not overlap
            if (other.crs, other.control) == (tile.grid.crs, tile.grid.control) and not is_apart:
                yield tile, tiles[i + 1 + j], float(sides[j].prod() / pixel)


def _box(tile: Tile) -> tuple[float, float, float, float]:
    """Least x and y, greatest x and y."""
    rows, columns = tile.grid.shape
    corners = [tile.grid.transform @ corner for corner in product((0, columns), (0, rows))]
    x, y = zip(*corners, strict=True)
    return min(x), min(y), max(x), max(y)


def correlation(one: Floats, other: Floats) -> float:
    """Return Pearson's correlation over the pixels that both have; NaN where there are few, or one is constant."""
    both = np.isfinite(one) & np.isfinite(other)
    if both.sum() < FEWEST // 4:
        return float("nan")
    a, b = one[both] - one[both].mean(), other[both] - other[both].mean()
    with np.errstate(invalid="ignore", divide="ignore"):
        return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))


def _of_flips(variable: str, patches: Sequence[Patch]) -> Iterator[Finding]:
    """Yield the windows in the middle of tiles, whose prediction fits the truth when it is turned."""
    square = [patch for patch in patches if patch.truth.shape[0] == patch.truth.shape[1]]
    if len(square) < FEW_WINDOWS:
        square = [patch for patch in square if not _is_smooth(patch.truth)]
    for name, flip in FLIPS.items():
        pairs = [(correlation(p.mean, p.truth), correlation(flip(p.mean), p.truth)) for p in square]
        known = np.array([pair for pair in pairs if np.isfinite(pair).all()]).reshape(-1, 2)
        if not len(known):
            continue
        own, flipped = np.median(known, axis=0)
        if flipped > 0.5 and flipped > own + 0.3:
            yield Finding(
                "flipped axes",
                variable,
                f"in the middle of {len(known)} tiles the prediction correlates with the truth by {own:.2f}, turned "
                f"{name} by {flipped:.2f}",
                "write the prediction in the order of rows and columns of its transform",
            )
            return


def _is_smooth(truth: Floats) -> bool:
    """Return whether a window holds little more than a slope, so that it does not show how it is turned."""
    quarter = len(truth) // 4
    down, across = correlation(truth[quarter:], truth[:-quarter]), correlation(truth[:, quarter:], truth[:, :-quarter])
    return (down + across) / 2 > SMOOTH
