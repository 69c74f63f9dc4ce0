"""A fact of the journal replaces a stored fact with another value of the same attribute."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from compaction.pipeline.journal import JournalEntry, classify_entries, store_journal_entries
from compaction.services.pipeline.stored_statements import CitedStatement
from memories.models import Memory, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.factories import make_memory
from tests.integration.compaction_helpers import compact, live_memories, message_pair, review
from tests.integration.session_helpers import append, open_session, user
from tests.sessions import new_compaction, new_session
from tests.users import BY, api_client

pytestmark = pytest.mark.django_db

OLD, NEW = (
    "Alex: The retry limit of the billing worker is 30 seconds.",
    "Alex: The retry limit of the billing worker is 45 seconds.",
)


def stored(tenant: Tenant, text: str = OLD, **fields: Any) -> Memory:
    """Facts that a journal stored a week ago."""
    own = {"partition": "user=alex", "kind": "synthesis", "metadata": {"type": "journal"}, "is_embedded": True}
    return make_memory(tenant, text, **{**own, "now": timezone.now() - timedelta(days=7), **fields})


def classify(tenant: Tenant, *texts: str | CitedStatement) -> list[JournalEntry]:
    with tenant_scope(tenant.pk):
        session = new_session(tenant)
    statements = [CitedStatement(one, ("m1",)) if isinstance(one, str) else one for one in texts]
    return classify_entries(session, statements, api_key_ids=[], now=timezone.now())


def apply(tenant: Tenant, *texts: str | CitedStatement, decided_at: datetime | None = None) -> list[dict[str, Any]]:
    """Return the records of a journal with these facts, after it is stored."""
    journal = [entry.as_record() for entry in classify(tenant, *texts)]
    with tenant_scope(tenant.pk):
        session = new_session(tenant)
        compaction = new_compaction(session, journal=journal, decided_at=decided_at)
        store_journal_entries(compaction, session, {}, by=BY, now=timezone.now())
    records: list[dict[str, Any]] = compaction.journal
    return records


def live(tenant: Tenant) -> list[str]:
    with tenant_scope(tenant.pk):
        rows = Memory.objects.for_tenant(tenant.pk).live(timezone.now()).order_by("created_at")
        return list(rows.values_list("content", flat=True))


@pytest.mark.parametrize("is_embedded", [True, False])
def test_fact_with_another_value_replaces_the_stored_one(tenant: Tenant, is_embedded: bool) -> None:
    older = stored(tenant, is_embedded=is_embedded)
    (record,) = apply(tenant, NEW)
    assert (record["status"], record["replaced_memory_ids"]) == ("replaces", [str(older.pk)])
    assert live(tenant) == [NEW]
    with tenant_scope(tenant.pk):
        older.refresh_from_db()
        newer = Memory.objects.for_tenant(tenant.pk).get(pk=record["memory_id"])
    assert older.valid_to == newer.valid_from


@pytest.mark.parametrize(
    "fields",
    [
        {"metadata": {"type": "context_synthesis"}},
        {"kind": "fact"},
        {"partition": "user=alex/project=ledger"},
        {"partition": ""},
        {"now": timezone.now() + timedelta(hours=1)},
        {"content": "Alex: The retry limit of the mail worker is 30 seconds."},
    ],
)
def test_only_earlier_facts_of_journals_of_the_same_partition_are_replaced(
    tenant: Tenant, fields: dict[str, Any]
) -> None:
    stored(tenant, fields.pop("content", OLD), **fields)
    (record,) = apply(tenant, NEW)
    assert (record["status"], record["replaced_memory_ids"]) == ("stored", [])
    assert len(live(tenant)) == 2


def test_possible_instruction_is_stored_after_approval_but_replaces_nothing(tenant: Tenant) -> None:
    stored(tenant)
    doubtful = CitedStatement(NEW, ("m1",), is_possible_instruction=True)
    (record,) = apply(tenant, doubtful)
    assert (record["status"], live(tenant)) == ("new", [OLD])
    (record,) = apply(tenant, doubtful, decided_at=timezone.now())
    assert (record["status"], record["replaced_memory_ids"]) == ("stored", [])
    assert live(tenant) == [OLD, NEW]


def test_value_that_is_stated_again_is_current_again(tenant: Tenant) -> None:
    stored(tenant)
    apply(tenant, NEW)
    (record,) = apply(tenant, OLD)
    assert record["status"] == "replaces"
    assert live(tenant) == [OLD]


def test_fact_whose_older_one_was_archived_meanwhile_is_stored(tenant: Tenant) -> None:
    older = stored(tenant)
    entries = classify(tenant, NEW)
    assert entries[0].replaced == (older.pk,)
    with tenant_scope(tenant.pk):
        Memory.objects.filter(pk=older.pk).end(timezone.now())
        session = new_session(tenant)
        compaction = new_compaction(session, journal=[entry.as_record() for entry in entries])
        store_journal_entries(compaction, session, {}, by=BY, now=timezone.now())
    assert (compaction.journal[0]["status"], compaction.journal[0]["replaced_memory_ids"]) == ("stored", [])


def append_and_compact(client: APIClient, text: str) -> dict[str, Any]:
    """The applied compaction of a session in which Alex decided something."""
    session = open_session(client, max_context_tokens=4_000, partition="user=alex")
    append(client, session, user(text, name="Alex"))
    append(client, session, *(message for number in range(40) for message in message_pair(number)))
    compaction: dict[str, Any] = compact(client, session)["compaction"]
    return review(client, compaction, "approve") if compaction["state"] == "proposed" else compaction


def journal(tenant: Tenant) -> list[str]:
    """Return the live facts about the limit in journals."""
    return [row.content for row in live_memories(tenant, "journal") if "retry limit" in row.content]


def test_rolled_back_compaction_restores_what_it_replaced(admin_key: str, tenant: Tenant) -> None:
    client = api_client(admin_key)
    append_and_compact(client, "We decided that the retry limit of the billing worker is 30 seconds.")
    (older,) = journal(tenant)
    compaction = append_and_compact(client, "We decided that the retry limit of the billing worker is 45 seconds.")
    (entry,) = [entry for entry in compaction["journal"] if "retry limit" in entry["text"]]
    assert (entry["status"], len(entry["replaced_memory_ids"])) == ("replaces", 1)
    (newer,) = journal(tenant)
    assert ("30 seconds" in older, "45 seconds" in newer) == (True, True)
    review(client, compaction, "rollback")
    assert journal(tenant) == [older]
