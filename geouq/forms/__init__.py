"""Forms of the forecast other than mean and variance, one module for each."""

from collections.abc import Iterator

from geouq.config import FormFiles, quoted, suggestion
from geouq.forms.kernel_form import KernelForm
from geouq.forms.pixel_form import PixelForm
from geouq.summary.form import FORMS, Form, form_class

__all__ = ["KernelForm", "PixelForm", "form_of_files", "problems_of_form"]


def form_of_files(files: FormFiles, levels: tuple[float, ...], members: int) -> Form:
    """Return the form of the files in a configuration.

    levels : of the experiment's intervals. members : number of members found, 0 for other forms.
    """
    kinds = [form_class(key) for key in FORMS]
    found = (kind.of_files(files, levels, members) for kind in kinds if issubclass(kind, KernelForm | PixelForm))
    return next(form for form in found if form is not None)


def problems_of_form(files: FormFiles) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the key of each problem of a form from another package, and a message: unknown form, unknown layer."""
    if files.form is None:
        return
    known = {key: kind for key in FORMS if issubclass(kind := form_class(key), PixelForm)}
    if files.form not in known:
        what = f"{quoted(files.form)} is no form that is known here{suggestion(files.form, known)}"
        yield ("form",), f"{what}; import the module that defines it"
        return
    wanted, given = known[files.form].layer_files, files.layers or {}
    for name in wanted.keys() - given.keys():
        yield ("layers",), f"missing key {quoted(name)}: {wanted[name]}"
    for name in given.keys() - wanted.keys():
        yield (
            ("layers", name),
            f"form {files.form} has no such layer{suggestion(name, wanted)}; it has {', '.join(wanted)}",
        )
