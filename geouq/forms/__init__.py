"""The forms in which a forecast is given beside mean and variance, a module each."""

from geouq.config import FormFiles, quoted, suggestion
from geouq.errors import ConfigError
from geouq.forms.kernel_form import KernelForm
from geouq.forms.pixel_form import PixelForm
from geouq.summary.form import FORMS, Form, form_class

__all__ = ["KernelForm", "PixelForm", "form_of_files"]


def form_of_files(files: FormFiles, levels: tuple[float, ...], members: int) -> Form:
    """Return the form that the files of a configuration give.

    levels : of the experiment's intervals. members : number of members found, 0 of another form. Raises ConfigError
    where no module that is imported defines the form, or where it has other layers.
    """
    for key in FORMS:
        kind = form_class(key)
        if issubclass(kind, KernelForm | PixelForm) and (found := kind.of_files(files, levels, members)) is not None:
            return found
    known = [key for key in FORMS if issubclass(form_class(key), PixelForm)]
    raise ConfigError(
        f"data.form: {quoted(str(files.form))} is no form that is known here{suggestion(str(files.form), known)}; "
        "import the module that defines it"
    )
