"""Names of the numbers of means of areas, for each model of the correlation of errors."""

from collections.abc import Iterable

from geouq.summary.form import GAUSSIAN, Form

PREFIX = "aggregate_"
MODELS = ("independent", "fitted", "full", "calibrated")
MEMBER_ERRORS = "member_errors"  # which sums of a form
SPREAD_SKILL = f"{PREFIX}spread_skill"  # of members without variances
TRUTH_SHARE = "truth_share"  # of z^2, removed from the correlation of errors
RMSE = f"{PREFIX}rmse"  # of means
FACTOR = f"{PREFIX}factor"  # by which the std of means with the fitted correlation is to be multiplied
MOST_UNCERTAIN = 0.5  # standard error of a correlation of errors, above which diagrams do not show it


def zms_name(model: str) -> str:
    """Return the name of the mean of squared errors by predicted variances.

    >>> zms_name("fitted")
    'aggregate_zms_fitted'
    """
    return f"{PREFIX}zms_{model}"


def coverage_name(model: str, level: float) -> str:
    """Return the name of the coverage of intervals of a level.

    >>> coverage_name("full", 0.9)
    'aggregate_coverage_full_90'
    """
    return f"{PREFIX}coverage_{model}_{100 * level:g}"


def crps_name(model: str) -> str:
    """Return the name of the mean continuous ranked probability score of means of areas.

    >>> crps_name("calibrated")
    'aggregate_crps_calibrated'
    """
    return f"{PREFIX}crps_{model}"


def nll_name(model: str) -> str:
    """Return the name of the mean negative log-likelihood (log score) of means of areas.

    >>> nll_name("calibrated")
    'aggregate_nll_calibrated'
    """
    return f"{PREFIX}nll_{model}"


def has_units(metric: str) -> bool:
    """Return whether a number is in the unit of the variable.

    >>> has_units("aggregate_rmse"), has_units("aggregate_crps_fitted"), has_units("aggregate_zms_fitted")
    (True, True, False)
    """
    return metric == RMSE or metric in map(crps_name, MODELS)


def _of_model(model: str, levels: Iterable[float]) -> list[str]:
    """Return the names of the numbers under a model of correlation, in the order of tables."""
    covered = (coverage_name(model, level) for level in levels)
    return [zms_name(model), *covered, crps_name(model), nll_name(model)]


def members_in(form: Form) -> int:
    """Return the number of members without variances, whose errors are summed; 0 for other forecasts."""
    (count,) = form.fields.get(MEMBER_ERRORS, (0,))
    return count


def compared_names(levels: Iterable[float]) -> list[str]:
    """Return the names at these levels of the numbers that are compared between forecasts, in the order of tables."""
    kept = tuple(levels)
    return [*(name for model in MODELS for name in _of_model(model, kept)), RMSE]


def aggregate_names(levels: Iterable[float], form: Form = GAUSSIAN) -> list[str]:
    """Return all names at these levels of forecasts of a form."""
    kept = tuple(levels)
    return [
        *(name for model in MODELS for name in _of_model(model, kept)),
        FACTOR,
        RMSE,
        *([SPREAD_SKILL] if members_in(form) else []),
    ]
