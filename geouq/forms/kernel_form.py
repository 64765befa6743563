"""Forms whose sums compiled code computes, from the layers of a window."""

import threading
from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from geouq.config import FormFiles
from geouq.kernel import CellSums, Pixels, Sampled, Totals
from geouq.kernel.gather import Gathered, Layers, comparators, new_gathered
from geouq.summary.form import Form, Prepared, Values
from geouq.validity import Nodata

Ints = NDArray[np.int64]
# pixels of a window, its columns, nodata, slabs of a box (as of `slabs_of`), layers
Box = tuple[Pixels, int, Nodata, Ints, Layers]


@dataclass(frozen=True)
class KernelForm(Form):
    """A form whose sums compiled code computes.

    Attributes
    ----------
    work : int
        Rows of buffers that the code needs for each pixel.
    truth_is_code : bool
        Whether the truth is a code, not a number in the unit of the variable.
    """

    work: ClassVar[int]
    truth_is_code: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def of_files(cls, files: FormFiles, levels: tuple[float, ...], members: int) -> Self | None:
        """Return the form that these files give, None if they give another one.

        levels : of the experiment's intervals. members : number of members found.
        """

    @abstractmethod
    def prepared(self, values: Values, more: Values, truth: Values, missing: int) -> Prepared:
        """Return what stands for mean and variance.

        values, more : as of `Layers`, NaN where they say nothing. missing : reason of a pixel that lacks a layer.
        """

    @abstractmethod
    def add(self, box: Box, cells: CellSums, totals: Totals, sampled: Sampled) -> None:
        """Add the pixels of a box to the sums of its cells."""


_of_thread = threading.local()


def gathered(form: KernelForm, layers: Layers) -> Gathered:
    """Return buffers of this thread for pixels with these layers."""
    values = layers.values
    wanted = form.key, len(values), len(layers.more), values.dtype
    if getattr(_of_thread, "wanted", None) != wanted:
        _of_thread.gathered = new_gathered(len(values), len(layers.more), form.work, values.dtype)
        _of_thread.wanted = wanted
    buffers: Gathered = _of_thread.gathered
    return buffers


@lru_cache(maxsize=8)
def sorting_pairs(count: int) -> Ints:
    """Return the comparators that sort so many values."""
    return comparators(count)


@lru_cache(maxsize=4)
def no_variance(count: int) -> Values:
    """Return ones, which stand for the variance where there is none; not to be written to."""
    return np.ones(count, np.float32)
