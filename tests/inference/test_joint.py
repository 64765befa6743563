"""The joint log-loss in and out of distribution, from files, and how certain it is: tiles are drawn."""

import numpy as np
import pytest
from affine import Affine
from csv_rows import rows_of
from form_files import experiment_of, options

from geouq.core.errors import ConfigError
from geouq.inference.bootstrap import draws
from geouq.inference.tiles import PairRows
from geouq.metrics import METRICS
from geouq.metrics.ensemble import joint_loss_of
from geouq.pipeline.run import run
from geouq.summary.joint_sample import JointSample

SIDE, MEMBERS, KNOWN, NEW = 64, 5, 9, 3
LOSS, GAIN = (one.of_pairs for one in METRICS if one.of_pairs)
REPORTED = ("marginal_log_loss", "joint_log_loss", "joint_log_loss_gain")


def sampled(pixels=300, tiles=9, seed=0):
    """A sample, and the tile of each of its pixels."""
    rng = np.random.default_rng(seed)
    owner = rng.integers(0, tiles, pixels)
    log_density = rng.normal(-2, 1, (pixels, 4)) + rng.normal(0, 1, (tiles, 4))[owner]
    return JointSample(np.arange(pixels, dtype=np.uint64), log_density), owner


def test_each_tile_drawn_once_is_the_pool():
    sample, owner = sampled()
    pairs = PairRows.of(sample, owner)

    joint, gain = (of_pairs(pairs.losses).mean() for of_pairs in (LOSS, GAIN))

    assert joint == pytest.approx(joint_loss_of(sample, 10), rel=1e-14)
    assert gain == pytest.approx(10 * joint_loss_of(sample, 1) - joint_loss_of(sample, 10), rel=1e-10)


def test_a_pair_counts_as_often_as_its_tiles_are_drawn():
    sample, owner = sampled(pixels=40, tiles=4)
    pairs, losses = PairRows.of(sample, owner), []
    for counts in np.concatenate(list(draws(4, 20, 0, "all"))).astype(int):
        total, weight = 0.0, 0
        for i in range(40):
            one, other = owner[i], owner[(i + 1) % 40]
            times = counts[one] if one == other else counts[one] * counts[other]
            pair = JointSample(sample.number[:2], sample.log_density[[i, (i + 1) % 40]])
            total, weight = total + times * joint_loss_of(pair, 10), weight + times
        losses.append(total / weight)

    np.testing.assert_allclose(pairs.resampled("all", LOSS, 4, 20, 0), losses, rtol=1e-12)


def test_without_a_tile_its_pairs_are_gone():
    sample, owner = sampled(pixels=60, tiles=5)
    pairs = PairRows.of(sample, owner)
    apart = (owner != 2) & (np.roll(owner, -1) != 2)

    found = pairs.left_out(LOSS, 5)

    assert found[2] == pytest.approx(LOSS(pairs.losses)[apart].mean(), rel=1e-12)


def test_resamples_spread_as_samples_of_other_tiles_do():
    found = [PairRows.of(*sampled(tiles=30, seed=seed)) for seed in range(60)]
    across = np.std([LOSS(pairs.losses).mean() for pairs in found])
    within = np.median([pairs.resampled("all", LOSS, 30, 200, 0).std() for pairs in found])

    assert 0.7 < within / across < 1.4


def write_tiles(folder, write_raster):
    """Tiles in distribution, where members agree, and out of it, where they err alike everywhere or anew at each pixel.

    The members of `mixed` are those of `alike` in another order at each pixel: the marginals are the same.
    """
    rng = np.random.default_rng(0)
    offsets = np.array([-2.0, -1, 0, 1, 2])
    for i in range(KNOWN + NEW):
        spread, true = (0.1, 0.0) if i < KNOWN else (1.0, 2.0)
        alike = np.broadcast_to(spread * offsets[:, None, None], (MEMBERS, SIDE, SIDE)).astype(np.float32)
        truth = (true * spread + rng.standard_normal((SIDE, SIDE))).astype(np.float32)
        where = {"transform": Affine(10, 0, 5e5 + i * 10 * SIDE, 0, -10, 7e6), "nodata": np.nan}
        name = f"{'in' if i < KNOWN else 'out'}{i}"
        write_raster(folder / f"truth/{name}.tif", truth, names=("height",), units=("m",), **where)
        write_raster(folder / f"alike/{name}.tif", alike, **where)
        write_raster(folder / f"mixed/{name}.tif", rng.permuted(alike, axis=0), **where)
        write_raster(folder / f"variances/{name}.tif", np.ones_like(alike), **where)


TEXT = (
    f"splits: {{in: [{', '.join(f'in{i}' for i in range(KNOWN))}], "
    f"out: [{', '.join(f'out{i}' for i in range(KNOWN, KNOWN + NEW))}]}}\n"
    "output: {maps: none, figures: none}\nintervals: {resamples: 200, block: 32 px}\n"
)


def data_of(forecaster):
    return {
        "members": f"{forecaster}/{{tile}}.tif",
        "member_variance": "variances/{tile}.tif",
        "truth": "truth/{tile}.tif",
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("splits")


@pytest.fixture
def tables(folder, write_raster):
    """Rows of the numbers of each forecaster by region and metric."""
    if not (folder / "truth").exists():
        write_tiles(folder, write_raster)
        for forecaster in ("alike", "mixed"):
            run(experiment_of(folder, data_of(forecaster), TEXT), options(folder / "runs" / forecaster))
    return {
        forecaster: {
            (row["name"], row["metric"]): row
            for row in rows_of(folder / "runs" / forecaster / "tables" / "metrics.csv")
            if row["level"] != "tile" and row["metric"] in REPORTED
        }
        for forecaster in ("alike", "mixed")
    }


def test_out_of_distribution_the_joint_loss_tells_what_the_marginal_one_does_not(tables):
    alike, mixed = (
        {key: float(row["value"]) for key, row in tables[forecaster].items()} for forecaster in ("alike", "mixed")
    )

    for side in ("in", "out"):
        assert alike[side, "marginal_log_loss"] == pytest.approx(mixed[side, "marginal_log_loss"], rel=1e-6)
    assert alike["in", "joint_log_loss"] == pytest.approx(mixed["in", "joint_log_loss"], abs=0.4)
    assert alike["out", "joint_log_loss"] < mixed["out", "joint_log_loss"] - 3
    assert alike["out", "joint_log_loss_gain"] > 3


def test_of_few_tiles_the_joint_log_loss_has_a_reason_for_no_interval(tables):
    for name in REPORTED[1:]:
        row = tables["alike"]["in", name]
        if row["ci_low"]:
            assert float(row["ci_low"]) < float(row["value"]) < float(row["ci_high"])
            assert row["ci_method"] == "bca, blocks of tiles"
        else:  # nine tiles may be fewer independent ones
            assert (name, row["ci_method"]) == ("joint_log_loss", "fewer than 8 effective cells")
        few = tables["alike"]["out", name]
        assert few["ci_low"] == ""
        assert few["ci_method"] == "not kept by cell, and fewer than 8 tiles"


def test_both_losses_stand_in_the_table_of_the_shift(folder, tables):
    assert tables
    shift = {row["metric"]: row for row in rows_of(folder / "runs/alike/tables/shift.csv")}

    for name in REPORTED:
        assert float(shift[name]["in"]) == pytest.approx(float(tables["alike"]["in", name]["value"]))
        assert float(shift[name]["out"]) == pytest.approx(float(tables["alike"]["out", name]["value"]))
    assert shift["marginal_log_loss"]["verdict"] == "worse out of distribution"


def test_runs_of_forms_are_compared_in_a_short_table(folder, tables, geouq):
    assert tables
    done = geouq("compare", folder / "runs/mixed", folder / "runs/alike", "--out", folder / "compared", "--quiet")

    assert done.exit_code == 0, done.output
    lines = {line.split()[2]: line for line in done.output.splitlines() if line.startswith("height")}
    assert {"crps_mixture", "marginal_log_loss", "joint_log_loss"} <= set(lines)
    assert "no difference" in lines["crps_mixture"]


def test_a_gate_may_be_on_the_interval_of_a_number_that_cells_keep(folder, tables):
    assert tables
    gate = "gates: [{metric: %s, variable: height, region: out, max: 9, on: interval}]\n"
    with pytest.raises(ConfigError, match="joint_log_loss of region out can have no interval"):
        run(experiment_of(folder, data_of("alike"), TEXT + gate % "joint_log_loss"), options(folder / "runs" / "gate"))
    results = run(
        experiment_of(folder, data_of("alike"), TEXT + gate % "marginal_log_loss"), options(folder / "runs" / "alike")
    )
    assert results.gates[0].passed
