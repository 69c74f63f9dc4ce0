"""Evaluation runs across tenants, for the commands."""

from datetime import datetime
from uuid import UUID

from context.evaluation.report import ReportTable, run_comparison_table
from context.models import EvaluationRun
from memories.models import Tenant
from memories.tenancy.actions.tenants import create_hidden_tenant
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import NotFound
from memories.tenancy.scopes import admin_write_scope

#: Stores the runs without a tenant; only the command sees them.
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


def release_evaluation_run(run: EvaluationRun) -> None:
    """End the claim of a command that no longer runs; inside the scope."""
    EvaluationRun.objects.for_tenant(run.tenant_id).with_id(run.pk).open().release()


def compare_evaluation_runs(run: EvaluationRun, other: EvaluationRun) -> ReportTable:
    """Return `run` minus `other`. Raises `InvalidInput` `not_comparable`."""
    with admin_write_scope():
        return run_comparison_table(run, other)
