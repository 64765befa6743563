"""The Python of docs/how-to/totals.md gives the std of the mean of an area."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from cell_maps import PIXELS, SIDE, cells_of

from geouq.aggregates.area import AreaPairs
from geouq.aggregates.correlation import CorrelationModel
from geouq.aggregates.known import KnownCorrelation

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "totals.md"
OTHER = 1.0  # side of cells for which a model was not fitted


@pytest.fixture
def std_of_mean(tmp_path):
    """The function of the page, for a model."""

    def of(model):
        path = tmp_path / "model.json"
        known = KnownCorrelation(model, (model,), (1.0,) * len(model.ranges), 1.0)
        path.write_text(json.dumps({"AGB": known.as_json()}), encoding="utf-8")
        code = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
        names: dict = {}
        exec(code.replace("results/map/tables/error_correlation.json", str(path)), names)  # noqa: S102  of our own page
        return names["std_of_mean"]

    return of


@pytest.mark.parametrize(
    "model", [((0.5,), (400.0,), 0.0, 0.0), ((0.3, 0.2), (80.0, 2000.0), 0.05, 0.1), ((), (), 0.0, 0.0)]
)
def test_the_std_of_pixels_by_the_page_is_that_of_their_cells(std_of_mean, model):
    std = np.random.default_rng(0).uniform(0.5, 2, (10 * PIXELS, 10 * PIXELS))
    model = CorrelationModel(*model, 0.5, OTHER, 1.3).of_cells(SIDE)

    y, x = np.mgrid[: len(std), : len(std)].reshape(2, -1) * SIDE / PIXELS
    found = std_of_mean(model)(std.ravel(), x, y)

    of_cells = AreaPairs.of(cells_of(np.zeros(std.shape), std), SIDE).variance(model)
    assert found == pytest.approx(np.sqrt(model.zms * of_cells), rel=0.03)
