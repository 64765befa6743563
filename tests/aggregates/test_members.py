"""Means of members over areas have the spread and the ranks of the means of their pixels."""

import numpy as np
import pytest
from affine import Affine
from landscape import NORTH_UP, write_raster

import geouq
from geouq.aggregates.members import MemberMeans
from geouq.pipeline.data import Options
from geouq.tables.columns import TABLES

MEMBERS, SIDE, CELL, TILES = 5, 96, 16, ("a", "b", "c", "d")
REGIONS = {"west": TILES[:1], "east": TILES[1:]}
CONFIG = """\
version: 1
name: members
data: {members: "members_{tile}.tif", truth: "truth_{tile}.tif", weights: "weights_{tile}.tif"}
variables: {rain: {units: mm}}
cell_size: 16
regions:
  west: [a]
  east: [b, c, d]
  cover: {classes: "classes_{tile}.tif", names: {1: wet}}
output: {maps: none, figures: none}
intervals: {resamples: 100}
"""


def field(rng, shared):
    """Part of it is the same over each square of 8 pixels, the rest differs from pixel to pixel."""
    squares = np.kron(rng.normal(size=(SIDE // 8, SIDE // 8)), np.ones((8, 8)))
    return np.sqrt(shared) * squares + np.sqrt(1 - shared) * rng.normal(size=(SIDE, SIDE))


def layers(seed, shared_by_members):
    """Members, truth with gaps, weights and classes of each tile."""
    rng = np.random.default_rng(seed)
    found = {}
    for tile in TILES:
        members = np.stack([field(rng, shared_by_members) for _ in range(MEMBERS)]).astype(np.float32)
        truth = field(rng, 0.5).astype(np.float32)
        truth[:10, :60] = np.nan
        weights = rng.uniform(0.5, 2, truth.shape).astype(np.float32)
        found[tile] = members, truth, weights, (rng.uniform(size=truth.shape) < 0.3).astype(np.uint8)
    return found


def written(folder, own, text=CONFIG):
    for place, tile in enumerate(TILES):
        where = {"transform": NORTH_UP @ Affine.translation(place * SIDE, 0)}
        for name, layer in zip(("members", "truth", "weights", "classes"), own[tile], strict=True):
            nodata = None if name == "classes" else np.nan
            write_raster(folder / f"{name}_{tile}.tif", layer, nodata=nodata, **where)
    (folder / "members.yaml").write_text(text, encoding="utf-8")
    return folder / "members.yaml"


@pytest.fixture(autouse=True)
def apart(tmp_path, monkeypatch):
    """Write the results of tests that run at the same time to different folders."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def maps():
    return layers(0, 0.5)


@pytest.fixture(scope="module")
def tables(maps, tmp_path_factory):
    folder = tmp_path_factory.mktemp("members")
    return geouq.run(written(folder, maps), Options(out=folder / "out")).frames


def mean_errors(maps, areas):
    """Error of the mean of each member over the pixels of each area, a list of (tile, mask), by numpy alone."""
    found = []
    for parts in areas:
        total, weight = np.zeros(MEMBERS), 0.0
        for tile, mask in parts:
            members, truth, weights, _ = (layer.astype(np.float64) for layer in maps[tile])
            chosen = mask & np.isfinite(truth)
            total += ((members - truth) * weights)[:, chosen].sum(axis=1)
            weight += weights[chosen].sum()
        found.append(total / weight)
    return np.array(found)


def areas_of(maps, kind, side):
    """The areas of a kind, each a list of (tile, mask)."""
    everywhere = np.ones((SIDE, SIDE), bool)
    if kind == "tile":
        return [[(tile, everywhere)] for tile in TILES]
    if kind == "region":
        lists = [[(tile, everywhere) for tile in own] for own in REGIONS.values()]
        return [*lists, [(tile, maps[tile][3] == 1) for tile in TILES]]
    length, found = side * CELL, []
    for tile in TILES:
        for top, left in np.ndindex(-(-SIDE // length), -(-SIDE // length)):
            mask = np.zeros((SIDE, SIDE), bool)
            mask[top * length : (top + 1) * length, left * length : (left + 1) * length] = True
            if (mask & np.isfinite(maps[tile][1])).sum() >= length**2 / 2:
                found.append([(tile, mask)])
    return found


def spread_skill(errors):
    factor = (MEMBERS + 1) / (MEMBERS - 1)
    return np.sqrt(factor * errors.var(axis=1).mean() / (errors.mean(axis=1) ** 2).mean())


KINDS = [("block", 1), ("block", 2), ("block", 4), ("tile", 0), ("region", 0)]


@pytest.mark.parametrize(("kind", "side"), KINDS)
def test_spread_and_ranks_are_those_of_the_means_of_pixels(maps, tables, kind, side):
    errors = mean_errors(maps, areas_of(maps, kind, side))
    rows, ranks = (
        own[own.kind == kind].fillna({"side_cells": 0}) for own in (tables["aggregates"], tables["member_ranks"])
    )
    (row,) = rows[(rows.metric == "aggregate_spread_skill") & (rows.side_cells == side)].itertuples()
    own = ranks[ranks.side_cells == side]

    assert row.value == pytest.approx(spread_skill(errors), rel=1e-9)
    assert row.n_areas == len(errors) == own.n_areas.iloc[0]
    expected = np.bincount((errors < 0).sum(axis=1), minlength=MEMBERS + 1) / len(errors)
    np.testing.assert_allclose(own.share, expected, atol=1e-15)
    assert tuple(own.columns) == TABLES["member_ranks"].columns
    assert own["rank"].tolist() == list(range(MEMBERS + 1))
    assert (own.ideal == 1 / (MEMBERS + 1)).all()


def test_calibrated_members_have_the_spread_of_their_error_at_every_size(tables):
    rows = tables["aggregates"].query("metric == 'aggregate_spread_skill' and ci_low.notna()")

    assert len(rows) >= 2
    assert ((rows.ci_low < 1.1) & (rows.ci_high > 0.9)).all()


def test_members_whose_errors_are_independent_spread_too_little_over_areas(tmp_path):
    found = geouq.run(written(tmp_path, layers(1, 0.0))).frames
    pixels = found["metrics"].query("level == 'all' and metric == 'spread_skill'").value.item()
    blocks = found["aggregates"].query("metric == 'aggregate_spread_skill' and side_cells == 1")

    assert pixels == pytest.approx(1, abs=0.05)
    assert blocks.ci_high.item() < 0.5


def test_splits_of_a_tile_and_threads_change_no_byte(tmp_path, maps):
    config, bytes_of = written(tmp_path, maps), []
    for number, options in enumerate(({"workers": 1}, {"workers": 2, "memory": "1 GB"})):
        out = tmp_path / f"out{number}"
        geouq.run(config, Options(out=out, **options))
        bytes_of.append([(out / "tables" / f"{name}.csv").read_bytes() for name in ("aggregates", "member_ranks")])

    assert bytes_of[0] == bytes_of[1]


def test_a_mean_that_equals_members_counts_in_equal_shares_at_all_ranks_it_may_have():
    errors = np.array([[-1.0, 0.0, 0.0, 2.0], [1.0, 1.0, 1.0, 1.0]])
    found = MemberMeans(errors, np.ones(2), np.zeros(2, np.int64))

    np.testing.assert_allclose(found.rank_shares, [0.5, 1 / 6, 1 / 6, 1 / 6, 0])


def test_the_interval_covers_the_ratio_of_calibrated_members():
    rng, inside = np.random.default_rng(0), 0
    for _ in range(400):
        truth = rng.normal(size=(120, 1))
        own = MemberMeans(rng.normal(size=(120, 8)) - truth, np.ones(120), np.repeat(np.arange(12), 10))
        number = own.spread_skill(0.9)
        inside += number.low <= 1 <= number.high

    assert 0.86 <= inside / 400 <= 0.95


@pytest.mark.parametrize(
    ("errors", "fold", "reason"),
    [
        (np.ones((4, 3)), np.arange(4), "4 areas, in 4 parts of the map, are too few"),
        (np.eye(12), np.zeros(12, np.int64), "12 areas, in 1 parts of the map, are too few"),
        (np.zeros((0, 3)), np.zeros(0, np.int64), "no area of this size"),
        (np.ones((12, 3)), np.arange(12), "the spread or the error of the means is 0"),
    ],
)
def test_without_an_interval_there_is_a_reason(errors, fold, reason):
    found = MemberMeans(errors, np.ones(len(errors)), fold).spread_skill(0.9)

    assert (found.reason, found.low) == (reason, pytest.approx(np.nan, nan_ok=True))


def test_a_gate_may_bound_the_spread_over_areas(tmp_path, maps):
    gate = "gates: [{metric: aggregate_spread_skill, variable: rain, areas: 2, min: 5}]\n"
    results = geouq.run(written(tmp_path, maps, CONFIG + gate))

    assert [one.passed for one in results.gates] == [False]
