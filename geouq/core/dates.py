"""Dates as names of files write them."""

import re
from datetime import datetime, timedelta

YEAR, MONTH, DAY = r"(?:1[5-9]|2\d)\d\d", r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
CLOCK = r"(?:T(?:[01]\d|2[0-3])(?::?[0-5]\d(?::?[0-5]\d)?)?Z?)?"
DATE = "|".join([
    *(rf"{YEAR}{between}{MONTH}{between}{DAY}{CLOCK}" for between in ("-", "_", "")),
    rf"{YEAR}[0-3]\d\d",  # day of the year
    *(rf"{YEAR}{between}{MONTH}" for between in ("-", "_", "")),
    YEAR,
])  # fmt: skip
FORMATS = {4: "%Y", 6: "%Y%m", 7: "%Y%j", 8: "%Y%m%d", 10: "%Y%m%d%H", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}


def date_in_name(text: str) -> datetime | None:
    """Return the date that a text is, to the year, month, day, hour, minute or second; None if it is none.

    >>> date_in_name("2010_06"), date_in_name("2010032"), date_in_name("mean")
    (datetime.datetime(2010, 6, 1, 0, 0), datetime.datetime(2010, 2, 1, 0, 0), None)
    """
    if not re.fullmatch(DATE, text):
        return None
    digits = re.sub(r"\D", "", text)
    try:
        if len(digits) == 7:  # strptime takes day 366 of any year
            found = datetime(int(digits[:4]), 1, 1) + timedelta(days=int(digits[4:]) - 1)
            return found if found.year == int(digits[:4]) else None
        return datetime.strptime(digits, FORMATS[len(digits)])
    except ValueError:
        return None
