"""The rows that control contexts are cached, and no process uses a replaced row (ADR-0116)."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from context.assembly import sources
from context.assembly.settings_cache import SettingsCache
from context.models import BudgetProfile
from context.profiles.actions.budget_profiles import save_budget_profile
from memories.models import ApiKey, EmbeddingModel, Tenant
from memories.partitions.actions import save_summary, set_tenant_memo
from memories.services.partitions.paths import parse_partition
from memories.tenancy.scopes import admin_write_scope, authentication_scope, tenant_scope
from tests.integration.context_helpers import CONTEXT_NOW, SYSTEM, bakery, make_empty_tenant
from tests.users import api_client, new_key

pytestmark = pytest.mark.django_db

BODY = {"query": "What flour does Alex like?", "partition": "user=alex", "include_summaries_at": [0]}


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Run the code as if in the process with this number: each has its own cache."""
    caches = [SettingsCache(), SettingsCache()]
    return lambda number: monkeypatch.setattr(sources, "settings_cache", caches[number])


def revision(tenant: Tenant) -> int:
    with authentication_scope():
        return Tenant.objects.get(pk=tenant.pk).settings_revision


def change_memo(tenant: Tenant) -> None:
    set_tenant_memo(tenant=tenant, content="You help in a mill.", by=SYSTEM, now=CONTEXT_NOW)


def change_summary(tenant: Tenant) -> None:
    partition, style = parse_partition("user=alex"), "compact"
    text = {"content": "All about Alex.", "origin": "operator"}
    save_summary(tenant=tenant, partition=partition, style=style, **text, by=SYSTEM, now=CONTEXT_NOW)


def change_budget(tenant: Tenant) -> None:
    changes = {"default_tokens": 60}
    save_budget_profile(tenant_id=tenant.pk, changes=changes, edited_from=0, by=SYSTEM, now=CONTEXT_NOW)


CHANGES = [change_memo, change_summary, change_budget]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_shows_in_the_next_context_of_every_process(
    change: Callable[[Tenant], None], processes: Callable[[int], None]
) -> None:
    tenant = bakery()
    client = api_client(new_key(tenant, "read", "write"))

    def answers() -> list[Any]:
        found = []
        for number in (0, 1):
            processes(number)
            answer = client.post("/api/v1/context", BODY).json()
            found.append((answer["budget"]["max_tokens"], [block["text"] for block in answer["blocks"]]))
        return found

    before = answers()
    assert before[0] == before[1] == answers()[0]
    processes(0)
    with tenant_scope(tenant.pk):
        change(tenant)
    after = answers()
    assert after[0] == after[1] != before[0]


def test_a_repeated_context_reads_no_settings_again(processes: Callable[[int], None]) -> None:
    tenant = bakery()
    client = api_client(new_key(tenant, "read", "write"))
    processes(0)
    client.post("/api/v1/context", BODY)
    with CaptureQueriesContext(connection) as captured:
        assert client.post("/api/v1/context", BODY).status_code == 200
    asked = "\n".join(query["sql"] for query in captured if query["sql"].startswith("SELECT"))
    for table in ("budgetprofile", "scoringprofile", "tenantmemo", "embeddingmodel", "partitionsummary"):
        assert table not in asked


def test_each_statement_on_a_settings_table_is_counted_for_its_tenant_alone() -> None:
    tenant, other = bakery(), make_empty_tenant()
    counts = [revision(other)]
    for change in CHANGES:
        before = revision(tenant)
        with tenant_scope(tenant.pk):
            change(tenant)
        assert revision(tenant) > before
    before = revision(tenant)
    with tenant_scope(tenant.pk):
        EmbeddingModel.objects.for_tenant(tenant.pk).update(needed=1)
    assert revision(tenant) == before + 1
    with tenant_scope(tenant.pk):
        BudgetProfile.objects.for_tenant(tenant.pk).delete()
    assert revision(tenant) == before + 2
    assert [revision(other)] == counts


def test_authentication_reads_the_revision_with_the_key() -> None:
    tenant = bakery()
    plain = new_key(tenant, "read")
    with admin_write_scope():
        Tenant.objects.filter(pk=tenant.pk).update(settings_revision=41)
    with CaptureQueriesContext(connection) as captured, authentication_scope():
        assert ApiKey.objects.get_from_key(plain).tenant.settings_revision == 41
    assert len([query for query in captured if "memories_apikey" in query["sql"]]) == 1
