"""Object stores: the options with which GDAL finds them, and the names in their folders."""

import os
from urllib.parse import urlsplit

from geouq.rasters.gdal_library import gdal_library, texts_of
from geouq.rasters.remote_files import forget


def names_in(folder: str, most: int = 0) -> list[str] | None:
    """Return the current names in a folder of an object store; None if the store does not list them.

    most : number of names after which GDAL stops; 0 for all.
    """
    library = gdal_library()
    if library is None:
        return None
    forget(folder)
    found = library.VSIReadDirEx(folder.encode(), most)
    return None if not found else texts_of(found)


def store_options() -> dict[str, str]:
    """Return GDAL's options for the store at AWS_ENDPOINT_URL, or {} without that variable."""
    address = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if not address or "AWS_S3_ENDPOINT" in os.environ:
        return {}
    found = urlsplit(address)
    return {
        "AWS_S3_ENDPOINT": f"{found.netloc}{found.path}".rstrip("/"),
        "AWS_HTTPS": os.environ.get("AWS_HTTPS", "NO" if found.scheme == "http" else "YES"),
        "AWS_VIRTUAL_HOSTING": os.environ.get("AWS_VIRTUAL_HOSTING", "FALSE"),
    }
