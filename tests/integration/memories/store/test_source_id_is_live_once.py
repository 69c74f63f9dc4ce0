"""A `source_id` has one live memory in a partition, also after restores, moves, undos and concurrent requests."""

import pytest
from rest_framework.test import APIClient

from memories.models import Tenant
from tests.concurrency import run_concurrently
from tests.integration.rest_helpers import MEMORIES, all_stored_memories, assert_problem, post_memory
from tests.users import api_client

pytestmark = pytest.mark.django_db


def test_restore_beside_a_live_memory_of_the_source(api: APIClient) -> None:
    old = post_memory(api, "The door code is 4711.", source_id="doc-1")
    api.delete(f"{MEMORIES}/{old['id']}")
    post_memory(api, "The door code is 1174.", source_id="doc-1")
    assert_problem(api.post(f"{MEMORIES}/{old['id']}/restore"), 409, "source_taken", "source_id")


def test_change_into_a_partition_that_has_the_source(api: APIClient) -> None:
    post_memory(api, "The door code is 4711.", source_id="doc-1")
    other = post_memory(api, "The door code is 1174.", source_id="doc-1", partition="user=u1")
    assert_problem(api.patch(f"{MEMORIES}/{other['id']}", {"partition": ""}), 409, "source_taken", "source_id")
    unnamed = post_memory(api, "The gate is green.")
    assert_problem(api.patch(f"{MEMORIES}/{unnamed['id']}", {"source_id": "doc-1"}), 409, "source_taken", "source_id")
    assert api.patch(f"{MEMORIES}/{other['id']}", {"source_id": "doc-2", "partition": ""}).status_code == 200


def test_undone_move_to_a_partition_that_has_the_source_again(api: APIClient, tenant: Tenant) -> None:
    moved = post_memory(api, "The door code is 4711.", source_id="doc-1")
    act = api.post(f"{MEMORIES}/move", {"ids": [moved["id"]], "to": "user=u1"}).json()["act_id"]
    post_memory(api, "The door code is 1174.", source_id="doc-1")
    assert_problem(api.post(f"/api/v1/acts/{act}/undo"), 409, "source_taken", "source_id")
    assert [row.partition_path for row in all_stored_memories(tenant)] == ["", "user=u1"]


@pytest.mark.django_db(transaction=True)
def test_restore_while_the_source_gets_the_same_text(tenant: Tenant, api_key: str) -> None:
    """Either order is possible; neither is a server error, and one memory is live."""
    api = api_client(api_key)
    for number in range(5):
        fields = {"source_id": f"doc-{number}"}
        old = post_memory(api, f"Text {number}.", **fields)
        api.delete(f"{MEMORIES}/{old['id']}")
        post_memory(api, f"Other text {number}.", **fields)
        calls = [
            lambda old=old: api_client(api_key).post(f"{MEMORIES}/{old['id']}/restore"),
            lambda number=number, fields=fields: api_client(api_key).post(
                MEMORIES, {"content": f"Text {number}.", **fields}
            ),
        ]
        assert {response.status_code for response in run_concurrently(calls)} <= {200, 409}
    live = [row.source_id for row in all_stored_memories(tenant) if row.archived_at is None]
    assert sorted(live) == [f"doc-{number}" for number in range(5)]
