"""Nothing is written outside the folder of a run, whatever tiles, regions and variables are called."""

import zipfile

import numpy as np
import pytest

NASTY = "x'; DROP TABLE gpkg_contents; --"
LONG = "ü" * 90 + "{}%s" + "y" * 90
TILE = f"up/{LONG[-100:]}"
LAYERS = {"predictions": ("_mean", "_variance"), "truth": ("",)}
TEXT = f"""variables: {{"{NASTY}": {{band: 1}}, "../../v": {{band: 2}}}}
regions: {{"../../../r": [TILE], "{LONG}": ["{TILE}"], "a/b\\\\c": ["{TILE}"], "con": ["{TILE}"]}}
tiles: ["{TILE}", b1]
output: {{maps: [cells, z], figures: none}}
intervals: {{resamples: 100}}
"""


def renamed(folder, old, new):
    """Give a tile another name, which may hold folders."""
    for own, layers in LAYERS.items():
        for layer in layers:
            (folder / own / f"{new}{layer}.tif").parent.mkdir(parents=True, exist_ok=True)
            (folder / own / f"{old}{layer}.tif").rename(folder / own / f"{new}{layer}.tif")


def packed(folder, config, *names):
    """An archive, of which nothing can be listed, in the place of the folders."""
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        for path in folder.rglob("*.tif"):
            archive.write(path, path.relative_to(folder))
    text = config.read_text(encoding="utf-8")
    for own in names:
        text = text.replace(f" {own}/", f" /vsizip/{folder}/all.zip/{own}/")
    config.write_text(text, encoding="utf-8")


def test_names_that_lead_elsewhere_are_written_within(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1", "b1"), text=TEXT.replace("[TILE]", f'["{TILE}"]'))
    renamed(tmp_path, "a1", TILE)
    packed(tmp_path, config, *LAYERS)
    before = set(tmp_path.rglob("*"))

    done = geouq("run", config, "--quiet")

    assert done.exit_code == 0, done.output
    out = tmp_path / "results"
    assert all(path == out or path.is_relative_to(out) for path in set(tmp_path.rglob("*")) - before)


def test_a_tile_beside_the_folder_of_the_others_is_none_of_them(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1", "b1"), text='tiles: ["../away/t"]\n')
    (tmp_path / "away").mkdir()

    done = geouq("run", config)

    assert done.exit_code == 2
    assert "no layer has a file for tile '../away/t'" in done.output


@pytest.mark.parametrize("name", ["../x", "a/b", "..", "/tmp/x", "a\0b", "x\n", "C:x", "-", "a" * 101])  # noqa: S108
def test_no_name_of_an_experiment_is_a_way_out(tile_folder, geouq, name):
    config = tile_folder(("a1",))
    config.write_text(config.read_text().replace("name: small", f"name: {name!r}".replace("'", '"')), encoding="utf-8")

    done = geouq("check", config)

    assert done.exit_code == 2
    assert "name" in done.output


def test_names_in_a_geopackage_are_text_and_no_sql(tile_folder, geouq, tmp_path):
    pyogrio = pytest.importorskip("pyogrio")
    config = tile_folder(("a1", "b1"), text=f'variables: ["{NASTY}"]\noutput: {{maps: [cells], figures: none}}\n')
    for path in tmp_path.rglob("*a1*.tif"):
        path.rename(path.with_name(path.name.replace("a1", NASTY)))

    assert geouq("run", config, "--quiet").exit_code == 0

    (package,) = (tmp_path / "results").rglob("*.gpkg")
    layer = pyogrio.list_layers(package)[0][0]
    meta, _, _, values = pyogrio.raw.read(package, layer=layer)
    tiles = values[list(meta["fields"]).index("tile")]
    assert {NASTY, "b1"} == set(np.unique(tiles.astype(str)))


def test_links_that_go_round_are_no_hang(tile_folder, geouq, tmp_path):
    config = tile_folder(("a1", "b1"))
    (tmp_path / "truth" / "a1.tif").unlink()
    (tmp_path / "truth" / "a1.tif").symlink_to(tmp_path / "truth" / "a1.tif")
    (tmp_path / "truth" / "round").symlink_to(tmp_path / "truth")

    done = geouq("check", config)

    assert done.exit_code == 3
    assert "truth/a1.tif" in done.output


def moved(tile_folder, folder):
    """An experiment in another folder."""
    tile_folder(("a1",), text="output: {maps: [cells, z], figures: none}\n")
    folder.mkdir()
    for own in (*LAYERS, "experiment.yaml"):
        (folder.parent / own).rename(folder / own)


@pytest.mark.parametrize("name", ["{x} {0}", "{tile}"])
def test_an_experiment_in_a_folder_with_braces_is_refused_as_they_stand_for_names(tile_folder, geouq, tmp_path, name):
    moved(tile_folder, tmp_path / name)

    done = geouq("run", f"./{name}/experiment.yaml")

    assert done.exit_code == 2
    assert "experiment.yaml:4: data.mean: " in done.output


@pytest.mark.parametrize(
    "name",
    [
        "with  spaces ",
        "ü ñ 漢 e\u0301",
        "100 % %s %(x)s",
        "l" * 200,
        "[a]*?!",
        "#1;&|$HOME`",
        "'q\"",
        "-x",
    ],
)
def test_an_experiment_may_lie_in_a_folder_of_any_name(tile_folder, geouq, tmp_path, name):
    moved(tile_folder, tmp_path / name)

    out = tmp_path / name / name
    assert geouq("run", f"./{name}/experiment.yaml", "--quiet", "--out", out).exit_code == 0
    assert geouq("verify", out).exit_code == 0
    assert geouq("report", out, "--quiet").exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [name]
