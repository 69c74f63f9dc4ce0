"""Every figure of the inventory equals the result of its query wherever it is shown."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from compaction.alerts.orchestrator import evaluate_alerts
from compaction.models import Compaction, Erasure, Run, Session
from context.models import EvaluationRun, GoldenQuestion, Receipt
from memories.models import Memory, MemoryPair, PartitionSummary, Snapshot, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.demo_fixture import console_page_ids
from tests.integration.memory_platform.console.figure_inventory import OF_TENANT, TEMPLATES
from tests.integration.memory_platform.console.figure_reading import FilledTenant
from tests.integration.memory_platform.console.figures_of_rows import OF_ROWS
from tests.integration.page_helpers import client_of
from tests.users import api_client, new_key, new_operator, new_shared_tenant


def vary(tenant: Tenant) -> None:
    """Add what the demo lacks: memories in every state of expiry and embedding, contradictions and failures."""
    now = timezone.now()
    memories = Memory.objects.for_tenant(tenant.pk)
    spare = list(memories.live(now).within("agent=coder").filter(pinned=False).order_by("pk")[:14])
    ids = [row.pk for row in spare]
    for chosen, values in (
        (ids[:2], {"archived_at": now}),
        (ids[2:4], {"expires_at": now - timedelta(hours=1)}),
        (ids[4:6], {"embedding_state": "pending"}),
        (ids[6:7], {"embedding_state": "pending", "expires_at": now - timedelta(hours=1)}),
        (ids[7:8], {"embedding_state": "pending", "archived_at": now}),
        (ids[8:9], {"embedding_state": "failed", "embedding_error": "too long"}),
        (ids[9:10], {"embedding_state": "failed", "embedding_error": "too long", "archived_at": now}),
    ):
        assert memories.filter(pk__in=chosen).update(**values) == len(chosen)
    pairs = [(ids[10], ids[11]), (ids[12], ids[0]), (ids[13], ids[2])]  # one live, one archived, one expired
    MemoryPair.objects.store(
        tenant.pk, [("contradiction", *pair, 0.95, f"hash {place}") for place, pair in enumerate(pairs)], now
    )
    question = GoldenQuestion.objects.for_tenant(tenant.pk).latest("created_at")
    question.memories.add(ids[0], ids[2], through_defaults={"tenant": tenant})
    runs = Run.objects.for_tenant(tenant.pk)
    runs.filter(pk=runs.latest("created_at").pk).update(state="failed", error_code="provider_failed", finished_at=now)
    for row in Receipt.objects.for_tenant(tenant.pk).newest_first()[1:3]:
        Receipt.objects.filter(pk=row.pk).update(warnings=[{"code": "memo_failed", "detail": "No memo."}])
    evaluations = EvaluationRun.objects.for_tenant(tenant.pk).filter(state="queued")
    assert evaluations.update(state="failed", error_code="provider_failed", finished_at=now)


@pytest.fixture
def filled(demo_tenant: Tenant, db: None) -> FilledTenant:
    tenant = demo_tenant
    user = new_operator("ada", "admin", tenant, new_shared_tenant("Globex"))
    ids: dict[str, Any] = console_page_ids(tenant, "ada")
    with tenant_scope(tenant.pk):
        vary(tenant)
        summary = PartitionSummary.objects.for_tenant(tenant.pk).current()
        named = {
            Tenant: tenant.pk,
            Memory: ids["memory_id"],
            Snapshot: ids["snapshot_id"],
            Receipt: Receipt.objects.for_tenant(tenant.pk).newest_first()[0].pk,
            Compaction: ids["compaction_id"],
            Session: Compaction.objects.for_tenant(tenant.pk).get(pk=ids["compaction_id"]).session_id,
            EvaluationRun: ids["run_id"],
            GoldenQuestion: ids["question_id"],
            Erasure: ids["erasure_id"],
            PartitionSummary: summary.get(partition__path="agent=field-service", style="compact").pk,
        }
    evaluate_alerts(now=timezone.now())
    api = api_client(new_key(tenant, "read", "admin"))
    return FilledTenant(tenant, client_of(user), api, {model.__name__: pk for model, pk in named.items()})


@pytest.mark.long
def test_every_place_shows_the_value_of_the_query(filled: FilledTenant) -> None:
    different: list[str] = []
    for name, figure in {**OF_TENANT, **OF_ROWS}.items():
        with tenant_scope(filled.tenant.pk):
            value = figure.query(filled)
        for place, read in figure.shown.items():
            try:
                shown: object = read(filled)
            except (AssertionError, StopIteration, LookupError, TypeError) as error:
                shown = repr(error)[:300]
            different += [] if shown == value else [f"{name}, {place}: {shown} instead of {value}"]
    assert not different, "\n".join(different)


@pytest.mark.parametrize("attribute", TEMPLATES)
def test_new_template_with_a_figure_needs_a_place_in_the_inventory(attribute: str) -> None:
    folder = Path(settings.BASE_DIR) / "templates"
    shows = re.compile(rf"[{{%] [^%}}]*\b[a-z_]+\.{attribute}\b")
    found = {
        str(each.relative_to(folder).with_suffix(""))
        for each in folder.rglob("*.html")
        if shows.search(each.read_text())
    }
    assert found == TEMPLATES[attribute]
