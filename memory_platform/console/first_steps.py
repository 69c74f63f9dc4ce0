"""The first steps of a tenant, from its first key to its first golden question; the data shows which are done."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Exists, Subquery

from context.models import GoldenQuestion, Receipt
from memories.models import ApiKey, FirstSteps, Memory, Tenant

KEY, MEMORY, CONTEXT, RECEIPT, GOLDEN = "key", "memory", "context", "receipt", "golden"


@dataclass(frozen=True)
class FirstStep:
    """One step: its name, its title, and whether it is done."""

    name: str
    title: str
    is_done: bool
    is_optional: bool = False


@dataclass(frozen=True)
class Checklist:
    """The steps in order; `receipt_id` is the newest receipt."""

    steps: Sequence[FirstStep]
    receipt_id: UUID | None

    @property
    def required(self) -> list[FirstStep]:
        return [step for step in self.steps if not step.is_optional]

    @property
    def done(self) -> int:
        """The number of required steps that are done."""
        return sum(step.is_done for step in self.required)

    @property
    def current(self) -> FirstStep | None:
        """The first step that is not done."""
        return next((step for step in self.steps if not step.is_done), None)


def first_steps(tenant_id: UUID, user_id: int) -> Checklist | None:
    """Return the steps; None once the required ones are done or the operator dismissed them. One query, in a scope."""
    facts = _facts(tenant_id, user_id)
    was_opened = facts["receipt_opened_at"] is not None or facts["has_golden"]
    steps = (
        FirstStep(KEY, "Create an API key", facts["has_key"]),
        FirstStep(MEMORY, "Store a memory", facts["has_memory"]),
        FirstStep(CONTEXT, "Request a context", facts["receipt_id"] is not None or was_opened),
        FirstStep(RECEIPT, "Open its receipt", was_opened),
        FirstStep(GOLDEN, "Add a golden question", facts["has_golden"], is_optional=True),
    )
    checklist = Checklist(steps, facts["receipt_id"])
    is_over = facts["dismissed_at"] is not None or checklist.done == len(checklist.required)
    return None if is_over else checklist


def _facts(tenant_id: UUID, user_id: int) -> dict[str, Any]:
    own = FirstSteps.objects.for_tenant(tenant_id).of_user(user_id)
    columns = ("dismissed_at", "receipt_opened_at")
    existing: dict[str, Any] = {"has_key": ApiKey, "has_memory": Memory, "has_golden": GoldenQuestion}
    newest = Receipt.objects.for_tenant(tenant_id).newest_first().values("pk")[:1]
    facts: dict[str, Any] = (
        Tenant.objects.of_tenants([tenant_id])
        .annotate(**{name: Exists(model.objects.for_tenant(tenant_id)) for name, model in existing.items()})
        .annotate(**{name: Subquery(own.values(name)[:1]) for name in columns}, receipt_id=Subquery(newest))
        .values(*existing, *columns, "receipt_id")
        .get()
    )
    return facts
