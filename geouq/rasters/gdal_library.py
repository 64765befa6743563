"""Functions of GDAL's C library that rasterio does not offer, called in the library that rasterio has loaded."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import rasterio._base


@cache
def gdal_library() -> Any:
    """Return the library that rasterio has loaded; None if the system does not find the functions in it."""
    try:
        library = ctypes.CDLL(rasterio._base.__file__)  # noqa: SLF001  its path is all that is taken
        library.VSIGetFileMetadata.restype = ctypes.c_void_p
        library.VSIGetFileMetadata.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p]
        library.VSIReadDirEx.restype = ctypes.c_void_p
        library.VSIReadDirEx.argtypes = [ctypes.c_char_p, ctypes.c_int]
        library.CSLDestroy.argtypes = [ctypes.c_void_p]
        library.VSICurlPartialClearCache.argtypes = [ctypes.c_char_p]
        library.VSIFOpenL.restype = ctypes.c_void_p
        library.VSIFOpenL.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
        library.VSIFOpenExL.restype = ctypes.c_void_p
        library.VSIFOpenExL.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int]
        library.VSIGetLastErrorMsg.restype = ctypes.c_char_p
        library.VSIErrorReset.argtypes = library.VSIGetLastErrorNo.argtypes = library.VSIGetLastErrorMsg.argtypes = []
        library.VSIFReadL.restype = ctypes.c_size_t
        library.VSIFReadL.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p]
        library.VSIFSeekL.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int]
        library.CPLHTTPFetch.restype = ctypes.c_void_p
        library.CPLHTTPFetch.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p)]
        library.CPLHTTPDestroyResult.argtypes = [ctypes.c_void_p]
        library.CPLGetConfigOption.restype = ctypes.c_char_p
        library.CPLGetConfigOption.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
        library.CPLPushErrorHandler.argtypes = [ctypes.c_void_p]
        library.VSIFTellL.restype = ctypes.c_uint64
        library.VSIFTellL.argtypes = library.VSIFCloseL.argtypes = [ctypes.c_void_p]
        library.CPLPopErrorHandler.argtypes = library.CPLErrorReset.argtypes = []
        library.CPLQuietErrorHandler  # noqa: B018  AttributeError if it is missing
    except (OSError, AttributeError):
        return None
    return library


@contextmanager
def without_reports() -> Iterator[None]:
    """Silence errors of GDAL in this thread, and clear them, because rasterio would raise them later."""
    library = gdal_library()
    library.CPLPushErrorHandler(ctypes.cast(library.CPLQuietErrorHandler, ctypes.c_void_p))
    try:
        yield
    finally:
        library.CPLPopErrorHandler()
        library.CPLErrorReset()


def texts_of(found: Any) -> list[str]:
    """Return the texts of a list that GDAL returned, and free the list."""
    texts: list[str] = []
    while text := ctypes.cast(found, ctypes.POINTER(ctypes.c_char_p))[len(texts)] if found else None:
        texts.append(text.decode("utf-8", "replace"))
    gdal_library().CSLDestroy(found)
    return texts
