"""The sums that separate the truth's own error are those of the pixels."""

import numpy as np
import pytest

from geouq.summary.pixel_statistic import ValidPixels, names_of_pixel_statistics
from geouq.summary.truth_error import FIELDS, TruthError, pixel_statistics


@pytest.fixture
def pixels():
    rng = np.random.default_rng(0)
    own, noise = rng.uniform(1, 3, (2, 500))
    noise[:100] = 0
    weight, cell = rng.uniform(0.5, 2, 500), rng.integers(0, 7, 500)
    return ValidPixels(*rng.normal(size=(1, 500)), own + noise, rng.normal(size=500), weight, cell, noise)


def test_the_sums_of_a_cell_are_those_of_its_pixels(pixels):
    found = TruthError.of_pixels(pixels, 8).sums

    error, own = pixels.truth - pixels.mean, pixels.variance - pixels.truth_variance
    expected = {
        "share": own / pixels.variance,
        "share_square": (own / pixels.variance) ** 2,
        "z": error * np.sqrt(own) / pixels.variance,
        "z_square": error**2 * own / pixels.variance**2,
        "std": np.sqrt(own),
        "variance": own,
        "truth_variance": pixels.truth_variance,
    }
    for cell in range(8):
        chosen = pixels.cell == cell
        for place, name in enumerate(FIELDS):
            total = (pixels.weight * expected[name])[chosen].sum()
            assert found[cell, place] == pytest.approx(total, rel=1e-12, abs=1e-12), name


def test_cells_add(pixels):
    found = TruthError.of_pixels(pixels, 7)
    parts = [ValidPixels(*(own[part] for own in pixels)) for part in (slice(200), slice(200, None))]

    both = TruthError.of_pixels(parts[0], 7) + TruthError.of_pixels(parts[1], 7)

    np.testing.assert_allclose(both.sums, found.sums, rtol=1e-12)


def test_only_runs_with_a_known_error_of_the_truth_keep_them():
    assert "truth_error" not in names_of_pixel_statistics()
    assert pixel_statistics(truth_error=False) == names_of_pixel_statistics()
    assert pixel_statistics(truth_error=True) == (*names_of_pixel_statistics(), "truth_error")
