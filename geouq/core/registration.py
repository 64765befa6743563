"""Give every xarray Dataset the accessor `geouq` on `import geouq`, without importing xarray, which takes a second.

If xarray is imported already, the accessor is registered at once, else right after xarray is imported. What the
accessor needs is imported when it is first used.
"""

import sys
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

NAME = "geouq"


def register_accessor() -> None:
    """Register `ds.geouq` now if xarray is imported, else as soon as it is."""
    if "xarray" in sys.modules:
        _register(sys.modules["xarray"])
    else:
        sys.meta_path.insert(0, _AfterXarray())


class _AfterXarray(MetaPathFinder):
    """Finds xarray like the other finders, registers the accessor once it is executed, and removes itself."""

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        """Return how to import xarray; None for other modules."""
        if name != "xarray":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_register(module: ModuleType) -> None:
            """Execute xarray, then register the accessor."""
            execute(module)
            _register(module)

        spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


def _register(xarray: ModuleType) -> None:
    """Register the accessor, unless xarray is still being imported or has it already."""
    dataset = getattr(xarray, "Dataset", None)
    if dataset is not None and not hasattr(dataset, NAME):
        xarray.register_dataset_accessor(NAME)(_accessor)


def _accessor(dataset: Any) -> Any:
    return import_module("geouq.accessor").GeouqAccessor(dataset)
