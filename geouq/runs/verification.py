"""Whether a run is still what it was: its outputs by checksum, its inputs by what tells files apart."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from geouq.config import load_experiment
from geouq.core.atomic import atomic_write
from geouq.core.errors import GeouqError, SummaryError
from geouq.core.failures import Failure
from geouq.rasters.catalog import find_tiles
from geouq.runs.checksums import with_checksums
from geouq.runs.provenance import (
    RunRecord,
    config_digest,
    inputs_of,
    load_record,
    processor,
    require_credentials,
    save_record,
    source_inputs,
    vector_inputs,
    versions,
)
from geouq.summary.netcdf import checksum_of, require_intact
from geouq.zones import open_regions, placed

SUMS = "SHA256SUMS"


def save_checksums(files: Iterable[Path], folder: Path) -> Path:
    """Write the SHA-256 of every file in the format of `sha256sum`, and record them in run.json; return the file."""
    outputs = {path.relative_to(folder).as_posix(): _checksum(path) for path in files}
    lines = sorted(f"{checksum}  {name}\n" for name, checksum in outputs.items())
    with atomic_write(folder / SUMS) as part:
        part.write_text("".join(lines), encoding="utf-8", newline="\n")
    save_record(replace(load_record(folder), outputs=dict(sorted(outputs.items()))), folder)
    return folder / SUMS


def remove_earlier(files: Iterable[Path], folder: Path, pattern: str) -> None:
    """Remove files of this pattern that an earlier run wrote and this one did not; one that was edited stays."""
    if not (folder / SUMS).is_file():
        return
    written = {path.relative_to(folder).as_posix() for path in files}
    for name, checksum in _listed(folder).items():
        path = folder / name
        if name not in written and path.match(pattern) and path.is_file() and _checksum(path) == checksum:
            path.unlink()


def verify(folder: Path) -> list[str]:
    """Return a sentence for each difference from what the run left; raise SummaryError if there is no run."""
    record = load_record(folder)
    return [
        *_outputs(folder, record),
        *_summaries(folder, record),
        *_configuration(folder, record),
        *_inputs(folder, record),
        *_versions(record),
    ]


def unrecorded(folder: Path) -> list[str]:
    """Return the files in the folder of a run that it did not record, such as notes or a later recalibration.

    Summaries of tiles that are not part of the run are left out: later runs may use them.
    """
    known = {"run.json", SUMS, *load_record(folder).outputs, *_listed(folder)}
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    own = (path for path in files if path.parts[0] != "summaries" and not path.name.startswith(".geouq"))
    return sorted({path.as_posix() for path in own} - known)


def _listed(folder: Path) -> dict[str, str]:
    """Return the checksums in SHA256SUMS by the name of the file."""
    path = folder / SUMS
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        raise SummaryError(f"{folder} holds no finished run: there is no {path}") from None
    return {name: checksum for checksum, _, name in (line.partition("  ") for line in lines)}


def _outputs(folder: Path, record: RunRecord) -> Iterator[str]:
    """Report outputs that differ from SHA256SUMS, and lines of it that differ from run.json.

    Records of earlier versions have no outputs.
    """
    listed = _listed(folder)
    for name, checksum in {**record.outputs, **listed}.items():
        if not (folder / name).is_file():
            yield f"output {name} is gone"
        elif _checksum(folder / name) != checksum:
            yield f"output {name} has other bytes than the run wrote"
    for name, checksum in record.outputs.items():
        if name not in listed:
            yield f"{SUMS} has no line for output {name}"
        elif listed[name] != checksum:
            yield f"{SUMS} has another checksum for output {name} than the run wrote"


def require_intact_summaries(folder: Path, record: RunRecord) -> None:
    """Raise SummaryError that names the first file of summaries whose content does not match its checksum."""
    for path in record.summaries:
        require_intact(folder / path)


def _summaries(folder: Path, record: RunRecord) -> Iterator[str]:
    for name, checksum in record.summaries.items():
        found = checksum_of(folder / name)
        if not (folder / name).is_file():
            yield f"summary {name} is gone; run the experiment again, which sweeps its tile anew"
        elif found is None:
            yield f"summary {name} is damaged; run the experiment again, which sweeps its tile anew"
        elif found != checksum:
            yield f"summary {name} is not the one that the run used"


def _configuration(folder: Path, record: RunRecord) -> Iterator[str]:
    if config_digest(load_experiment(folder / "config.yaml")) != record.config_sha256:
        yield "config.yaml is not the configuration of the run"


def _inputs(folder: Path, record: RunRecord) -> Iterator[str]:
    """Yield the files that are gone or changed, by what the record knows of them: size and time, or their checksums."""
    try:
        now, other = _inputs_now(folder, record)
    except GeouqError as error:
        yield f"inputs cannot be looked at: {error}"
        return
    told = {f"{layer} of tile {tile}": file for tile, layers in record.inputs.items() for layer, file in layers.items()}
    seen = {f"{layer} of tile {tile}": file for tile, layers in now.items() for layer, file in layers.items()}
    for name, file in (told | {**record.polygons, **record.sources}).items():
        if changed := _difference(file, (seen | other).get(name, {})):
            yield f"input {name}, {file['file']}, {changed}"


def _inputs_now(folder: Path, record: RunRecord) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the record would tell of rasters now, and of polygons and the sources of tiles."""
    experiment = load_experiment(folder / "config.yaml")
    require_credentials(experiment)
    regions = open_regions(experiment)
    zones, catalog = placed(regions, find_tiles(experiment))
    tiles = list(catalog.tiles)
    if any("files" in layer for layers in record.inputs.values() for layer in layers.values()):
        summed = [found for found in with_checksums(tiles, zones, 1, lambda *_: None) if not isinstance(found, Failure)]
        tiles, zones = [tile for tile, _ in summed], {tile.name: own for tile, own in summed}
    rasters = inputs_of(tiles, {tile.name: zones[tile.name].rasters for tile in tiles})
    return rasters, {**vector_inputs(regions.polygons, {}), **source_inputs(catalog.sources)}


def _difference(told: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    if "bytes" in told and "bytes" not in now:
        return "is gone"
    for key in ("files", "sha256"):
        if key in told:
            return "" if told[key] == now.get(key) else "has other bytes than the run read"
    if told.get("bytes") != now.get("bytes"):
        return f"has {now['bytes']} bytes, not {told['bytes']}"
    if told.get("versions") != now.get("versions"):
        return "is another version than the run read"
    if now.get("unidentified"):
        return "may have changed, as nothing identifies it"
    return "" if told.get("modified_ns") == now.get("modified_ns") else "was written or touched since"


def _versions(record: RunRecord) -> Iterator[str]:
    now = versions()
    for name, version in record.versions.items():
        if now.get(name) != version:
            yield f"{name} is {now.get(name, 'not there')} now, and was {version}"
    if record.cpu and dict(record.cpu) != processor():
        yield f"the CPU is {processor()['name']} now, and was {record.cpu['name']}, or has other features"


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
