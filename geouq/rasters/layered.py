"""The rasters of a prediction that is given as an ensemble, quantiles, or probabilities of classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from geouq.config import FormData, Variable, key_of
from geouq.core.errors import DataError
from geouq.rasters.raster import Raster, number_of_band
from geouq.summary.form import Form

Bands = Sequence[tuple[str, tuple[int, ...]]]  # keys of rasters, and which bands of each, in the order of the layers

ALONG = '; where members lie along a dimension, write select: {number: "{member}"} below members'
_MORE = ("member_variance", "variance_")  # how keys of variances begin


@dataclass(frozen=True)
class Layered:
    """The rasters of such a prediction, by their keys in the configuration.

    places : of the variables in a file of which all layers are bands, by the truth's band of each; None where each
    layer is a file. by_layer : whether the first layer of all variables stands first in it. order : where in such a
    file each layer stands among those of its variable, as quantiles are taken from low to high.
    """

    form: Form
    rasters: Mapping[str, Raster]
    places: Mapping[int, int] | None
    variables: int
    by_layer: bool
    order: tuple[int, ...] = ()
    spread: ClassVar[str] = "layers"
    lower: ClassVar[None] = None
    level: ClassVar[None] = None

    @classmethod
    def of(
        cls,
        files: FormData,
        levels: tuple[float, ...],
        rasters: Mapping[str, Raster],
        truth: Raster,
        bands: Mapping[int, int],
    ) -> Self:
        """Return a prediction from these rasters for these bands of the truth; raise DataError if bands do not fit.

        bands : by the band that a variable has in layers without one of their own, that of the truth.

        levels : of the intervals of an ensemble's mixture.
        """
        described = len(truth.variables)
        form = _form_of(files, levels, _members_of(list(rasters.values()), described, files, truth))
        if files.layers is not None:
            rasters = {key: rasters[key] for key in (f"layers.{name}" for name in form.layer_labels)}
        if not files.in_bands:
            return cls(form, dict(rasters), None, described, by_layer=False)
        count, first = form.layers, next(iter(rasters.values()))
        variables = described if files.members is not None else len(first.variables) // count
        for raster in rasters.values():
            if variables * count != len(raster.variables) or variables not in (described, len(bands)):
                every = f", or {count * described} for all bands of {truth.path}" if described > len(bands) else ""
                raise DataError(
                    f"{raster.path} has {_counted(raster)}; {count} {form.layer_name} of the requested variables are "
                    f"{count * len(bands)}{every}"
                )
        places = {own: of_truth if variables == described else i for i, (own, of_truth) in enumerate(bands.items(), 1)}
        return cls(form, dict(rasters), places, variables, files.band_order == "layers", _order_of(files, count))

    @property
    def mean(self) -> Raster:
        """Return the raster of the first layer, which represents all layers."""
        return next(iter(self.rasters.values()))

    @property
    def variance(self) -> Raster:
        """Return the same."""
        return self.mean

    @property
    def read_as(self) -> tuple[object, ...]:
        """Return what tells how its files are read."""
        return None if self.places is None else tuple(self.places.items()), self.by_layer, self.variables, self.order

    def with_rasters(self, rasters: Mapping[str, Raster]) -> Self:
        """Return the same prediction with these layers, by their keys."""
        return replace(self, rasters=dict(rasters))

    def values(self, variable: Variable) -> Bands:
        """Return where the layers of a variable stand: members, quantiles, probabilities."""
        return self._bands(variable, [key for key in self.rasters if not key.startswith(_MORE)])

    def more(self, variable: Variable) -> Bands:
        """Return where the variances of its members stand, if they have some; or the two parts of its variance."""
        return self._bands(variable, [key for key in self.rasters if key.startswith(_MORE)])

    @property
    def layers(self) -> int:
        """Number of layers of a variable."""
        return self.form.layers + self.form.variance_layers

    def at_once(self, raster: Raster) -> int:
        """Return the number of bands that are read together from a raster."""
        if raster.interleaved:
            return len(raster.bands)
        return 1 if self.places is None else self.form.layers

    def _bands(self, variable: Variable, keys: Sequence[str]) -> Bands:
        if self.places is None:
            return [(key, (number_of_band(self.rasters[key], key, variable),)) for key in keys]
        place, count = self.places[variable.band], self.form.layers
        if self.by_layer:
            own = tuple(layer * self.variables + place for layer in self.order)
        else:
            own = tuple((place - 1) * count + layer + 1 for layer in self.order)
        return [(key, own) for key in keys]


def layered_models(
    forms: Mapping[str, FormData], levels: tuple[float, ...], rasters: Mapping[str, Raster], bands: Mapping[int, int]
) -> dict[str, Layered]:
    """Return the prediction of each model, from rasters by their keys; raise DataError if numbers of members differ."""
    found = {
        model: Layered.of(
            own, levels, {layer: rasters[key_of(model, layer)] for layer in own.predicted}, rasters["truth"], bands
        )
        for model, own in forms.items()
    }
    (first, one), *others = found.items()
    for model, other in others:
        if other.form != one.form:
            raise DataError(
                f"{one.mean.path} is of {one.layers} layers a variable and {other.mean.path} of {other.layers}: models "
                f"{first} and {model} differ in their members; give as many, or compare runs of their own"
            )
    return found


def _members_of(rasters: Sequence[Raster], described: int, files: FormData, truth: Raster) -> int:
    """Return the number of members, 0 of another form; raise DataError if there are fewer than two, or parts."""
    first = rasters[0]
    if files.members is None:
        return 0
    if not files.in_bands:
        count = len(rasters) // (1 if files.member_variance is None else 2)
        if odd := next((one for one in rasters if len(one.variables) != len(first.variables)), None):
            raise DataError(f"{odd.path} has {_counted(odd)} and {first.path} {_counted(first)}: give members alike")
        if count < 2:
            raise DataError(f"{first.path} is the only member; an ensemble has two or more, a file for each {{member}}")
        return count
    if len(first.variables) % described or len(first.variables) < 2 * described:
        raise DataError(
            f"{first.path} has {_counted(first)}, which are not two members or more for each band of {truth.path} "
            f"({described}); where each member is a file, write {{member}} in its path{ALONG if first.array else ''}"
        )
    return len(first.variables) // described


def _counted(raster: Raster) -> str:
    return f"{len(raster.variables)} {'band' if len(raster.variables) == 1 else 'bands'}"


def _form_of(files: FormData, levels: tuple[float, ...], members: int) -> Form:
    """Return the form of a prediction from files of which there are, or that hold, so many members."""
    from geouq.forms import form_of_files  # noqa: PLC0415  compiled code is loaded where such a form is read

    return form_of_files(files, levels, members)


def _order_of(files: FormData, count: int) -> tuple[int, ...]:
    """Places of the layers among the bands of a variable: quantiles from low to high, all else as it is written."""
    levels = list(files.quantiles or ())
    return tuple(sorted(range(count), key=levels.__getitem__) if levels else range(count))
