"""The page that explains a memory: the explanation, and the actions that change it, each with its undo."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict
from django.test import Client

from context.models import GoldenQuestion, Receipt
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.console_pages import with_result_address
from tests.integration.context_helpers import CONTEXT_NOW, new_row, store
from tests.integration.page_helpers import as_stored, client_of, make_bakery_memories, page, text_of, undo_of
from tests.users import new_operator

QUESTION = "What does ERR_4012 mean?"


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


def explain(client: Client, tenant: Tenant, **inputs: Any) -> Any:
    return client.get(with_result_address(f"{page('context-explain', tenant)}?{urlencode(inputs)}"))


def test_page_explains_any_memory_and_offers_what_changes_it(client: Client, tenant: Tenant) -> None:
    memories = make_bakery_memories(tenant)
    inputs = {"query": QUESTION, "partition": "agent=service", "max_tokens": 400, "memory": memories[2].pk}
    response = explain(client, tenant, **inputs)
    assert "The memory is in agent=support, which the context does not search." in text_of(response)
    done = client.post(page("context-explain", tenant), inputs | {"action": "move", "to": "agent=service"}, follow=True)
    assert as_stored(memories[2]).partition_path == "agent=service"
    assert "Moved to agent=service." in text_of(done)
    assert explain(client, tenant, **inputs).context["explanation"].is_included
    client.post(undo_of(done))
    assert as_stored(memories[2]).partition_path == "agent=support"


def test_pin_and_mark_as_expected_lead_back_to_the_explanation(client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[4]
    inputs = {"query": QUESTION, "max_tokens": 60, "memory": memory.pk}
    done = client.post(page("context-explain", tenant), inputs | {"action": "pin"}, follow=True)
    assert as_stored(memory).pinned
    assert done.context["form"]["query"].value() == QUESTION
    client.post(undo_of(done))
    assert not as_stored(memory).pinned
    client.post(page("context-explain", tenant), inputs | {"action": "expect"})
    with tenant_scope(tenant.pk):
        (question,) = GoldenQuestion.objects.for_tenant(tenant.pk)
        assert [row.memory_id for row in question.evidence.all()] == [memory.pk]
    assert "In the golden question" in text_of(explain(client, tenant, **inputs))


def test_memory_that_does_not_fit_can_be_moved_and_one_elsewhere_is_moved_at_once(
    client: Client, tenant: Tenant
) -> None:
    memories = make_bakery_memories(tenant)
    inputs = {"query": QUESTION, "partition": "agent=service", "max_tokens": 1}
    unfit = explain(client, tenant, memory=memories[0].pk, **inputs)
    assert unfit.context["explanation"].reason in {"over_budget", "farther", "after_skip_limit"}
    move = f"{page('memories-bulk', tenant)}?action=move&id={memories[0].pk}"
    assert move.replace("&", "&amp;") in unfit.content.decode()
    assert "Move 1 memory?" in text_of(client.get(move))
    elsewhere = text_of(explain(client, tenant, memory=memories[2].pk, **inputs))
    assert "Move to agent=service" in elsewhere
    assert "action=move" not in elsewhere
    assert 'value="pin"' in unfit.content.decode()
    assert 'value="pin"' not in elsewhere, "pinned memories of other partitions are not read either"


def test_pages_show_what_superseded_a_memory_and_when(client: Client, tenant: Tenant) -> None:
    old, new = "Guest wifi password: copper-heron-52.", "New guest wifi password, it is now granite-otter-81."
    days = (CONTEXT_NOW - timedelta(days=300), CONTEXT_NOW - timedelta(days=200))
    memories = store(tenant, [new_row(text, created_at=at) for text, at in zip((old, new), days, strict=True)])
    inputs = {"query": "What is the guest wifi password?", "profile": "recall"}
    shown = explain(client, tenant, memory=memories[0].pk, **inputs)
    assert shown.context["explanation"].successor == memories[1]
    sentence = f"A memory of {days[1].day} {days[1]:%B %Y} superseded it."
    assert sentence in text_of(shown)
    assert page("memory", tenant, memories[1].pk) in shown.content.decode()
    other = explain(client, tenant, memory=memories[1].pk, **inputs)
    assert "superseded it" not in text_of(other)
    preview = client.get(with_result_address(f"{page('context-preview', tenant)}?{urlencode(inputs)}"))
    (row,) = [row for row in preview.context["preview"].included if row.successor]
    assert (row.memory, row.successor) == tuple(memories)
    assert f'superseded by <a href="{page("memory", tenant, memories[1].pk)}">' in text_of(preview)


def test_words_find_memories_and_a_missing_query_is_requested(client: Client, tenant: Tenant) -> None:
    memory = make_bakery_memories(tenant)[3]
    found = explain(client, tenant, query=QUESTION, memory="Brodersen")
    assert [row.pk for row, _ in found.context["found"]] == [memory.pk]
    assert "Enter a query" in text_of(explain(client, tenant, memory=memory.pk))
    assert explain(client, tenant, query=QUESTION, memory="00000000-0000-4000-8000-000000000000").status_code == 422
    assert client.post(page("context-explain", tenant), {"memory": memory.pk, "action": "x"}).status_code == 404


def test_viewer_reads_and_changes_nothing(tenant: Tenant) -> None:
    memory, viewer = make_bakery_memories(tenant)[0], client_of(new_operator("vera", "viewer", tenant))
    inputs = {"query": QUESTION, "memory": memory.pk}
    answer = explain(viewer, tenant, **inputs)
    assert "Mark as expected" not in text_of(answer)
    assert viewer.post(page("context-explain", tenant), inputs | {"action": "pin"}).status_code == 403


def test_page_of_a_memory_counts_where_it_was_excluded_and_why(client: Client, tenant: Tenant, api: Any) -> None:
    memories = make_bakery_memories(tenant)
    for budget in (60, 60, 800):
        api.post("/api/v1/context", {"query": QUESTION, "max_tokens": budget})
    with tenant_scope(tenant.pk):
        rows = list(Receipt.objects.for_tenant(tenant.pk))
    for memory in memories:
        use = client.get(page("memory-votes", tenant, memory.pk)).context["use"]
        included = sum(memory.pk in row.memory_ids for row in rows)
        assert (use.included, use.outcomes.get("kept", 0), use.searched) == (included, included, 3)
        assert use.excluded + use.not_considered + included == 3
        assert sum(count for _, count in use.reasons) == use.excluded == len(use.excluding)


def test_explain_now_repeats_all_inputs_of_the_context(client: Client, tenant: Tenant, api: Any) -> None:
    excluded = make_bakery_memories(tenant)[4]
    inputs = {"query": QUESTION, "max_tokens": 60, "packer": "optimal", "profile": "recall"}
    assert api.post("/api/v1/context", inputs).status_code == 200
    answer = client.get(page("memory-votes", tenant, excluded.pk))
    ((_, _, query),) = answer.context["excluding"]
    assert {name: str(value) for name, value in inputs.items()}.items() <= QueryDict(query).dict().items()
    assert f'?{query.replace("&", "&amp;")}&amp;memory={excluded.pk}">Explain now' in text_of(answer)
