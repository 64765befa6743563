"""Forecasts that are given as probabilities of classes.

Numbers are functions of the summary, here by name, or all at once by `geouq.table` and `geouq.evaluate`.
"""

from collections.abc import Hashable, Sequence
from typing import Any

from geouq.arrays.arguments import as_count, as_text, each
from geouq.arrays.forms import VALUE
from geouq.arrays.layers import layers_of
from geouq.arrays.validation import Dim, of_layers
from geouq.config.model import LEVELS
from geouq.core.errors import ConfigError, DataError
from geouq.core.grid import SQUARE
from geouq.forms.classes import Classes
from geouq.metrics.classes import (
    accuracy,
    brier,
    brier_reliability,
    brier_resolution,
    brier_uncertainty,
    brier_within,
    confidence,
    ece,
    ece_classwise,
    impossible,
    log_loss,
    overconfidence,
    reliability,
    share_bias,
)
from geouq.sweep.settings import Settings

__all__ = [
    "accuracy",
    "brier",
    "brier_reliability",
    "brier_resolution",
    "brier_uncertainty",
    "brier_within",
    "confidence",
    "ece",
    "ece_classwise",
    "impossible",
    "log_loss",
    "overconfidence",
    "reliability",
    "share_bias",
    "summarize",
]


def summarize(
    probabilities: Any,
    truth: Any,
    *,
    codes: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    weights: Any = None,
    dim: Dim = None,
    class_dim: Hashable | None = None,
) -> Any:
    """Return what pixels contribute, as `geouq.summarize` does, of probabilities of classes.

    Parameters
    ----------
    probabilities : array (classes, ...), DataArray or sequence of arrays
        Probability of each class. Of numpy and dask arrays, classes are along the first dimension; of a DataArray,
        along `class_dim`, wherever it stands.
    truth : array (...)
        Codes of classes, of the shape of the probabilities of a class.
    codes : sequence of int, optional
        Codes of the classes in their order, default 0, 1, 2, ... A pixel whose truth is none of them does not count
        (`class_not_mapped`), nor does one whose probabilities are negative or do not sum to 1 within 1e-3
        (`not_a_distribution`).
    names : sequence of str, optional
        Names of the classes, default their codes.
    weights, dim : as in `geouq.summarize`
    class_dim : str, optional
        Name of the dimension of classes. By default the one that the truth does not have; of several, that with a usual
        name, such as class or category.

    Returns
    -------
    Summary, SummaryArray or delayed
        What the pixels contribute.

    Raises
    ------
    DataError
        If there are fewer than two classes, or if it is not clear which dimension holds the classes.
    ConfigError
        If codes or names do not fit the classes.

    Examples
    --------
    >>> summary = summarize([[0.75, 0.5], [0.25, 0.5]], [0, 1])
    >>> float(brier(summary)), float(accuracy(summary))
    (0.3125, 0.5)
    """
    given = layers_of(probabilities, truth, "class", class_dim, dim)
    if len(given) < 2:
        raise DataError(f"there are {len(given)} classes; give probabilities of two or more along the first dimension")
    own, named = _codes_and_names(len(given), codes, names)
    settings = Settings(LEVELS, SQUARE, tail=0, groups=(), form=Classes(own, named))
    layers = {f"{VALUE}{i}": layer for i, layer in enumerate(given)}
    return of_layers({"truth": truth, "weights": weights} | layers, dim, settings)


def _codes_and_names(
    count: int, codes: Sequence[int] | None, names: Sequence[str] | None
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return code and name of each class; raise ConfigError if they do not fit."""
    own = tuple(as_count("codes", code, 0) for code in (range(count) if codes is None else each("codes", codes)))
    named = tuple(as_text("names", name) for name in (map(str, own) if names is None else each("names", names)))
    if len(set(own)) != count or len(set(named)) != count:
        raise ConfigError(f"codes {list(own)} and names {list(named)} of {count} classes: give one for each")
    return own, named
