"""Runs whose rasters need credentials, which their folders do not hold."""

from collections.abc import Iterator
from typing import Any

from geouq.config import Experiment
from geouq.errors import SummaryError
from geouq.text.redaction import MARK


def require_credentials(experiment: Experiment) -> None:
    """Raise SummaryError if credentials were removed from an address of the configuration of a run."""
    removed = list(_without_credentials(experiment.model_dump(mode="json", exclude_none=True), ""))
    if removed:
        raise SummaryError(
            f"{experiment.source}: the credentials in {', '.join(removed)} were not saved, so its rasters cannot be "
            "read; write the addresses without credentials, give these in the environment (GDAL_HTTP_USERPWD, "
            "GDAL_HTTP_BEARER, GDAL_HTTP_HEADERS, AWS_SECRET_ACCESS_KEY, AZURE_STORAGE_SAS_TOKEN, PGPASSWORD), and run "
            "the experiment again"
        )


def _without_credentials(value: Any, key: str) -> Iterator[str]:
    """Yield the keys of the texts in which a mark stands for credentials."""
    if isinstance(value, str) and MARK in value:
        yield key
    elif isinstance(value, dict):
        for name, entry in value.items():
            yield from _without_credentials(entry, f"{key}.{name}".removeprefix("."))
    elif isinstance(value, list):
        for entry in value:
            yield from _without_credentials(entry, key)
