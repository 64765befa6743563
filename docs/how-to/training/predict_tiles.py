"""Predict tiles with a model of scikit-learn that gives a std, and write them as GeoTIFF: a file to copy."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import rasterio

Predict = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def predict_tile(predict: Predict, features: Path, mean: Path, std: Path) -> None:
    """Write the mean and the std of a tile, block by block; NaN where a feature is missing.

    Parameters
    ----------
    predict : callable
        Takes features (pixels, bands) and returns the means and stds of the pixels, such as `with_std(model)`.
    features : Path
        Raster of the features, a band for each.
    mean, std : Path
        Files to write.
    """
    with rasterio.open(features) as source:
        profile = source.profile | {"count": 1, "dtype": "float32", "nodata": np.nan, "driver": "GTiff"}
        with rasterio.open(mean, "w", **profile) as of_mean, rasterio.open(std, "w", **profile) as of_std:
            for _, window in source.block_windows(1):
                block = source.read(window=window, masked=True).astype(float).filled(np.nan)
                pixels = block.reshape(len(block), -1).T
                found = np.full((2, len(pixels)), np.nan, np.float32)
                if (valid := np.isfinite(pixels).all(axis=1)).any():
                    found[:, valid] = predict(pixels[valid])
                for target, values in zip((of_mean, of_std), found, strict=True):
                    target.write(values.reshape(block.shape[1:]), 1, window=window)


def with_std(model: Any) -> Predict:
    """Return the prediction of BayesianRidge, ARDRegression or GaussianProcessRegressor."""
    return lambda features: model.predict(features, return_std=True)


def of_forest(model: Any) -> Predict:
    """Return the mean and std over the trees of a RandomForestRegressor; without the noise of the target."""

    def predict(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        trees = np.stack([tree.predict(features) for tree in model.estimators_])
        return trees.mean(axis=0), trees.std(axis=0)

    return predict
