"""Zarr and Icechunk stores on servers, read with the credentials, time limits and retries of rasters.

Keys of object stores are read by GDAL, keys of web servers by its HTTP client. No list of keys is requested: of a
group, only the arrays that a layer needs are looked for.
"""

import asyncio
import ctypes
import json
import os
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import Buffer, BufferPrototype

from geouq.core.errors import DataError
from geouq.rasters.gdal import gdal_options
from geouq.rasters.gdal_library import gdal_library, without_reports
from geouq.rasters.host_limit import in_turn
from geouq.rasters.remote_files import as_gdal_names_it, forget
from geouq.rasters.web_requests import ABSENT, OK, PART, content_at

METADATA = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
OF_A_STORE = ("zarr.json", ".zgroup", ".zarray")  # of which the root has one
NOT_FOUND = (7, 8)  # numbers of GDAL's errors: of a bucket, of an object
PLACES = ("spatial_ref", "crs")  # names of the variables that place arrays without naming one


class ServerStore(Store):
    """A Zarr store on a server, which is read alone.

    root : the address, or GDAL's name of the folder. wanted : paths of the arrays that are found in groups, besides
    those that they name.
    """

    supports_writes = supports_deletes = False
    supports_listing = True

    def __init__(self, root: str, wanted: Iterable[str] = ()) -> None:
        super().__init__(read_only=True)
        self.root, self.wanted = as_gdal_names_it(root.rstrip("/")), tuple(wanted)
        self._metadata: dict[str, bytes | None] = {}
        forget(self.root)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ServerStore) and (self.root, self.wanted) == (other.root, other.wanted)

    __hash__ = None  # type: ignore[assignment]  # as of other stores

    def content(self, key: str, wanted: ByteRequest | None = None) -> bytes | None:
        """Return the bytes of a key, or a part of them; None if there is no such key.

        Raises OSError with the reason where the server refuses or fails.
        """
        if wanted is None and key.rpartition("/")[2] in METADATA:
            if key not in self._metadata:
                self._metadata[key] = _content(f"{self.root}/{key}")
            return self._metadata[key]
        return _content(f"{self.root}/{key}", wanted)

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        """Return the bytes of a key, as Zarr asks for them."""
        found = await asyncio.to_thread(self.content, key, byte_range)
        return None if found is None else prototype.buffer.from_bytes(found)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Return the bytes of several keys."""
        return list(await asyncio.gather(*(self.get(key, prototype, part) for key, part in key_ranges)))

    async def exists(self, key: str) -> bool:
        """Return whether there is a key."""
        return await asyncio.to_thread(self.content, key, RangeByteRequest(0, 1)) is not None

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Yield the arrays of a group that are needed."""
        for name in await asyncio.to_thread(self._needed, prefix.strip("/")):
            yield name

    def _needed(self, group: str) -> list[str]:
        """Return the names of arrays in a group: the wanted ones, their coordinates, and what they refer to."""
        own = [path.rpartition("/")[2] for path in self.wanted if path.rpartition("/")[0] == group]
        more = [name for path in own for name in self._related("/".join(filter(None, (group, path))))]
        return [name for name in dict.fromkeys([*own, *more]) if self._is_array("/".join(filter(None, (group, name))))]

    def _is_array(self, path: str) -> bool:
        return any(self.content(f"{path}/{name}") is not None for name in ("zarr.json", ".zarray"))

    def _related(self, path: str) -> Sequence[str]:
        """Return the names of dimensions of an array, and of what its attributes refer to."""
        if found := self.content(f"{path}/zarr.json"):
            metadata = json.loads(found)
            attributes, dimensions = metadata.get("attributes", {}), metadata.get("dimension_names") or ()
        elif found := self.content(f"{path}/.zattrs"):
            attributes = json.loads(found)
            dimensions = attributes.get("_ARRAY_DIMENSIONS", ())
        else:
            return ()
        texts = [str(attributes.get(key, "")) for key in ("grid_mapping", "ancillary_variables")]
        places = () if texts[0] else PLACES
        return [*filter(None, dimensions), *(word.strip(":") for text in texts for word in text.split()), *places]

    def list(self) -> AsyncIterator[str]:
        """Raise, as keys are not listed."""
        raise NotImplementedError("keys of stores on servers are not listed")

    def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """Raise, as keys are not listed."""
        raise NotImplementedError(f"keys of stores on servers are not listed, nor those of {prefix}")

    async def set(self, key: str, value: Buffer) -> None:
        """Raise, as nothing is written."""
        raise NotImplementedError(f"{key}: stores on servers are read alone")

    async def delete(self, key: str) -> None:
        """Raise, as nothing is deleted."""
        raise NotImplementedError(f"{key}: stores on servers are read alone")


def open_store(file: str, wanted: str) -> Any:
    """Return the store at an address, from which an array is to be read.

    Raises
    ------
    DataError
        If there is no store.
    OSError
        If the server refuses or fails.
    """
    if file.rstrip("/").endswith(".icechunk"):
        return _icechunk(file)
    store = ServerStore(file, (wanted,))
    if not any(store.content(key) is not None for key in OF_A_STORE):
        raise DataError(f"there is no Zarr store {file}: the server has none of {', '.join(OF_A_STORE)} there")
    return store


def _icechunk(file: str) -> Any:
    """Return the newest version on the branch main of a repository in an object store."""
    import icechunk  # noqa: PLC0415  an optional dependency

    place = urlsplit(file)
    prefix = place.path.strip("/")
    if place.scheme == "s3":
        address = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        unsigned = os.environ.get("AWS_NO_SIGN_REQUEST", "").upper() in ("YES", "TRUE", "1")
        storage = icechunk.s3_storage(
            bucket=place.netloc,
            prefix=prefix,
            region=os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"),
            endpoint_url=address,
            allow_http=bool(address and address.startswith("http://")),
            force_path_style=bool(address),
            anonymous=True if unsigned else None,
            from_env=None if unsigned else True,
        )
    elif place.scheme in ("gs", "gcs"):
        storage = icechunk.gcs_storage(bucket=place.netloc, prefix=prefix, from_env=True)
    else:
        raise DataError(f"{file}: Icechunk repositories are read from s3:// and gs://, or from a folder")
    return icechunk.Repository.open(storage).readonly_session("main").store


def _content(name: str, wanted: ByteRequest | None = None) -> bytes | None:
    """Return the bytes of a file by its GDAL name, or a part of them; None if there is no such file."""
    with in_turn(name), gdal_options():
        answer = content_at(name, _range(wanted))
        if answer is None:
            return _from_store(name, wanted)
    if answer.code == ABSENT:
        return None
    if answer.code not in (OK, PART):
        raise OSError(f"{name.removeprefix('/vsicurl/')}: {answer.reason}")
    return answer.content if wanted is None or answer.code == PART else _part(answer.content, wanted)


def _range(wanted: ByteRequest | None) -> str:
    """Return the value of the header Range; '' for all bytes."""
    if isinstance(wanted, RangeByteRequest):
        return f"bytes={wanted.start}-{wanted.end - 1}"
    if isinstance(wanted, OffsetByteRequest):
        return f"bytes={wanted.offset}-"
    return f"bytes=-{wanted.suffix}" if isinstance(wanted, SuffixByteRequest) else ""


def _part(content: bytes, wanted: ByteRequest) -> bytes:
    first, last = _ends(wanted, len(content))
    return content[first:last]


def _ends(wanted: ByteRequest | None, size: int) -> tuple[int, int]:
    """Return the first byte of a part of a file, and the one after its last."""
    if isinstance(wanted, RangeByteRequest):
        return min(wanted.start, size), min(wanted.end, size)
    if isinstance(wanted, OffsetByteRequest):
        return min(wanted.offset, size), size
    return (max(size - wanted.suffix, 0), size) if isinstance(wanted, SuffixByteRequest) else (0, size)


def _from_store(name: str, wanted: ByteRequest | None) -> bytes | None:
    """Read a key of an object store through GDAL."""
    library = gdal_library()
    if library is None:
        raise OSError("GDAL's library is not found, so that stores on servers cannot be read")
    with without_reports():
        library.VSIErrorReset()
        file = library.VSIFOpenExL(name.encode(), b"rb", 1)
        if not file:
            reason = (library.VSIGetLastErrorMsg() or b"").decode("utf-8", "replace")
            if library.VSIGetLastErrorNo() in NOT_FOUND or "404" in reason:
                return None
            raise OSError(reason or f"{name} cannot be opened")
        try:
            library.VSIFSeekL(file, 0, os.SEEK_END)
            first, last = _ends(wanted, int(library.VSIFTellL(file)))
            library.VSIFSeekL(file, first, os.SEEK_SET)
            content = ctypes.create_string_buffer(max(last - first, 1))
            read = int(library.VSIFReadL(content, 1, last - first, file))
        finally:
            library.VSIFCloseL(file)
    if read < last - first:
        raise OSError(f"{name}: the server sent {read} of {last - first} bytes")
    return content.raw[:read]
