"""Where the numbers of a run come from: versions, inputs, times and what failed, as run.json."""

import hashlib
import json
import os
import platform
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import rasterio

from geouq.config import Experiment, Variable, to_yaml
from geouq.core.atomic import write_text
from geouq.core.errors import SummaryError
from geouq.core.failures import Failure
from geouq.core.redaction import MARK, is_private, last_part, redacted, without_secrets
from geouq.core.wording import counted
from geouq.rasters.catalog import Tile
from geouq.rasters.files import Stamp
from geouq.rasters.gdal import GDAL_OPTIONS
from geouq.rasters.raster import Raster
from geouq.version import __version__
from geouq.zones import Polygons

PACKAGES = (
    "numpy",
    "numba",
    "llvmlite",
    "xarray",
    "dask",
    "h5netcdf",
    "rasterio",
    "matplotlib",
    "pyogrio",
    "pyarrow",
)
COMPILERS = ("numba", "llvmlite")
CHECKSUM = "sha256"  # key of the last entry of run.json
LIBRARIES = ("GDAL_", "CPL_", "VSI_", "PROJ_", "OGR_")  # beginnings of the names of their settings


def versions() -> dict[str, str]:
    """Return the versions of all that the numbers depend on."""
    gdal = {"gdal": rasterio.__gdal_version__, "proj": rasterio.__proj_version__}
    found = {"geouq": __version__, "python": platform.python_version()} | gdal
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@cache
def processor() -> dict[str, str]:
    """Return name and features of the CPU for which numba compiles, as the environment may set them.

    The last bits of numbers depend on it.
    """
    import numba  # noqa: PLC0415  large, and commands that sweep nothing do not need it
    from llvmlite import binding  # noqa: PLC0415  the same

    config: Any = numba.config
    name = config.CPU_NAME if config.CPU_NAME is not None else binding.get_host_cpu_name()
    features = config.CPU_FEATURES
    if features is None:
        features = _host_features(binding, avx=config.ENABLE_AVX)
    return {"name": name, "features": features}


def code_target() -> tuple[str, ...]:
    """Return all that machine code depends on but the sources: the CPU, and the versions of the compilers."""
    return _target.get() or _target_here()


@contextmanager
def code_target_is(target: tuple[str, ...]) -> Iterator[None]:
    """Let `code_target` return that of another machine, for which this one works."""
    before = _target.set(target)
    try:
        yield
    finally:
        _target.reset(before)


@cache
def _target_here() -> tuple[str, ...]:
    return (*processor().values(), *(version(package) for package in COMPILERS))


_target: ContextVar[tuple[str, ...] | None] = ContextVar("target", default=None)


def _host_features(binding: Any, *, avx: bool) -> str:
    """Return the features that the CPU has, and numba uses, in the manner of LLVM: "+avx,+avx2"."""
    try:
        features = binding.get_host_cpu_features()
    except RuntimeError:  # LLVM does not know this CPU
        return ""
    return ",".join(
        f"+{name}" for name, present in sorted(features.items()) if present and (avx or not name.startswith("avx"))
    )


def gdal_settings() -> dict[str, str]:
    """Return the settings of GDAL and PROJ: those of geouq and of the environment, without private ones."""
    own = {name: str(value) for name, value in GDAL_OPTIONS.items()}
    told = {name: value for name, value in os.environ.items() if name.startswith(LIBRARIES)}
    return {
        name: MARK if is_private(name) else without_secrets(value, whole=True)
        for name, value in sorted((told | own).items())
    }


def command() -> str:
    """Return the command line of this process."""
    return shlex.join([Path(sys.argv[0]).name, *redacted(sys.argv[1:])])


@dataclass(frozen=True)
class RunRecord:
    """The content of run.json: all that `geouq report` needs besides the summaries.

    whole : tiles that lie wholly in regions which are made of others. polygons : the file of those and the names of
    which no tile holds a pixel, by key. alignments : how layers are brought to the grid of the mean. sources : items or
    indices that name the files of tiles, by key. findings : of the input checks. summaries : checksum of each file of
    summaries, by its path. outputs : SHA-256 of each other file, by its path; empty until all are written. has_truth :
    False of predictions alone, whose means and totals are given.
    cpu : name and features of the CPU for which code was compiled; empty in older files.
    """

    name: str
    tiles: tuple[str, ...]
    variables: tuple[Variable, ...]
    failures: tuple[Failure, ...]
    notes: tuple[str, ...]
    reused: int
    settings: Mapping[str, Any]
    inputs: Mapping[str, Mapping[str, Any]]
    started: str
    seconds: float
    peak_memory_mib: float
    config_sha256: str
    whole: Mapping[str, Sequence[str]] = field(default_factory=dict)
    polygons: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    sources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=versions)
    cpu: Mapping[str, str] = field(default_factory=processor)
    findings: tuple[str, ...] = ()
    alignments: tuple[str, ...] = ()
    has_truth: bool = True
    summaries: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    gdal: Mapping[str, str] = field(default_factory=gdal_settings)
    command: str = field(default_factory=command)

    def __post_init__(self) -> None:
        named = ("notes", "findings", "alignments", "inputs", "polygons", "sources")
        clean = {name: redacted(getattr(self, name)) for name in named}
        clean["failures"] = tuple(replace(one, message=without_secrets(one.message)) for one in self.failures)
        for name, value in clean.items():
            object.__setattr__(self, name, value)


def inputs_of(tiles: Iterable[Tile], more: Mapping[str, Mapping[str, Raster]]) -> dict[str, dict[str, Any]]:
    """Name, size and time of change of every layer, by tile, and requested checksums of its files.

    more : rasters of regions, by tile and layer.
    """
    return {
        tile.name: {layer: _input(raster) for layer, raster in [*tile.rasters.items(), *more[tile.name].items()]}
        for tile in tiles
    }


def vector_inputs(
    polygons: Mapping[str, Polygons], without_pixels: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, Any]]:
    """Name, size and time of change of each file of polygons, by key; size and time where it is of this machine."""
    found: dict[str, dict[str, Any]] = {}
    for key, own in polygons.items():
        path = Path(own.path)
        status = path.stat() if path.exists() else None
        found[key] = {"file": path.name, "without_pixels": list(without_pixels.get(key, ()))}
        if status:
            found[key] |= {"bytes": status.st_size, "modified_ns": status.st_mtime_ns}
    return found


def source_inputs(sources: Mapping[str, Stamp]) -> dict[str, dict[str, Any]]:
    """Name, size, time of change and checksum of each file that names the files of tiles, by key."""
    return {
        key: {"file": own.name, "bytes": own.bytes, "modified_ns": own.modified, "sha256": own.sha256}
        for key, own in sources.items()
    }


def _input(raster: Raster) -> dict[str, Any]:
    found = {
        "file": last_part(raster.path),
        "bytes": raster.size,
        "modified_ns": raster.modified,
    }
    checksums = [{"file": file.name, "sha256": file.sha256} for file in raster.files if file.sha256]
    versions = [file.version for file in raster.files if file.version]
    unidentified = [without_secrets(name) for name in raster.unidentified]
    more = {"files": checksums, "versions": versions, "unidentified": unidentified}
    return found | {name: own for name, own in more.items() if own}


def inputs_in_words(
    inputs: Mapping[str, Mapping[str, Any]], polygons: Mapping[str, Mapping[str, Any]]
) -> dict[str, str]:
    """Return the number and size of the files of each layer; a mosaic of classes for all tiles is one file.

    inputs, polygons : as in a RunRecord.

    >>> cover = {"file": "cover.tif", "bytes": 1_000_000, "modified_ns": 1}
    >>> inputs = {"a": {"truth": {"file": "a.tif", "bytes": 2_500_000}, "regions.cover": cover}}
    >>> inputs |= {"b": {"truth": {"file": "b.tif", "bytes": 500_000}, "regions.cover": cover}}
    >>> inputs_in_words(inputs, {"counties": {"file": "counties.gpkg", "bytes": 200_000}})
    {'truth': '2 files, 3.0 MB', 'regions.cover': '1 file, 1.0 MB', 'regions.counties': '1 file, 0.2 MB'}
    """
    sizes: dict[str, dict[object, int]] = {}
    for tile, layers in inputs.items():
        for layer, found in layers.items():
            file = (found["file"], found["bytes"], found.get("modified_ns"))
            is_shared = layer.startswith("regions.")  # each file of another layer belongs to one tile
            sizes.setdefault(layer, {})[file if is_shared else tile] = int(found["bytes"])
    of_layers = {layer: list(own.values()) for layer, own in sizes.items()}
    of_layers |= {f"regions.{key}": [int(own.get("bytes", 0))] for key, own in polygons.items()}
    return {layer: f"{counted(len(own), 'file')}, {sum(own) / 1e6:.1f} MB" for layer, own in of_layers.items()}


def resolved(experiment: Experiment) -> str:
    """Return the resolved configuration as config.yaml keeps it: without credentials."""
    return to_yaml(experiment, credentials=False)


def config_digest(experiment: Experiment) -> str:
    """Return the SHA-256 of config.yaml."""
    return hashlib.sha256(resolved(experiment).encode()).hexdigest()


@dataclass(frozen=True)
class Begun:
    """When a run began: by the time of day, which may change while it runs, and by a clock that only goes forward."""

    day: float = field(default_factory=time.time)
    clock: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Return the seconds since then."""
        return time.monotonic() - self.clock


def utc(seconds: float) -> str:
    """Return a time as ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def save_record(record: RunRecord, folder: Path) -> None:
    """Write run.json, which ends with the SHA-256 of all else in it."""
    plain = asdict(record) | {
        "variables": [variable.model_dump(exclude_none=True) for variable in record.variables],
        "failures": [failure.row for failure in record.failures],
    }
    write_text(folder / "run.json", _as_json(plain | {CHECKSUM: _checksum(plain)}) + "\n")


def _as_json(plain: Mapping[str, Any]) -> str:
    return json.dumps(plain, indent=1, ensure_ascii=False)


def _checksum(plain: Mapping[str, Any]) -> str:
    return hashlib.sha256(_as_json(plain).encode()).hexdigest()


def _intact(plain: dict[str, Any]) -> dict[str, Any]:
    """Return the content without its checksum; raise ValueError if the two do not match."""
    if plain.pop(CHECKSUM, None) not in (None, _checksum(plain)):
        raise ValueError("its content does not match its checksum")
    return plain


def load_record(folder: Path) -> RunRecord:
    """Read run.json; raise SummaryError if the folder holds no run, or the file is damaged.

    Files of earlier versions have no checksum, call the findings `doubts`, and have alignments among the notes.
    """
    path = folder / "run.json"
    try:
        plain = _intact(json.loads(path.read_text(encoding="utf-8")))
        plain["variables"] = tuple(Variable(**variable) for variable in plain["variables"])
        plain["failures"] = tuple(Failure(**failure) for failure in plain["failures"])
        if "doubts" in plain:
            plain["findings"] = plain.pop("doubts")
        plain.setdefault("alignments", [])
        lists = {key: tuple(plain[key]) for key in ("tiles", "notes", "findings", "alignments")}
        record = RunRecord(**{"cpu": {}} | plain | lists)
    except FileNotFoundError:
        raise SummaryError(f"{folder} holds no run: there is no {path}") from None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise SummaryError(f"{path} cannot be read ({reason}); run the experiment again") from error
    if not record.has_truth:
        raise SummaryError(f"{folder} has means and totals of predictions without truth; name the folder of a run")
    return record


def require_credentials(experiment: Experiment) -> None:
    """Raise SummaryError if credentials were removed from an address of the configuration of a run."""
    removed = list(_without_credentials(experiment.model_dump(mode="json", exclude_none=True), ""))
    if removed:
        raise SummaryError(
            f"{experiment.source}: the credentials in {', '.join(removed)} were not saved, so its rasters cannot be "
            "read; write the addresses without credentials, give these in the environment (GDAL_HTTP_USERPWD, "
            "GDAL_HTTP_BEARER, GDAL_HTTP_HEADERS, AWS_SECRET_ACCESS_KEY, AZURE_STORAGE_SAS_TOKEN, PGPASSWORD), and run "
            "the experiment again"
        )


def _without_credentials(value: Any, key: str) -> Iterator[str]:
    """Yield the keys of the texts in which a mark stands for credentials."""
    if isinstance(value, str) and MARK in value:
        yield key
    elif isinstance(value, dict):
        for name, entry in value.items():
            yield from _without_credentials(entry, f"{key}.{name}".removeprefix("."))
    elif isinstance(value, list):
        for entry in value:
            yield from _without_credentials(entry, key)
