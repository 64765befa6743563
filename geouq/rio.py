"""The command `rio geouq`, which rasterio finds through the entry point `rasterio.rio_plugins`.

It is imported by every call of `rio`: imports of the package stay inside the functions.
"""

import json
import re
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

import click

Row = dict[str, Any]

# what the message about another grid advises: a key, or a command, which follows
_KEY_OR_FILE = re.compile(r"write (data\..*), or (bring the file to the grid first(?::\n  gdalwarp .*)?)")


@click.command("geouq", short_help="Evaluate the calibration of a map with uncertainty.")
@click.argument("mean", metavar="MEAN")
@click.argument("std", metavar="STD")
@click.argument("truth", metavar="TRUTH")
@click.option("--variance", "is_variance", is_flag=True, help="STD holds the variance.")
@click.option(
    "-b", "--bidx", "bands", type=click.IntRange(1), multiple=True, help="Band; may be repeated. Default: all."
)
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME", help="Show this metric; may be repeated. all: every metric."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array with an object for each number.")
def rio_geouq(
    mean: str,
    std: str,
    truth: str,
    *,
    is_variance: bool,
    bands: Sequence[int],
    metrics: Sequence[str],
    as_json: bool,
) -> None:
    """Compare the predicted uncertainty of every pixel with the errors of the prediction.

    MEAN and STD are rasters of the prediction, TRUTH is one of the reference, all on the same grid. Metrics of bins are
    of ten bins with equal counts. Warnings tell what looks wrong in a window of the rasters. For regions, intervals,
    maps and pages, use `geouq run`.
    """
    from geouq.core.errors import GeouqError

    layers = {"mean": mean, "variance" if is_variance else "std": std, "truth": truth}
    try:
        configuration = _configuration(layers)
        rows = _rows(configuration, bands)
        shown = _selected(rows, metrics)
        warnings = _findings(configuration, {row["variable"] for row in rows})
    except (GeouqError, OSError) as error:
        raise click.ClickException(_without_configuration(str(error))) from None
    for line in warnings:
        click.echo(f"warning: {line}", err=True)
    if as_json:
        click.echo(json.dumps(shown, indent=1, ensure_ascii=False))
    else:
        for line in _lines(shown):
            click.echo(line)


def _without_configuration(message: str) -> str:
    """Return a message without the name of the only tile; keys that it names are explained."""
    text = message.removeprefix("tile rio: ").removeprefix("configuration: ")
    text, found = _KEY_OR_FILE.subn(r"\2\n  or write \1 in a configuration; geouq init writes one", text)
    if found or "data." not in text:
        return text
    return f"{text}\n  (data.{{mean,std,truth}} are keys of a configuration; geouq init writes one)"


def _configuration(layers: dict[str, str]) -> dict[str, Any]:
    """Return the configuration of three rasters; a raster that is named may have the format that its suffix tells."""
    from geouq.starting.named_files import driver_of

    drivers = sorted({"GTiff", *map(driver_of, layers.values())})
    return {"version": 1, "name": "rio", "data": layers, "drivers": drivers}


def _findings(configuration: dict[str, Any], variables: set[str]) -> Sequence[str]:
    """Return the findings of the input checks about some variables."""
    from geouq.pipeline.check import check

    return [line for line in check(configuration).findings if line.partition(": ")[0] in variables]


def _rows(configuration: dict[str, Any], bands: Sequence[int]) -> list[Row]:
    """Return the numbers of each band, read in windows."""
    from geouq.arrays.datasets import table
    from geouq.core.errors import ConfigError
    from geouq.reading.stack import open_stack

    rows: list[Row] = []
    stack = open_stack(configuration)
    if too_large := [band for band in bands if band > stack.sizes["variable"]]:
        raise ConfigError(
            f"there is no band {too_large[0]}; {configuration['data']['mean']} has {stack.sizes['variable']}"
        )
    for index in [band - 1 for band in bands] or range(stack.sizes["variable"]):
        own = stack.isel(variable=index)
        summary = own.geouq.summarize().compute()
        found = table(summary, units=str(own.units.item()), bins=["equal-count-10"])
        name = {"variable": str(own.variable.item())}
        rows += [name | {str(key): value for key, value in row.items()} for row in found.to_dict("records")]
    return rows


def _selected(rows: Sequence[Row], metrics: Sequence[str]) -> list[Row]:
    """Return the rows of some metrics, by default those of a page; numbers that are missing are None."""
    from geouq.config import suggestion
    from geouq.core.errors import ConfigError
    from geouq.metrics import shown_in, usual_name

    known = list(dict.fromkeys(row["metric"] for row in rows))
    if unknown := [name for name in metrics if name not in (*known, "all")]:
        near = suggestion(unknown[0], known) or "; `--metric all` shows all there are"
        raise ConfigError(f"there is no metric {unknown[0]}{near}")
    usual = [name for name in map(usual_name, shown_in("page")) if name in known]
    names = known if "all" in metrics else list(dict.fromkeys(metrics or usual))
    of_name = {name: [row for row in rows if row["metric"] == name] for name in names}
    variables = dict.fromkeys(row["variable"] for row in rows)
    chosen = (row for variable in variables for name in names for row in of_name[name] if row["variable"] == variable)
    return [row | {"value": row["value"] if isfinite(row["value"]) else None} for row in chosen]


def _lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each variable, and one for each of its numbers: metric, value and unit."""
    widest, variable = max(len(row["metric"]) for row in rows), ""
    for row in rows:
        if row["variable"] != variable:
            variable = row["variable"]
            yield f"{variable}: {row['n']:,} pixels"
        value = "missing" if row["value"] is None else f"{row['value']:.6g}"
        units = row["units"] if row["units"] not in ("", "1") else ""
        group = f" by {row['group']}" if row["group"] else ""
        yield f"  {row['metric']:{widest}}  {value:>12} {units}{group}".rstrip()
