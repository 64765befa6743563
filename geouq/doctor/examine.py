"""From an experiment and its headers to suspicions about its input."""

from collections.abc import Mapping, Sequence

from geouq.config import Experiment, Variable
from geouq.doctor.naming import of_order, of_training
from geouq.doctor.placement import of_overlaps, of_placement
from geouq.doctor.sample import Sampling, take_sample
from geouq.doctor.spread import of_spread
from geouq.doctor.suspicion import Suspicion
from geouq.doctor.values import of_values
from geouq.metrics import has_variance
from geouq.rasters.catalog import Catalog

CHEAP = Sampling(tiles=4, windows=1)
DEEP = Sampling(tiles=24, windows=5)


def examine(experiment: Experiment, catalog: Catalog, sampling: Sampling) -> list[Suspicion]:
    """Everything that looks as if it was not meant, in headers and in a sample of the pixels; [] where nothing does."""
    patches = take_sample(catalog.tiles, sampling)
    found = [
        *of_overlaps(catalog.tiles, patches),
        *of_training([tile.name for tile in catalog.tiles], experiment.training_tiles),
    ]
    if not has_variance(catalog.form):  # what is looked for is in mean and variance
        return found
    for variable in catalog.variables:
        own = [patch for patch in patches if patch.variable == variable.name]
        layer = catalog.tiles[0].predictions[variable.model].spread
        found += [
            *of_spread(variable.name, own, layer),
            *of_values(variable.name, own),
            *of_placement(variable.name, own),
        ]
    for together in _by_model(catalog.variables).values():
        found += of_order({v.name: [patch for patch in patches if patch.variable == v.name] for v in together})
    return found


def _by_model(variables: Sequence[Variable]) -> Mapping[str, list[Variable]]:
    found: dict[str, list[Variable]] = {}
    for variable in variables:
        found.setdefault(variable.model, []).append(variable)
    return found
