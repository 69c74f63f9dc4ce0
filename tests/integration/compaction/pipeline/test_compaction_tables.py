"""The constraints of the database on sessions, messages, compactions, runs and policies."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from compaction.models import Run
from context.models import BudgetProfile
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.sessions import new_compaction, new_message, new_session

NOW = timezone.now()


def refused(act: Any) -> str:
    def act_and_check() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            act()
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")

    with pytest.raises(IntegrityError) as caught:
        act_and_check()
    return str(caught.value)


@pytest.mark.parametrize(
    ("columns", "constraint"),
    [
        ({"sequence": None}, "message_is_original_or_summary"),
        ({"role": "tool"}, "message_of_a_tool_answers_a_call"),
        ({"tool_call_id": "call_1"}, "message_of_a_tool_answers_a_call"),
        ({"tool_calls": [{"id": "call_1"}]}, "message_tools_are_called_by_the_assistant"),
        ({"state": "masked", "masked_at": NOW}, "message_state_is_known"),
        ({"role": "tool", "tool_call_id": "call_1", "state": "masked"}, "message_masked_says_when"),
        ({"state": "compacted", "pinned": True}, "message_pinned_is_never_compacted"),
    ],
)
def test_message_that_cannot_be_is_refused(tenant: Tenant, columns: dict[str, Any], constraint: str) -> None:
    with tenant_scope(tenant.pk):
        session = new_session(tenant)
        assert constraint in refused(lambda: new_message(session, **columns))


def test_sequence_and_source_occur_once_in_a_session(tenant: Tenant) -> None:
    with tenant_scope(tenant.pk):
        session = new_session(tenant)
        new_message(session, source_id="a")
        assert "message_sequence_is_unique" in refused(lambda: new_message(session))
        assert "message_source_is_unique" in refused(lambda: new_message(session, sequence=1, source_id="a"))


def test_two_compactions_of_one_session_cannot_be_open_at_once(tenant: Tenant) -> None:
    with tenant_scope(tenant.pk):
        session = new_session(tenant)
        first = new_compaction(session)
        assert "session_has_one_pending_compaction" in refused(lambda: new_compaction(session))
        run = {"tenant": tenant, "kind": "compaction", "session": session, "created_at": timezone.now()}
        Run.objects.create(compaction=first, **run)
        assert "session_has_one_open_run" in refused(lambda: Run.objects.create(compaction=first, **run))


def test_database_rejects_an_applied_compaction_without_a_time_or_with_more_tokens(tenant: Tenant) -> None:
    now = timezone.now()
    with tenant_scope(tenant.pk):
        session = new_session(tenant)
        assert "compaction_applied_says_when" in refused(lambda: new_compaction(session, state="applied"))
        grown = {"state": "applied", "compacted_at": now, "tokens_before": 1, "tokens_after": 2}
        assert "compaction_applied_does_not_grow" in refused(lambda: new_compaction(session, **grown))


def test_message_cannot_be_in_a_session_of_another_tenant(tenant: Tenant, other_tenant: Tenant) -> None:
    with tenant_scope(tenant.pk):
        session = new_session(tenant)
    with tenant_scope(other_tenant.pk):
        session.tenant_id = other_tenant.pk
        assert "same_tenant" in refused(lambda: new_message(session))


@pytest.mark.parametrize("policy", [{"sleep_threshold": 2}, {"preserve_messages": 0}, {"decision": "maybe"}, []])
def test_policy_out_of_bounds_is_refused_by_the_database(tenant: Tenant, policy: Any) -> None:
    with tenant_scope(tenant.pk):
        row = {"tenant": tenant, "name": "default", "version": 1, "recorded_from": timezone.now()}
        message = refused(lambda: BudgetProfile.objects.create(compaction=policy, **row))
        assert "budget_profile_policy_is_bounded" in message


def test_claim_of_a_run_is_won_once_and_lapses(tenant: Tenant) -> None:
    now = timezone.now()
    later = now + timedelta(minutes=5)
    with tenant_scope(tenant.pk):
        session = new_session(tenant)
        run = Run.objects.create(
            tenant=tenant, kind="compaction", session=session, compaction=new_compaction(session), created_at=now
        )
        rows = Run.objects.for_tenant(tenant.pk)
        assert rows.claim(run.pk, now=now, until=later) == 1
        assert rows.claim(run.pk, now=now, until=later) == 0
        assert rows.claim(uuid4(), now=now, until=later) == 0
        assert rows.claim(run.pk, now=later + timedelta(seconds=1), until=later) == 1
        assert rows.get(pk=run.pk).attempts == 2
