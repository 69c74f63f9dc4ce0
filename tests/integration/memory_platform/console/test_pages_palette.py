"""What the command palette lists for each role, and that the list is bounded."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from memory_platform.console import palette
from memory_platform.console.global_search import SHOWN_MAX
from tests.factories import make_key, make_memory
from tests.integration.page_helpers import HTMX, client_of, page, text_of
from tests.sessions import new_message, new_session
from tests.users import new_operator

pytestmark = pytest.mark.django_db


def say(tenant: Tenant, text: str) -> None:
    with tenant_scope(tenant.pk):
        new_message(new_session(tenant), content=text)


def groups(user: User, tenant: Tenant, text: str = "", name: str = "palette") -> dict[str, list[str]]:
    response: Any = client_of(user).get(page(name, tenant), {"q": text}, headers=HTMX if name == "palette" else None)
    return {group.title: [hit.text for hit in group.hits] for group in response.context["groups"]}


def test_without_text_it_lists_the_actions_and_pages_of_the_role(tenant: Tenant, operator: User) -> None:
    admin, viewer = new_operator("ada", "admin", tenant), new_operator("vera", "viewer", tenant)
    assert list(groups(operator, tenant)) == ["Actions", "Pages"]
    assert "Add memory" in groups(operator, tenant)["Actions"]
    assert "New API key" not in groups(operator, tenant)["Actions"]
    assert "New API key" in groups(admin, tenant)["Actions"]
    assert "Add memory" not in groups(viewer, tenant)["Actions"]
    assert {"Prompt", "Erasures"} & set(groups(viewer, tenant)["Pages"]) == set()


def test_every_word_of_the_text_begins_a_word_of_a_name_or_its_group(tenant: Tenant, operator: User) -> None:
    assert groups(operator, tenant, "LOG con")["Pages"] == ["Context log"]
    assert "Snapshots" in groups(operator, tenant, "memory snap")["Pages"]
    assert groups(operator, tenant, "review")["Pages"] == ["Reviews"]
    assert "Actions" not in groups(operator, tenant, "review")
    assert groups(operator, tenant, "two-factor")["Pages"] == ["Two-factor sign-in"]


def test_actions_are_found_by_other_words_too(tenant: Tenant, operator: User) -> None:
    assert groups(operator, tenant, "new memory")["Actions"] == ["Add memory"]
    assert groups(operator, tenant, "create gold")["Actions"] == ["New golden question"]
    assert groups(operator, tenant, "compact")["Actions"] == ["Compact a session"]


def test_a_word_may_begin_with_a_sign(tenant: Tenant, operator: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(palette, "COMMANDS", [palette.Command("Import (CSV)", "memories")])
    assert groups(operator, tenant, "(csv")["Actions"] == ["Import (CSV)"]
    assert "Actions" not in groups(operator, tenant, "mport")


def test_it_finds_five_of_each_kind_of_row_by_text(tenant: Tenant) -> None:
    admin = new_operator("ada", "admin", tenant)
    for number in range(SHOWN_MAX + 1):
        make_memory(tenant, f"The torque sensor {number} is wet.")
        make_key(tenant)
        say(tenant, f"Which torque test key {number}?")
    found = groups(admin, tenant, "torque")
    assert (len(found["Memories"]), len(found["Sessions"])) == (SHOWN_MAX, SHOWN_MAX)
    for name in ("palette", "search"):
        assert groups(admin, tenant, "test key", name)["API keys"] == ["test key"] * SHOWN_MAX


def test_only_admins_find_keys_and_no_one_finds_rows_of_another_tenant(
    tenant: Tenant, other_tenant: Tenant, operator: User
) -> None:
    make_key(tenant)
    make_memory(other_tenant, "The torque sensor is wet.")
    say(other_tenant, "torque")
    for name in ("palette", "search"):
        assert groups(operator, tenant, "test key", name) == {}
    assert groups(operator, tenant, "torque") == {}


def test_search_without_results_shows_a_note_and_without_htmx_the_whole_page(tenant: Tenant, operator: User) -> None:
    client = client_of(operator)
    assert "No results." in text_of(client.get(page("palette", tenant), {"q": "zeppelin"}, headers=HTMX))
    assert client.get(page("palette", tenant), {"q": "a b"}).headers["Location"].endswith("/search?q=a+b")


def test_queries_do_not_grow_with_the_rows(tenant: Tenant) -> None:
    admin = new_operator("ada", "admin", tenant)

    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            groups(admin, tenant, "torque")
        return len(queries)

    for _ in range(2):
        make_memory(tenant, "The torque sensor is wet.")
    few = count()
    for number in range(4):
        make_memory(tenant, f"The torque sensor {number} is wet.")
        say(tenant, "torque")
    assert count() <= few
