"""Summaries of arrays whose forecasts are not normal."""

import dask.array as da
import numpy as np
import pytest

import geouq
from geouq.core.distribution import NORMAL, Distribution
from geouq.core.errors import ConfigError, SummaryError

RNG = np.random.default_rng(0)
MEAN, SHARE = RNG.uniform(5, 50, (40, 60)), RNG.uniform(0.1, 1, (40, 60))
TRUTH = RNG.gamma(SHARE**-2, MEAN * SHARE**2)
GAMMA = (MEAN, (SHARE * MEAN) ** 2, TRUTH)


def test_a_summary_knows_its_distribution_also_from_a_file(tmp_path):
    summary = geouq.summarize(*GAMMA, distribution="gamma")
    summary.save(tmp_path / "one.nc")

    assert geouq.Summary.load(tmp_path / "one.nc") == summary
    assert summary.distribution == Distribution("gamma")
    assert geouq.summarize(*GAMMA).distribution == NORMAL


def test_parts_add_up_to_the_whole():
    whole = geouq.summarize(*GAMMA, distribution="gamma")
    parts = [geouq.summarize(*(own[rows] for own in GAMMA), distribution="gamma") for rows in (slice(9), slice(9, 40))]

    total = sum(parts)

    np.testing.assert_allclose(total.widths.sums, whole.widths.sums, rtol=1e-12)
    assert geouq.crps(total) == pytest.approx(geouq.crps(whole), rel=1e-12)
    np.testing.assert_array_equal(total.z.counts, whole.z.counts)


def test_dask_arrays_have_the_same_numbers():
    lazy = geouq.summarize(*(da.from_array(own, chunks=16) for own in GAMMA), distribution="gamma").compute()

    assert geouq.crps(lazy) == pytest.approx(geouq.crps(geouq.summarize(*GAMMA, distribution="gamma")), rel=1e-12)


def test_summaries_of_two_distributions_do_not_add():
    with pytest.raises(SummaryError, match="gamma and log-normal forecasts do not add"):
        geouq.summarize(*GAMMA, distribution="gamma") + geouq.summarize(*GAMMA, distribution="lognormal")
    with pytest.raises(SummaryError, match="do not add"):
        geouq.summarize(*GAMMA, distribution="gamma") + geouq.summarize(*GAMMA)


def test_coverage_in_classes_is_that_of_the_distribution():
    codes = (np.arange(MEAN.size).reshape(MEAN.shape) % 2).astype(float)

    summary = geouq.summarize(*GAMMA, distribution="gamma", classes={"half": codes}, levels=[0.9])

    for code in (0, 1):
        some = codes == code
        own = geouq.summarize(*(layer[some] for layer in GAMMA), distribution="gamma", levels=[0.9])
        inside = summary.groups["half"].counts[code]
        assert inside[0] / inside.sum() == pytest.approx(geouq.coverage(own, level=0.9))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"distribution": "gama"}, "distribution='gama': give normal"),
        ({"distribution": "student_t"}, "needs its degrees of freedom"),
        ({"distribution": "student_t", "degrees": 2}, "more than 2"),
        ({"degrees": 5}, "no other one has them"),
        ({"transform": "ln"}, "transform='ln': give log, log1p, sqrt"),
        ({"transform": "log", "distribution": "gamma"}, "leave distribution or transform out"),
        ({"distribution": "gamma", "truth_variance": 1.0}, "added to normal forecasts alone"),
    ],
)
def test_what_does_not_go_together_is_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        geouq.summarize(*GAMMA, **options)
