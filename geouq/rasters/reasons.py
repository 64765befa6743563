"""Opening a raster, and why GDAL cannot open or read it, in one sentence."""

import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import rasterio
from rasterio._err import CPLE_BaseError  # what properties of a damaged header raise
from rasterio.errors import RasterioError

from geouq.errors import DataError
from geouq.rasters.http_errors import unanswered
from geouq.rasters.server_files import as_gdal_names_it, forget, is_remote
from geouq.rasters.stamps import physical
from geouq.text.gdal_names import format_in_name
from geouq.usage import advice_on

WITHOUT_REASON = "does not exist in the file system"
UNKNOWN_FORMAT = "not recognized as being in a supported file format"  # as GDAL says it
NO_FILE = os.strerror(errno.ENOENT)
NOT_OF_THE_DRIVER = (UNKNOWN_FORMAT, WITHOUT_REASON, NO_FILE)  # a name such as ZARR:"x" is a file to no other driver
REFUSED = re.compile(
    r"HTTP response code: 40[13]\b|Access ?Denied|InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken"
)
ADVICE_ON_REFUSAL = (
    "; the server refuses access: the file is private, or a password, a token or a signature is missing, wrong or "
    "expired"
)


def open_as(path: str, drivers: Sequence[str]) -> Any:
    """Open a file by the first of these drivers that knows its format or its kind of name."""
    *others, last = drivers
    for driver in others:
        try:
            return rasterio.open(path, driver=driver, sharing=False)
        except RasterioError as error:
            if not any(reason in str(error) for reason in NOT_OF_THE_DRIVER):
                raise
    return rasterio.open(path, driver=last, sharing=False)


@contextmanager
def explained(path: str, drivers: Sequence[str], *, reading: bool = False) -> Iterator[None]:
    """Raise DataError with the reason where a raster cannot be opened, or read if it is open (`reading`)."""
    try:
        with unanswered(path) as failed:
            yield
    except (RasterioError, CPLE_BaseError, OSError) as error:
        reason = _reason(error, path, drivers)
        if reading and not REFUSED.search(reason):
            reason = reason.rstrip(".") + _answer_of_server(path, drivers)
        advice = ADVICE_ON_REFUSAL if REFUSED.search(reason) else advice_on(reason)
        raise DataError(f"{path} cannot be read: {reason}{advice}") from error
    if failed:
        raise DataError(
            f"{path} cannot be read: the server failed for {failed[0]}, which may define the valid pixels; "
            "set GDAL_DISABLE_READDIR_ON_OPEN=EMPTY_DIR if nothing lies beside the file"
        )


def _reason(error: Exception, path: str, drivers: Sequence[str]) -> str:
    reason = str(error.__cause__ or error).removeprefix(f"{path}: ")
    named = format_in_name(path).lower()
    other_format = named and named not in {driver.lower() for driver in drivers}
    if UNKNOWN_FORMAT in reason or (other_format and any(own in reason for own in NOT_OF_THE_DRIVER)):
        return f"it is no {' or '.join(drivers)} file; `drivers` in the configuration names the formats to read"
    return reason


def _answer_of_server(path: str, drivers: Sequence[str]) -> str:
    """Open a file on a server once more, as GDAL does not keep why pixels did not come; '' where it can be opened."""
    file = physical(as_gdal_names_it(path))
    if not is_remote(file):
        return ""
    forget(file)
    try:
        with rasterio.Env(GDAL_HTTP_MAX_RETRY=0), open_as(path, drivers):
            return ""
    except RasterioError as error:
        refused = REFUSED.search(str(error))
        return f"; its server now answers {refused[0] if refused else error}"
