"""What a run of very many pixels on a cluster takes, from what one tile was measured to take."""

from dataclasses import dataclass

HOUR = 3600  # seconds
GIGABYTE = 1e9
MILLION = 1e6


@dataclass(frozen=True)
class OfTile:
    """What a tile takes; seconds are those of processors, requests those to a server that holds its files.

    shared, sent : of the process that began the run, where workers write summaries or send them. numbers : of that
    process after the sweep.
    """

    pixels: float
    worker_seconds: float
    shared_seconds: float
    sent_seconds: float
    scheduler_seconds: float
    numbers_seconds: float
    bytes_read: float
    bytes_kept: float
    requests: float


@dataclass(frozen=True)
class Costs:
    """What a run takes. workers : after so many, the process that takes their results is busy all the time."""

    tiles: float
    worker_hours: float
    shared_hours: float
    sent_hours: float
    scheduler_hours: float
    numbers_hours: float
    terabytes_read: float
    gigabytes_kept: float
    million_requests: float
    most_workers_shared: float
    most_workers_sent: float


def costs(tile: OfTile, pixels: float) -> Costs:
    """Return what a run of so many pixels in tiles like this one takes, if all of it grows with the number of tiles.

    >>> tile = OfTile(1e6, 3.6, 0.036, 0.072, 0.0036, 0.036, 2e6, 1e3, 10)
    >>> found = costs(tile, 1e12)
    >>> found.tiles, found.worker_hours, found.terabytes_read, found.million_requests
    (1000000.0, 1000.0, 2.0, 10.0)
    >>> round(found.most_workers_shared), round(found.most_workers_sent)
    (100, 50)
    """
    tiles = pixels / tile.pixels
    hours = tiles / HOUR
    return Costs(
        tiles=tiles,
        worker_hours=hours * tile.worker_seconds,
        shared_hours=hours * tile.shared_seconds,
        sent_hours=hours * tile.sent_seconds,
        scheduler_hours=hours * tile.scheduler_seconds,
        numbers_hours=hours * tile.numbers_seconds,
        terabytes_read=tiles * tile.bytes_read / GIGABYTE / 1000,
        gigabytes_kept=tiles * tile.bytes_kept / GIGABYTE,
        million_requests=tiles * tile.requests / MILLION,
        most_workers_shared=tile.worker_seconds / tile.shared_seconds,
        most_workers_sent=tile.worker_seconds / tile.sent_seconds,
    )
