"""Names of the numbers of means of areas, for each model of the correlation of errors."""

from collections.abc import Iterable

from geouq.summary.form import GAUSSIAN, Form

PREFIX = "aggregate_"
MODELS = ("independent", "fitted", "full", "calibrated")
MEMBER_ERRORS = "member_errors"  # which sums of a form
SPREAD_SKILL = f"{PREFIX}spread_skill"  # of members without variances
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


def members_in(form: Form) -> int:
    """Return the number of members without variances, whose errors are summed; 0 for other forecasts."""
    (count,) = form.fields.get(MEMBER_ERRORS, (0,))
    return count


def compared_names(levels: Iterable[float]) -> list[str]:
    """Return the names at these levels of the numbers that are compared between forecasts, in the order of tables."""
    kept = tuple(levels)
    return [*(name for model in MODELS for name in (zms_name(model), *(coverage_name(model, p) for p in kept))), RMSE]


def aggregate_names(levels: Iterable[float], form: Form = GAUSSIAN) -> list[str]:
    """Return all names at these levels of forecasts of a form."""
    kept = tuple(levels)
    return [
        *(name for model in MODELS for name in (zms_name(model), *(coverage_name(model, level) for level in kept))),
        FACTOR,
        RMSE,
        *([SPREAD_SKILL] if members_in(form) else []),
    ]
