"""The second connection of a search returns the same rows, in parallel with the first one (ADR-0264)."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.db import DatabaseError, connection

from memories.models import Tenant
from memories.search import retrieval
from memories.search.retrieval import Retrieval
from memories.services.search import planner
from memories.store.readings import CandidateRanks, send_candidates
from memories.store.search_scope import SearchScope
from memories.tenancy.queries.prepared import execute_prepared, send_prepared
from memories.tenancy.scopes import second_tenant_scope, tenant_scope
from tests.database_locks import blocked_statement
from tests.database_roles import own_connections
from tests.factories import FACTORY_NOW, make_memory, make_tenant
from tests.integration.memories.search_helpers import retrieve_for_test

pytestmark = pytest.mark.django_db(transaction=True)

TEXTS = "SELECT content FROM memories_memory ORDER BY content"
SCOPE = "SELECT current_setting('app.scope', true)"


@pytest.fixture
def idle_connection() -> Iterator[Any]:
    """Add a connection to the pool besides that of the test; return the pool."""
    with own_connections():
        wrapper: Any = connection
        wrapper.ensure_connection()
        wrapper.pool.putconn(wrapper.pool.getconn())
        yield wrapper.pool


def test_second_connection_reads_the_rows_of_the_tenant_while_the_first_is_busy(idle_connection: Any) -> None:
    mine, other = make_tenant(), make_tenant()
    make_memory(mine, "tea")
    make_memory(other, "coffee")
    with (
        blocked_statement(1) as (statement, unblock),
        second_tenant_scope(mine.pk) as second,
        tenant_scope(mine.pk, is_pipelined=True),
    ):
        slow = send_prepared(statement, [])
        second.start_first()
        with second.sending():
            first_rows = send_prepared(TEXTS, [])
        with second.sending(is_last=True):
            last_rows = send_prepared(TEXTS, [])
        assert not second.is_open, "no statement can follow the last ones"
        assert first_rows.rows() == last_rows.rows() == [("tea",)]
        assert slow.cursor.pgresult is None
        unblock()
        assert slow.rows() == [(1,)]
    given_back = idle_connection.getconn()
    try:
        assert given_back.execute(SCOPE).fetchone()[0] in ("", None), "the scope ends with the block"
    finally:
        idle_connection.putconn(given_back)


def test_while_other_requests_use_connections_there_is_no_second_one(idle_connection: Any) -> None:
    tenant = make_tenant()
    make_memory(tenant, "tea")
    with second_tenant_scope(tenant.pk) as first, second_tenant_scope(tenant.pk) as other:
        assert (first.is_open, other.is_open) == (True, False)
        with tenant_scope(tenant.pk, is_pipelined=True), other.sending(is_last=True):
            assert execute_prepared(TEXTS, []) == [("tea",)], "its statements go to the first connection"


def test_in_a_transaction_there_is_no_second_connection(idle_connection: Any) -> None:
    """The second connection would not see what the transaction has written."""
    tenant = make_tenant()
    with tenant_scope(tenant.pk), second_tenant_scope(tenant.pk) as second:
        assert not second.is_open


def test_failing_statement_of_a_second_connection_is_raised_and_gives_it_back(idle_connection: Any) -> None:
    tenant = make_tenant()

    def fail() -> None:
        with second_tenant_scope(tenant.pk) as second, tenant_scope(tenant.pk, is_pipelined=True):
            with second.sending():
                sent = send_prepared("SELECT 1 / (length(%s::text) - 1)", ["x"])
            sent.rows()

    for _ in range(2):
        with pytest.raises(DatabaseError, match="division by zero"):
            fail()
    with second_tenant_scope(tenant.pk) as second:
        assert second.is_open


def test_search_finds_the_same_with_and_without_a_second_connection(idle_connection: Any) -> None:
    tenant = make_tenant()
    for number in range(12):
        make_memory(tenant, f"Alex drinks tea number {number}.", is_embedded=True, session="s", position=number)
    one, both = _search(tenant, has_second=False), _search(tenant, has_second=True)
    assert len(both.candidates) == 12
    assert both.candidates == one.candidates
    assert both.vectors.keys() == one.vectors.keys()


@pytest.mark.parametrize("token_budget", [20, 4_000])
def test_second_connection_reads_the_best_by_words_before_the_vectors_are_known(
    idle_connection: Any, monkeypatch: pytest.MonkeyPatch, token_budget: int
) -> None:
    monkeypatch.setattr(planner, "BY_MEMORY_ROWS", 0)  # vectors are searched without their memories
    read: list[list[int]] = []
    have_ranks: list[bool] = []

    def send(scope: SearchScope, ids: Sequence[int], query: Any, ranks: CandidateRanks, **options: Any) -> Any:
        read.append(list(ids))
        have_ranks.append(bool(ranks.by_vector))
        return send_candidates(scope, ids, query, ranks, **options)

    tenant = make_tenant()
    for number in range(12):
        make_memory(tenant, f"{'Tea' if number % 4 else 'Milk'} is cup {number}.", is_embedded=True)
    one = _search(tenant, has_second=False, token_budget=token_budget)
    monkeypatch.setattr(retrieval, "send_candidates", send)
    both = _search(tenant, has_second=True, token_budget=token_budget)
    assert both.candidates == one.candidates
    early, *later = read
    assert early
    assert have_ranks == [False] + [True] * len(later)
    assert set(early).isdisjoint(key for keys in later for key in keys), "none is read twice"


def _search(tenant: Tenant, *, has_second: bool, **options: Any) -> Retrieval:
    options |= {"now": FACTORY_NOW, "with_vectors": True, "adjacent_turn_reach": 1}
    with second_tenant_scope(tenant.pk) as second:
        assert second.is_open
        if not has_second:
            return retrieve_for_test(tenant, "tea number 3", **options)
    return retrieve_for_test(tenant, "tea number 3", **options)
