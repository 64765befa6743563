"""Summaries of forecasts whose form is defined by another package."""

from collections.abc import Mapping, Sequence
from typing import Any

from geouq.arrays.arguments import checked_levels
from geouq.arrays.forms import VALUE
from geouq.arrays.validation import Dim, of_layers
from geouq.config.model import LEVELS
from geouq.core.errors import DataError, require_type
from geouq.core.grid import SQUARE
from geouq.forms import PixelForm
from geouq.summary import GROUPED_BY
from geouq.sweep.settings import Settings


def summarize_form(
    form: PixelForm,
    layers: Mapping[str, Any],
    truth: Any,
    *,
    weights: Any = None,
    dim: Dim = None,
    levels: Sequence[float] = LEVELS,
) -> Any:
    """Return the summary of a forecast whose form is defined by another package, as `geouq.summarize` does.

    Parameters
    ----------
    form : PixelForm
        Form of the forecast.
    layers : mapping of str to array (...)
        Its layers, by the names in `form.layer_files`.
    truth : array (...)
        Truth of the same pixels.
    weights, dim, levels : as in `geouq.summarize`

    Returns
    -------
    Summary or SummaryArray
        Pixels without a value in one of the layers are excluded.

    Raises
    ------
    DataError
        If a layer of the form is missing, or if there is another layer.
    """
    require_type("form", form, PixelForm, "give an instance of a subclass of geouq.forms.PixelForm")
    if set(layers) != set(form.layer_files):
        raise DataError(f"layers: {', '.join(layers) or 'none'}; form {form.key} has {', '.join(form.layer_files)}")
    settings = Settings(checked_levels(levels), SQUARE, groups=GROUPED_BY, form=form)
    named = {f"{VALUE}{i}": layers[name] for i, name in enumerate(form.layer_files)}
    return of_layers({"truth": truth, "weights": weights} | named, dim, settings)
