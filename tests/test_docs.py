"""What the pages say is so: generated blocks follow from the code, and examples print what they show."""

import contextlib
import csv
import io
import re
import shlex
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest
from generated import BLOCKS, blocks_of, filled
from generated.api import OF_A_VARIANCE
from generated.outputs import FILES

from geouq.config import load_experiment
from geouq.config.layer_bands import OF_ONE_RASTER, OF_PREDICTIONS
from geouq.core.wording import for_people
from geouq.pipeline.data import Options
from geouq.pipeline.run import run
from geouq.tables.columns import COLUMN, COMPARED_AREAS, COMPARISON, RECALIBRATED_AGGREGATES, RECALIBRATION, TABLES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
WITH_EXAMPLES = [page for page in PAGES if "```text\n" in (DOCS / page).read_text(encoding="utf-8")]
EVERYTHING = """variables: [height, cover]
regions:
  west: [a1, a2]
  field: {polygons: field.geojson, name: NAME}
splits: {in: [a1, a2], out: [b1]}
intervals: {resamples: 100}
recalibration: scale
gates: [{metric: zms, variable: height, max: 1000}]
output: {maps: [error, status, cells], figures: [reliability]}
"""
FIELD = """{"type": "FeatureCollection", "crs": {"type": "name", "properties": {"name": "EPSG:32633"}}, "features": [
{"type": "Feature", "properties": {"NAME": "field"}, "geometry": {"type": "Polygon", "coordinates":
[[[500000, 7000000], [500300, 7000000], [500300, 6999700], [500000, 6999700], [500000, 7000000]]]}}]}"""


def text_of(page):
    return (DOCS / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_generated_blocks_follow_from_the_code(page):
    assert text_of(page) == filled(text_of(page)), "run scripts/reference"


def test_every_generated_block_stands_in_one_page():
    assert sorted(name for page in PAGES for name in blocks_of(text_of(page))) == sorted(BLOCKS)


@pytest.mark.renders
@pytest.mark.parametrize("page", WITH_EXAMPLES)
def test_examples_print_what_is_shown(page, tmp_path, monkeypatch):
    (tmp_path / "data_samples").symlink_to(ROOT / "data_samples")
    monkeypatch.chdir(tmp_path)
    names, printed = {}, []
    for code in re.findall(r"```python\n(.*?)```", text_of(page), re.DOTALL):
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            exec(code, names)  # noqa: S102  a page of ours
        printed += [shown.getvalue()] if shown.getvalue() else []

    assert printed == re.findall(r"```text\n(.*?)```", text_of(page), re.DOTALL)
    for picture in re.findall(r'savefig\("(.*?)"', text_of(page)):
        assert (tmp_path / picture).exists()


@pytest.mark.parametrize("page", [page for page in PAGES if re.match(r"tutorials/(?!index)", page)])
def test_every_tutorial_says_where_to_run_it_before_its_first_step(page):
    assert "Run it in the folder of this repository" in text_of(page).partition("\n## ")[0]


def test_the_commands_of_the_first_map_print_what_is_shown(geouq, tmp_path):
    (tmp_path / "data_samples").symlink_to(ROOT / "data_samples")
    blocks = re.findall(r"```console\n(.*?)```", text_of("tutorials/first-map.md"), re.DOTALL)
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", "".join(blocks), re.MULTILINE):
        if command.startswith("geouq "):
            called, _, target = command.removeprefix("geouq ").partition(" > ")
            done = geouq(*shlex.split(called))
            assert done.exit_code == 0, done.output
            printed = "" if target else done.output
            if target:
                (tmp_path / target).write_text(done.output, encoding="utf-8")
        else:
            done = subprocess.run(shlex.split(command), cwd=tmp_path, capture_output=True, text=True, check=True)
            printed = done.stdout
        assert printed == shown, command


def columns_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(next(csv.reader(file)))


def test_all_files_and_columns_of_a_run_are_listed(tile_folder, tmp_path, geouq):
    (tmp_path / "field.geojson").write_text(FIELD, encoding="utf-8")
    done = geouq("run", tile_folder(text=EVERYTHING), "--quiet")
    assert done.exit_code == 0, done.output
    folder = tmp_path / "results" / "small"
    patterns = [re.sub(r"<\w+>", "*", name) for name in FILES]
    written = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}

    assert [name for name in sorted(written) if not any(fnmatch(name, pattern) for pattern in patterns)] == []
    unseen = {pattern for pattern in patterns if not any(fnmatch(name, pattern) for name in written)}
    others = {"maps/*_cells_*.tif", "maps/cells_*.vrt", "summaries/together/*.nc", "tables/member_ranks.csv"}
    assert {pattern for pattern in unseen if "comparison" not in pattern} <= others
    for record in (*TABLES.values(), RECALIBRATION, RECALIBRATED_AGGREGATES):
        if record.file in written:
            assert columns_of(folder / record.file) == record.columns
    of_several = {"tables/comparison.csv", "tables/aggregate_comparison.csv"}  # models
    assert {record.file for record in TABLES.values()} - written == {*of_several, "tables/member_ranks.csv"}


def test_every_described_column_is_one_of_a_table():
    records = (*TABLES.values(), RECALIBRATION, RECALIBRATED_AGGREGATES, COMPARISON, COMPARED_AREAS)

    assert set(COLUMN) == {column for record in records for column in record.columns}


def test_columns_of_comparisons_are_listed(runs, geouq):
    first, second = runs(text="variables: [height]\noutput: {maps: none, figures: none}\n", wide="")
    geouq("compare", first, second, "--quiet", "--out", "comparison")

    assert columns_of(Path(COMPARISON.file)) == COMPARISON.columns
    assert columns_of(Path(COMPARED_AREAS.file)) == COMPARED_AREAS.columns


def test_columns_of_models_are_listed(models_folder, tmp_path, geouq):
    models_folder()
    text = (
        "version: 1\nname: x\nmodels: [base, ens]\ntiles: [a]\nintervals: {resamples: 100}\n"
        "data: {mean: 'mean_{model}_{tile}.tif', variance: 'variance_{model}_{tile}.tif', truth: 'truth_{tile}.tif'}\n"
        "output: {maps: none, figures: none}\n"
    )
    (tmp_path / "x.yaml").write_text(text, encoding="utf-8")
    assert geouq("run", "x.yaml", "--quiet").exit_code == 0
    tables = tmp_path / "results/x/tables"

    assert columns_of(tables / "comparison.csv") == TABLES["comparison"].columns
    assert columns_of(tables / "aggregate_comparison.csv") == TABLES["aggregate_comparison"].columns
    assert (tables / "comparison.md").exists()


def test_every_number_has_one_entry_with_its_formula_what_it_says_and_what_not():
    _, _, behind_the_table = text_of("reference/metrics.md").partition("<!-- end of metrics -->")
    rows = re.findall(r"^\| `(\w+?)(?:_<\w+>)?` \| (.*) \| (.*) \| (.*) \|$", behind_the_table, re.MULTILINE)

    assert sorted(name for name, *_ in rows) == sorted(metric.name for metric in OF_A_VARIANCE)
    assert [name for name, formula, says, not_said in rows if not (says and not_said and "$" in formula)] == []


def test_the_table_of_splits_is_that_of_the_samples(tmp_path):
    whole = {"variables": {"P95": {"band": 1, "units": "m"}}, "output": {"maps": "none", "figures": "none"}}
    experiment = load_experiment(ROOT / "configs" / "samples_ensemble.yaml", overrides=whole)
    rows = run(experiment, Options(out=tmp_path)).tables["shift"].rows
    found = {row["metric"]: (for_people(row["in"]), for_people(row["out"])) for row in rows}
    _, _, rest = text_of("reference/forms.md").partition("<!-- splits: P95 of configs/samples_ensemble.yaml -->\n")
    shown = re.findall(r"^\| `(\w+)` \| (\S+) \| (\S+) \|$", rest.partition("<!-- end of splits -->")[0], re.MULTILINE)

    assert [(name, *found[name]) for name, *_ in shown] == shown
    assert len(shown) == 3


def test_the_example_of_several_layers_in_one_file_is_a_configuration(tmp_path):
    page = text_of("reference/configuration.md")
    (example,) = (text for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "name: stacks" in text)
    (tmp_path / "stacks.yaml").write_text(example, encoding="utf-8")

    height, gini = load_experiment(tmp_path / "stacks.yaml").variables

    assert [height.band_in(layer) for layer in ("mean", "std", "truth")] == [1, 2, 1]
    assert [gini.band_in(layer) for layer in ("mean", "std", "truth")] == ["m2", "sd2", 2]
    layers = re.search(r"layers that take a band are (.*?)\.\n", page, re.DOTALL)[1]
    assert set(re.findall(r"`(\w+)`", layers)) == {*OF_PREDICTIONS, *OF_ONE_RASTER}
