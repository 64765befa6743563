# Static signatures of the package; written by scripts/stub.

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, overload

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from geouq import classes as classes
from geouq import ensemble as ensemble
from geouq import plot as plot
from geouq import quantiles as quantiles
from geouq.api.areas import evaluate_areas as evaluate_areas
from geouq.api.curves import binned as binned
from geouq.api.curves import calibration_curve as calibration_curve
from geouq.api.curves import group_coverage as group_coverage
from geouq.api.curves import interval_curve as interval_curve
from geouq.api.curves import pit_histogram as pit_histogram
from geouq.api.curves import sparsification_curve as sparsification_curve
from geouq.api.form import summarize_form as summarize_form
from geouq.api.intervals import intervals as intervals
from geouq.api.pixel_scores import pixel_scores as pixel_scores
from geouq.arrays.datasets import evaluate as evaluate
from geouq.arrays.datasets import table as table
from geouq.arrays.points import summarize_arrays as summarize_arrays
from geouq.arrays.summary_array import SummaryArray as SummaryArray
from geouq.arrays.validation import summarize as summarize
from geouq.arrays.validation import summarize_intervals as summarize_intervals
from geouq.comparison import compare as compare
from geouq.config import BinScheme as BinScheme
from geouq.config import Experiment as Experiment
from geouq.config import load_experiment as load_experiment
from geouq.core.errors import GeouqError as GeouqError
from geouq.pipeline.aggregate import aggregate as aggregate
from geouq.pipeline.check import check as check
from geouq.pipeline.data import Options as Options
from geouq.pipeline.run import report as report
from geouq.pipeline.run import run as run
from geouq.reading.stack import open_stack as open_stack
from geouq.recalibration import load_recalibrator as load_recalibrator
from geouq.recalibration import recalibrate as recalibrate
from geouq.summary import Summary as Summary
from geouq.summary.tiles_file import load_tile as load_tile
from geouq.version import __version__ as __version__

Dims: TypeAlias = str | int | Sequence[str] | Sequence[int]
Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.float64]] | xr.DataArray
Bins: TypeAlias = int | str | BinScheme | Sequence[float]

@overload
def uce(mean: SummaryArray, *, bins: Bins = ...) -> Numbers: ...
@overload
def uce(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    bins: Bins = ...,
) -> float: ...
@overload
def uce(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    bins: Bins = ...,
) -> Numbers: ...
@overload
def ence(mean: SummaryArray, *, bins: Bins = ...) -> Numbers: ...
@overload
def ence(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    bins: Bins = ...,
) -> float: ...
@overload
def ence(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    bins: Bins = ...,
) -> Numbers: ...
@overload
def uce_normalized(mean: SummaryArray, *, bins: Bins = ...) -> Numbers: ...
@overload
def uce_normalized(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    bins: Bins = ...,
) -> float: ...
@overload
def uce_normalized(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    bins: Bins = ...,
) -> Numbers: ...
@overload
def ence_normalized(mean: SummaryArray, *, bins: Bins = ...) -> Numbers: ...
@overload
def ence_normalized(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    bins: Bins = ...,
) -> float: ...
@overload
def ence_normalized(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    bins: Bins = ...,
) -> Numbers: ...
@overload
def ence_null(mean: SummaryArray, *, bins: Bins = ...) -> Numbers: ...
@overload
def ence_null(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    bins: Bins = ...,
) -> float: ...
@overload
def ence_null(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    bins: Bins = ...,
) -> Numbers: ...
@overload
def ence_excess(mean: SummaryArray, *, bins: Bins = ...) -> Numbers: ...
@overload
def ence_excess(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    bins: Bins = ...,
) -> float: ...
@overload
def ence_excess(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    bins: Bins = ...,
) -> Numbers: ...
@overload
def zms(mean: SummaryArray) -> Numbers: ...
@overload
def zms(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
) -> float: ...
@overload
def zms(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
) -> Numbers: ...
@overload
def z_mean(mean: SummaryArray) -> Numbers: ...
@overload
def z_mean(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
) -> float: ...
@overload
def z_mean(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
) -> Numbers: ...
@overload
def z_std(mean: SummaryArray) -> Numbers: ...
@overload
def z_std(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
) -> float: ...
@overload
def z_std(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
) -> Numbers: ...
@overload
def rce(mean: SummaryArray) -> Numbers: ...
@overload
def rce(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
) -> float: ...
@overload
def rce(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
) -> Numbers: ...
@overload
def cv(mean: SummaryArray) -> Numbers: ...
@overload
def cv(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
) -> float: ...
@overload
def cv(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
) -> Numbers: ...
@overload
def sharpness(mean: SummaryArray) -> Numbers: ...
@overload
def sharpness(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
) -> float: ...
@overload
def sharpness(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
) -> Numbers: ...
@overload
def sharpness_rms(mean: SummaryArray) -> Numbers: ...
@overload
def sharpness_rms(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
) -> float: ...
@overload
def sharpness_rms(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
) -> Numbers: ...
@overload
def mean_std(mean: SummaryArray) -> Numbers: ...
@overload
def mean_std(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
) -> float: ...
@overload
def mean_std(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
) -> Numbers: ...
@overload
def width(mean: SummaryArray, *, level: float = ...) -> Numbers: ...
@overload
def width(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    level: float = ...,
) -> float: ...
@overload
def width(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    level: float = ...,
) -> Numbers: ...
@overload
def width(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims | None = None,
    std: ArrayLike | None = None,
    level: Sequence[float],
) -> Numbers: ...
@overload
def bias(mean: SummaryArray) -> Numbers: ...
@overload
def bias(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
) -> float: ...
@overload
def bias(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
) -> Numbers: ...
@overload
def mae(mean: SummaryArray) -> Numbers: ...
@overload
def mae(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
) -> float: ...
@overload
def mae(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
) -> Numbers: ...
@overload
def rmse(mean: SummaryArray) -> Numbers: ...
@overload
def rmse(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
) -> float: ...
@overload
def rmse(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
) -> Numbers: ...
@overload
def nbias(mean: SummaryArray, *, reference_mean: float | None = ...) -> Numbers: ...
@overload
def nbias(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    reference_mean: float | None = ...,
) -> float: ...
@overload
def nbias(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    reference_mean: float | None = ...,
) -> Numbers: ...
@overload
def nmae(mean: SummaryArray, *, reference_mean: float | None = ...) -> Numbers: ...
@overload
def nmae(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    reference_mean: float | None = ...,
) -> float: ...
@overload
def nmae(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    reference_mean: float | None = ...,
) -> Numbers: ...
@overload
def nrmse(mean: SummaryArray, *, reference_mean: float | None = ...) -> Numbers: ...
@overload
def nrmse(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    reference_mean: float | None = ...,
) -> float: ...
@overload
def nrmse(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    reference_mean: float | None = ...,
) -> Numbers: ...
@overload
def r2(mean: SummaryArray) -> Numbers: ...
@overload
def r2(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
) -> float: ...
@overload
def r2(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
) -> Numbers: ...
@overload
def error_width_corr(mean: SummaryArray) -> Numbers: ...
@overload
def error_width_corr(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
) -> float: ...
@overload
def error_width_corr(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
) -> Numbers: ...
@overload
def coverage(mean: SummaryArray, *, level: float = ...) -> Numbers: ...
@overload
def coverage(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    level: float = ...,
) -> float: ...
@overload
def coverage(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    level: float = ...,
) -> Numbers: ...
@overload
def coverage(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims | None = None,
    std: ArrayLike | None = None,
    level: Sequence[float],
) -> Numbers: ...
@overload
def coverage_above(mean: SummaryArray, *, level: float = ...) -> Numbers: ...
@overload
def coverage_above(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    level: float = ...,
) -> float: ...
@overload
def coverage_above(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    level: float = ...,
) -> Numbers: ...
@overload
def coverage_above(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims | None = None,
    std: ArrayLike | None = None,
    level: Sequence[float],
) -> Numbers: ...
@overload
def coverage_below(mean: SummaryArray, *, level: float = ...) -> Numbers: ...
@overload
def coverage_below(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    level: float = ...,
) -> float: ...
@overload
def coverage_below(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    level: float = ...,
) -> Numbers: ...
@overload
def coverage_below(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims | None = None,
    std: ArrayLike | None = None,
    level: Sequence[float],
) -> Numbers: ...
@overload
def calibration_error(
    mean: SummaryArray, *, levels: Sequence[float] = ..., level_weights: Literal["equal", "counts"] = ...
) -> Numbers: ...
@overload
def calibration_error(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    levels: Sequence[float] = ...,
    level_weights: Literal["equal", "counts"] = ...,
) -> float: ...
@overload
def calibration_error(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    levels: Sequence[float] = ...,
    level_weights: Literal["equal", "counts"] = ...,
) -> Numbers: ...
@overload
def calibration_error_interval(
    mean: SummaryArray, *, levels: Sequence[float] = ..., level_weights: Literal["equal", "counts"] = ...
) -> Numbers: ...
@overload
def calibration_error_interval(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    levels: Sequence[float] = ...,
    level_weights: Literal["equal", "counts"] = ...,
) -> float: ...
@overload
def calibration_error_interval(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    levels: Sequence[float] = ...,
    level_weights: Literal["equal", "counts"] = ...,
) -> Numbers: ...
@overload
def mace(mean: SummaryArray, *, levels: Sequence[float] = ...) -> Numbers: ...
@overload
def mace(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    levels: Sequence[float] = ...,
) -> float: ...
@overload
def mace(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    levels: Sequence[float] = ...,
) -> Numbers: ...
@overload
def mace_interval(mean: SummaryArray, *, levels: Sequence[float] = ...) -> Numbers: ...
@overload
def mace_interval(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    levels: Sequence[float] = ...,
) -> float: ...
@overload
def mace_interval(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    levels: Sequence[float] = ...,
) -> Numbers: ...
@overload
def rmsce(mean: SummaryArray, *, levels: Sequence[float] = ...) -> Numbers: ...
@overload
def rmsce(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    levels: Sequence[float] = ...,
) -> float: ...
@overload
def rmsce(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    levels: Sequence[float] = ...,
) -> Numbers: ...
@overload
def rmsce_interval(mean: SummaryArray, *, levels: Sequence[float] = ...) -> Numbers: ...
@overload
def rmsce_interval(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    levels: Sequence[float] = ...,
) -> float: ...
@overload
def rmsce_interval(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    levels: Sequence[float] = ...,
) -> Numbers: ...
@overload
def miscalibration_area(mean: SummaryArray, *, levels: Sequence[float] = ...) -> Numbers: ...
@overload
def miscalibration_area(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    levels: Sequence[float] = ...,
) -> float: ...
@overload
def miscalibration_area(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    levels: Sequence[float] = ...,
) -> Numbers: ...
@overload
def miscalibration_area_interval(mean: SummaryArray, *, levels: Sequence[float] = ...) -> Numbers: ...
@overload
def miscalibration_area_interval(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    levels: Sequence[float] = ...,
) -> float: ...
@overload
def miscalibration_area_interval(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    levels: Sequence[float] = ...,
) -> Numbers: ...
@overload
def pit_mean(mean: SummaryArray) -> Numbers: ...
@overload
def pit_mean(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
) -> float: ...
@overload
def pit_mean(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
) -> Numbers: ...
@overload
def pit_std(mean: SummaryArray) -> Numbers: ...
@overload
def pit_std(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
) -> float: ...
@overload
def pit_std(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
) -> Numbers: ...
@overload
def rmscd(mean: SummaryArray, *, level: float = ..., by: str = ..., groups: int = ...) -> Numbers: ...
@overload
def rmscd(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    level: float = ...,
    by: str = ...,
    groups: int = ...,
) -> float: ...
@overload
def rmscd(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    level: float = ...,
    by: str = ...,
    groups: int = ...,
) -> Numbers: ...
@overload
def rmscd(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims | None = None,
    std: ArrayLike | None = None,
    level: Sequence[float],
    by: str = ...,
    groups: int = ...,
) -> Numbers: ...
@overload
def rmscd_under(mean: SummaryArray, *, level: float = ..., by: str = ..., groups: int = ...) -> Numbers: ...
@overload
def rmscd_under(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    level: float = ...,
    by: str = ...,
    groups: int = ...,
) -> float: ...
@overload
def rmscd_under(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    level: float = ...,
    by: str = ...,
    groups: int = ...,
) -> Numbers: ...
@overload
def rmscd_under(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims | None = None,
    std: ArrayLike | None = None,
    level: Sequence[float],
    by: str = ...,
    groups: int = ...,
) -> Numbers: ...
@overload
def lowest_group_coverage(mean: SummaryArray, *, level: float = ..., by: str = ..., groups: int = ...) -> Numbers: ...
@overload
def lowest_group_coverage(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    level: float = ...,
    by: str = ...,
    groups: int = ...,
) -> float: ...
@overload
def lowest_group_coverage(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    level: float = ...,
    by: str = ...,
    groups: int = ...,
) -> Numbers: ...
@overload
def lowest_group_coverage(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims | None = None,
    std: ArrayLike | None = None,
    level: Sequence[float],
    by: str = ...,
    groups: int = ...,
) -> Numbers: ...
@overload
def ause(mean: SummaryArray) -> Numbers: ...
@overload
def ause(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
) -> float: ...
@overload
def ause(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
) -> Numbers: ...
@overload
def spearman(mean: SummaryArray) -> Numbers: ...
@overload
def spearman(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
) -> float: ...
@overload
def spearman(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
) -> Numbers: ...
@overload
def threshold_brier(mean: SummaryArray, *, threshold: float) -> Numbers: ...
@overload
def threshold_brier(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    threshold: float,
) -> float: ...
@overload
def threshold_brier(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    threshold: float,
) -> Numbers: ...
@overload
def threshold_brier(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims | None = None,
    std: ArrayLike | None = None,
    threshold: Sequence[float],
) -> Numbers: ...
@overload
def threshold_reliability(mean: SummaryArray, *, threshold: float) -> Numbers: ...
@overload
def threshold_reliability(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    threshold: float,
) -> float: ...
@overload
def threshold_reliability(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    threshold: float,
) -> Numbers: ...
@overload
def threshold_reliability(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims | None = None,
    std: ArrayLike | None = None,
    threshold: Sequence[float],
) -> Numbers: ...
@overload
def threshold_resolution(mean: SummaryArray, *, threshold: float) -> Numbers: ...
@overload
def threshold_resolution(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    threshold: float,
) -> float: ...
@overload
def threshold_resolution(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    threshold: float,
) -> Numbers: ...
@overload
def threshold_resolution(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims | None = None,
    std: ArrayLike | None = None,
    threshold: Sequence[float],
) -> Numbers: ...
@overload
def threshold_uncertainty(mean: SummaryArray, *, threshold: float) -> Numbers: ...
@overload
def threshold_uncertainty(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    threshold: float,
) -> float: ...
@overload
def threshold_uncertainty(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    threshold: float,
) -> Numbers: ...
@overload
def threshold_uncertainty(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims | None = None,
    std: ArrayLike | None = None,
    threshold: Sequence[float],
) -> Numbers: ...
@overload
def threshold_within(mean: SummaryArray, *, threshold: float) -> Numbers: ...
@overload
def threshold_within(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    threshold: float,
) -> float: ...
@overload
def threshold_within(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    threshold: float,
) -> Numbers: ...
@overload
def threshold_within(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims | None = None,
    std: ArrayLike | None = None,
    threshold: Sequence[float],
) -> Numbers: ...
@overload
def nll(mean: SummaryArray) -> Numbers: ...
@overload
def nll(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
) -> float: ...
@overload
def nll(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
) -> Numbers: ...
@overload
def crps(mean: SummaryArray) -> Numbers: ...
@overload
def crps(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
) -> float: ...
@overload
def crps(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
) -> Numbers: ...
@overload
def interval_score(mean: SummaryArray, *, level: float = ...) -> Numbers: ...
@overload
def interval_score(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: None = None,
    std: ArrayLike | None = None,
    level: float = ...,
) -> float: ...
@overload
def interval_score(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims,
    std: ArrayLike | None = None,
    level: float = ...,
) -> Numbers: ...
@overload
def interval_score(
    mean: ArrayLike | Summary,
    variance: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    dim: Dims | None = None,
    std: ArrayLike | None = None,
    level: Sequence[float],
) -> Numbers: ...

__all__ = [
    "Experiment",
    "GeouqError",
    "Options",
    "Summary",
    "SummaryArray",
    "__version__",
    "aggregate",
    "ause",
    "bias",
    "binned",
    "calibration_curve",
    "calibration_error",
    "calibration_error_interval",
    "check",
    "classes",
    "compare",
    "coverage",
    "coverage_above",
    "coverage_below",
    "crps",
    "cv",
    "ence",
    "ence_excess",
    "ence_normalized",
    "ence_null",
    "ensemble",
    "error_width_corr",
    "evaluate",
    "evaluate_areas",
    "group_coverage",
    "interval_curve",
    "interval_score",
    "intervals",
    "load_experiment",
    "load_recalibrator",
    "load_tile",
    "lowest_group_coverage",
    "mace",
    "mace_interval",
    "mae",
    "mean_std",
    "miscalibration_area",
    "miscalibration_area_interval",
    "nbias",
    "nll",
    "nmae",
    "nrmse",
    "open_stack",
    "pit_histogram",
    "pit_mean",
    "pit_std",
    "pixel_scores",
    "plot",
    "quantiles",
    "r2",
    "rce",
    "recalibrate",
    "report",
    "rmscd",
    "rmscd_under",
    "rmsce",
    "rmsce_interval",
    "rmse",
    "run",
    "sharpness",
    "sharpness_rms",
    "sparsification_curve",
    "spearman",
    "summarize",
    "summarize_arrays",
    "summarize_form",
    "summarize_intervals",
    "table",
    "threshold_brier",
    "threshold_reliability",
    "threshold_resolution",
    "threshold_uncertainty",
    "threshold_within",
    "uce",
    "uce_normalized",
    "width",
    "z_mean",
    "z_std",
    "zms",
]
