"""What lies beside the pages and is the same for all of them: styles, programs, and the library that draws."""

import shutil
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from geouq.atomic import atomic_write

OWN = ("report.css", "report.js", "tables.js", "cells.js", "geometry.js", "colours.js", "charts.js", "map.js")
LIBRARY = ("bokeh.min.js", "bokeh-api.min.js")


def write_static(folder: Path) -> list[Path]:
    """Copy styles and programs into a folder; the files written."""
    sources = [files("geouq.pages") / "static" / name for name in OWN]
    sources += [files("bokeh") / "server" / "static" / "js" / name for name in LIBRARY]
    for source in sources:
        with atomic_write(folder / source.name) as part, source.open("rb") as file, part.open("wb") as target:
            shutil.copyfileobj(file, target)
    return [folder / source.name for source in sources]


def write_scripts(scripts: Iterable[tuple[str, str]], folder: Path) -> list[Path]:
    """Write scripts that hold data into a folder of their own, and remove those of an earlier report."""
    data, written = folder / "data", []
    for name, text in scripts:
        with atomic_write(data / name) as part:
            part.write_text(text, encoding="utf-8")
        written.append(data / name)
    for path in set(data.glob("*.js")) - set(written):
        path.unlink()
    return written
