"""Which codes of a mask let a pixel count: classes, or bits of quality flags."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geouq.config import LayerFile


@dataclass(frozen=True)
class MaskRule:
    """The codes of pixels that count.

    keep : the codes; empty for any. fields : first bit, number of bits, and the values that let a pixel count. signed :
    whether codes are signed integers; bits of a negative one are those of its two's complement, as it is stored.
    """

    keep: tuple[int, ...] = ()
    fields: tuple[tuple[int, int, tuple[int, ...]], ...] = ()
    signed: bool = False

    @classmethod
    def of(cls, written: LayerFile | None, *, signed: bool) -> Self | None:
        """Return the rule that a configuration gives for a mask; None without one."""
        if written is None or not (written.keep or written.bits):
            return None
        return cls(tuple(written.keep or ()), written.bit_fields, signed)

    def counts(self, codes: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return where codes let a pixel count; numbers that are no codes, such as NaN and 1.5, never do.

        >>> MaskRule(keep=(1, 2)).counts(np.array([0.0, 1.0, 2.0, np.nan])).tolist()
        [False, True, True, False]
        >>> MaskRule(fields=((0, 2, (0, 1)),)).counts(np.array([0.0, 1.0, 2.0, 5.0])).tolist()
        [True, True, False, True]
        >>> MaskRule(fields=((7, 1, (1,)),), signed=True).counts(np.array([-128.0, 127.0])).tolist()
        [True, False]
        """
        is_code = (self.signed | (codes >= 0)) & (np.abs(codes) < 2.0**53) & (codes == np.floor(codes))
        number = np.where(is_code, codes, 0).astype(np.int64)
        if self.keep:
            is_code &= np.isin(number, self.keep)
        for first, count, values in self.fields:
            is_code &= np.isin(number >> first & ((1 << count) - 1), values)
        return is_code
