"""What the pages say is so: the table is that of the registry, and examples print what they show."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from geouq.config import load_experiment
from geouq.config.layer_bands import OF_ONE_RASTER, OF_PREDICTIONS
from geouq.experiment import Options, run
from geouq.metrics import METRICS, metrics_of
from geouq.metrics.record import OF_VARIANCE, as_markdown
from geouq.summary.form import GAUSSIAN
from geouq.text.wording import for_people

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
FORMS = (ROOT / "docs" / "reference" / "forms.md").read_text(encoding="utf-8")


def test_the_table_is_that_of_the_records():
    _, _, rest = PAGE.partition("<!-- metrics: generated from geouq.metrics.record -->\n")
    assert rest.partition("<!-- end of metrics -->")[0] == as_markdown(metrics_of(GAUSSIAN))


def test_every_number_has_one_entry_with_its_formula_what_it_says_and_what_not():
    _, _, behind_the_table = PAGE.partition("<!-- end of metrics -->")
    rows = re.findall(r"^\| `(\w+?)(?:_<\w+>)?` \| (.*) \| (.*) \| (.*) \|$", behind_the_table, re.MULTILINE)

    assert sorted(name for name, *_ in rows) == sorted(metric.name for metric in metrics_of(GAUSSIAN))
    assert [name for name, formula, says, not_said in rows if not (says and not_said and "$" in formula)] == []


def test_the_table_of_forms_is_that_of_the_records():
    _, _, rest = FORMS.partition("<!-- forms: generated from geouq.metrics -->\n")
    assert rest.partition("<!-- end of forms -->")[0] == as_markdown(
        metric for metric in METRICS if metric.forms != OF_VARIANCE
    )


def test_the_examples_of_forms_print_what_is_shown():
    codes, shown = (re.findall(rf"```{kind}\n(.*?)```", FORMS, re.DOTALL) for kind in ("python", "text"))
    for code, expected in zip(codes, shown, strict=True):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, {})  # noqa: S102  a page of ours
        assert printed.getvalue() == expected


@pytest.mark.renders
def test_the_examples_of_arrays_print_what_is_shown(tmp_path, monkeypatch):
    page, names, printed = (ROOT / "docs" / "how-to" / "arrays.md").read_text(encoding="utf-8"), {}, []
    monkeypatch.chdir(tmp_path)
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            exec(code, names)  # noqa: S102  a page of ours
        printed += [shown.getvalue()] if shown.getvalue() else []

    assert printed == re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    assert (tmp_path / "calibration.png").exists()


def test_the_table_of_splits_is_that_of_the_samples(tmp_path):
    whole = {"variables": {"P95": {"band": 1, "units": "m"}}, "output": {"maps": "none", "figures": "none"}}
    experiment = load_experiment(ROOT / "configs" / "samples_ensemble.yaml", overrides=whole)
    rows = run(experiment, Options(out=tmp_path)).tables["shift"].rows
    found = {row["metric"]: (for_people(row["in"]), for_people(row["out"])) for row in rows}
    _, _, rest = FORMS.partition("<!-- splits: P95 of configs/samples_ensemble.yaml -->\n")
    shown = re.findall(r"^\| `(\w+)` \| (\S+) \| (\S+) \|$", rest.partition("<!-- end of splits -->")[0], re.MULTILINE)

    assert [(name, *found[name]) for name, *_ in shown] == shown
    assert len(shown) == 3


def test_the_example_prints_what_is_shown():
    (code,), (shown,) = (re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL) for kind in ("python", "text"))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})  # noqa: S102  a page of ours
    assert printed.getvalue() == shown


def test_the_example_of_several_layers_in_one_file_is_a_configuration(tmp_path):
    page = (ROOT / "docs" / "reference" / "configuration.md").read_text(encoding="utf-8")
    (example,) = (text for text in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "name: stacks" in text)
    (tmp_path / "stacks.yaml").write_text(example, encoding="utf-8")

    height, gini = load_experiment(tmp_path / "stacks.yaml").variables

    assert [height.band_in(layer) for layer in ("mean", "std", "truth")] == [1, 2, 1]
    assert [gini.band_in(layer) for layer in ("mean", "std", "truth")] == ["m2", "sd2", 2]
    layers = re.search(r"layers that take a band are (.*?)\.\n", page, re.DOTALL)[1]
    assert set(re.findall(r"`(\w+)`", layers)) == {*OF_PREDICTIONS, *OF_ONE_RASTER}
