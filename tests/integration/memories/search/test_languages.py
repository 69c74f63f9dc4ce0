"""The language of a tenant: chosen at creation, changed later, with correct searches at all times."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories import tasks
from memories.models import AuditEntry, CommonLexeme, Memory, MemoryVersion, Tenant
from memories.partitions.maintenance import fold_partition_counts
from memories.search import languages, retrievers
from memories.search.actions import set_tenant_language
from memories.search.queries.lexemes import query_lexemes_in_scope, tenant_query_lexemes
from memories.services.search import planner
from memories.services.store.drafts import NewMemory
from memories.services.store.moments import PointInTime
from memories.store.actions.edit import update_memory
from memories.store.actions.store import store_memories
from memories.store.search_scope import SearchScope
from memories.tenancy.actions.tenants import create_tenant
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.queries.languages import text_search_configs
from memories.tenancy.scopes import admin_write_scope, tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_memory
from tests.integration.memories.search_helpers import retrieve_for_test
from tests.users import User, new_operator

pytestmark = pytest.mark.django_db


def german_tenant() -> Tenant:
    with admin_write_scope():
        return create_tenant(name="Globus", language="german", by=TESTER, now=FACTORY_NOW)


def change_language(tenant: Tenant, language: str, now: datetime | None = None) -> Tenant:
    with admin_write_scope():
        return set_tenant_language(tenant=tenant, language=language, by=TESTER, now=now or timezone.now())


def found(tenant: Tenant, query: str, **options: Any) -> list[str]:
    values: dict[str, Any] = {"now": FACTORY_NOW, "token_budget": 4000, "overfetch_ratio": 1.25, "mode": "lexical"}
    answer = retrieve_for_test(tenant, query, **values | options)
    return sorted(candidate.content for candidate in answer.candidates)


def reread(tenant: Tenant) -> Tenant:
    with tenant_scope(tenant.pk):
        return Tenant.objects.get(pk=tenant.pk)


def languages_of(tenant: Tenant) -> set[str]:
    with tenant_scope(tenant.pk):
        return {
            config
            for model in (Memory, MemoryVersion)
            for config in model.objects.for_tenant(tenant.pk).values_list("search_config", flat=True)
        }


def test_words_are_cut_in_the_language_of_the_tenant(tenant: Tenant) -> None:
    german = german_tenant()
    for one in (tenant, german):
        make_memory(one, "Die Häuser gehören den Nachbarn")
    assert found(german, "Haus Nachbar") == ["Die Häuser gehören den Nachbarn"]
    assert found(tenant, "Haus") == []
    with tenant_scope(german.pk):
        assert query_lexemes_in_scope("die Häuser") == ["haus"]
    # what one language drops is a word of another
    assert found(german, "die") == ["Die Häuser gehören den Nachbarn"]


def test_simple_is_a_language_without_endings_and_stop_words(tenant: Tenant) -> None:
    simple = change_language(tenant, "simple")
    make_memory(simple, "the dogs")
    assert (found(simple, "dog"), found(simple, "the")) == ([], ["the dogs"])


def test_change_is_searched_correctly_before_during_and_after(tenant: Tenant) -> None:
    memory = make_memory(tenant, "Die Häuser gehören den Nachbarn")
    with tenant_scope(tenant.pk):
        update_memory(memory=memory, changes={"pinned": True}, by=TESTER, now=FACTORY_NOW)
    make_memory(tenant, "Her houses are old")
    changed = change_language(tenant, "german")
    assert (changed.text_search_config, changed.former_text_search_configs) == ("german", ["english"])
    make_memory(tenant, "Zwei alte Häuser stehen leer")
    # rows of both languages are stored next to each other
    assert languages_of(tenant) == {"english", "german"}
    assert found(tenant, "house") == ["Her houses are old"]
    assert found(tenant, "Haus") == ["Zwei alte Häuser stehen leer"]
    assert languages.rederive_search_columns(tenant.pk) == 3
    assert languages_of(tenant) == {"german"}
    assert found(tenant, "Haus") == ["Die Häuser gehören den Nachbarn", "Zwei alte Häuser stehen leer"]
    assert languages.rederive_search_columns(tenant.pk) == 0


def test_former_languages_are_queried_until_no_writer_can_use_them(tenant: Tenant) -> None:
    now = timezone.now()
    change_language(tenant, "french", now)
    change_language(tenant, "german", now)
    change_language(tenant, "german", now + timedelta(hours=5))
    assert reread(tenant).former_text_search_configs == ["english", "french"]
    assert languages.drop_former_languages_of_tenants(now=now + languages.FORMER_LANGUAGE_QUERIED_FOR) == 0
    assert (
        languages.drop_former_languages_of_tenants(
            now=now + languages.FORMER_LANGUAGE_QUERIED_FOR + timedelta(seconds=1)
        )
        == 1
    )
    assert reread(tenant).former_text_search_configs == []
    assert languages.drop_former_languages_of_tenants(now=now + timedelta(days=1)) == 0


def test_sweep_derives_what_a_killed_worker_left(tenant: Tenant) -> None:
    make_memory(tenant, "Häuser")
    change_language(tenant, "german", timezone.now() - timedelta(hours=1))
    tasks.sweep_languages()
    assert (languages_of(tenant), reread(tenant).former_text_search_configs) == ({"german"}, [])


def test_many_rows_are_derived_in_batches(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "DERIVED_BATCH", 4)
    with tenant_scope(tenant.pk):
        rows = [NewMemory(f"Haus {number}") for number in range(10)]
        store_memories(tenant=tenant, rows=rows, by=TESTER, now=FACTORY_NOW)
    change_language(tenant, "german")
    assert tasks.rederive_search_columns_task(str(tenant.pk)) == 10
    assert len(found(tenant, "Häuser")) == 10


def test_language_must_be_supported_by_postgres(tenant: Tenant) -> None:
    assert {"simple", "english", "german", "russian"} <= set(text_search_configs())
    for language in ("klingon", "", "english'", "pg_catalog.english"):
        with pytest.raises(InvalidInput) as refusal:
            change_language(tenant, language)
        assert (refusal.value.code, refusal.value.field) == ("invalid_choice", "language")
    with pytest.raises(CommandError, match="The language must be one of arabic"):
        call_command("create_tenant", "acme", language="klingon")


def test_command_makes_a_tenant_of_a_language() -> None:
    call_command("create_tenant", "acme", language="spanish")
    with admin_write_scope():
        assert Tenant.objects.named("acme").get().text_search_config == "spanish"


def test_admin_chooses_and_changes_the_language(tenant: Tenant) -> None:
    client = Client()
    client.force_login(new_operator("ada", "admin", tenant))
    make_memory(tenant, "Häuser")
    url = reverse("admin:memories_tenant_change", args=[tenant.pk])
    assert '<option value="english" selected>' in client.get(url).content.decode()
    assert client.post(url, {"text_search_config": "german", "name": "renamed"}).status_code == 302
    changed = reread(tenant)
    assert (changed.text_search_config, changed.name) == ("german", tenant.name)
    with tenant_scope(tenant.pk):
        assert AuditEntry.objects.for_tenant(tenant.pk).filter(verb="set_language").count() == 1
    client.post(url, {"text_search_config": "klingon"})
    assert reread(tenant).text_search_config == "german"
    client.force_login(User.objects.create_superuser("root", password="unused"))
    client.post(reverse("admin:memories_tenant_add"), {"name": "Initech", "text_search_config": "french"})
    with admin_write_scope():
        assert Tenant.objects.named("Initech").get().text_search_config == "french"


def test_admin_list_searches_tenants_in_their_own_languages(tenant: Tenant) -> None:
    german = german_tenant()
    make_memory(tenant, "two houses")
    make_memory(german, "zwei Häuser")
    client = Client()
    client.force_login(new_operator("ada", "admin", tenant, german))
    for query, content in (("house", "two houses"), ("Haus", "zwei Häuser")):
        shown = client.get(reverse("admin:memories_memory_changelist"), {"q": query}).content.decode()
        assert content in shown


# --- Common words --------------------------------------------------------------------------------------------------


@pytest.fixture
def large_tenant(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> Tenant:
    """60 memories with the word `project`, 30 of these with `budget`, one with `zebra`; 10 rows exceed the limit."""
    monkeypatch.setattr(planner, "MATCHED_ROWS_MAX", 10)
    monkeypatch.setattr(retrievers, "ALL_WORDS_ROWS", 10)
    monkeypatch.setattr(planner, "NEWEST_ROWS", 5)
    monkeypatch.setattr("memories.search.queries.lexemes.COMMON_ROWS_MIN", 8)
    rows = [
        NewMemory(
            f"project {'budget' if number % 2 else 'plan'} {number}", created_at=FACTORY_NOW - timedelta(hours=number)
        )
        for number in range(60)
    ]
    with tenant_scope(tenant.pk):
        store_memories(tenant=tenant, rows=[*rows, NewMemory("a zebra project")], by=TESTER, now=FACTORY_NOW)
    languages.count_common_lexemes_of_tenants()
    return tenant


def test_common_words_are_counted_per_tenant(large_tenant: Tenant, other_tenant: Tenant) -> None:
    with tenant_scope(large_tenant.pk):
        rows = CommonLexeme.objects.for_tenant(large_tenant.pk).values_list("lexeme", "rows")
        assert dict(rows) == {
            "project": 61,
            "budget": 30,
            "plan": 30,
        }
        assert tenant_query_lexemes(large_tenant.pk, "zebra projects") == {"project": 61, "zebra": 0}
    with tenant_scope(other_tenant.pk):
        assert tenant_query_lexemes(other_tenant.pk, "zebra projects") == {"project": 0, "zebra": 0}
    assert languages.recount_common_lexemes(large_tenant.pk) == 3
    assert languages.recount_common_lexemes(other_tenant.pk) == 0


def test_common_words_are_counted_when_a_large_tenant_has_doubled(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memories.partitions.maintenance.ALL_WORDS_ROWS", 10)
    monkeypatch.setattr("memories.search.queries.lexemes.COMMON_ROWS_MIN", 8)
    counted = []
    for rows in (9, 15, 19, 20):
        with tenant_scope(tenant.pk):
            present = Memory.objects.for_tenant(tenant.pk).count()
            added = [NewMemory(f"project {number}") for number in range(present, rows)]
            store_memories(tenant=tenant, rows=added, by=TESTER, now=FACTORY_NOW)
        fold_partition_counts()
        with tenant_scope(tenant.pk):
            counted.append(tenant_query_lexemes(tenant.pk, "project")["project"])
    assert counted == [0, 15, 15, 20]


def test_common_word_ranks_but_does_not_match(large_tenant: Tenant) -> None:
    make_memory(large_tenant, "zebra alone")
    assert found(large_tenant, "zebra project") == ["a zebra project", "zebra alone"]
    answer = retrieve_for_test(
        large_tenant,
        "zebra project",
        mode="lexical",
        now=FACTORY_NOW,
        token_budget=4000,
        overfetch_ratio=1.0,
    )
    assert [row.content for row in answer.candidates] == ["a zebra project", "zebra alone"]
    assert {key: answer.plan["lexical"][key] for key in ("lexemes", "matched")} == {"lexemes": 2, "matched": 1}


def test_query_of_common_words_alone_finds_the_newest(large_tenant: Tenant) -> None:
    newest = ["a zebra project", "project budget 1", "project budget 3", "project plan 0", "project plan 2"]
    assert found(large_tenant, "budget project") == newest
    assert found(large_tenant, "budget") == ["project budget 1", "project budget 3"]


def test_small_scope_is_matched_by_every_word(large_tenant: Tenant) -> None:
    for number in range(3):
        make_memory(large_tenant, f"project in a corner {number}", partition="user=ann")
    make_memory(large_tenant, "zebra in a corner", partition="user=ann")
    assert len(found(large_tenant, "zebra project", partition="user=ann")) == 4
    with tenant_scope(large_tenant.pk):
        scope = SearchScope(large_tenant.pk, "user=ann", PointInTime.now(FACTORY_NOW))
        assert not retrievers.build_text_query(
            scope, tenant_query_lexemes(scope.tenant_id, "zebra project")
        ).has_dropped


def test_counting_again_drops_words_that_became_rare(large_tenant: Tenant) -> None:
    with tenant_scope(large_tenant.pk):
        Memory.objects.for_tenant(large_tenant.pk).filter(content__contains="budget").update(archived_at=FACTORY_NOW)
    tasks.count_common_lexemes_task()
    with tenant_scope(large_tenant.pk):
        rows = CommonLexeme.objects.for_tenant(large_tenant.pk).values_list("lexeme", "rows")
        assert dict(rows) == {
            "project": 31,
            "plan": 30,
        }
