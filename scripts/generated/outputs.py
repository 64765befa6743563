"""The files of a run and the columns of its tables."""

from generated.markdown import sentence, table
from geouq.tables.columns import COLUMN, COMPARED_AREAS, COMPARISON, RECALIBRATED_AGGREGATES, RECALIBRATION, TABLES

# patterns of all files below the folder of a run, in the order of the page
FILES = {
    "config.yaml": "the resolved configuration",
    "run.json": "versions, inputs, times, memory, findings and checksums of all outputs",
    "results.json": "for programs: success, gates, verdicts with their parts, main numbers, warnings",
    "item.json": "a STAC item for catalogs: place, day, and main files as assets",
    "gates.json": "with gates: what each gate judged, whether it passed, and the reason if there was nothing to judge",
    "SHA256SUMS": "checksums for `sha256sum -c` of all files except summaries, which contain their own",
    ".geouq.lock": "the lock of a command that writes to the folder",
    "summaries/<tile>.nc": "the sums of each tile: they add up to regions, and open with xarray",
    "summaries/together/<number>.nc": "the summaries of many small tiles (at most 32,768 pixels of all variables "
    "each); `geouq.load_tile(path, tile)` reads one of them",
    "summaries/zones/<layer>/<tile>.nc": "the sums of polygons and classes in each tile, many zones in a group: "
    '`xarray.open_dataset(path, group="together_0")` opens one',
    **{one.file: one.about for one in TABLES.values()},
    "tables/error_correlation.json": "the fitted correlation of errors of each variable, with its formula, for other "
    "programs",
    "tables/metrics.parquet": "the same as `metrics.csv`, with the extra `parquet`",
    "tables/metrics.md": "the main numbers of the whole and of regions with intervals, rounded accordingly",
    "tables/metrics.tex": "the main numbers of the whole in LaTeX with booktabs, for `\\input`",
    "tables/regions/<region>.md": "the main numbers of each region",
    "tables/regions/<region>.tex": "the same in LaTeX",
    "tables/comparison.md": "with several models: the main numbers of each model",
    "tables/comparison.tex": "the same in LaTeX",
    "maps/<tile>_<map>.tif": "maps of pixels, if requested",
    "maps/<map>.vrt": "the maps of tiles that lie side by side, as one",
    "maps/cells_<variable>.tif": "every metric that cells keep, a band each; a cell is a square of 16 to 256 pixels",
    "maps/<tiles>_cells_<variable>.tif": "the same for each group of tiles that touch, and for each other tile, if all "
    "tiles do not make one raster",
    "maps/cells_<variable>.vrt": "the cells of all tiles as one raster, if the tiles share a lattice of pixels",
    "maps/cells_<variable>.gpkg": "the same as polygons, with a QGIS style for each metric; GeoJSON without the extra "
    "`polygons`",
    "maps/cells.parquet": "the polygons of all variables as GeoParquet, with the extras `parquet` and `polygons`",
    "maps/maps.qlr": "layer definition of QGIS: opens all maps in groups, in their colours, and draws what the first "
    "page shows",
    "maps/<name>.qml": "QGIS style of the map of that name; QGIS loads it with the map",
    "maps/styles/<name>.qml": "QGIS styles of the bands of a map of pixels that differ from the first in colours, and "
    "of cells in GeoJSON",
    "maps/<name>.aux.xml": "names of the codes of a map",
    "figures/<region>/<variable>_<figure>.png": "[figures](gallery.md) of the whole and of each region",
    "figures/comparison_<variable>.png": "with several models: differences of the main numbers",
    "report/index.html": "the first page; it opens from disk, with an interactive map of cells",
    "report/<region>.html": "a page for each region",
    "report/assets/<name>": "scripts, styles and data of the pages",
    RECALIBRATION.file: RECALIBRATION.about,
    RECALIBRATED_AGGREGATES.file: RECALIBRATED_AGGREGATES.about,
    "recalibration/error_correlation.json": "the fitted correlation of errors of the recalibrated maps",
    "recalibration/<name>": "corrections, figures and rasters of a [recalibration](../how-to/recalibrate.md)",
}


def files() -> str:
    """Return a table of the files of a run."""
    return table(("file", "content"), ((f"`{name}`", sentence(about)) for name, about in FILES.items()))


def tables() -> str:
    """Return a part for each table: what its rows are, and its columns."""
    parts = []
    for one in (*TABLES.values(), RECALIBRATION, RECALIBRATED_AGGREGATES, COMPARISON, COMPARED_AREAS):
        rows = ((f"`{name}`", COLUMN[name].kind, sentence(COLUMN[name].about)) for name in one.columns)
        parts.append(f"### {one.file}\n\n{one.about}\n\n{table(('column', 'type', 'content'), rows)}")
    return "\n".join(parts)
