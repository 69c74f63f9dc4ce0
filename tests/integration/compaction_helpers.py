"""Helpers of the tests of compaction: conversations long enough to compact, and the exact contents of a session."""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from compaction.models import Compaction, Message, Run
from compaction.services.pipeline.masking import PLACEHOLDER
from context.profiles.actions.budget_profiles import save_budget_profile
from context.profiles.budget_profiles import current_budget_profile
from memories.models import Memory, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.session_helpers import (
    append,
    assistant,
    calling,
    open_session,
    stored_session,
    tool_result_body,
    user,
)
from tests.users import BY

COMPACTIONS = "/api/v1/compactions"
EVENTS = "/api/v1/events"

_PLACES = ["Lisbon", "Porto", "Braga", "Faro", "Evora", "Coimbra", "Aveiro", "Sintra", "Tavira", "Lagos"]
_THINGS = [
    "the bicycle",
    "a red kayak",
    "the oak table",
    "two violins",
    "the tent",
    "an old lamp",
    "the piano",
    "a drone",
]


#: One in this many pairs has its own facts, so that a summary can keep most of them.
FACTS_EVERY = 5


def message_pair(number: int) -> list[dict[str, Any]]:
    """Two messages of a conversation; every fifth pair has its own numbers."""
    place, thing = _PLACES[number % len(_PLACES)], _THINGS[number % len(_THINGS)]
    if number % FACTS_EVERY:
        return [
            user(
                f"I went to {place} again and looked at {thing} with Ines, who liked the old market very much. We had"
                " a coffee by the river, walked up the hill to the castle, and came home late and rather tired.",
                name="Alex",
            ),
            assistant(
                f"Great, so {place} was worth the way. By the way, the weather is going to be fine, is it not? Tell me"
                " how it goes, and have a look at the pictures when you find a quiet hour in the evening!"
            ),
        ]
    day = f"{number % 27 + 1} May 2026"
    return [
        user(
            f"I went to {place} on {day} and sold {thing} to Ines for {90 + number} EUR, order MV-{20_000 + number}. "
            f"I want to visit {_PLACES[(number + 3) % len(_PLACES)]} next, and I love the market there.",
            name="Alex",
        ),
        assistant(
            f"Great, so {thing} is sold. I wrote to ines{number}@example.com about the delivery and booked the van. "
            "By the way, the weather is going to be fine, is it not? Tell me how it goes!"
        ),
    ]


def tool_lookup_pair(number: int, size: int = 1_500) -> list[dict[str, Any]]:
    """A tool call with a long result, and the assistant's message about it."""
    output = json.dumps({"rows": [{"id": f"row-{number}-{each}", "value": each * 7} for each in range(size // 30)]})
    return [
        user(f"Please look up the delivery number {number}."),
        calling(f"call_{number}", name="find_delivery"),
        tool_result_body(f"call_{number}", output, name="find_delivery"),
        assistant(f"Delivery {number} is on its way to {_PLACES[number % len(_PLACES)]}."),
    ]


def conversation(pairs: int, *, lookups: int = 0, start: int = 0) -> list[dict[str, Any]]:
    rows = [message for number in range(start, start + pairs) for message in message_pair(number)]
    return [*(message for number in range(start, start + lookups) for message in tool_lookup_pair(number)), *rows]


def full_session(
    client: Any, *, pairs: int = 40, lookups: int = 0, window: int = 4_000, **fields: Any
) -> dict[str, Any]:
    """A session that exceeds its window."""
    session = open_session(client, max_context_tokens=window, directive="You help Alex.", **fields)
    append(client, session, *conversation(pairs, lookups=lookups))
    return session


def set_policy(tenant: Tenant, **numbers: Any) -> None:
    """Change the compaction policy of the tenant's default profile."""
    with tenant_scope(tenant.pk):
        save_budget_profile(
            tenant_id=tenant.pk,
            name="default",
            changes={"compaction": numbers},
            edited_from=current_budget_profile(tenant.pk).version,
            by=BY,
            now=timezone.now(),
        )


def compact(client: Any, session: dict[str, Any], status: int = 200, **options: Any) -> dict[str, Any]:
    response = client.post(f"/api/v1/sessions/{session['id']}/compact", {"wait": True, **options})
    assert response.status_code == status, response.content
    answer: dict[str, Any] = response.json()
    return answer


def review(client: Any, compaction: dict[str, Any], action: str, status: int = 200, **fields: Any) -> dict[str, Any]:
    response = client.post(f"{COMPACTIONS}/{compaction['id']}/review", {"action": action, **fields})
    assert response.status_code == status, response.content
    answer: dict[str, Any] = response.json()
    return answer


def shown(tenant: Tenant, session_id: str) -> list[tuple[Any, ...]]:
    """Return the messages of the session's current context: first the summary, then every original message in it."""
    session = stored_session(tenant, session_id)
    with tenant_scope(tenant.pk):
        rows = Message.objects.for_tenant(tenant.pk).of_session(UUID(session_id))
        summary = list(rows.of_compaction(session.current_id)) if session.current_id else []
        messages = [*summary, *rows.shown()]
    shown_rows = [
        (
            row.sequence,
            row.role,
            PLACEHOLDER if row.state == "masked" else row.content,
            json.dumps(row.tool_calls),
            row.tool_call_id,
            row.name,
            row.state,
            row.pinned,
            row.shown_tokens,
        )
        for row in messages
    ]
    return [("tokens", session.context_tokens), *shown_rows]


def stored_compactions(tenant: Tenant) -> list[Compaction]:
    with tenant_scope(tenant.pk):
        return list(Compaction.objects.for_tenant(tenant.pk).order_by("created_at"))


def stored_runs(tenant: Tenant) -> list[Run]:
    with tenant_scope(tenant.pk):
        return list(Run.objects.for_tenant(tenant.pk).order_by("created_at"))


def live_memories(tenant: Tenant, type_: str = "") -> list[Memory]:
    """Return the memories that compaction created: of the journal, or summaries."""
    with tenant_scope(tenant.pk):
        rows = list(Memory.objects.for_tenant(tenant.pk).unarchived().order_by("content"))
    return [row for row in rows if not type_ or row.metadata.get("type") == type_]


def message_texts(messages: Iterable[Any]) -> list[str]:
    return [row[2] for row in messages if row[0] != "tokens"]


def hours_later(**delta: float) -> datetime:
    return timezone.now() + timedelta(**delta)
