"""One variable in one window, as it is read and handed to the kernel."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from geouq.core.validity import Nodata
from geouq.kernel import Pixels
from geouq.kernel.gather import Layers
from geouq.reading.decoded import NO_STATUS, Doubles, Status, Values

Singles = NDArray[np.float32]

NO_WEIGHT: NDArray[np.float64] = np.empty((0, 0))
NO_TRUTH_VARIANCE = NO_WEIGHT


@dataclass(frozen=True)
class VariableWindow:
    """One variable in one window: values (rows, columns), and which of them the reader excluded.

    status : reason + 1 of each pixel that the reader excluded and 0 elsewhere, or (0, 0) where it excluded none.
    weight : float64 (rows, columns), or (0, 0) where pixels have none.
    read : False where no truth was valid and mean and variance hold placeholders. absent : True where the file of the
        truth holds no block here, so that every truth is nodata.
    sources : the statuses that `status` is merged from: of mean, variance, truth and the mask layer.
    bounds : the ends of the interval that the forecast gives, float64 (rows, columns) each; none where it gives none.
    is_std : whether the forecast gives a std. `variance` is its square, with the sign of the std.
    groups : float32 (rows, columns) of each covariate, then of each class raster, NaN where it says nothing.
    layers : members, quantiles or probabilities, where the prediction is given by these.
    truth_variance : of the truth's own error, which `variance` contains; as `weight`.
    """

    mean: Values
    variance: Values
    truth: Values
    status: Status
    nodata: Nodata
    weight: NDArray[np.float64] = field(default_factory=lambda: NO_WEIGHT)
    read: bool = True
    absent: bool = False
    sources: tuple[Status, Status, Status, Status] = (NO_STATUS, NO_STATUS, NO_STATUS, NO_STATUS)
    bounds: tuple[Doubles, ...] = ()
    is_std: bool = False
    groups: tuple[Singles, ...] = ()
    layers: Layers | None = None
    truth_variance: NDArray[np.float64] = field(default_factory=lambda: NO_TRUTH_VARIANCE)

    @property
    def pixels(self) -> Pixels:
        """Return what the kernel takes: all values of the same type, in one dimension."""
        layers = (self.mean, self.variance, self.truth)
        kind = np.float32 if all(values.dtype == np.float32 for values in layers) else np.float64
        m, v, y = (np.ascontiguousarray(values.astype(kind, copy=False)).ravel() for values in layers)
        return Pixels(m, v, y, np.ascontiguousarray(self.weight).ravel(), np.ascontiguousarray(self.status).ravel())
