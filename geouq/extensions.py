"""Metrics, statistics, forms and maps that other installed packages define."""

from functools import cache
from importlib.metadata import entry_points

from geouq.errors import ConfigError

GROUP = "geouq"


@cache
def load_extensions() -> None:
    """Import, once, the modules that installed packages name as entry points of the group `geouq`.

    Raises ConfigError where one of them cannot be imported.
    """
    for point in entry_points(group=GROUP):
        try:
            point.load()
        except Exception as error:  # anything may be wrong in code that is not ours
            what = f"{type(error).__name__}: {error}"
            raise ConfigError(
                f"the extension {point.name} = {point.value} cannot be imported ({what}); repair or uninstall it"
            ) from error
