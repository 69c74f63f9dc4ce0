"""Two profiles compared on one query: the page, its fragment, what it refuses, and that it changes nothing."""

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from context.profiles.budget_profiles import current_budget_profile
from context.services.profiles.scoring_profiles import ADR_0040
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.evaluation_helpers import counted_rows
from tests.integration.page_helpers import (
    HTMX,
    client_of,
    make_bakery_memories,
    page,
    store_memories_for_pages,
    text_of,
)
from tests.integration.scoring_helpers import new_version

QUESTION = "What does ERR_4012 mean?"
#: Settings that reverse the order of the default: only frequent use counts.
ONLY_CONFIDENCE = {**ADR_0040.to_numbers(), "weights": {"confidence": 1.0}}


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


def compare(client: Client, tenant: Tenant, headers: Any = None, **options: Any) -> Any:
    """Return the page with its result, as without JavaScript."""
    return client.get(f"{page('context-compare', tenant)}?{urlencode(options | {'whole': 1})}", headers=headers or {})


def test_both_contexts_are_shown_side_by_side_with_lines_and_a_table(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    store_memories_for_pages(tenant, ("The sun rises over the harbour.", "agent=support", "fact"), confidence=1.0)
    new_version(tenant, "sure", numbers=ONLY_CONFIDENCE)
    before = counted_rows()
    response = compare(client, tenant, query=QUESTION, max_tokens=90, left="adr-0040", right="sure@1")
    shown = " ".join(text_of(response).split())
    pair = response.context["pair"]
    assert pair.before.context.profile["name"] == "adr-0040"
    assert pair.after.context.profile == {"name": "sure", "version": 1}
    assert response.context["counts"]["in"]
    assert response.context["counts"]["out"]
    assert shown.count('<g class="slope-') == len(pair.rows)
    assert shown.count('<td class="memory-cell">') == len(pair.rows)
    for words in (
        "adr-0040 version 1",
        "sure version 1",
        "Sum of scores",
        "As a table",
        "overlap",
        "slope-in",
        "slope-out",
        "added",
    ):
        assert words in shown, words
    assert counted_rows() == before


def test_rows_of_both_contexts_are_read_with_one_query_and_escaped(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    store_memories_for_pages(tenant, ("<b>ERR_4012</b> {text} means {0}.", "agent=support", "fact"), confidence=1.0)
    new_version(tenant, "sure", numbers=ONLY_CONFIDENCE)
    with CaptureQueriesContext(connection) as queries:
        response = compare(client, tenant, HTMX, query=QUESTION, max_tokens=90, left="adr-0040", right="sure@1")
    assert "&lt;b&gt;ERR_4012&lt;/b&gt; {text} means {0}." in text_of(response)
    rows = [query["sql"] for query in queries if query["sql"].startswith('SELECT "memories_memory"."kind"')]
    assert len(rows) == 1


def test_a_long_table_is_loaded_when_it_is_opened(client: Client, tenant: Tenant) -> None:
    for number in range(30):
        row = (
            f"ERR_4012 was seen {number} times" + " by the night shift" * (number % 5) + ".",
            "agent=support",
            "fact",
        )
        store_memories_for_pages(tenant, row, confidence=(number * 7 % 30) / 30)
    new_version(tenant, "sure", numbers=ONLY_CONFIDENCE)
    sides = {"query": QUESTION, "max_tokens": 4000, "left": "adr-0040", "right": "sure@1"}
    closed, opened = (compare(client, tenant, HTMX, **sides, **more) for more in ({}, {"table": 1}))
    shown = len(closed.context["shown_rows"])
    assert shown >= 13
    cells = [
        text_of(each).count('<td class="memory-cell">') for each in (closed, opened, compare(client, tenant, **sides))
    ]
    folded = len(closed.context["folded_rows"])
    assert cells == [folded, folded + shown, folded + shown]
    assert 'table=1" hx-trigger="toggle once"' in text_of(closed)
    assert "toggle once" not in text_of(opened)


def test_sides_default_to_the_workbench_run_and_another_profile(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    response = compare(
        client, tenant, query=QUESTION, profile="conversation-recall", packer="elastic", before="query=x"
    )
    pair = response.context["pair"]
    assert pair.before.context.profile["name"] == "conversation-recall"
    assert pair.after.context.profile["name"] == "adr-0040"
    assert {side.context.request["packer"] for side in (pair.before, pair.after)} == {"elastic"}
    assert dict(response.context["kept"]) == {"packer": "elastic"}
    assert "profile=conversation-recall" in response.context["open_left"]
    assert "packer=elastic" in response.context["open_right"]
    assert compare(client, tenant, query=QUESTION).context["pair"].before.context.profile["name"] == "adr-0040"


def test_older_version_stays_chosen_in_the_form(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    new_version(tenant, "own")
    new_version(tenant, "own", 2)
    shown = text_of(compare(client, tenant, query=QUESTION, left="own@1", right="own"))
    assert '<option value="own@1" selected>own version 1</option>' in shown
    assert '<option value="own" selected>own</option>' in shown


def test_budget_profiles_are_compared_as_well(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    client.post(page("budget-create", tenant), {"name": "short"})
    client.post(page("budget", tenant, "short"), {"default_tokens": 60, "edited_from": 1})
    with tenant_scope(tenant.pk):
        assert current_budget_profile(tenant.pk, "short").default_tokens == 60
    response = compare(client, tenant, query=QUESTION, left="adr-0040", right="adr-0040", right_budget="short")
    assert response.context["pair"].tokens < 0
    assert response.context["counts"]["out"]
    assert not response.context["counts"]["in"]


def test_versions_of_a_budget_profile_are_offered_and_compared(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    for version, tokens in enumerate((60, 900)):
        client.post(page("budgets", tenant), {"default_tokens": tokens, "edited_from": version})
    sides = {"left": "adr-0040", "right": "adr-0040", "left_budget": "default@0", "right_budget": "default@1"}
    response = compare(client, tenant, query=QUESTION, **sides)
    contexts = [side.context for side in (response.context["pair"].before, response.context["pair"].after)]
    assert [(each.budget_profile["version"], each.budget.max_tokens) for each in contexts] == [(0, 4000), (1, 60)]
    shown = text_of(response)
    heading = re.search(r'id="sum-title">(.*?)</h2>', shown)
    assert heading is not None
    assert re.sub("<[^>]+>", "", heading[1]) == "default (built-in) against default version 1"
    assert '<option value="default@0" selected>default (built-in)</option>' in shown
    assert '<option value="default@1" selected>default version 1</option>' in shown
    assert "default@2" not in shown, "the active version is offered by its name"
    workbench = client.get(f"{page('context-preview', tenant)}?{response.context['open_right']}&whole=1")
    assert workbench.context["preview"].context.budget.max_tokens == 60
    assert '<option value="default@1" selected>default version 1</option>' in text_of(workbench)
    assert "accepts only active versions" in text_of(workbench)


def test_fragment_is_the_result_alone_and_is_announced_to_screen_readers(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    shown = text_of(compare(client, tenant, HTMX, query=QUESTION, left="adr-0040", right="conversation-recall"))
    assert "<html" not in shown
    assert 'id="live"' in shown
    assert "<form" not in shown


def test_page_without_a_question_requests_one(client: Client, tenant: Tenant) -> None:
    response = client.get(page("context-compare", tenant))
    assert response.status_code == 200
    assert "pair" not in response.context
    assert "Enter a query" in text_of(response)


REFUSED_CHOICES = [
    ({"left": "nobody"}, "left"),
    ({"right": "adr-0040@x"}, "right"),
    ({"right_budget": "nothing"}, "right_budget"),
    ({"left_budget": "nothing"}, "left_budget"),
    ({"left_budget": "default@7"}, "left_budget"),
    ({"right_budget": "default@x"}, "right_budget"),
    ({"max_tokens": "0"}, "max_tokens"),
    ({"partition": "nonsense"}, "partition"),
    ({"as_of": "2999-01-01T00:00"}, "as_of"),
]


def test_refused_choice_is_shown_at_its_field(client: Client, tenant: Tenant) -> None:
    for options, field in REFUSED_CHOICES:
        for headers in ({}, HTMX):
            refused = compare(client, tenant, headers, **{"query": QUESTION, "left": "adr-0040", **options})
            assert refused.status_code == 422
            assert "Comparison not possible" in text_of(refused)
            assert f'href="#id_{field}"' in text_of(refused)


def test_context_in_which_nothing_fits_has_a_warning(client: Client, tenant: Tenant) -> None:
    make_bakery_memories(tenant)
    assert "No block fits on either side" in text_of(compare(client, tenant, query=QUESTION, max_tokens=1))


def test_profile_of_another_tenant_is_not_there(client: Client, tenant: Tenant, other_tenant: Tenant) -> None:
    new_version(other_tenant, "theirs")
    assert compare(client, tenant, query="x", left="theirs").status_code == 422
    assert compare(client, other_tenant, query="x").status_code == 404
    assert Client().get(page("context-compare", tenant)).status_code == 302
    assert client.post(page("context-compare", tenant)).status_code == 405


def test_queries_do_not_grow_with_the_blocks(client: Client, tenant: Tenant) -> None:
    def count(max_tokens: int) -> int:
        with CaptureQueriesContext(connection) as queries:
            response = compare(client, tenant, query=QUESTION, max_tokens=max_tokens, right="conversation-recall")
            assert response.context["pair"].rows
        return len(queries)

    make_bakery_memories(tenant)
    assert count(120) >= count(4000)  # the first one also reads profiles, memo and summaries
