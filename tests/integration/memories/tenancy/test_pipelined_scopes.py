"""Pipelined scopes return the same rows and errors as ordinary ones, in fewer round trips (ADR-0120)."""

from contextlib import nullcontext
from typing import Any

import pytest
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from psycopg import Cursor, Pipeline
from psycopg.pq import TransactionStatus
from psycopg.sql import Composable

from memories.models import Memory
from memories.search.queries.nearest import force_index_scan
from memories.tenancy.queries.prepared import answer_so_far, execute_prepared, send_now, send_prepared, sent_together
from memories.tenancy.scopes import authentication_scope, tenant_scope
from tests.database_locks import blocked_statement
from tests.database_waits import counted_waits
from tests.factories import make_memory, make_tenant

pytestmark = pytest.mark.django_db(transaction=True)

TEXTS = "SELECT content FROM memories_memory ORDER BY content"
ARCHIVE = "UPDATE memories_memory SET archived_at = created_at"
FAILING = "SELECT 1 / (length(%s::text) - 1)"


def test_pipelined_scope_reads_the_rows_of_its_tenant_alone() -> None:
    mine, other = make_tenant(), make_tenant()
    make_memory(mine, "tea")
    make_memory(other, "coffee")
    for tenant, text in ((mine, "tea"), (other, "coffee")):
        with tenant_scope(tenant.pk, is_pipelined=True):
            assert execute_prepared(TEXTS, []) == [(text,)]
    assert execute_prepared(TEXTS, []) == [], "the settings end with the scope"
    with authentication_scope(is_pipelined=True):
        assert execute_prepared(TEXTS, []) == []


@pytest.mark.parametrize("is_pipelined", [False, True])
def test_with_citus_a_transaction_block_sets_what_is_passed_on(
    monkeypatch: pytest.MonkeyPatch, is_pipelined: bool
) -> None:
    """Citus passes on SET LOCAL after BEGIN, but neither `set_config()` nor bound values."""
    monkeypatch.setattr(settings, "DATABASE_CITUS", True)
    mine, other = make_tenant(), make_tenant()
    make_memory(mine, "tea")
    make_memory(other, "coffee")
    sent: list[str] = []
    execute = Cursor.execute

    def listen(cursor: Any, query: Any, params: Any = None, **options: Any) -> Any:
        sent.append(query.as_string(cursor) if isinstance(query, Composable) else str(query))
        return execute(cursor, query, params, **options)

    monkeypatch.setattr(Cursor, "execute", listen)
    with tenant_scope(mine.pk, is_pipelined=is_pipelined):
        assert execute_prepared(TEXTS, []) == [("tea",)]
        with tenant_scope(other.pk), force_index_scan(ef_search=77, max_scan_tuples=1_000):
            assert execute_prepared(TEXTS, []) == [("coffee",)]
            assert execute_prepared("SHOW hnsw.ef_search", []) == [("77",)]
        assert execute_prepared(TEXTS, []) == [("tea",)]
        assert connection.in_atomic_block
    assert execute_prepared(TEXTS, []) == [], "the settings end with the scope"
    texts = [text for text in sent if "SET LOCAL" in text]
    assert [text.split(" = ")[0] for text in texts[:2]] == ["SET LOCAL app.scope"] * 2
    assert f"'tenant:{mine.pk}:" in texts[0]
    assert not [text for text in sent if "set_config" in text]


def test_rows_can_be_read_in_any_order_and_after_the_scope() -> None:
    tenant = make_tenant()
    make_memory(tenant, "tea")
    with tenant_scope(tenant.pk, is_pipelined=True):
        first, second = send_prepared("SELECT 1", []), send_prepared(TEXTS, [])
        assert second.rows() == [("tea",)]
    assert first.rows() == [(1,)]


def test_scope_with_one_statement_waits_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant = make_tenant()
    make_memory(tenant, "tea")
    with counted_waits(monkeypatch) as waits:
        with tenant_scope(tenant.pk, is_pipelined=True):
            sent = send_prepared(TEXTS, [])
        assert sent.rows() == [("tea",)]
    assert waits == ["_exit_gen"]


def test_statements_of_a_pipeline_are_sent_together() -> None:
    tenant = make_tenant()
    with tenant_scope(tenant.pk, is_pipelined=True):
        first, second = send_prepared("SELECT 1", []), send_prepared("SELECT 2", [])
        driver: Any = connection.connection
        # each statement is new, so it is parsed and run; psycopg's own pipeline would have sent all of this
        assert len(driver._pipeline.command_queue) >= 3
        assert (first.rows(), second.rows()) == ([(1,)], [(2,)])
        assert not driver._pipeline.command_queue


@pytest.mark.parametrize("fails", [False, True])
def test_pipeline_that_starts_a_transaction_begins_it_once(fails: bool) -> None:
    """A second BEGIN would be ignored, with a warning in the log of the server."""
    tenant = make_tenant()
    connection.ensure_connection()
    driver: Any = connection.connection
    notices: list[str | None] = []
    driver.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    for _ in range(2):  # unprepared, then prepared
        with pytest.raises(DatabaseError) if fails else nullcontext(), tenant_scope(tenant.pk):
            with sent_together():
                first = send_prepared("SELECT 1", [])
                later = send_prepared(FAILING, ["a" if fails else "ab"])
            assert (first.rows(), later.rows()) == ([(1,)], [(1,)])
            assert connection.in_atomic_block
        assert driver.info.transaction_status == TransactionStatus.IDLE
    with tenant_scope(tenant.pk):
        assert execute_prepared(TEXTS, []) == []
        assert driver.info.transaction_status == TransactionStatus.INTRANS
    assert notices == []


def test_first_answers_do_not_wait_for_statements_that_are_sent_with_them() -> None:
    tenant = make_tenant()
    for read_first in (0, 1, None):
        with blocked_statement(2) as (statement, unblock), tenant_scope(tenant.pk, is_pipelined=True):
            first = send_prepared("SELECT 1", [])
            answer_so_far()
            later = send_prepared(statement, [])
            if read_first == 0:
                assert first.rows() == [(1,)]
                assert later.cursor.pgresult is None
            unblock()
            if read_first == 1:
                assert later.rows() == [(2,)]
        assert (first.rows(), later.rows()) == ([(1,)], [(2,)])


def test_results_that_were_requested_are_not_requested_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request wakes the server."""
    tenant, flushes = make_tenant(), _recorded_flushes(monkeypatch)
    with tenant_scope(tenant.pk, is_pipelined=True):
        first = send_prepared("SELECT 1", [])
        send_now()
        assert first.rows() == [(1,)]
        assert execute_prepared("SELECT 2", []) == [(2,)]
        later = send_prepared("SELECT 3", [])
        answer_so_far()
        last = send_prepared("SELECT 4", [])
        send_now()
        assert (later.rows(), last.rows()) == ([(3,)], [(4,)])
    assert flushes == [False, True, False, False, False], "only for the second statement, which was not sent before"


def test_end_of_a_pipelined_scope_is_sent_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant, flushes = make_tenant(), _recorded_flushes(monkeypatch)
    with tenant_scope(tenant.pk, is_pipelined=True):
        assert execute_prepared("SELECT 1", []) == [(1,)]
        send_prepared("SELECT 2", [])
    # the rows are requested; the end sends itself, and psycopg would wait for its results, too
    assert flushes == [True, False]


def _recorded_flushes(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Record, for each time that results are read, whether they are requested first."""
    fetch, flushes = Pipeline._fetch_gen, list[bool]()

    def recorded(pipeline: Any, *, flush: bool) -> Any:
        flushes.append(flush)
        return fetch(pipeline, flush=flush)

    monkeypatch.setattr(Pipeline, "_fetch_gen", recorded)
    return flushes


def test_prepared_statement_of_a_pipeline_passes_psycopg_by_and_fails_like_any_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tenant, execute = make_tenant(), Cursor.execute
    executed: list[str] = []

    def recorded(cursor: Any, query: str, *arguments: Any, **options: Any) -> Any:
        executed.append(query)
        return execute(cursor, query, *arguments, **options)

    monkeypatch.setattr(Cursor, "execute", recorded)
    for _ in range(2):
        with tenant_scope(tenant.pk, is_pipelined=True):
            assert execute_prepared(FAILING, ["xx"]) == [(1,)]
    assert executed.count(FAILING) == 1, "the connection has prepared it"
    with pytest.raises(DatabaseError, match="division by zero"), tenant_scope(tenant.pk, is_pipelined=True):
        execute_prepared(FAILING, ["x"])
    with tenant_scope(tenant.pk, is_pipelined=True):
        assert execute_prepared(FAILING, ["xx"]) == [(1,)]


def test_what_a_pipelined_scope_writes_is_committed_at_its_end() -> None:
    tenant = make_tenant()
    memory = make_memory(tenant)
    with tenant_scope(tenant.pk, is_pipelined=True):
        send_prepared(ARCHIVE, [])
    with tenant_scope(tenant.pk):
        assert Memory.objects.get(pk=memory.pk).archived_at is not None


def test_failing_statement_rolls_back_all_of_the_scope_and_leaves_the_connection_usable() -> None:
    tenant = make_tenant()
    memory = make_memory(tenant, "tea")

    def fail_after_a_change() -> None:
        with tenant_scope(tenant.pk, is_pipelined=True):
            send_prepared(ARCHIVE, [])
            send_prepared(FAILING, ["x"])

    with pytest.raises(DatabaseError, match="division by zero"):
        fail_after_a_change()
    with tenant_scope(tenant.pk):
        assert Memory.objects.get(pk=memory.pk).archived_at is None
    with tenant_scope(tenant.pk, is_pipelined=True):
        assert execute_prepared(TEXTS, []) == [("tea",)]


def test_error_of_an_earlier_statement_is_raised_where_rows_are_read() -> None:
    tenant = make_tenant()

    def read_after_a_failure() -> None:
        with tenant_scope(tenant.pk, is_pipelined=True):
            send_prepared(FAILING, ["x"])
            execute_prepared(TEXTS, [])

    with pytest.raises(DatabaseError, match="division by zero"):
        read_after_a_failure()


def test_inside_a_transaction_a_pipelined_scope_is_an_ordinary_one() -> None:
    mine, other = make_tenant(), make_tenant()
    make_memory(mine, "tea")
    make_memory(other, "coffee")
    with tenant_scope(mine.pk):
        with tenant_scope(other.pk, is_pipelined=True):
            assert execute_prepared(TEXTS, []) == [("coffee",)]
        assert execute_prepared(TEXTS, []) == [("tea",)]
    with transaction.atomic():
        assert connection.in_atomic_block
        with tenant_scope(mine.pk, is_pipelined=True):
            assert execute_prepared(TEXTS, []) == [("tea",)]


def test_ordinary_scope_begins_with_its_first_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    tenant = make_tenant()
    make_memory(tenant, "tea")
    with counted_waits(monkeypatch) as waits, tenant_scope(tenant.pk):
        assert waits == []
        assert execute_prepared(TEXTS, []) == [("tea",)]
    assert waits == ["_exit_gen", "_commit_gen"]


def test_scope_that_begins_in_another_way_has_its_settings() -> None:
    tenant = make_tenant()
    make_memory(tenant, "tea")
    with tenant_scope(tenant.pk):
        assert [row.content for row in Memory.objects.iterator(chunk_size=1)] == ["tea"], "a server-side cursor"
    with tenant_scope(tenant.pk), connection.cursor() as cursor:
        cursor.executemany("UPDATE memories_memory SET kind = %s", [["note"], ["event"]])
        assert Memory.objects.get().kind == "event"
    with tenant_scope(tenant.pk):
        with transaction.atomic():
            Memory.objects.update(kind="note")
        assert Memory.objects.get().kind == "note", "a savepoint"
    with tenant_scope(tenant.pk):
        pass
    assert execute_prepared(TEXTS, []) == []


def test_failing_first_statement_rolls_back_and_leaves_the_connection_usable() -> None:
    tenant = make_tenant()
    make_memory(tenant, "tea")
    with pytest.raises(DatabaseError, match="division by zero"), tenant_scope(tenant.pk):
        execute_prepared(FAILING, ["x"])
    with tenant_scope(tenant.pk):
        assert Memory.objects.update(kind="event") == 1
    with tenant_scope(tenant.pk):
        assert Memory.objects.get().kind == "event"
