"""Progress bars of the commands."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn


@contextmanager
def progress_bars() -> Iterator[Any]:
    """Yield a callback that shows a bar for each step with a total, on the error stream."""
    columns = (TextColumn("{task.description:>10}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bars: dict[str, TaskID] = {}
    with Progress(*columns, console=Console(stderr=True)) as progress:

        def show(step: str, done: int, total: int) -> None:
            if total:
                if step not in bars:
                    bars[step] = progress.add_task(step, total=total)
                progress.update(bars[step], completed=done)

        yield show
