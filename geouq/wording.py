"""Numbers as people read them: three digits, and a word for what mean z² says."""

CALIBRATED = 0.1  # how far mean z² may lie from 1 and still be called calibrated


def for_people(value: float | None) -> str:
    """A number with three significant digits, all of those before the point up to a million; n/a where missing.

    >>> for_people(0.123456), for_people(2400.0905), for_people(999.7), for_people(None)
    ('0.123', '2400', '1000', 'n/a')
    """
    if value is None:
        return "n/a"
    rounded = f"{value:.3g}"
    return f"{value:.0f}" if 1000 <= abs(float(rounded)) < 1e6 else rounded


def calibration_word(zms: float | None) -> str:
    """In a word whether the variance fits the errors: mean z² above 1 is over-confident.

    >>> calibration_word(1.05), calibration_word(2.5), calibration_word(0.5)
    ('calibrated', 'over-confident', 'under-confident')
    """
    if zms is None:
        return "no pixels"
    if abs(zms - 1) <= CALIBRATED:
        return "calibrated"
    return "over-confident" if zms > 1 else "under-confident"
