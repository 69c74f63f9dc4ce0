"""Eight threads append to one session: every message once, sequences without gaps, counters exact."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.utils import timezone

from compaction.services.sessions.drafts import NewMessage
from compaction.sessions.actions import AppendResult, append_messages, create_session
from memories.models import Tenant
from memories.tenancy.exceptions import Conflict
from memories.tenancy.scopes import tenant_scope
from tests.factories import TESTER, make_tenant
from tests.integration.session_helpers import assert_recounted, stored_messages, stored_session

pytestmark = pytest.mark.django_db(transaction=True)

THREADS, APPENDS, ROWS = 8, 6, 5


@pytest.fixture
def tenant(transactional_db: None) -> Tenant:
    return make_tenant()


def opened(tenant: Tenant) -> str:
    with tenant_scope(tenant.pk):
        return str(create_session(tenant=tenant, directive="Be brief.", by=TESTER, now=timezone.now()).pk)


def append(tenant: Tenant, session_id: str, rows: list[NewMessage]) -> list[AppendResult]:
    try:
        with tenant_scope(tenant.pk):
            session = stored_session(tenant, session_id)
            return append_messages(
                tenant_id=session.tenant_id, session_id=session.pk, rows=rows, by=TESTER, now=timezone.now()
            )
    finally:
        connection.close()


def test_concurrent_appends_leave_no_gap_and_keep_each_batch_together(tenant: Tenant) -> None:
    session_id = opened(tenant)

    def work(thread: int) -> None:
        for turn in range(APPENDS):
            append(tenant, session_id, [NewMessage("user", f"{thread} {turn} {row}") for row in range(ROWS)])

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    messages = stored_messages(tenant, session_id)
    assert [message.sequence for message in messages] == list(range(THREADS * APPENDS * ROWS))
    assert len({message.content for message in messages}) == len(messages)
    batches = [messages[start : start + ROWS] for start in range(0, len(messages), ROWS)]
    assert all(len({message.content.rsplit(" ", 1)[0] for message in batch}) == 1 for batch in batches)
    session = stored_session(tenant, session_id)
    assert session.message_count == len(messages)
    with tenant_scope(tenant.pk):
        assert_recounted(session)


def test_threads_with_the_same_sources_store_each_once(tenant: Tenant) -> None:
    session_id = opened(tenant)
    rows = [NewMessage("user", f"row {number}", source_id=f"s{number}") for number in range(20)]
    with ThreadPoolExecutor(THREADS) as pool:
        results = list(pool.map(lambda _: append(tenant, session_id, rows), range(THREADS)))
    assert sum(result.is_new for appended in results for result in appended) == len(rows)
    assert len({tuple(result.message.pk for result in appended) for appended in results}) == 1
    assert [message.sequence for message in stored_messages(tenant, session_id)] == list(range(len(rows)))


def test_threads_with_one_source_and_other_texts_store_one(tenant: Tenant) -> None:
    session_id = opened(tenant)

    def work(thread: int) -> str:
        try:
            append(tenant, session_id, [NewMessage("user", f"text {thread}", source_id="same")])
        except Conflict as error:
            return error.code
        return ""

    with ThreadPoolExecutor(THREADS) as pool:
        assert sorted(pool.map(work, range(THREADS))) == ["", *["source_id_taken"] * (THREADS - 1)]
    assert len(stored_messages(tenant, session_id)) == 1
