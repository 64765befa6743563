"""Forms whose sums are computed by compiled code."""

import threading
from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from geouq.config import FormFiles
from geouq.core.validity import Nodata
from geouq.kernel import CellSums, Pixels, Sampled, Totals
from geouq.kernel.gather import Gathered, Layers, comparators, new_gathered
from geouq.summary.form import Form, Prepared, Values

Ints = NDArray[np.int64]
# pixels of a window, its columns, nodata, slabs of a box (as of `slabs_of`), layers
Box = tuple[Pixels, int, Nodata, Ints, Layers]


@dataclass(frozen=True)
class KernelForm(Form):
    """A form whose sums are computed by compiled code.

    Attributes
    ----------
    work : int
        Number of buffer rows that the code needs.
    truth_is_code : bool
        Whether the truth is a code of a class.
    """

    work: ClassVar[int]
    truth_is_code: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def of_files(cls, files: FormFiles, levels: tuple[float, ...], members: int) -> Self | None:
        """Return the form of these files; None if they have another form.

        levels : of the experiment's intervals. members : number of members found.
        """

    @abstractmethod
    def prepared(self, values: Values, more: Values, truth: Values, missing: int, rounding: float = 0.0) -> Prepared:
        """Return mean, variance and truth of the pixels.

        values, more : as in `Layers`, NaN for no data. missing : reason for the exclusion of a pixel without a layer.
        rounding : most by which the sum of the layers is off because they are stored as scaled integers.
        """

    @abstractmethod
    def add(self, box: Box, cells: CellSums, totals: Totals, sampled: Sampled) -> None:
        """Add the pixels of a box to the sums of its cells."""


_of_thread = threading.local()


def gathered(form: KernelForm, layers: Layers) -> Gathered:
    """Return the buffers of this thread for pixels with these layers."""
    values = layers.values
    wanted = form.key, len(values), len(layers.more), values.dtype
    if getattr(_of_thread, "wanted", None) != wanted:
        _of_thread.gathered = new_gathered(len(values), len(layers.more), form.work, values.dtype)
        _of_thread.wanted = wanted
    buffers: Gathered = _of_thread.gathered
    return buffers


@lru_cache(maxsize=8)
def sorting_pairs(count: int) -> Ints:
    """Return the comparators that sort `count` values."""
    return comparators(count)


@lru_cache(maxsize=4)
def no_variance(count: int) -> Values:
    """Return ones in place of the variance of a form without variance. Do not change the array."""
    return np.ones(count, np.float32)
