"""A journal entry is a near-duplicate of a stored memory only if both make the same statement."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from compaction.pipeline import journal
from compaction.pipeline.journal import JournalEntry, classify_entries
from compaction.services.pipeline.stored_statements import CitedStatement
from memories.models import Tenant
from memories.services.hygiene import rules
from memories.services.hygiene.rules import PairVectors
from memories.store.actions.edit import archive_memory
from memories.tenancy.scopes import tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_memory
from tests.sessions import new_session

pytestmark = pytest.mark.django_db

STORED = "The door code of room 12 is 4711."
ENTRIES = {
    "The door code of room 12 is 4711!": "near_duplicate",
    "The door code of room 21 is 1174.": "new",
    "The door code of room 12 is not 4711.": "new",
    "The door code of room 12 is 4711 and that of room 21 is 1174.": "new",
}


def classify(tenant: Tenant, statements: list[CitedStatement]) -> list[JournalEntry]:
    with tenant_scope(tenant.pk):
        session = new_session(tenant)
    return classify_entries(session, statements, api_key_ids=[], now=FACTORY_NOW)


@pytest.mark.parametrize(("text", "status"), ENTRIES.items())
def test_entry_is_a_near_duplicate_only_of_what_states_the_same(tenant: Tenant, text: str, status: str) -> None:
    stored = make_memory(tenant, STORED, partition="user=alex", is_embedded=True)
    (entry,) = classify(tenant, [CitedStatement(text, ("m1",))])
    assert (entry.status, entry.memory_id) == (status, stored.pk if status == "near_duplicate" else None)


def test_entries_of_one_journal_that_differ_are_all_kept(tenant: Tenant) -> None:
    statements = [CitedStatement(text, ("m1",)) for text in (STORED, *ENTRIES)]
    entries = classify(tenant, statements)
    assert [entry.statement.text for entry in entries] == [STORED, *list(ENTRIES)[1:]]


def test_entry_is_compared_with_a_few_of_many_that_differ_in_a_number(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []
    monkeypatch.setattr(journal, "states_the_same", lambda one, _: compared.append(one) is not None)
    numbers = [f"The door code of room 12 is {number}." for number in range(4_000, 4_060)]
    entries = classify(tenant, [CitedStatement(text, ("m1",)) for text in numbers])
    assert len(entries) == len(numbers)
    assert 0 < max(map(compared.count, numbers)) <= journal.NEAREST_COMPARED


def test_stored_memories_are_compared_a_few_at_a_time(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    def nearest_pairs(own: PairVectors, others: PairVectors, **options: Any) -> list[tuple[int, int, float]]:
        compared.append(len(others))
        return rules.nearest_pairs(own, others, **options)

    monkeypatch.setattr(journal, "ROWS_READ", 2)
    monkeypatch.setattr(journal, "nearest_pairs", nearest_pairs)
    texts = [STORED, "The oven is hot.", "Alex sings.", "The mill is old.", "Rye flour is dark."]
    stored = {text: make_memory(tenant, text, partition="user=alex", is_embedded=True).pk for text in texts}
    entries = classify(tenant, [CitedStatement(text.replace(".", "!"), ("m1",)) for text in texts])
    assert [(entry.status, entry.memory_id) for entry in entries] == [("near_duplicate", pk) for pk in stored.values()]
    assert compared == [2, 2, 1]


def test_vectors_are_read_without_a_join(tenant: Tenant) -> None:
    """The plan of a join depends on counts of rows that are out of date during a load."""
    stored = make_memory(tenant, STORED, partition="user=alex", is_embedded=True)
    archived = make_memory(tenant, "The oven is hot.", partition="user=alex", is_embedded=True)
    with tenant_scope(tenant.pk):
        archive_memory(memory=archived, by=TESTER, now=FACTORY_NOW)
    texts = [STORED.replace(".", "!"), "The oven is hot!"]
    with CaptureQueriesContext(connection) as sent:
        entries = classify(tenant, [CitedStatement(text, ("m1",)) for text in texts])
    assert [entry.memory_id for entry in entries] == [stored.pk, None]
    reading = [query["sql"] for query in sent if "halfvec_send" in query["sql"]]
    assert len(reading) == 1
    assert "JOIN" not in reading[0]
    assert '"memories_memory"' not in reading[0]
