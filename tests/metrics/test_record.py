"""A metric is a function with a record, and nothing else in the package names it."""

import ast
from pathlib import Path

import numpy as np
import pytest
import rasterio
from csv_rows import rows_of

import geouq
from geouq.metrics import METRICS
from geouq.metrics.record import NOT_NEGATIVE, OF_LEVELS, as_markdown, metric, named
from geouq.pages.numbers import headings

PACKAGE = Path(geouq.__file__).parent
TEXT = (
    "variables: [height]\nregions: {west: [a1, a2], east: [b1]}\nintervals: {resamples: 100}\ncell_size: 16\n"
    "output: {maps: [cells], figures: [regions]}\n"
)
# words that are also names of layers, of maps of pixels, of sums, of parts of a verdict, or of settings; the names
# that a configuration may ask a map of cells for stand in config/values.py
OTHER_NOUNS = {
    **{f"aggregates/{name}.py": {"zms"} for name in ("correlation", "known", "parameters")},
    "aggregates/scales.py": {"coverage"},
    "classes.py": None,
    "ensemble.py": None,
    "quantiles.py": None,
    "config/values.py": {"variance_aleatoric"},
    "config/data.py": {"variance_aleatoric", "variance_epistemic"},
    "config/forms.py": {"variance_aleatoric", "variance_epistemic"},
    "config/layer_bands.py": {"variance_aleatoric", "variance_epistemic"},
    "config/layer_file.py": {"cv", "variance_aleatoric", "variance_epistemic"},
    "config/load.py": {"cv"},
    "starting/layers_as_files.py": {"cv"},
    "starting/words.py": {"cv"},
    "drawing/cells.py": {"coverage"},
    "forms/classes.py": {"brier", "impossible", "log_loss"},
    "forms/ensemble.py": {"crps", "log_loss"},
    "forms/quantiles.py": {"crossing"},
    "kernel/optional_statistics.py": {"width"},
    "kernel/distributions.py": {"nll", "crps"},
    "kernel/gaussian.py": {"nll"},
    "kernel/window.py": {"crps", "nll"},
    "maps/cell_metrics.py": {"coverage"},
    "maps/geotiff.py": {"width"},
    "pages/cells.py": {"coverage", "crps"},
    "pages/curves.py": {"coverage"},
    "pages/numbers.py": {"bias", "coverage"},
    "pages/scorecard.py": {"bias", "coverage"},
    "rasters/predictions.py": {"variance_aleatoric", "variance_epistemic"},
    "recalibration/figures.py": {"bias"},
    "summary/moments.py": {"crps", "nll"},
    "tables/rows.py": {"coverage"},
    "verdict.py": {"bias", "coverage", "z_mean"},
    "rasters/stored.py": {"variance_aleatoric", "variance_epistemic"},
}


def names_in(path):
    """Names of metrics, also with a level, that stand as texts in a module."""
    texts = {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}
    names = {metric.name for metric in METRICS}
    return {text for text in texts if isinstance(text, str) and (text in names or named(text))}


@pytest.fixture
def toy():
    """A metric from outside the package."""

    @metric(
        "std z / 2", unit="1", ideal="none", above="over-confident", source="a test", bounds=NOT_NEGATIVE,
        heading="half std of z", rank=0, shown=("page", "table", "regions", "comparison"),
    )  # fmt: skip
    def half_z_std(summary):
        """Half the standard deviation of z; unit 1."""
        return np.sqrt(summary.moments.product("z", "z")) / 2

    yield METRICS[-1]
    METRICS.remove(named(half_z_std.__name__)[0])


def test_a_metric_is_one_record_for_tables_intervals_maps_figures_pages_and_docs(toy, tile_folder, geouq, tmp_path):
    tile_folder(text=TEXT, shape=(160, 160))
    alone = ("--workers", "1")  # another process would not know the metric
    assert geouq("run", "experiment.yaml", "--quiet", *alone).exit_code == 0
    results = tmp_path / "results" / "small"

    rows = {(row["name"], row["metric"]): row for row in rows_of(results / "tables" / "metrics.csv")}
    own, whole = rows["all", toy.name], rows["all", "z_std"]
    assert float(own["value"]) == pytest.approx(float(whole["value"]) / 2, rel=1e-12)
    assert 0 < float(own["ci_low"]) < float(own["value"]) < float(own["ci_high"])
    assert float(own["ci_high"]) == pytest.approx(float(whole["ci_high"]) / 2, rel=1e-6)
    assert r"half\_z\_std" in (results / "tables" / "metrics.md").read_text(encoding="utf-8")
    with rasterio.open(next(results.glob("maps/cells_*.tif"))) as source:
        assert toy.name in " ".join(map(str, source.descriptions))
    assert "half std of z" in (results / "report" / "index.html").read_text(encoding="utf-8")
    assert headings([])[toy.name] == "half std of z"
    assert "| `half_z_std` | Half the standard deviation of z |" in as_markdown([toy])


def test_no_other_module_names_a_metric():
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        allowed = OTHER_NOUNS.get(place, set())
        if not place.startswith("metrics/") and allowed is not None and (more := names_in(path) - allowed):
            found[place] = more

    assert found == {}


def test_every_exception_is_needed():
    assert [place for place in OTHER_NOUNS if not names_in(PACKAGE / place)] == []


@pytest.mark.parametrize("one", METRICS, ids=lambda one: f"{one.name}-{one.forms[0]}")
def test_every_record_can_be_found_by_its_name(one):
    name = f"{one.name}_90" if one.choice in (*OF_LEVELS, "class") else one.name
    found, level = named(name, [one])
    assert (found, level) == (one, 0.9 if one.choice in OF_LEVELS else None)
    assert one.claim
    assert one.bounds[0] < one.bounds[1]
    assert bool(one.heading) >= ("page" in one.shown or "cell sums" in one.shown)
