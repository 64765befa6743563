"""The generated blocks of the documentation: each is written from the code, between two marks of a page."""

import re
from collections.abc import Callable, Mapping

from generated.api import OF_A_VARIANCE, accessor, errors, functions, metric_functions, summary_functions
from generated.architecture import drawing
from generated.commands import commands, exit_codes
from generated.configuration import configuration
from generated.gallery import gallery
from generated.outputs import files, tables
from geouq.maps.pixel_maps import PIXEL_MAPS
from geouq.maps.pixel_maps import as_markdown as maps_as_markdown
from geouq.metrics import METRICS
from geouq.metrics.record import as_markdown

BLOCK = re.compile(r"(<!-- generated: (?P<name>[\w-]+) -->\n).*?(<!-- end of (?P=name) -->)", re.DOTALL)
BLOCKS: Mapping[str, Callable[[], str]] = {
    "accessor": accessor,
    "architecture": drawing,
    "commands": commands,
    "configuration": configuration,
    "errors": errors,
    "exit-codes": exit_codes,
    "files": files,
    "form-metrics": lambda: as_markdown(one for one in METRICS if one not in OF_A_VARIANCE),
    "functions": functions,
    "gallery": gallery,
    "metric-functions": metric_functions,
    "summary-functions": summary_functions,
    "metrics": lambda: as_markdown(OF_A_VARIANCE),
    "pixel-maps": lambda: maps_as_markdown(PIXEL_MAPS.values()),
    "tables": tables,
}


def filled(page: str) -> str:
    """Return a page with all of its generated blocks written anew."""
    return BLOCK.sub(lambda block: f"{block[1]}{BLOCKS[block['name']]()}{block[3]}", page)


def blocks_of(page: str) -> list[str]:
    """Return the names of the generated blocks of a page."""
    return [block["name"] for block in BLOCK.finditer(page)]
