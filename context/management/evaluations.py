"""What the command of evaluations needs of all tenants: a run by its id, and a place for runs that are nobody's."""

from datetime import datetime
from uuid import UUID

from context.evaluation.report import ReportTable, describe_run_comparison
from context.models import EvaluationRun
from memories.models import Tenant
from memories.tenancy.actions.hidden_tenants import create_hidden_tenant
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import NotFound
from memories.tenancy.scopes import admin_write_scope

#: Holds the runs that no tenant was named for; only the command sees them.
HOLDER = "evaluations"


def evaluation_tenant(*, by: Actor, now: datetime) -> Tenant:
    """The hidden tenant that keeps runs without one."""
    with admin_write_scope():
        return create_hidden_tenant(words=HOLDER, by=by, now=now)


def find_run(run_id: UUID) -> EvaluationRun:
    """A run of any tenant. Raises `NotFound`."""
    with admin_write_scope():
        run: EvaluationRun | None = EvaluationRun.objects.with_id(run_id).first()
    if run is None:
        raise NotFound("not_found", f"There is no evaluation {run_id}.", "run")
    return run


def release_evaluation_run(run: EvaluationRun) -> None:
    """Let a run go that a command held which is gone; inside its scope."""
    EvaluationRun.objects.for_tenant(run.tenant_id).with_id(run.pk).open().released()


def compare_evaluation_runs(run: EvaluationRun, other: EvaluationRun) -> ReportTable:
    """`run` less `other`. Raises `InvalidInput` `not_comparable`."""
    with admin_write_scope():
        return describe_run_comparison(run, other)
