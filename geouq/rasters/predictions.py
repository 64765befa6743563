"""The rasters of a prediction that is given as mean and variance."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Self

from geouq.config import PredictionFiles, model_and_layer
from geouq.rasters.raster import Raster

SPREAD_LAYERS = ("variance", "std", "relative_std", "upper")
PREDICTED = (
    *("mean", *SPREAD_LAYERS, "lower", "members", "member_variance", "quantiles", "probabilities", "layers"),
    *("variance_aleatoric", "variance_epistemic"),
)
Spread = Literal["variance", "std", "relative_std", "interval"]


def is_predicted(key: str) -> bool:
    """Tell whether a layer, named as in the configuration, belongs to a prediction."""
    model, layer = model_and_layer(key)
    return bool(model) or layer.partition(".")[0] in PREDICTED


@dataclass(frozen=True)
class Prediction:
    """The rasters of one model's prediction.

    variance : the layer of the predicted variance; of the std, of the std relative to the mean, or of the upper end of
    an interval, as `spread` tells.
    lower, level : the lower end of that interval, and its level.
    """

    mean: Raster
    variance: Raster
    spread: Spread = "variance"
    lower: Raster | None = None
    level: float | None = None

    @classmethod
    def of(cls, files: PredictionFiles, rasters: Mapping[str, Raster]) -> Self:
        """Return a prediction from these rasters, by their keys in the configuration."""
        upper = rasters["upper" if files.spread == "interval" else files.spread]
        return cls(rasters["mean"], upper, files.spread, rasters.get("lower"), files.level)

    @property
    def read_as(self) -> float | None:
        """Return what determines how its files are read, besides their layers: the level of its intervals."""
        return self.level

    @property
    def rasters(self) -> dict[str, Raster]:
        """Return the layers that are there, by their key in the configuration."""
        layers = {"mean": self.mean, "upper" if self.spread == "interval" else self.spread: self.variance}
        return layers | ({"lower": self.lower} if self.lower else {})

    def with_rasters(self, rasters: Mapping[str, Raster]) -> Self:
        """Return the same prediction with these layers, by their keys."""
        (spread,) = (raster for layer, raster in rasters.items() if layer in SPREAD_LAYERS)
        return replace(self, mean=rasters["mean"], variance=spread, lower=rasters.get("lower"))
