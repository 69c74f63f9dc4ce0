"""Eight concurrent writers of the same text through the REST API: one live row, no deadlock, no 500."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from django.db import OperationalError
from psycopg.errors import DeadlockDetected

from memories.hygiene import api as hygiene_api
from memories.models import Memory, MemoryLink, Tenant
from memories.services.store.content import content_hash
from memories.store.api import moves
from memories.tenancy.scopes import tenant_scope
from tests.concurrency import run_concurrently
from tests.factories import make_memory
from tests.integration.rest_helpers import BULK, MEMORIES
from tests.users import api_client, new_key, new_shared_tenant

pytestmark = pytest.mark.django_db(transaction=True)

WRITERS = 8
ROUNDS = 6

Write = Callable[[Any], Any]


@pytest.fixture
def tenant(transactional_db: None) -> Tenant:
    return new_shared_tenant("Acme")


@pytest.fixture
def key(tenant: Tenant) -> str:
    return new_key(tenant, "read", "write")


def answers_of(key: str, writes: Sequence[Write]) -> list[Any]:
    """Return the responses to concurrent writers, each with its own client."""
    return run_concurrently([partial(write, api_client(key)) for write in writes])


def live_rows(tenant: Tenant, text: str) -> list[Memory]:
    with tenant_scope(tenant.pk):
        rows = Memory.objects.for_tenant(tenant.pk).unarchived()
        return list(rows.with_content_hashes([content_hash(text)]))


def text_of(tenant: Tenant, memory_id: str) -> str:
    with tenant_scope(tenant.pk):
        return str(Memory.objects.for_tenant(tenant.pk).get(pk=memory_id).content)


def live_keys(tenant: Tenant) -> list[tuple[object, ...]]:
    with tenant_scope(tenant.pk):
        rows = Memory.objects.for_tenant(tenant.pk).unarchived()
        return list(rows.values_list("partition_id", "content_hash", "source_id"))


def create(text: str, **fields: Any) -> Write:
    return lambda client: client.post(MEMORIES, {"content": text, **fields}, format="json")


def bulk(*texts: str, **fields: Any) -> Write:
    rows = [{"content": text, **fields} for text in texts]
    return lambda client: client.post(BULK, {"memories": rows}, format="json")


def edit(memory_id: str, text: str) -> Write:
    return lambda client: client.patch(f"{MEMORIES}/{memory_id}", {"content": text}, format="json")


def restore(memory_id: str) -> Write:
    return lambda client: client.post(f"{MEMORIES}/{memory_id}/restore", {}, format="json")


def archive(memory_id: str) -> Write:
    return lambda client: client.delete(f"{MEMORIES}/{memory_id}")


def made(key: str, text: str, **fields: Any) -> str:
    answer = create(text, **fields)(api_client(key))
    assert answer.status_code == 201, answer.content
    return str(answer.json()["id"])


@pytest.mark.parametrize("fields", [{}, {"partition": "user=new/topic=new", "source_id": "s-1"}])
def test_eight_creators_of_one_text_make_one_row(fields: dict[str, str], tenant: Tenant, key: str) -> None:
    answers = answers_of(key, [create("the same", **fields)] * WRITERS)
    assert Counter(answer.status_code for answer in answers) == {201: 1, 200: WRITERS - 1}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert len(live_rows(tenant, "the same")) == 1


def test_eight_bulks_in_every_order_make_each_row_once(tenant: Tenant, key: str) -> None:
    texts = [f"row {number}" for number in range(60)]
    orders = [texts[shift:] + texts[:shift] if shift % 2 else texts[::-1] for shift in range(0, 8 * 7, 7)]
    answers = answers_of(key, [bulk(*order, partition="user=a/topic=b") for order in orders])
    assert [answer.status_code for answer in answers] == [200] * WRITERS
    statuses = Counter(row["status"] for answer in answers for row in answer.json()["results"])
    assert statuses == {"created": len(texts), "existing": (WRITERS - 1) * len(texts)}
    assert len(live_keys(tenant)) == len(set(live_keys(tenant))) == len(texts)


def test_create_bulk_edit_and_restore_onto_one_text_leave_one_live_row(tenant: Tenant, key: str) -> None:
    for turn in range(ROUNDS):
        wanted, other = f"wanted {turn}", f"other {turn}"
        gone = made(key, wanted)
        archive(gone)(api_client(key))
        edited, second = made(key, other), made(key, f"second {turn}")
        more = [f"more {turn} {number}" for number in range(20)]
        writes = [
            create(wanted),
            restore(gone),
            edit(edited, wanted),
            edit(second, wanted),
            bulk(wanted, *more, other),
            bulk(other, *more[::-1], wanted),
            bulk(*more, wanted, f"second {turn}"),
            archive(edited),
        ]
        answers = answers_of(key, writes)
        codes = [answer.status_code for answer in answers]
        assert set(codes) <= {200, 201, 204, 404, 409}, [answer.content for answer in answers]
        assert {answer.json()["code"] for answer in answers if answer.status_code == 409} <= {"duplicate", "archived"}
        keys = live_keys(tenant)
        assert len(keys) == len(set(keys))
        # None if the last change archived the memory that had received the wanted text.
        assert len(live_rows(tenant, wanted)) == 1 or text_of(tenant, edited) == wanted


def test_edits_that_trade_texts_and_bulks_of_both_neither_deadlock_nor_double(tenant: Tenant, key: str) -> None:
    for turn in range(ROUNDS):
        one, two = f"one {turn}", f"two {turn}"
        first, second = made(key, one), made(key, two)
        writes = [
            edit(first, two),
            edit(second, one),
            edit(first, f"three {turn}"),
            edit(second, f"four {turn}"),
            bulk(one, f"three {turn}", two, f"four {turn}"),
            bulk(f"four {turn}", two, f"three {turn}", one),
            bulk(two, f"four {turn}", one),
            create(f"three {turn}"),
        ]
        answers = answers_of(key, writes)
        assert {answer.status_code for answer in answers} <= {200, 201, 409}
        keys = live_keys(tenant)
        assert len(keys) == len(set(keys))


def test_concurrent_writers_store_one_memory_per_source_id(tenant: Tenant, key: str) -> None:
    for number in range(ROUNDS):
        source = f"doc-{number}"
        texts = [f"{source} by writer {writer}" for writer in range(WRITERS)]
        writes = [
            create(text, source_id=source) if place % 2 else bulk(text, source_id=source)
            for place, text in enumerate(texts)
        ]
        answers = answers_of(key, writes)
        assert {answer.status_code for answer in answers} <= {200, 201}
        with tenant_scope(tenant.pk):
            rows = list(Memory.objects.for_tenant(tenant.pk).unarchived().filter(source_id=source))
        assert [row.version for row in rows] == [WRITERS]
        assert rows[0].content in texts


def test_memory_that_all_replace_at_once_is_replaced_once(key: str, tenant: Tenant) -> None:
    for number in range(ROUNDS):
        older = api_client(key).post(MEMORIES, {"content": f"Round {number}: Alex lives in Lisbon."}).json()
        texts = [f"Round {number}: Alex lives in house {writer}." for writer in range(WRITERS)]
        answers = answers_of(key, [create(text, supersedes=[older["id"]]) for text in texts])
        codes = Counter(answer.status_code for answer in answers)
        assert codes[201] == 1
        assert codes[201] + codes[400] + codes[409] == WRITERS
        assert sum(len(live_rows(tenant, text)) for text in texts) == 1
        with tenant_scope(tenant.pk):
            assert MemoryLink.objects.for_tenant(tenant.pk).to_memory(older["id"]).count() == 1


@pytest.mark.parametrize("action", ["move", "undo"])
def test_action_on_many_rows_that_ends_in_a_deadlock_is_repeated(
    tenant: Tenant, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = api_client(new_key(tenant, "read", "write"))
    memory = make_memory(tenant, "Alex keeps a greyhound.")
    act = client.post("/api/v1/memories/move", {"ids": [memory.pk], "to": "user=kim"}).json()["act_id"]
    module, name, path, body = {
        "move": (moves, "move_memories", "memories/move", {"ids": [memory.pk], "to": "user=alex"}),
        "undo": (hygiene_api, "undo_hygiene", f"acts/{act}/undo", {}),
    }[action]
    run, deadlocks = getattr(module, name), [DeadlockDetected("deadlock detected")]

    def deadlock_then_run(**values: Any) -> Any:
        if deadlocks:
            raise OperationalError from deadlocks.pop()
        return run(**values)

    monkeypatch.setattr(module, name, deadlock_then_run)
    response = client.post(f"/api/v1/{path}", body)
    assert response.status_code == 200, response.content
    assert deadlocks == []
