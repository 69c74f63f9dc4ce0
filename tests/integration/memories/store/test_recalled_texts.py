"""Recalled text over HTTP: it is not stored again, and no sentence of another author is lost."""

from typing import Any

import pytest
from django.urls import reverse
from rest_framework.test import APIClient

from memories.models import Tenant
from memories.store.recall import fold_tenant_retrievals
from tests.integration.page_helpers import client_of
from tests.integration.rest_helpers import BULK, CONTEXT, MEMORIES, all_stored_memories, post_memory
from tests.users import User, api_client, new_key

pytestmark = pytest.mark.django_db

SENTENCES = [
    "I am allergic to nuts.",
    "Deploys go out on Tuesdays after 14:00 UTC.",
    "Invoice INV-2041 is due on 3 May 2026.",
    "Ich wohne in der Lindenstraße 4.",
    "The patient takes 5 mg of ramipril every morning.",
]


def receive(client: Any, text: str, **place: str) -> None:
    answer = client.post(CONTEXT, {"query": text, **place}).json()
    assert text in [block["text"] for block in answer["blocks"]]


def send(client: Any, text: str, **place: str) -> tuple[int, str, str]:
    response = client.post(MEMORIES, {"content": text, **place})
    answer = response.json()
    return response.status_code, answer["status"], answer["reason"]


def send_in_bulk(client: Any, *rows: dict[str, Any]) -> list[tuple[str, str]]:
    results = client.post(BULK, {"memories": list(rows)}).json()["results"]
    return [(row["status"], row["reason"]) for row in results]


@pytest.fixture(params=[True, False], ids=["folded", "unfolded"])
def fold(request: pytest.FixtureRequest, tenant: Tenant) -> Any:
    return lambda: request.param and fold_tenant_retrievals(tenant.pk)


@pytest.mark.parametrize("text", SENTENCES)
def test_sentence_of_one_user_is_stored_for_another(api: APIClient, tenant: Tenant, fold: Any, text: str) -> None:
    post_memory(api, text, user_id="u1")
    receive(api, text, partition="user=u1")
    fold()
    assert send(api, text, user_id="u2") == (201, "created", "")
    rows = [{"content": text, "user_id": name} for name in ("u3", "u1", "u2")]
    assert send_in_bulk(api, *rows) == [("created", ""), ("existing", "recalled"), ("existing", "duplicate")]
    assert len(all_stored_memories(tenant)) == 3


def test_create_only_condition_stores_no_recalled_text(api: APIClient, tenant: Tenant, fold: Any) -> None:
    post_memory(api, SENTENCES[0])
    receive(api, SENTENCES[0])
    fold()
    new = {"content": SENTENCES[0], "source_id": "new"}
    answer = api.post(MEMORIES, new, headers={"If-None-Match": "*"})
    assert (answer.status_code, answer.json()["reason"]) == (200, "recalled")
    assert send_in_bulk(api, {**new, "if_version": 0}) == [("existing", "recalled")]
    message = {"role": "user", "content": SENTENCES[0], "source_id": "new", "if_version": 0}
    assert api.post(MEMORIES, {"messages": [message]}).json()["results"][0]["reason"] == "recalled"
    # a required memory is reported as missing
    assert send_in_bulk(api, {**new, "if_version": 1}) == [("invalid", "")]
    assert len(all_stored_memories(tenant)) == 1


def test_sentence_of_one_user_in_a_context_of_all_is_stored_for_another(api: APIClient, fold: Any) -> None:
    post_memory(api, SENTENCES[0], user_id="u1")
    receive(api, SENTENCES[0])
    fold()
    assert send(api, SENTENCES[0], user_id="u2") == (201, "created", "")
    assert send(api, SENTENCES[0], user_id="u1", run_id="2") == (200, "existing", "recalled")


@pytest.mark.parametrize("place", ["agent=a/topic=x", "agent=b", "", "agent=ab", "user=u1"])
def test_sentence_is_stored_outside_the_partition_of_the_context(api: APIClient, fold: Any, place: str) -> None:
    post_memory(api, SENTENCES[1], partition="agent=a/topic=y")
    receive(api, SENTENCES[1], partition="agent=a/topic=y")
    fold()
    assert send(api, SENTENCES[1], partition=place) == (201, "created", "")


def test_sentence_is_not_stored_back_below_the_partition_of_the_context(api: APIClient, fold: Any) -> None:
    post_memory(api, SENTENCES[1], partition="agent=a")
    receive(api, SENTENCES[1], partition="agent=a")
    fold()
    assert send(api, SENTENCES[1].upper(), partition="agent=a/topic=x") == (200, "existing", "recalled")
    row = {"content": SENTENCES[1].upper(), "partition": "agent=a"}
    assert send_in_bulk(api, row, {"content": "Another thing.", "partition": "agent=a"}) == [
        ("existing", "recalled"),
        ("created", ""),
    ]


def test_text_that_another_key_received_is_stored(api: APIClient, tenant: Tenant, fold: Any) -> None:
    post_memory(api, SENTENCES[2], partition="user=u1/run=1")
    receive(api, SENTENCES[2], partition="user=u1")
    fold()
    other = api_client(new_key(tenant, "read", "write"))
    assert send(other, SENTENCES[2], partition="user=u1/run=2") == (201, "created", "")
    assert send(api, SENTENCES[2], partition="user=u1/run=3") == (200, "existing", "recalled")


@pytest.mark.parametrize(
    "place",
    [{"user_id": "u2"}, {"agent_id": "b"}, {"agent_id": "a"}, {"user_id": "u1"}, {"run_id": "1"}, {"partition": ""}],
)
def test_sentence_is_stored_outside_the_ids_of_the_context(api: APIClient, fold: Any, place: dict[str, str]) -> None:
    post_memory(api, SENTENCES[1], user_id="u1", agent_id="a")
    receive(api, SENTENCES[1], user_id="u1", agent_id="a")
    fold()
    assert send(api, SENTENCES[1], **place) == (201, "created", "")
    below = {"user_id": "u1", "agent_id": "a", "run_id": "7"}
    assert send(api, SENTENCES[1], **below) == (200, "existing", "recalled")


def test_key_below_a_prefix_received_for_its_prefix(tenant: Tenant, fold: Any) -> None:
    confined = api_client(new_key(tenant, "read", "write", partition="user=u1"))
    post_memory(confined, SENTENCES[3], partition="user=u1/run=1")
    receive(confined, SENTENCES[3])
    fold()
    assert send(confined, SENTENCES[3], partition="user=u1/run=2") == (200, "existing", "recalled")


def test_what_a_person_sees_in_the_console_swallows_nothing(
    api: APIClient, tenant: Tenant, operator: User, fold: Any
) -> None:
    post_memory(api, SENTENCES[4], partition="user=u1/run=1")
    page = client_of(operator).get(reverse("context-preview", args=[tenant.pk]), {"query": SENTENCES[4]})
    assert page.status_code == 200
    fold()
    assert send(api, SENTENCES[4], partition="user=u1/run=2") == (201, "created", "")


def test_preview_and_past_contexts_swallow_nothing(api: APIClient, fold: Any) -> None:
    post_memory(api, SENTENCES[0], user_id="u1")
    api.post(CONTEXT, {"query": SENTENCES[0], "preview": True})
    fold()
    assert send(api, SENTENCES[0], user_id="u1", run_id="2") == (201, "created", "")


def test_bulk_reports_reasons_for_every_row(api: APIClient) -> None:
    rows: list[Any] = [{"content": "One"}, {"content": "One"}, {"content": " "}, 5]
    results = api.post(BULK, {"memories": rows}).json()["results"]
    assert [(row["status"], row["reason"]) for row in results] == [
        ("created", ""),
        ("existing", "duplicate"),
        ("invalid", ""),
        ("invalid", ""),
    ]
