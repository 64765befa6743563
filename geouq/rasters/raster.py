"""Headers of rasters, files shared within a thread, why one cannot be read, and which band holds a variable."""

import math
import os
import re
import threading
import time
import warnings
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import rasterio
import rasterio.windows
from numpy.typing import NDArray
from rasterio._err import CPLE_BaseError  # what properties of a damaged header raise
from rasterio.enums import ColorInterp, MaskFlags
from rasterio.errors import NotGeoreferencedWarning, RasterioError
from rasterio.io import MemoryFile

from geouq.config import Alignment, Variable, model_and_layer
from geouq.config.layer_file import is_array
from geouq.core.errors import ChangedError, DataError
from geouq.core.grid import Grid, Window
from geouq.core.naming import file_in_name, format_in_name
from geouq.core.usage import advice_on, open_files_allowed
from geouq.rasters.array_layout import ArrayLayout
from geouq.rasters.files import (
    Known,
    Origin,
    Stamp,
    files_behind,
    origins_of,
    physical,
    stamp,
    stamp_before_opening,
)
from geouq.rasters.formats import not_allowed, which_array
from geouq.rasters.gdal import (
    GDAL_OPTIONS,
    NOT_OF_THE_DRIVER,
    UNKNOWN_FORMAT,
    WITHOUT_REASON,
    PixelReader,
    gdal_options,
    open_as,
    with_option,
)
from geouq.rasters.host_limit import in_turn
from geouq.rasters.mask_rule import MaskRule
from geouq.rasters.plain_tiff import PlainTiff, plain_tiff, tags_in, transform_in
from geouq.rasters.remote_files import (
    as_gdal_names_it,
    endings_of_requests,
    first_part_of,
    forget,
    is_first_request,
    is_remote,
    lost_sidecar,
    may_have_sidecars,
    sends_nothing,
    version_in,
    without_signature,
)
from geouq.rasters.server_errors import failed_requests
from geouq.rasters.sidecars import alone_in_list, has_no_sidecars

REFUSED = re.compile(
    r"HTTP response code: 40[13]\b|Access ?Denied|InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken"
)
ADVICE_ON_REFUSAL = (
    "; the server refuses access: the file is private, or a password, a token or a signature is missing, wrong or "
    "expired"
)
CUT_OFF = "; the file is damaged, or its server sends less of it than is asked for: run again"
OF_ONE_FILE = ("GTiff", "COG")  # formats that open no other raster, which may have sidecars of its own
DRIVERS = ("GTiff",)  # of GDAL; a VRT can make it read any file or address
MOST_REQUESTS = 8  # at a time, for a tile
PATIENCE = 20  # a folder is looked at again after so many times as long as the last look took
MOST_OPEN = 256  # rasters that a thread keeps open
MOST_HEADERS = 64  # that others are compared with
UNSAID = re.compile(r"(band_\d+)?")  # descriptions that name no variable
# pixels of a block for a byte of its file: one may be a bit; zstd makes 2^15 bytes of one; of what is not here, such as
# LERC, a block of one value is a few bytes however large
MOST_PACKED = {"none": 8, "DEFLATE": 1 << 16, "LZW": 1 << 16, "ZSTD": 1 << 16, "PACKBITS": 1 << 16, "LZMA": 1 << 16}


Version = tuple[tuple[Stamp, ...], int]  # files on servers, and the time at which an unidentified raster was read
Key = tuple[str, tuple[Stamp, ...], int]

# grids are compared here, and pictures without a place evaluated too
warnings.filterwarnings("ignore", category=NotGeoreferencedWarning)
ONE_FOR_ALL = ("mask", "weights", "covariates", "classes")  # one band of these layers may serve all variables


@contextmanager
def explained(path: str, drivers: Sequence[str], *, reading: bool = False) -> Iterator[None]:
    """Raise DataError with the reason where a raster cannot be opened, or read if it is open (`reading`)."""
    try:
        with failed_requests(path) as failed:
            yield
    except (RasterioError, CPLE_BaseError, OSError) as error:
        reason = _reason(error, path, drivers)
        if reading and not REFUSED.search(reason):
            reason = reason.rstrip(".") + (_answer_of_server(path, drivers) or _doubt_of(path))
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
    if UNKNOWN_FORMAT in reason and _gets_nothing(path):
        return "its server shows the file, but does not send its content; try again, or see whether it is private"
    if UNKNOWN_FORMAT in reason or (other_format and any(own in reason for own in NOT_OF_THE_DRIVER)):
        return not_allowed(path, drivers)
    return reason


def _doubt_of(path: str) -> str:
    """Return what may be wrong with a file whose pixels cannot be read although its server answers."""
    return CUT_OFF if is_remote(physical(as_gdal_names_it(path))) else ""


def _gets_nothing(path: str) -> bool:
    file = physical(as_gdal_names_it(path))
    with in_turn(file), with_option("GDAL_HTTP_MAX_RETRY", "0"):
        return is_remote(file) and sends_nothing(file)


def _answer_of_server(path: str, drivers: Sequence[str]) -> str:
    """Open a file on a server once more, as GDAL does not keep why pixels did not come; '' where it can be opened."""
    file = physical(as_gdal_names_it(path))
    if not is_remote(file):
        return ""
    forget(file)
    try:
        with in_turn(file), rasterio.Env(GDAL_HTTP_MAX_RETRY=0), open_as(path, drivers):
            return ""
    except RasterioError as error:
        refused = REFUSED.search(str(error))
        return f"; its server now answers {refused[0] if refused else error}"


@dataclass(frozen=True)
class Band:
    """One band as its header describes it; nodata as a number of the stored type, None for none."""

    dtype: str
    nodata: float | None
    scale: float
    offset: float
    masked: bool
    description: str
    units: str

    @property
    def scaled(self) -> bool:
        """Return whether values differ from those that are stored."""
        return self.scale != 1 or self.offset != 0


@dataclass(frozen=True)
class Aligned:
    """How the pixels of a raster on another grid follow from those of its file.

    source : the raster on its own grid. valid_share : share of a pixel of an average that valid pixels must cover.
    """

    source: "Raster"
    method: Alignment
    valid_share: float


class VariableFile(NamedTuple):
    """The raster and band number of one variable, for a layer with a file for each variable."""

    variable: str
    raster: "Raster"
    band: int


@dataclass(frozen=True)
class Raster:
    """One file's header; `block` (rows, columns) is the unit of decoding, of all bands together if `interleaved`.

    driver : GDAL's for its format. alpha : number of the band that is 0 where the file is transparent, None for none.
    files : the file and those that its pixels come from too, such as a mask, the archive that holds it, or the sources
    of a VRT. unidentified : names of those of which nothing is known that changes when their pixels do.
    identity : what identifies the file whatever its path: links to one file have the same.
    read_at : time (ns) at which the header of an unidentified raster was read, so that no older handle is read; else 0.
    origins : the file and band that each band of a VRT passes through as it is.
    has_no_sidecars : whether it is on a server without sidecar files that change how it is read; GDAL then searches
    for none.
    kept : whether the server was not asked for this header, which an earlier run read.
    only : number of the band that the configuration names for all that is read from here; None for none.
    corner : row and column of the file at which `grid` begins, of a part of it.
    array : where it lies in an array of a netCDF or Zarr file; None of a raster that GDAL reads.
    header : the raster as its file describes it, where the configuration says otherwise, or this is a part; else None.
    rule : of a mask, which codes let a pixel count; None where all but 0 do.
    other_nodata : whether the configuration names another nodata, which GDAL does not write into absent blocks.
    aligned : of a raster that is brought to another grid, whose bands then hold float64 with NaN; else None.
    parts : source of each band if the layer has a file for each variable; the path then contains {variable}.
    """

    path: str
    grid: Grid
    bands: tuple[Band, ...]
    alpha: int | None
    block: tuple[int, int]
    interleaved: bool
    compression: str
    driver: str
    files: tuple[Stamp, ...]
    unidentified: tuple[str, ...]
    identity: str
    read_at: int = 0
    origins: tuple[Origin | None, ...] = ()
    has_no_sidecars: bool = False
    kept: bool = field(default=False, compare=False)
    only: int | None = None
    other_nodata: bool = False
    rule: MaskRule | None = None
    corner: tuple[int, int] = (0, 0)
    aligned: Aligned | None = None
    array: ArrayLayout | None = None
    parts: tuple[VariableFile, ...] = ()
    header: "Raster | None" = field(default=None, compare=False, repr=False)

    @property
    def variables(self) -> dict[str, int]:
        """Band of each variable, all but alpha, by its description, or `band_<number>` where it has none of its own."""
        described = [band.description for band in self.bands]
        times = Counter(described)
        return {
            name if times[name] == 1 and not UNSAID.fullmatch(name) else f"band_{number}": number
            for number, name in enumerate(described, 1)
            if number != self.alpha and self.only in (None, number)
        }

    def changed(self, **fields: Any) -> "Raster":
        """Return the same file with what the configuration says of it."""
        return replace(self, header=self.header or self, **fields)

    def placed_at(self, layout: ArrayLayout) -> "Raster":
        """Return the raster at another place in its array; if it is aligned, so is its source."""
        aligned = self.aligned and replace(self.aligned, source=self.aligned.source.placed_at(layout))
        return self.changed(array=layout, aligned=aligned)

    def part(self, window: Window) -> "Raster":
        """Return the part of the raster that lies in a window."""
        row, column = self.corner
        return self.changed(grid=self.grid.part(window), corner=(row + window.row, column + window.column))

    def file_of(self, band: int) -> tuple[str, int]:
        """Return the path of the file that holds a band, and the number of the band in it."""
        if not self.parts:
            return self.path, band
        part = self.parts[band - 1]
        return part.raster.path, part.band

    def place(self, window: Window) -> rasterio.windows.Window:
        """Return a window of the raster as a window of its file."""
        row, column = self.corner
        return rasterio.windows.Window(window.column + column, window.row + row, window.width, window.height)

    def origin(self, band: int) -> Origin:
        """Return what tells a band from any other one, whatever names it has: a file and the number of its band."""
        if self.parts:
            part = self.parts[band - 1]
            return part.raster.origin(part.band)
        if self.array is not None:
            return f"{self.identity}{self.array.fixed}", band
        passed = self.origins[band - 1] if band <= len(self.origins) else None
        return passed or (self.identity, band)

    @property
    def tiff(self) -> bool:
        """Return whether its blocks are those of a plain TIFF file, which may leave some out."""
        return self.driver == "GTiff" and self.aligned is None and not self.parts

    @cached_property
    def is_remote(self) -> bool:
        """Return whether it is on a server."""
        if self.array is not None:
            return is_remote(as_gdal_names_it(file_in_name(self.path)))
        return is_remote(physical(as_gdal_names_it(self.path)))

    @property
    def fingerprint(self) -> str:
        """Return what changes when the pixels do: what identifies the files, and the header."""
        files = [file.identity for file in self.files]
        name = Path(without_signature(self.path)).name
        rule = () if self.rule is None else (self.rule,)
        of = self.aligned
        aligned = () if of is None else (of.source.fingerprint, of.method, of.valid_share)
        place = () if self.array is None else (self.array.fixed,)
        return repr((name, files, self.unidentified, self.grid, self.bands, self.alpha, *rule, *aligned, *place))

    @property
    def size(self) -> int:
        """Return the bytes of all files."""
        return sum(file.bytes for file in self.files)

    @property
    def modified(self) -> int:
        """Return the latest time of change in nanoseconds, 0 where it is not known."""
        return max((file.modified for file in self.files), default=0)


class _CutOffError(DataError):
    """A server sent too little of what lies beside a raster."""


class HeaderStore(Protocol):
    """Headers that earlier runs have read."""

    def find(self, path: str, drivers: Sequence[str]) -> Raster | None:
        """Return the header of a raster, if it is kept."""

    def add(self, raster: Raster, drivers: Sequence[str]) -> None:
        """Keep a header."""


_stores: list[HeaderStore] = []


@contextmanager
def headers_from(store: HeaderStore) -> Iterator[None]:
    """Take the headers of files on servers from a store, where it has them, and add those that are read."""
    _stores.append(store)
    try:
        yield
    finally:
        _stores.remove(store)


def read_header(path: str, drivers: Sequence[str] = DRIVERS) -> Raster:
    """Read a raster's header; DataError if it cannot be opened, or is of a format that is not among `drivers`."""
    if is_array(path):
        from geouq.rasters.arrays import array_header  # noqa: PLC0415  xarray is loaded where an array is read

        return array_header(path)
    if kept := next(filter(None, (store.find(path, drivers) for store in _stores)), None):
        return kept
    with in_turn(as_gdal_names_it(path)), gdal_options():
        plain = plain_tiff(path) or _plain_on_server(path, drivers)
        if found := plain and _like_another(plain, path, drivers):
            raster = found
        else:
            raster = (plain and _from_first_bytes(plain, path, drivers)) or _read_patiently(path, drivers)
            if plain:
                _remember(plain, drivers, raster)
    for store in _stores:
        store.add(raster, drivers)
    return raster


def _plain_on_server(path: str, drivers: Sequence[str]) -> PlainTiff | None:
    """Return a TIFF file on a server without sidecars and with all tags in its first bytes; None for others."""
    if not set(drivers) <= set(OF_ONE_FILE):
        return None
    name = as_gdal_names_it(path)
    with explained(path, drivers):
        part = first_part_of(name)
    version, tags = (version_in(part), tags_in(BytesIO(part.content))) if part else (None, None)
    if part is None or version is None or tags is None or not has_no_sidecars(name):
        return None
    if not is_first_request(name):
        forget(name)
    size, modified, etag = version
    found = Stamp(name, size, modified, version=etag)
    _versions[path] = (found,), 0
    return PlainTiff(found, name, tags, part.content)


def _from_first_bytes(plain: PlainTiff, path: str, drivers: Sequence[str]) -> Raster | None:
    """Return the header of a file on a server from its first bytes; None if they are not enough."""
    if not plain.first:
        return None
    try:
        with _opened_first(plain) as name, open_as(name, drivers) as source:
            if source.driver not in OF_ONE_FILE or source.transform.is_identity:
                return None
            raster = _described(source, path, (plain.stamp,), (), has_no_sidecars=True)
            return replace(raster, identity=plain.identity)
    except (RasterioError, CPLE_BaseError, OSError):  # GDAL then finds the reason
        return None


def _read_patiently(path: str, drivers: Sequence[str]) -> Raster:
    """Read a header, and once more where the server sent too little."""
    left = int(GDAL_OPTIONS["GDAL_HTTP_MAX_RETRY"])
    while True:
        try:
            return _read_header(path, drivers)
        except _CutOffError as error:
            if left < 1:
                raise DataError(str(error)) from error
        left -= 1
        time.sleep(float(GDAL_OPTIONS["GDAL_HTTP_RETRY_DELAY"]))


def _read_header(path: str, drivers: Sequence[str]) -> Raster:
    """Read a header through GDAL alone."""
    with explained(path, drivers), _stamped_and_opened(path, drivers) as (known, source, has_no_sidecars):
        if not source.count:
            raise DataError(f"{path} cannot be read: {which_array(source, path)}")
        raster = _described(source, path, *files_behind(source, known), has_no_sidecars=has_no_sidecars)
        _require_possible(raster, source)
        if not has_no_sidecars and source.driver in OF_ONE_FILE:
            _require_sidecars(raster, source)
        if any(version := _version(raster)):
            _versions[path] = version
        return raster


def _described(
    source: Any, path: str, files: tuple[Stamp, ...], unidentified: tuple[str, ...], *, has_no_sidecars: bool
) -> Raster:
    """Return the header of an open raster."""
    layout = source.tags(ns="IMAGE_STRUCTURE")
    return Raster(
        path,
        Grid(source.shape, source.transform, source.crs.to_wkt() if source.crs else "", *_control(source)),
        _bands(source),
        next((number for number, kind in enumerate(source.colorinterp, 1) if kind is ColorInterp.alpha), None),
        tuple(max(sides) for sides in zip(*source.block_shapes, strict=True)),
        source.count > 1 and layout.get("INTERLEAVE") == "PIXEL",
        layout.get("COMPRESSION", "none"),
        source.driver,
        files,
        unidentified,
        _identity(path, source.files),
        time.time_ns() if unidentified else 0,
        origins_of(source, lambda name: _identity(name, [name])),
        has_no_sidecars,
    )


def _require_possible(raster: Raster, source: Any) -> None:
    """Raise DataError where the first block of a local TIFF is there, and larger than all of the file can hold."""
    most, own = MOST_PACKED.get(raster.compression), [file.bytes for file in raster.files if file.path == raster.path]
    if not raster.tiff or most is None or not own or math.prod(raster.block) <= most * own[0]:
        return
    if source.get_tag_item("BLOCK_OFFSET_0_0", "TIFF", bidx=1) is not None:
        raise DataError(
            f"{raster.path} cannot be read: its header claims blocks of {math.prod(raster.block):,} pixels, but the "
            f"file has {own[0]:,} bytes; it is cut off or damaged"
        )


def _require_sidecars(raster: Raster, source: Any) -> None:
    """Raise DataError where a server shows a mask or metadata beside a file, but sent too little of it."""
    has_own_mask = any(band.masked for band in raster.bands)
    name = as_gdal_names_it(raster.path)
    if lost := lost_sidecar(name, [*source.files, *([f"{name}.msk"] if has_own_mask else [])]):
        raise _CutOffError(
            f"{raster.path} cannot be read: {lost} is damaged, or its server sent less of it than there is; run again, "
            "or set GDAL_DISABLE_READDIR_ON_OPEN=EMPTY_DIR to read the raster without it"
        )


@contextmanager
def _stamped_and_opened(path: str, drivers: Sequence[str]) -> Iterator[tuple[Known, Any, bool]]:
    is_alone = bool(alone_in_list(as_gdal_names_it(path)))  # first: a list clears the cache of GDAL
    known = stamp_before_opening(path, named_by_none=set(drivers) <= set(OF_ONE_FILE))
    has_no_sidecars = False
    try:
        has_no_sidecars = is_alone or not may_have_sidecars(path)
        with _sidecar_search(path, drivers, needed=not has_no_sidecars):
            source = open_as(path, drivers)
    except RasterioError as error:
        if WITHOUT_REASON not in str(error) or not any(map(is_remote, known)):
            raise
        forget(*known)  # one more request, as the one for headers does not show why there was no answer
        with rasterio.Env(GDAL_HTTP_MAX_RETRY=0):
            known, source = {}, open_as(path, drivers)
    search = _sidecar_search(path, drivers, needed=not has_no_sidecars)
    if any(map(is_remote, known)) and (source.driver not in OF_ONE_FILE or source.transform.is_identity):
        source.close()
        source, has_no_sidecars, search = open_as(path, drivers), False, nullcontext()
    with source, search:
        yield known, source, has_no_sidecars


def _sidecar_search(path: str, drivers: Sequence[str], *, needed: bool) -> Any:
    """Return a context in which GDAL searches for sidecar files of a raster that it opens, or does not.

    On a server it asks for those alone that change how pixels are read, if it opens no other rasters.
    """
    if not needed:
        return with_option("GDAL_DISABLE_READDIR_ON_OPEN", "EMPTY_DIR")
    names = endings_of_requests(path) if set(drivers) <= set(OF_ONE_FILE) else ""
    return rasterio.Env(CPL_VSIL_CURL_ALLOWED_EXTENSIONS=names) if names else nullcontext()


@contextmanager
def opened(raster: Raster) -> Iterator[Any]:
    """Yield the raster opened for this thread; the `most_open` last used stay open. Raise DataError on failure."""
    if raster.parts:
        yield _OfVariables(raster.parts)
        return
    if raster.aligned is not None:
        raise AssertionError(f"{raster.path} has pixels of another grid; read those of its source")
    if raster.array is not None:
        from geouq.rasters.array_reader import ArraySource  # noqa: PLC0415  as above

        yield ArraySource(raster, raster.array)
        return
    handles = _handles()
    key = (raster.path, raster.files, raster.read_at)
    if raster.kept and key not in _confirmed:
        _require_as_kept(raster)
        _confirmed.add(key)
    with explained(raster.path, (raster.driver,), reading=True):
        if key not in handles:
            while len(handles) >= most_open():
                handles.popitem(last=False)[1].close()
            _forget_another_version(raster)
            with in_turn(as_gdal_names_it(raster.path)):
                handles[key] = _open_for_pixels(raster)
        handles.move_to_end(key)
        yield _Patient(raster, handles, key) if raster.is_remote else handles[key]


class _OfVariables:
    """A file for each variable, read like one file with a band for each."""

    def __init__(self, parts: Sequence[VariableFile]) -> None:
        self._parts = parts

    def read(
        self, numbers: int | Sequence[int], *, window: rasterio.windows.Window, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Return one band (rows, columns) or several (bands, rows, columns), as rasterio does."""
        if isinstance(numbers, int):
            return self._band("read", numbers, window)
        values = np.stack([self._band("read", number, window) for number in numbers])
        if out is None:
            return values
        out[...] = values
        return out

    def read_masks(self, number: int, *, window: rasterio.windows.Window) -> NDArray[Any]:
        """Return the mask of a band, as rasterio does."""
        return self._band("read_masks", number, window)

    def _band(self, method: str, number: int, window: rasterio.windows.Window) -> NDArray[Any]:
        part = self._parts[number - 1]
        with opened(part.raster) as source:
            found: NDArray[Any] = getattr(source, method)(part.band, window=window)
            return found


_confirmed: set[Key] = set()  # rasters with kept headers that servers still show


def _require_as_kept(raster: Raster) -> None:
    """Raise ChangedError where a server shows another header, or other files beside the raster, than those kept."""
    with in_turn(as_gdal_names_it(raster.path)), gdal_options():
        now = _read_patiently(raster.path, (raster.driver,))
    if (now.fingerprint, now.has_no_sidecars) != ((raster.header or raster).fingerprint, raster.has_no_sidecars):
        raise ChangedError(f"{raster.path} changed since its header was kept; run again without --trust-for")


def _open_for_pixels(raster: Raster) -> Any:
    """Open a raster; of a local TIFF file, the CRS is not read."""
    if raster.tiff and not raster.is_remote:
        return PixelReader(raster.path, driver=raster.driver, sharing=False)
    with _sidecar_search(raster.path, (raster.driver,), needed=not raster.has_no_sidecars):
        return rasterio.open(raster.path, driver=raster.driver, sharing=False)


class _Patient:
    """An open raster on a server, read again where the server answers but sent less than it was asked for.

    GDAL repeats requests that fail, but not those that are cut off while many ranges are read at once.
    """

    def __init__(self, raster: Raster, handles: "OrderedDict[Key, Any]", key: Key) -> None:
        self._raster, self._handles, self._key = raster, handles, key

    def read(self, *arguments: Any, **options: Any) -> Any:
        """Return pixels, as rasterio does."""
        return self._repeated("read", *arguments, **options)

    def read_masks(self, *arguments: Any, **options: Any) -> Any:
        """Return the mask of a band, as rasterio does."""
        return self._repeated("read_masks", *arguments, **options)

    def get_tag_item(self, *arguments: Any, **options: Any) -> Any:
        """Return where a block is, as rasterio does."""
        return self._repeated("get_tag_item", *arguments, **options)

    def _repeated(self, method: str, *arguments: Any, **options: Any) -> Any:
        with in_turn(as_gdal_names_it(self._raster.path)):
            return self._read_patiently(method, *arguments, **options)

    def _read_patiently(self, method: str, *arguments: Any, **options: Any) -> Any:
        path, drivers = self._raster.path, (self._raster.driver,)
        for _ in range(int(GDAL_OPTIONS["GDAL_HTTP_MAX_RETRY"])):
            try:
                return getattr(self._handles[self._key], method)(*arguments, **options)
            except (RasterioError, CPLE_BaseError, OSError):
                if _answer_of_server(path, drivers):
                    raise
            time.sleep(float(GDAL_OPTIONS["GDAL_HTTP_RETRY_DELAY"]))
            self._handles[self._key].close()
            self._handles[self._key] = _open_for_pixels(self._raster)
        return getattr(self._handles[self._key], method)(*arguments, **options)


_versions: dict[str, Version] = {}  # of rasters, as this process read them last


def _forget_another_version(raster: Raster) -> None:
    """Let GDAL ask servers again where this process has read another version of the raster."""
    version = _version(raster)
    if any(version) and _versions.setdefault(raster.path, version) != version:
        _versions[raster.path] = version
        names = (*(file.path for file in raster.files), *raster.unidentified)
        forget(*(physical(as_gdal_names_it(name)) for name in names))


def _version(raster: Raster) -> Version:
    return tuple(file for file in raster.files if not file.local), raster.read_at


def most_open() -> int:
    """Return how many rasters a thread keeps open: its share of half the files that the process may have open."""
    threads = max(os.cpu_count() or 1, threading.active_count())
    return int(min(max(open_files_allowed() / (2 * threads), 1), MOST_OPEN))


@contextmanager
def unchanged(rasters: Iterable[Raster]) -> Iterator[None]:
    """Raise ChangedError where a file of these rasters is another one after the block than when its header was read."""
    try:
        yield
    except DataError as error:
        _require_unchanged(rasters, error)
        raise
    _require_unchanged(rasters)


def _require_unchanged(rasters: Iterable[Raster], cause: DataError | None = None) -> None:
    for file in (file for raster in rasters for file in raster.files):
        if file.cheap and stamp(file.path) != file._replace(sha256=""):
            raise _changed(file) from cause


def require_same_versions(rasters: Iterable[Raster]) -> None:
    """Raise ChangedError where a file on a server or a folder of chunks is not what it was when headers were read."""
    files = list(dict.fromkeys(file for raster in rasters for file in raster.files if not file.cheap))
    if files:
        with ThreadPoolExecutor(min(len(files), MOST_REQUESTS)) as pool:
            list(pool.map(_require_same_version, files))


_looks: dict[Stamp, tuple[float, float]] = {}  # when each folder was found unchanged, and how long that took


def _require_same_version(file: Stamp) -> None:
    """Raise ChangedError for another version. Steps of an array share a folder, of which a look takes a while."""
    start = time.monotonic()
    last, took = _looks.get(file, (-np.inf, 0.0))
    if file.local and start - last < PATIENCE * took:
        return
    with in_turn(file.path), gdal_options():
        now = stamp(file.path)
    _looks[file] = (end := time.monotonic()), end - start
    if now is None and not file.local:
        raise ChangedError(f"{file.path}: its server no longer shows which version it is; run again")
    if now != file._replace(sha256=""):
        raise _changed(file)


def _changed(file: Stamp) -> ChangedError:
    return ChangedError(f"{file.path} changed while it was read; run again, which reads its tile anew")


_headers: dict[tuple[bytes, bool, tuple[str, ...]], Raster] = {}  # by tags, whether on a server, and drivers
# Files on servers whose tags give the same transform as GDAL. Other files with these tags have it too.
_placed_by_tags: set[tuple[bytes, bool, tuple[str, ...]]] = set()


@contextmanager
def _opened_first(plain: PlainTiff) -> Iterator[str]:
    """Yield the name with which GDAL opens a file; for a file on a server, a file of its first bytes in memory."""
    if not plain.first:
        yield plain.stamp.path
        return
    with MemoryFile(plain.first) as file, with_option("GDAL_DISABLE_READDIR_ON_OPEN", "EMPTY_DIR"):
        yield file.name


def _like_another(plain: PlainTiff, path: str, drivers: Sequence[str]) -> Raster | None:
    """Return the header of a file with the tags of one that was read; None where there is none, or it does not open."""
    key = (plain.tags, bool(plain.first), tuple(drivers))
    like = _headers.get(key)
    if like is None:
        return None
    if key in _placed_by_tags and (transform := transform_in(plain.first)) and not transform.is_identity:
        grid = replace(like.grid, transform=transform)
        return replace(like, path=path, grid=grid, files=(plain.stamp,), identity=plain.identity)
    try:
        with _opened_first(plain) as name, PixelReader(name, driver=like.driver, sharing=False) as source:
            grid = replace(like.grid, transform=source.transform)
            raster = replace(like, path=path, grid=grid, files=(plain.stamp,), identity=plain.identity)
            if source.transform.is_identity:
                return None
            _require_possible(raster, source)
            return raster
    except (RasterioError, CPLE_BaseError, OSError):  # GDAL then finds the reason
        return None


def _remember(plain: PlainTiff, drivers: Sequence[str], raster: Raster) -> None:
    """Keep a header that follows from the tags of its file alone."""
    alone = raster.files == (plain.stamp,) and not raster.unidentified and not raster.grid.transform.is_identity
    if alone and raster.tiff and raster.has_no_sidecars == bool(plain.first):
        if len(_headers) >= MOST_HEADERS:
            _headers.clear()
            _placed_by_tags.clear()
        key = (plain.tags, bool(plain.first), tuple(drivers))
        _headers[key] = raster
        if plain.first and repr(transform_in(plain.first)) == repr(raster.grid.transform):
            _placed_by_tags.add(key)


def is_absent(raster: Raster, number: int, window: Window) -> bool:
    """Return whether a TIFF file holds no block of a band in this window, and says that all of it is nodata then."""
    if not raster.tiff or raster.other_nodata or raster.bands[number - 1].nodata is None:
        return False
    first = (window.row + raster.corner[0], window.column + raster.corner[1])
    sides = zip(first, (window.height, window.width), raster.block, strict=True)
    rows, columns = (range(first // side, -(-(first + length) // side)) for first, length, side in sides)
    with opened(raster) as source:
        places = (f"BLOCK_OFFSET_{column}_{row}" for row in rows for column in columns)
        return all(source.get_tag_item(place, "TIFF", bidx=number) is None for place in places)


_of_thread = threading.local()


def _handles() -> "OrderedDict[Key, Any]":
    if not hasattr(_of_thread, "handles"):
        _of_thread.handles = OrderedDict()
    handles: OrderedDict[Key, Any] = _of_thread.handles
    return handles


_of_parent: list[object] = []


def _open_anew() -> None:
    """Let a forked process open its own files: those of its parent share their place in the file with it.

    They stay open, as GDAL may be locked by a thread that the child does not have.
    """
    _of_parent.append(_of_thread.__dict__.pop("handles", None))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_anew)


def _bands(source: Any) -> tuple[Band, ...]:
    """Return all bands. Each property is read once, as rasterio looks at every band for it."""
    columns = zip(
        source.dtypes,
        source.nodatavals,
        source.scales,
        source.offsets,
        source.mask_flag_enums,
        source.descriptions,
        source.units,
        strict=True,
    )
    return tuple(
        Band(dtype, stored_nodata(dtype, nodata), scale, offset, _is_masked(flags), description or "", units or "")
        for dtype, nodata, scale, offset, flags, description, units in columns
    )


def _is_masked(flags: Sequence[MaskFlags]) -> bool:
    """Return whether a band has a mask besides nodata and alpha; a band without a flag has its own mask."""
    return not flags or (MaskFlags.per_dataset in flags and MaskFlags.alpha not in flags)


def stored_nodata(dtype: str, nodata: float | None) -> float | None:
    """Return the nodata as the stored type rounds it; None where it cannot hold it, as no pixel can then equal it."""
    if nodata is None or dtype.startswith("complex"):
        return None
    kind = np.dtype(dtype)
    if kind.kind == "f":
        with np.errstate(over="ignore"):
            return float(kind.type(nodata))
    limits = np.iinfo(kind)
    return nodata if limits.min <= nodata <= limits.max and float(nodata).is_integer() else None


def _control(source: Any) -> tuple[tuple[tuple[float, ...], ...], str]:
    """Return what a raster without a transform is placed by: control points and their CRS, or a sensor model."""
    if not source.transform.is_identity:
        return (), ""
    points, crs = source.gcps
    if points:
        return tuple((p.row, p.col, p.x, p.y) for p in points), crs.to_wkt() if crs else ""
    model = source.rpcs.to_gdal() if source.rpcs else {}
    numbers = (text.split() for key, text in sorted(model.items()) if not key.startswith("ERR_"))
    return tuple(tuple(map(float, own)) for own in numbers), ""


def _identity(path: str, files: Sequence[str]) -> str:
    """Return device and number of a local file, GDAL's name of a remote one, or the path of what is in a file."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return files[0] if files and re.match(r"\w[\w+.-]*://|/vsi", path) else path
    return f"{status.st_dev}:{status.st_ino}"


def number_of_band(raster: Raster, layer: str, variable: Variable) -> int:
    """Return the number of the band that holds a variable in the raster of a layer, named as in the configuration.

    Raises DataError where the band is named by a description that the file does not have, or has twice.
    """
    if raster.parts:
        return next(i for i, part in enumerate(raster.parts, 1) if part.variable == variable.variable)
    _, own = model_and_layer(layer)
    written = variable.band_in(own)
    if isinstance(written, str):
        return number_described(raster, written, f"variables.{variable.variable}.{own}")
    if written is not None:
        return written
    if raster.only is not None:
        return raster.only
    return 1 if serves_all(raster, own) else variable.band


def serves_all(raster: Raster, layer: str) -> bool:
    """Tell whether a layer has one band for all variables."""
    return layer.partition(".")[0] in ONE_FOR_ALL and len(raster.bands) == 1


def descriptions_of(raster: Raster) -> str:
    """Return the bands of a raster with their descriptions, as messages show them."""
    return ", ".join(f"{number} {band.description or '(none)'}" for number, band in enumerate(raster.bands, 1))


def number_described(raster: Raster, description: str, key: str) -> int:
    """Return the number of the only band with a description; DataError, which names the key, where there is none."""
    found = [number for number, band in enumerate(raster.bands, 1) if band.description == description]
    if len(found) == 1:
        return found[0]
    count = "no band has" if not found else f"{len(found)} bands have"
    raise DataError(
        f"{raster.path}: {count} the description {description!r} that {key} names; "
        f"its bands are {descriptions_of(raster)}. Name the band by its number"
    )
