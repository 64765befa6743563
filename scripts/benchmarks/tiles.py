"""Where the files of a tile are, and the configuration that names them."""

from pathlib import Path

LAYERS = ("mean", "variance", "truth")


def path_of(folder: Path, name: str, layer: str) -> Path:
    """Path of a layer of a tile."""
    return folder / f"{name}_{layer}.tif"


def write_config(
    folder: Path, name: str, truth: str = "truth", *, exact: bool = False, maps: str = "none", tiles: str = ""
) -> Path:
    """Return a configuration of the tile of that name or of the tiles, YAML as `maps` is."""
    path = folder / f"{name}-{truth}{'-exact' if exact else ''}.yaml"
    path.write_text(
        f"version: 1\nname: {name}\n"
        f'data:\n  mean: "{{tile}}_mean.tif"\n  variance: "{{tile}}_variance.tif"\n  truth: "{{tile}}_{truth}.tif"\n'
        f"tiles: {tiles or [name]}\nbins: {{exact: {str(exact).lower()}}}\noutput: {{maps: {maps}}}\n",
        encoding="utf-8",
    )
    return path


def unfinished(path: Path) -> Path:
    """Path of a file that is being written."""
    return path.with_name(f"{path.name}.part")
