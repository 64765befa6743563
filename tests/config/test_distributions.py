"""Distributions and transforms of variables in a configuration."""

import pytest
from configurations import faults, loaded

from geouq.core.distribution import Distribution

LAYERS = 'version: 1\nname: x\ndata: {{{data}, truth: "{{tile}}_y.tif"}}\nvariables: {{v: {{{how}}}}}\n'
MEAN_AND_STD = 'mean: "{tile}_m.tif", std: "{tile}_s.tif"'


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("band: 1", Distribution()),
        ("distribution: lognormal", Distribution("lognormal")),
        ("distribution: truncated_normal", Distribution("truncated_normal", of_normal=True)),
        ("{distribution: student_t, degrees: 4}", Distribution("student_t", 4.0)),
        ("transform: log1p", Distribution("lognormal", 1.0, of_normal=True)),
        ("transform: sqrt", Distribution("squared_normal", of_normal=True)),
    ],
)
def test_a_variable_names_its_distribution(tmp_path, written, expected):
    own = written if written.startswith("{") else f"{{{written}}}"

    (variable,) = loaded(tmp_path, f"variables: {{v: {own}}}\n").variables

    assert variable.distributed == expected


@pytest.mark.parametrize(
    ("how", "data", "message"),
    [
        ("distribution: student_t", MEAN_AND_STD, "missing key 'degrees'"),
        ("distribution: student_t, degrees: 2", MEAN_AND_STD, "greater than 2"),
        ("distribution: gamma, degrees: 5", MEAN_AND_STD, "is for distribution: student_t alone"),
        ("distribution: gamma, transform: log", MEAN_AND_STD, "leave distribution or this out"),
        ("distribution: gama", MEAN_AND_STD, "'gamma'"),
        ("transform: ln", MEAN_AND_STD, "known are log, log1p, sqrt"),
        (
            "distribution: gamma",
            'mean: "{tile}_m.tif", lower: "{tile}_l.tif", upper: "{tile}_u.tif", level: 0.9',
            "the std of an interval is that of a normal forecast",
        ),
        (
            "transform: log",
            'mean: "{tile}_m.tif", relative_std: "{tile}_c.tif"',
            "a std relative to a transformed mean is no std",
        ),
        ("transform: log", f'{MEAN_AND_STD}, truth_std: "{{tile}}_e.tif"', "the error of the truth is added to normal"),
        ("transform: log, truth_variance: 2", MEAN_AND_STD, "the error of the truth is added to normal"),
        ("distribution: gamma", 'members: "{tile}_{member}.tif"', "given as a mean and a variance"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path, how, data, message):
    found = faults(tmp_path, LAYERS.format(data=data, how=how))

    assert len(found) == 1
    assert message in found[0]
    assert found[0].startswith("x.yaml:4")


def test_recalibration_is_refused(tmp_path):
    text = LAYERS.format(data=MEAN_AND_STD, how="distribution: gamma") + "recalibration: scale\n"

    (found,) = faults(tmp_path, text)

    assert "corrections are of normal forecasts alone" in found
