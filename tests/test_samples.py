"""The shipped samples are what their README says, and `scripts/make_samples` repeats them."""

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import rasterio

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "data_samples"
REGIONS = {"EAST": ("e1", "e2", "e3", "e4"), "WEST": ("w1", "w2", "w3"), "NORTH": ("n1", "n2")}
TILES = [tile for tiles in REGIONS.values() for tile in tiles]
VARIABLES = {"P95": "m", "MeanH": "m", "Dens": "%", "Gini": "1", "Cover": "%"}
SQUARED = {"m": "m2", "%": "%2", "1": "1"}
MEMBERS = 4


def read(name):
    with rasterio.open(FOLDER / f"{name}.tif") as file:
        return file.read().astype(float)


def read_mask(tile):
    with rasterio.open(FOLDER / f"{tile}.tif") as file:
        return file.read_masks(1) > 0


def valid(tile):
    """Per variable: truth and prediction are finite, and the truth's mask lets the pixel count."""
    return np.isfinite(read(tile)) & np.isfinite(read(f"{tile}_mean")) & read_mask(tile)


def z_squares(region, variable):
    parts = []
    for tile in REGIONS[region]:
        squares = (read(f"{tile}_mean") - read(tile)) ** 2 / read(f"{tile}_variance")
        parts.append(squares[variable][valid(tile)[variable]])
    return np.concatenate(parts)


def overlaps(a, b):
    return a.left < b.right and b.left < a.right and a.bottom < b.top and b.bottom < a.top


def test_there_are_nine_tiles_of_five_files_in_at_most_12_megabytes():
    suffixes = ("", "_mean", "_variance", "_members", "_member_variances")
    files = list(FOLDER.glob("*.tif"))
    assert {f.name for f in files} == {f"{tile}{suffix}.tif" for tile in TILES for suffix in suffixes}
    assert sum(f.stat().st_size for f in FOLDER.iterdir()) <= 12e6


@pytest.mark.parametrize("tile", TILES)
def test_every_band_names_its_variable_and_unit(tile):
    for suffix in ("", "_mean", "_variance"):
        with rasterio.open(FOLDER / f"{tile}{suffix}.tif") as file:
            assert file.descriptions == tuple(VARIABLES)
            units = [SQUARED[u] if suffix == "_variance" else u for u in VARIABLES.values()]
            assert list(file.units) == units
    for suffix in ("_members", "_member_variances"):
        with rasterio.open(FOLDER / f"{tile}{suffix}.tif") as file:
            names = [f"{v} member {m}" for v in VARIABLES for m in range(1, MEMBERS + 1)]
            assert list(file.descriptions) == names


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.tif")), ids=lambda path: path.stem)
def test_every_file_is_a_tiled_float32_geotiff_with_nan_as_nodata(path):
    with rasterio.open(path) as file:
        assert set(file.dtypes) == {"float32"}
        assert np.isnan(file.nodata)
        assert file.crs.to_epsg() == 32633
        assert set(file.block_shapes) == {(128, 128)}


def test_tiles_lie_on_one_lattice_of_10_m_and_do_not_overlap():
    bounds = []
    for tile in TILES:
        with rasterio.open(FOLDER / f"{tile}.tif") as file:
            bounds.append(file.bounds)
            assert file.res == (10, 10)
            assert file.bounds.left % 10 == file.bounds.top % 10 == 0
    assert not any(overlaps(a, b) for i, a in enumerate(bounds) for b in bounds[:i])


@pytest.mark.parametrize("tiles", REGIONS.values(), ids=REGIONS)
def test_the_tiles_of_a_region_fill_one_rectangle(tiles):
    bounds = []
    for tile in tiles:
        with rasterio.open(FOLDER / f"{tile}.tif") as file:
            bounds.append(file.bounds)
    left, bottom = min(b.left for b in bounds), min(b.bottom for b in bounds)
    right, top = max(b.right for b in bounds), max(b.top for b in bounds)
    area = sum((b.right - b.left) * (b.top - b.bottom) for b in bounds)
    assert area == (right - left) * (top - bottom)


@pytest.mark.parametrize("tile", TILES)
def test_mean_and_variance_are_those_of_the_mixture_of_the_members(tile):
    mean, variance = read(f"{tile}_mean"), read(f"{tile}_variance")
    shape = (len(VARIABLES), MEMBERS, *mean.shape[1:])
    means, variances = (read(f"{tile}{s}").reshape(shape) for s in ("_members", "_member_variances"))
    np.testing.assert_array_equal(mean, means.mean(axis=1))
    np.testing.assert_allclose(variance, variances.mean(axis=1) + means.var(axis=1), rtol=2**-9)


@pytest.mark.parametrize("tile", TILES)
def test_variance_is_positive_wherever_there_is_a_mean(tile):
    mean, variance = read(f"{tile}_mean"), read(f"{tile}_variance")
    assert (np.isfinite(mean) == np.isfinite(variance)).all()
    assert (variance[np.isfinite(mean)] > 0).all()


def test_missing_truth_differs_from_band_to_band():
    missing = {tile: np.isnan(read(tile)) for tile in TILES}
    assert any((m[3] & ~m[0]).any() for m in missing.values())  # Gini under hardly any cover
    assert (missing["w2"][2] & ~missing["w2"][0]).sum() > 1000  # the strip without Dens
    for tile, m in missing.items():
        assert (read(tile)[4][m[3] & ~m[4]] < 5 + 1 / 8).all()


def test_clouds_hide_all_bands_of_a_prediction_alike():
    hidden = {tile: np.isnan(read(f"{tile}_mean")) for tile in TILES}
    assert all((h == h[0]).all() for h in hidden.values())
    assert sum((h[0] & np.isfinite(read(tile)[0])).sum() for tile, h in hidden.items()) > 1000


@pytest.mark.parametrize("region", REGIONS)
def test_the_internal_mask_hides_pixels_whose_truth_is_finite(region):
    hidden = [~read_mask(tile) & np.isfinite(read(tile)[0]) for tile in REGIONS[region]]
    assert sum(h.sum() for h in hidden) > 300
    assert not list(FOLDER.glob("*.msk"))


def test_one_tile_is_nearly_empty():
    shares = {tile: valid(tile)[0].mean() for tile in TILES}
    assert 0.01 <= shares.pop("e4") <= 0.03
    assert min(shares.values()) > 0.3


@pytest.mark.parametrize("variable", range(5), ids=list(VARIABLES))
def test_north_is_over_confident_and_scored_worse_than_east_and_west(variable):
    east, west, north = (z_squares(region, variable).mean() for region in ("EAST", "WEST", "NORTH"))
    assert north > 1.2 * max(east, west)
    assert north > 1.5
    assert 0.7 < east < 1.5


def test_the_script_repeats_the_shipped_files():
    """Byte for byte with the versions that wrote them, nearly in pixels with others."""
    command = [sys.executable, str(ROOT / "scripts" / "make_samples"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_check_names_what_differs_and_forgives_other_versions_a_little(tmp_path, monkeypatch, capsys):
    """The new build is a copy of the shipped files, which the test before compares with a real one."""
    script = runpy.run_path(str(ROOT / "scripts" / "make_samples"))
    monkeypatch.setitem(script["main"].__globals__, "build", copy_shipped)
    copy_shipped(tmp_path)
    (tmp_path / "w3_mean.tif").unlink()
    for name, software, change in (("n1", script["SOFTWARE"], 0.125), ("n2", "other", 0.125), ("e1", "other", 1.0)):
        with rasterio.open(tmp_path / f"{name}.tif", "r+") as file:
            file.write(file.read(1) + change, 1)
            file.update_tags(TIFFTAG_SOFTWARE=software)
    monkeypatch.setattr(sys, "argv", ["make_samples", "--check", str(tmp_path)])

    assert script["main"]() == 1
    assert capsys.readouterr().out.splitlines() == [f"differs: {name}.tif" for name in ("e1", "n1", "w3_mean")]


def copy_shipped(folder):
    for path in FOLDER.glob("*.tif"):
        (folder / path.name).write_bytes(path.read_bytes())
