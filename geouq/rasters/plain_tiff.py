"""Read TIFF headers from the tags alone, for local files and for files with all tags in their first bytes.

GDAL and rasterio take about a millisecond to decode the CRS of a file. The tags are read without GDAL: files with the
same tags have the same header, so that the CRS is decoded once for all of them.
"""

import os
import stat
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from affine import Affine

from geouq.rasters.files import Stamp, require_regular, require_sidecar

SIDECARS = (".msk", ".MSK", ".aux.xml", ".ovr", ".aux", ".AUX")
REPLACING = (".aux", ".AUX", ".tfw", ".tifw", ".wld")  # in the place of the file's own suffix
FOLDER_OF_SIDECARS = "GDAL_PAM_PROXY_DIR"  # where GDAL looks for them too, if it is set

ORDERS = {b"II": "<", b"MM": ">"}
CLASSIC, BIG = 42, 43  # versions of the format
SIZES = (0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8)  # bytes of a value, by its type
SIZE, TIE, MATRIX = 33550, 33922, 34264  # tags: size of a pixel, tie points, matrix
OF_TRANSFORM = frozenset({SIZE, TIE, MATRIX})
OF_ONE_TIE = 6  # values
# offsets and lengths of strips, tiles and unused bytes
OF_BLOCKS = frozenset({273, 279, 288, 289, 324, 325})
MOST_DIRECTORIES, MOST_TAGS = 16, 256  # of a file, and of a directory
MOST_BYTES = 1 << 16  # of a value
BUFFER = 8192  # bytes


@dataclass(frozen=True)
class PlainTiff:
    """A TIFF file without sidecars, as it is now. Files with the same tags have the same header but for the transform.

    identity : what identifies the file, whatever its path. first : first bytes of a file on a server, with all tags.
    """

    stamp: Stamp
    identity: str
    tags: bytes
    first: bytes = b""


def plain_tiff(path: str) -> PlainTiff | None:
    """Return a TIFF file that alone determines how it is read; None for other files.

    Raises DataError if the file, or what GDAL opens with it, is a pipe or a device, or a sidecar is out of reach.
    """
    file = Path(path)
    if not file.name or path.startswith("/vsi") or "://" in path:
        return None
    require_regular(path)
    if _has_sidecars(path, file.suffix) or FOLDER_OF_SIDECARS in os.environ:
        return None
    try:
        status = file.stat()
    except (OSError, ValueError):
        return None
    tags = common_tags(path) if stat.S_ISREG(status.st_mode) else None
    if tags is None:
        return None
    return PlainTiff(Stamp(path, status.st_size, status.st_mtime_ns), f"{status.st_dev}:{status.st_ino}", tags)


def _has_sidecars(path: str, suffix: str) -> bool:
    """Return whether GDAL may open another file with this one; raise DataError for one that it cannot open."""
    stem = path.removesuffix(suffix)
    found = [
        name for name in (*(path + end for end in SIDECARS), *(stem + end for end in REPLACING)) if _is_there(name)
    ]
    for name in found:
        require_sidecar(name)
    return bool(found)


def _is_there(path: str) -> bool:
    """Return whether there is something, be it a link to nothing; `Path.exists` takes ten times as long."""
    return os.path.lexists(path)


def common_tags(path: str) -> bytes | None:
    """Return the tags of all directories of a file, without the values that place blocks and the raster.

    Files with the same bytes differ in their pixels and in their transform alone.

    Returns
    -------
    bytes or None
        None where the file is no TIFF, has no transform, is damaged, or is too large to be compared in this way.
    """
    try:
        with Path(path).open("rb", buffering=BUFFER) as file:
            return tags_in(file)
    except OSError:
        return None


def tags_in(file: BinaryIO) -> bytes | None:
    """Return the tags of an open file as `common_tags` does; None also if the file ends before the tags do."""
    try:
        return _common_tags(file)
    except (OSError, ValueError, KeyError, IndexError, struct.error):
        return None


def transform_in(content: bytes) -> Affine | None:
    """Return the transform from the pixel size and one tie point; None if the first tags are others.

    The transform is right only if the tie point is the corner of a pixel; other tags show this.
    """
    try:
        order, is_big, place = _start(content)
        kind, length, value_at = ("Q", 20, 12) if is_big else ("H", 12, 8)
        (count,) = struct.unpack_from(order + kind, content, place)
        first, found = place + struct.calcsize(kind), dict[int, tuple[float, ...]]()
        for at in range(first, first + count * length, length):
            tag, _, number = struct.unpack_from(order + ("HHQ" if is_big else "HHI"), content, at)
            if tag in OF_TRANSFORM:
                (values,) = struct.unpack_from(order + ("Q" if is_big else "I"), content, at + value_at)
                found[tag] = struct.unpack_from(f"{order}{number}d", content, values)
        if found.keys() != {SIZE, TIE} or len(found[TIE]) != OF_ONE_TIE:
            return None
        (width, height, *_), (column, row, _, x, y, _) = found[SIZE], found[TIE]
        if min(width, height) <= 0:
            return None
        return Affine(width, 0.0, x - column * width, 0.0, -height, y - row * -height)
    except (KeyError, ValueError, struct.error):
        return None


def _start(content: bytes) -> tuple[str, bool, int]:
    """Return the order of bytes, whether offsets have 64 bits, and the place of the first directory."""
    order = ORDERS[content[:2]]
    (version,) = struct.unpack_from(f"{order}H", content, 2)
    if version not in (CLASSIC, BIG):
        raise ValueError("no TIFF")
    is_big = version == BIG
    return order, is_big, struct.unpack_from(f"{order}Q" if is_big else f"{order}I", content, 8 if is_big else 4)[0]


def _common_tags(file: BinaryIO) -> bytes | None:
    start = file.read(16)
    order, is_big, place = _start(start)
    parts, found = [start[:4]], set[int]()
    for _ in range(MOST_DIRECTORIES):
        place = _add_directory(file, place, (order, is_big), parts, found)
        if not place:
            return b"".join(parts) if found & OF_TRANSFORM else None
    return None


def _add_directory(file: BinaryIO, place: int, layout: tuple[str, bool], parts: list[bytes], found: set[int]) -> int:
    """Add the tags of the directory at `place` to `parts` and `found`; return the place of the next one, 0 for none."""
    order, is_big = layout
    count_format, entry_format, length, most = ("Q", "HHQ", 20, 8) if is_big else ("H", "HHI", 12, 4)
    file.seek(place)
    (count,) = struct.unpack(order + count_format, file.read(struct.calcsize(count_format)))
    if count > MOST_TAGS:
        raise ValueError("too many tags")
    following = struct.calcsize("Q" if is_big else "I")
    content = file.read(count * length + following)
    for at in range(0, count * length, length):
        tag, kind, number = struct.unpack_from(order + entry_format, content, at)
        found.add(tag)
        end = at + length
        if tag in OF_TRANSFORM or tag in OF_BLOCKS:
            parts.append(content[at : end - most])
            continue
        if (size := SIZES[kind] * number) <= most:
            parts.append(content[at:end])
            continue
        (value_at,) = struct.unpack_from(order + ("Q" if is_big else "I"), content, end - most)
        parts += [content[at : end - most], _value(file, value_at, size)]
    return int(struct.unpack_from(order + ("Q" if is_big else "I"), content, count * length)[0])


def _value(file: BinaryIO, place: int, size: int) -> bytes:
    if size > MOST_BYTES:
        raise ValueError("too long")
    file.seek(place)
    value = file.read(size)
    if len(value) < size:
        raise ValueError("cut off")
    return value
