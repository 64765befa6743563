"""Progress as bars on a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Bars:
    """A bar for each stage, which moves by shares of steps."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._task = progress, progress.add_task("starting", total=None)
        self._done, self._shares = 0, dict[str, float]()

    def stage(self, name: str, total: int) -> None:
        """Begin a stage of `total` steps."""
        self._progress.remove_task(self._task)
        self._task = self._progress.add_task(name, total=total)
        self._done, self._shares = 0, {}

    def under_way(self, step: str, share: float) -> None:
        """Move the bar to what is done of this step."""
        self._shares[step] = share
        self._move()

    def advance(self, done: str) -> None:
        """Move the bar to the end of one step."""
        self._shares.pop(done, None)
        self._done += 1
        self._move()

    def _move(self) -> None:
        self._progress.update(self._task, completed=self._done + sum(self._shares.values()))

    def say(self, line: str) -> None:
        """Write a line above the bar."""
        self._progress.console.print(line, markup=False, highlight=False)


@contextmanager
def bars_on_terminal() -> Iterator[Bars | None]:
    """Yield bars if standard error goes to a terminal, otherwise None."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield Bars(progress)
