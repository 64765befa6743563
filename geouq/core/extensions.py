"""Extensions: metrics, statistics, forms and maps of other installed packages."""

from functools import cache
from importlib.metadata import entry_points

from geouq.core.errors import ConfigError

GROUP = "geouq"


@cache
def load_extensions() -> None:
    """Import the entry points of the group `geouq` of all installed packages, once for each process.

    Raises ConfigError if one of them cannot be imported.
    """
    for point in entry_points(group=GROUP):
        try:
            point.load()
        except Exception as error:  # anything may be wrong in code that is not ours
            what = f"{type(error).__name__}: {error}"
            raise ConfigError(
                f"the extension {point.name} = {point.value} cannot be imported ({what}); repair or uninstall it"
            ) from error
