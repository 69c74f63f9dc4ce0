"""Sessions that fill up over REST: they are compacted at their thresholds; only full contexts exclude messages."""

from itertools import pairwise
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from compaction.models import Session
from compaction.pipeline.breakers import FAILURES_TO_OPEN
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.compaction.sessions.test_session_context import ask, codes
from tests.integration.compaction_helpers import full_session, set_policy, stored_compactions
from tests.integration.session_helpers import SESSIONS, append, assistant, open_session, read, user
from tests.sessions import new_compaction
from tests.users import api_client

pytestmark = pytest.mark.django_db

#: Each of these messages takes about a fortieth of the window.
STEPS = 40
STATED = "Alex sold lamp {} to Ines for {} EUR on 4 May 2026 and sends it by post. "


def stored_memories(api: APIClient) -> None:
    """More memories than fit in their share of a small window."""
    rows = [{"content": f"Alex keeps lamp {number} on shelf {number * 7}.", "user_id": "alex"} for number in range(60)]
    assert api.post("/api/v1/memories/bulk", {"memories": rows}).status_code == 200


def played(api: APIClient, window: int, **fields: Any) -> list[dict[str, Any]]:
    """Yield the contexts of a session that grows by a fortieth of its window each time."""
    session = open_session(api, user_id="alex", max_context_tokens=window, **fields)
    contexts = []
    for number in range(STEPS):
        say = (user, assistant)[number % 2]
        append(api, session, say(STATED.format(number, number * 100) * max(window // STEPS // 22, 1)))
        contexts.append(ask(api, session))
    return contexts


@pytest.mark.parametrize("window", [1_500])
def test_no_message_is_left_out_before_a_compaction(api: APIClient, tenant: Tenant, window: int) -> None:
    set_policy(tenant, retention_floor=0.0)
    stored_memories(api)
    contexts = played(api, window, directive="You help Alex.")
    assert not any("trimmed" in codes(context) for context in contexts)
    compacted = [place for place, context in enumerate(contexts) if "compacted_in_emergency" in codes(context)]
    assert compacted
    assert all(later - earlier > 1 for earlier, later in pairwise(compacted)), "an emergency on each call"
    for place in compacted:
        assert 0.7 < contexts[place - 1]["pressure"] < 1, "the message after it was one too many"
        assert contexts[place]["pressure"] < 1
    assert contexts[0]["pressure"] == pytest.approx(sum(contexts[0]["pressure_parts"].values()) / window, abs=1e-4)


@pytest.mark.parametrize("window", [1_000])
def test_without_compaction_the_newest_stay_from_a_full_window_on_with_a_warning(
    api: APIClient, tenant: Tenant, window: int
) -> None:
    set_policy(tenant, has_emergency=False, has_scheduled=False)
    stored_memories(api)
    contexts = played(api, window)
    for number, context in enumerate(contexts):
        shown = sum(block["kind"] == "message" for block in context["blocks"])
        assert (shown <= number) == ("trimmed" in codes(context))
        assert shown == number + 1 or context["pressure"] > 1
        assert ("pressure_high" in codes(context)) == (context["pressure"] >= 0.85)
    assert "trimmed" in codes(contexts[-1])


def test_shares_of_a_budget_profile_cut_nothing_that_fits(api: APIClient, admin_key: str, tenant: Tenant) -> None:
    stored_memories(api)
    sections = {"memories": {"share": 0.6}, "tenant_memo": {"share": 0.05}, "recent_messages": {"share": 0.1}}
    admin = api_client(admin_key)
    assert admin.post("/api/v1/budget-profiles", {"name": "much", "sections": sections}).status_code == 201
    session = open_session(api, user_id="alex", max_context_tokens=2_000)
    append(api, session, *[user(STATED.format(number, number)) for number in range(30)])
    context = ask(api, session, budget_profile="much")
    assert 0.6 < context["pressure"] < 0.8
    assert "trimmed" not in codes(context)
    assert sum(block["kind"] == "memory" for block in context["blocks"]) > 0


def test_emergencies_of_a_session_pause_while_its_compactions_fail(api: APIClient, tenant: Tenant) -> None:
    session = full_session(api, user_id="alex")
    with tenant_scope(tenant.pk):
        row = Session.objects.get(pk=session["id"])
        for _ in range(FAILURES_TO_OPEN):
            new_compaction(row, state="failed", created_at=timezone.now(), finished_at=timezone.now())
    context = ask(api, session)
    paused = next(warning for warning in context["warnings"] if warning["code"] == "not_compacted")
    assert "(compaction_paused)" in paused["detail"]
    assert "trimmed" in codes(context)
    assert len(stored_compactions(tenant)) == FAILURES_TO_OPEN


def test_list_is_sorted_and_filtered_by_the_same_pressure(api: APIClient) -> None:
    small = open_session(api, max_context_tokens=1_001)
    append(api, small, user("hello " * 400))
    large = open_session(api, max_context_tokens=100_003)
    append(api, large, user("hello " * 700))
    rows = api.get(SESSIONS, {"ordering": "-pressure"}).json()["results"]
    assert [row["pressure"] for row in rows] == [read(api, small)["pressure"], read(api, large)["pressure"]]
    least = rows[0]["pressure"] - 1e-4
    assert [row["id"] for row in api.get(SESSIONS, {"min_pressure": least}).json()["results"]] == [small["id"]]
