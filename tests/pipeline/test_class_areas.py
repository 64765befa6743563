"""A run of class forecasts gives the area of each class: the sum of the probabilities of its pixels."""

import json

import numpy as np
import pytest
from affine import Affine
from landscape import NORTH_UP, write_raster
from scipy.ndimage import gaussian_filter
from scipy.stats import norm

import geouq
from geouq.aggregates.shares import Share
from geouq.core.errors import GeouqError
from geouq.pipeline.data import Options

SIDE, TILES, CODES = 128, ("a", "b", "c", "d", "e", "f"), {"water": 10, "grass": 20, "forest": 40}
CONFIG = """\
version: 1
name: cover
data: {{probabilities: "p_{{tile}}.tif", class_codes: {codes}, truth: "truth_{{tile}}.tif"}}
variables: {{cover: {{band: 1}}}}
cell_size: 16
regions: {{west: [a, b], east: [c, d, e, f]}}
output: {{maps: none, figures: none}}
intervals: {{resamples: 100}}
{more}"""


def smooth(rng, scale):
    field = gaussian_filter(rng.normal(size=(SIDE, SIDE)), scale, mode="wrap")
    return field / field.std()


def drawn(seed, tiles=TILES):
    """Probabilities (classes, rows, columns) and the codes of the truth; errors are correlated over 6 pixels."""
    rng, found = np.random.default_rng(seed), {}
    for tile in tiles:
        mean = 1.2 * smooth(rng, 15)
        below = norm.cdf([-0.5 - mean, 0.7 - mean])
        probabilities = np.stack([below[0], below[1] - below[0], 1 - below[1]]).astype(np.float32)
        value = mean + smooth(rng, 6)
        truth = np.array(list(CODES.values()))[(value > -0.5).astype(int) + (value > 0.7)].astype(np.float32)
        truth[:12, :50] = np.nan
        found[tile] = probabilities, truth
    return found


def written(folder, own, more=""):
    for place, (tile, (probabilities, truth)) in enumerate(own.items()):
        where = {"transform": NORTH_UP @ Affine.translation(place * SIDE, 0)}
        write_raster(folder / f"p_{tile}.tif", probabilities, nodata=np.nan, **where)
        write_raster(folder / f"truth_{tile}.tif", truth, nodata=np.nan, **where)
    codes = "{" + ", ".join(f"{name}: {code}" for name, code in CODES.items()) + "}"
    (folder / "cover.yaml").write_text(CONFIG.format(codes=codes, more=more), encoding="utf-8")
    return folder / "cover.yaml"


@pytest.fixture(scope="module")
def maps():
    return drawn(0)


@pytest.fixture(scope="module")
def results(maps, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cover")
    return geouq.run(written(folder, maps), Options(out=folder / "out"))


@pytest.mark.parametrize("name", CODES)
@pytest.mark.parametrize(("region", "tiles"), [("all", TILES), ("west", TILES[:2]), ("east", TILES[2:])])
def test_the_area_of_a_class_is_that_of_its_pixels(maps, results, name, region, tiles):
    areas = results.frames["areas"]
    (row,) = areas[(areas.name == region) & (areas["class"] == name)].itertuples()
    place = list(CODES).index(name)
    valid = [np.isfinite(maps[tile][1]) for tile in tiles]
    p = np.concatenate([maps[tile][0][place][own] for tile, own in zip(tiles, valid, strict=True)]).astype(np.float64)
    is_there = np.concatenate([maps[tile][1][own] == CODES[name] for tile, own in zip(tiles, valid, strict=True)])
    std = np.sqrt(np.maximum(p * (1 - p), 0))

    assert row.n == len(p)
    assert row.mean == pytest.approx(p.mean(), rel=1e-12)
    assert row.mean_error == pytest.approx(p.mean() - is_there.mean(), abs=1e-12)
    assert row.std_independent == pytest.approx(np.sqrt((p * (1 - p)).sum()) / len(p), rel=1e-12)
    assert row.std_full == pytest.approx(std.mean(), rel=1e-12)
    assert row.total == pytest.approx(p.sum() / 100, rel=1e-12)  # a pixel is a hundredth of a hectare
    assert (row.units, row.total_units) == ("1", "ha")


def test_intervals_respect_the_correlation_of_errors(results):
    areas = results.frames["areas"]
    known = areas[areas.ci_method == "student"]

    assert len(known) >= 4
    assert (areas["std"] > 5 * areas.std_independent).all()
    assert ((known.ci_low >= 0) & (known.ci_low < known["mean"]) & (known["mean"] < known.ci_high)).all()
    assert areas[areas.ci_method != "student"].ci_low.isna().all()


def test_each_class_has_its_correlation_of_errors(results):
    model = json.loads((results.folder / "tables/error_correlation.json").read_text(encoding="utf-8"))

    assert list(model) == [f"cover = {name}" for name in CODES]
    frame = results.frames["error_correlation"]
    assert set(frame["class"]) == set(CODES)
    assert set(results.frames["error_correlogram"]["class"]) == set(CODES)


def test_there_is_no_mean_of_a_class_number(results):
    for name in ("areas", "aggregates"):
        assert results.frames[name]["class"].ne("").all()


@pytest.mark.parametrize("name", CODES)
@pytest.mark.parametrize("side", [1, 4])
def test_areas_of_a_class_are_judged_by_the_size_of_blocks(maps, results, name, side):
    frame = results.frames["aggregates"]
    frame = frame[(frame["class"] == name) & (frame.side_cells == side)]
    place, length = list(CODES).index(name), 16 * side
    squares, errors, crps = [], [], []
    for probabilities, truth in maps.values():
        known, p = np.isfinite(truth), probabilities[place].astype(np.float64)
        for row, column in np.ndindex(SIDE // length, SIDE // length):
            own = slice(row * length, (row + 1) * length), slice(column * length, (column + 1) * length)
            valid = known[own]
            chosen, is_there = p[own][valid], truth[own][valid] == CODES[name]
            variance = (chosen * (1 - chosen)).sum()
            if valid.sum() >= length**2 / 2 and variance >= 5:
                error, s = (chosen.sum() - is_there.sum()) / valid.sum(), np.sqrt(variance) / valid.sum()
                squares.append((error / s) ** 2)
                errors.append(error)
                z = error / s
                crps.append(s * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi)))

    found = frame.set_index("metric")
    assert set(found.n_areas) == {len(squares)}
    assert found.value["aggregate_zms_independent"] == pytest.approx(np.mean(squares), rel=1e-9)
    covered = np.mean(np.array(squares) <= norm.ppf(0.95) ** 2)
    assert found.value["aggregate_coverage_independent_90"] == pytest.approx(covered)
    assert found.value["aggregate_rmse"] == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-9)
    assert found.value["aggregate_crps_independent"] == pytest.approx(np.mean(crps), rel=1e-9)
    assert found.value["aggregate_factor"] ** 2 == pytest.approx(found.value["aggregate_zms_fitted"])
    assert set(found.units) == {"1"}


def test_a_gate_may_bound_the_area_of_a_class(maps, tmp_path):
    def gate(share):
        text = f"gates: [{{metric: aggregate_zms_independent, variable: cover, areas: 1, {share}max: 1.5}}]\n"
        return written(tmp_path, maps, text)

    out = Options(out=tmp_path / "out")
    failed = geouq.run(gate("share: grass, "), out)
    with pytest.raises(GeouqError, match="of means for variable cover; add one of share: water, grass, forest"):
        geouq.run(gate(""), out)
    with pytest.raises(GeouqError, match="share gras for variable cover; it is known of share: water, grass, forest"):
        geouq.run(gate("share: gras, "), out)

    frame = failed.frames["aggregates"]
    expected = frame[(frame["class"] == "grass") & (frame.side_cells == 1)].set_index("metric").value
    (judged,) = failed.gates
    assert judged.value == expected["aggregate_zms_independent"]
    assert str(judged).startswith("aggregate_zms_independent of cover = grass of 1 x 1 cells is")
    assert not judged.passed


def test_a_share_is_named_by_what_it_is_of():
    assert (str(Share("forest", 2)), str(Share(100.0, 0))) == ("= forest", "> 100")
