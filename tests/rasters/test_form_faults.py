"""What users get wrong in configurations and files of ensembles, quantiles and classes: one clear message each."""

import numpy as np
import pytest
from affine import Affine
from csv_rows import rows_of
from form_files import CLASSES, ENSEMBLES, QUANTILES, SHAPE, TRUTH, experiment_of, members_of, options, write_forms

from geouq.core.errors import ConfigError
from geouq.pipeline.run import run
from geouq.rasters.catalog import find_tiles

ENSEMBLE = ENSEMBLES["by variable"] | TRUTH
PLACE = {"transform": Affine(10, 0, 5e5, 0, -10, 7e6), "nodata": np.nan}


@pytest.fixture
def folder(tmp_path, write_raster):
    return write_forms(tmp_path, write_raster)


def faults(folder, data, text=""):
    """What find_tiles tells of each tile, without the folder."""
    found = find_tiles(experiment_of(folder, data, text)).failures
    return [failure.message.replace(f"{folder}/", "") for failure in found]


@pytest.mark.parametrize(
    ("data", "text", "said"),
    [
        (
            QUANTILES | TRUTH | {"quantiles": "{0: 'q/{tile}.tif', 0.5: 'q/{tile}.tif'}"},
            "",
            "data.quantiles.0: 0 is not",
        ),
        (TRUTH | {"quantiles": "{5: 'q/{tile}.tif'}"}, "", "data.quantiles.5: 5 is not between 0 and 1; write 0.05?"),
        (TRUTH | {"quantiles": "{median: 'q/{tile}.tif'}"}, "", "data.quantiles.median: 'median' is not a number"),
        (CLASSES | {"class_codes": "[3, 7, 9]"}, "", "data.class_codes: needs a mapping"),
        (CLASSES | {"class_codes": "{a: 3, b: -7}"}, "", "data.class_codes.b: '-7' is less than 0"),
        (CLASSES | {"class_codes": "{a: 3}"}, "", "data.class_codes: names fewer than two classes"),
        (QUANTILES | TRUTH | {"class_codes": "{a: 3, b: 7}"}, "", "data.class_codes: there are no probabilities"),
        (ENSEMBLE | {"member_names": "[a, b]"}, "", "data.member_names: members has no {member} for which names stand"),
        (ENSEMBLE | {"mean": "by_variable/{tile}.tif"}, "", "data.mean: the prediction is given in another form"),
        (QUANTILES | TRUTH | {"covariates": "{slope: 's/{tile}.tif'}"}, "", "data.covariates: coverage by groups"),
        (
            ENSEMBLE,
            "variables: {height: {truth_variance: 1}}\n",
            "truth_variance of 'height': the error of the truth is added",
        ),
        (CLASSES, "variables: {forest: {thresholds: [1]}}\n", "thresholds of 'forest' are of predictions"),
        (QUANTILES | TRUTH, "recalibration: best\n", "recalibration: corrections are of mean and variance"),
        (
            TRUTH,
            "models: {a: {members: 'm/{tile}.tif'}}\n",
            "models.a.members: models that are listed with their rasters",
        ),
        (
            TRUTH | {"quantiles": "{0.5: 'q/{tile}.tif'}"},
            "models: {a: {mean: 'm/{tile}.tif', std: 's/{tile}.tif'}}\n",
            "data.quantiles: models that are listed with their rasters",
        ),
    ],
)
def test_a_fault_of_the_configuration_is_told_in_one_line_with_its_key(folder, data, text, said):
    with pytest.raises(ConfigError) as told:
        experiment_of(folder, data, text)

    (line,) = str(told.value).splitlines()
    assert said in line
    assert "experiment.yaml:" in line


def test_members_without_a_placeholder_that_are_one_file_are_told(folder):
    said = faults(folder, {"members": "single/{tile}_m1.tif"} | TRUTH)

    assert "has 2 bands, which are not two members or more for each band" in said[0]
    assert "where each member is a file, write {member} in its path" in said[0]


def test_a_single_member_is_told(folder):
    said = faults(folder, {"members": "single/{tile}_m{member}.tif", "member_names": "['1']"} | TRUTH)

    assert said[0] == "single/a1_m1.tif is the only member; an ensemble has two or more, a file for each {member}"


def test_files_that_are_no_members_alike_are_told(folder, write_raster):
    for tile in ("a1", "a2"):
        write_raster(folder / f"single/{tile}_m5.tif", np.ones((3, *SHAPE), np.float32), **PLACE)
    said = faults(folder, {"members": "single/{tile}_m{member}.tif"} | TRUTH)

    assert said[0] == "single/a1_m5.tif has 3 bands and single/a1_m1.tif 2 bands: give members alike"


def test_tiles_with_other_numbers_of_members_are_told(folder, write_raster):
    fewer, variances, _ = members_of(1)
    for name, layers in (("by_variable", fewer), ("variances", variances)):
        where = PLACE | {"transform": Affine(10, 0, 5.005e5, 0, -10, 7e6)}
        write_raster(folder / f"{name}/a2.tif", layers[:, :3].reshape(-1, *SHAPE), **where)

    assert faults(folder, ENSEMBLE) == [
        "by_variable/a2.tif has 3 members, but by_variable/a1.tif has 4; give as many in every tile"
    ]


def test_a_variance_that_one_member_lacks_is_told(folder):
    (folder / "single" / "a1_m2_variance.tif").unlink()

    assert faults(folder, ENSEMBLES["files"] | TRUTH) == ["there is no file single/a1_m2_variance.tif"]


def test_bands_of_variances_that_are_not_those_of_members_are_told(folder):
    data = {"members": "by_variable/{tile}.tif", "member_variance": "truth/{tile}.tif"} | TRUTH
    said = faults(folder, data)

    assert said[0] == "truth/a1.tif has 2 bands; 4 members of the requested variables are 8"


@pytest.mark.parametrize("codes", ["{open: 3, sparse: 7}", "{open: 3, sparse: 7, dense: 9, water: 1}"])
def test_classes_that_are_not_as_many_as_bands_are_told(folder, codes):
    said = faults(folder, CLASSES | {"class_codes": codes}, "variables: [forest]\n")

    count = codes.count(":")
    assert said[0] == f"classes/a1_p.tif has 3 bands; {count} classes of the requested variables are {count}"


def test_codes_of_no_class_and_percentages_are_counted_and_told_where_they_are_most(folder, write_raster):
    text = "variables: [forest]\noutput: {maps: none, figures: none}\n"
    wrong = run(
        experiment_of(folder, CLASSES | {"class_codes": "{a: 3, b: 70, c: 90}"}, text), options(folder / "codes")
    )
    assert any("hold a code in the truth that is none of class_codes, and" in note for note in wrong.warnings)

    for tile in ("a1", "a2"):
        where = PLACE | {"transform": Affine(10, 0, 5e5 + 500 * (tile == "a2"), 0, -10, 7e6)}
        write_raster(folder / f"classes/{tile}_p.tif", np.full((3, *SHAPE), 33.3, np.float32), **where)
    percent = run(experiment_of(folder, CLASSES, text), options(folder / "percent"))

    assert any("do not sum to 1 (are these percentages?), and 0 count" in note for note in percent.warnings)
    excluded = {row["reason"] for row in rows_of(folder / "percent/tables/excluded.csv")}
    assert "not_a_distribution" in excluded


def test_the_plan_tells_the_form(folder, geouq):
    for data, said in (
        (ENSEMBLE, "prediction 4 members, each with a variance"),
        (QUANTILES | TRUTH, "prediction quantiles 0.1, 0.5, 0.9"),
        (CLASSES, "prediction classes open (3), sparse (7), dense (9)"),
    ):
        experiment = experiment_of(folder, data, "variables: [forest]\n" if data is CLASSES else "")
        assert said in geouq("check", experiment.source).output


def test_a_run_of_a_form_is_not_recalibrated(folder, geouq):
    run(experiment_of(folder, QUANTILES | TRUTH, "output: {maps: none, figures: none}\n"), options(folder / "out"))

    done = geouq("recalibrate", folder / "out", "--quiet")

    assert done.exit_code == 2
    assert "recalibration: corrections are of mean and variance" in done.output
