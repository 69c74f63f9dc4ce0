"""Code shared by the commands that run evaluations: runs across tenants and progress bars."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from rich.progress import TaskID

from context.models import EvaluationRun
from memories.management.imports import progress_bar
from memories.models import Tenant
from memories.tenancy.actions.tenants import create_hidden_tenant
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import NotFound
from memories.tenancy.scopes import admin_write_scope

BAD_INPUT = 2
#: The hidden tenant that stores runs without a tenant; only the command sees them.
HOLDER = "evaluations"


def evaluation_tenant(*, by: Actor, now: datetime) -> Tenant:
    """Return the hidden tenant that stores runs without one."""
    with admin_write_scope():
        return create_hidden_tenant(words=HOLDER, by=by, now=now)


def find_run(run_id: UUID) -> EvaluationRun:
    """Return a run of any tenant. Raises `NotFound`."""
    with admin_write_scope():
        run: EvaluationRun | None = EvaluationRun.objects.with_id(run_id).first()
    if run is None:
        raise NotFound("not_found", f"There is no evaluation {run_id}.", "run")
    return run


@contextmanager
def progress_bars() -> Iterator[Any]:
    """Yield a callback that shows a bar for each step with a total, on the error stream."""
    bars: dict[str, TaskID] = {}
    with progress_bar() as progress:

        def show(step: str, done: int, total: int) -> None:
            if total:
                if step not in bars:
                    bars[step] = progress.add_task(step, total=total)
                progress.update(bars[step], completed=done)

        yield show
