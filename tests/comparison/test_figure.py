"""The figure of differences can be read at the widths of journals."""

import pytest
from pictures import assert_readable

from geouq.comparison.figure import differences_figure
from geouq.metrics import shown_in, usual_name


def rows_of(regions, runs):
    return [
        {
            "variable": "v", "bins": "", "name": f"region {region}", "run": f"run {run}", "metric": usual_name(metric),
            "units": "Mg ha-1", "difference": 0.1 * run, "ci_low": -0.1, "ci_high": 0.5, "significant": "no",
        }
        for metric in shown_in("differences")
        for region in range(regions)
        for run in range(1, runs)
    ]  # fmt: skip


@pytest.mark.parametrize("width", [85, 180])
@pytest.mark.parametrize(("regions", "runs"), [(1, 2), (12, 4)])
def test_differences_can_be_read(regions, runs, width):
    figure = differences_figure(rows_of(regions, runs), title="AGB", baseline="run 0", width=width)

    assert_readable(figure)
    assert figure.get_figwidth() * 25.4 == pytest.approx(width)
