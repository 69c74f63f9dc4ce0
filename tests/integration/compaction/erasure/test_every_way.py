"""A memory, a partition and a tenant are counted and erased over the console, the API and the command."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.text import capfirst

from compaction.erasure.orchestrator import is_receipt_valid, run_erasure
from compaction.models import Erasure
from compaction.services.erasure.row_labels import row_label
from memories.models import Memory, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.compaction.erasure.planting import CANARY, FACT, PERSON, places_with, plant
from tests.users import api_client, new_key, new_operator

pytestmark = pytest.mark.django_db

#: What an erasure must count, and the kinds of rows that contain it. The tenant's rows are all deleted.
CONTENT = {
    "memories": {"memories"},
    "versions": {"memory versions"},
    "vectors": {"memory embeddings"},
    "partition summaries that quote": {"partition summaries, redacted", "partition summaries"},
    "session summaries that quote, and journals": {"compactions, redacted", "compactions"},
    "receipts of contexts": {"receipts"},
    "messages": {"messages, redacted", "messages"},
    "hashes of recalled texts": {"recalled texts"},
    "stored responses": {"idempotency records"},
    "texts of the audit log": {"audit entries, redacted", "audit entries"},
    "votes": {"feedback"},
}
Counts = Mapping[str, int]
#: Counts or erases a memory, its partition or its tenant; returns the counts that it shows.
Way = Callable[[Memory, str, bool], Counts]


def newest(tenant: Tenant) -> Erasure:
    with tenant_scope(tenant.pk):
        return Erasure.objects.for_tenant(tenant.pk).latest("created_at")


def run_newest(tenant: Tenant) -> None:
    assert run_erasure(tenant.pk, newest(tenant).pk, now=timezone.now()) == "done"


def by_api(tenant: Tenant) -> Way:
    client = api_client(new_key(tenant, "admin"))

    def way(memory: Memory, target: str, is_dry_run: bool) -> Counts:
        bodies = {
            "memory": {"memory_id": memory.pk},
            "partition": {"partition": PERSON},
            "tenant": {"tenant": tenant.name},
        }
        answer = client.post("/api/v1/erasures", {**bodies[target], "dry_run": is_dry_run}, format="json")
        assert answer.status_code == 202, answer.content
        run_newest(tenant)
        if target == "tenant" and not is_dry_run:  # the key is erased too
            return newest(tenant).counts
        shown = client.get(answer["Location"]).json()
        return dict(shown["expected"] if is_dry_run else shown["erased"])

    return way


def by_console(tenant: Tenant) -> Way:
    client = Client()
    client.force_login(new_operator("ada", "admin", tenant))

    def way(memory: Memory, target: str, is_dry_run: bool) -> Counts:
        forms: dict[str, Any] = {"memory": {"memory": memory.pk}, "partition": {"partition": PERSON}, "tenant": {}}
        address = client.post(reverse("erase", args=[tenant.pk]), forms[target])["Location"]
        run_newest(tenant)
        if not is_dry_run:
            names = {"memory": "", "partition": PERSON, "tenant": tenant.name}
            address = client.post(address, {"name": names[target]})["Location"]
            run_newest(tenant)
        page = client.get(address).content.decode()
        rows = re.findall(r'<th scope="row">([^<]+)</th><td class="num">([\d,]+)</td>', page)
        counts = {label: int(count) for label, count in rows}
        labels = {kind: capfirst(row_label(kind)) for kind in (*newest(tenant).expected, *newest(tenant).counts)}
        shown = {kind: counts[label] for kind, label in labels.items() if label in counts}
        assert len(shown) == len(counts), counts
        return shown

    return way


def by_command(tenant: Tenant) -> Way:
    def way(memory: Memory, target: str, is_dry_run: bool) -> Counts:
        options: dict[str, Any] = {"memory": memory.pk} if target == "memory" else {"partition": PERSON}
        options = {"everything": True} if target == "tenant" else options
        out = StringIO()
        call_command("erase", tenant.name, yes=not is_dry_run, **options, stdout=out, stderr=StringIO())
        return {kind: int(count) for count, kind in re.findall(r"^ *(\d+) (.+)$", out.getvalue(), re.MULTILINE)}

    return way


@pytest.mark.parametrize("open_way", [by_console, by_api, by_command])
@pytest.mark.parametrize("target", ["memory", "partition", "tenant"])
def test_target_is_counted_then_erased_with_a_valid_receipt(
    tenant: Tenant, open_way: Callable[[Tenant], Way], target: str
) -> None:
    way, memory = open_way(tenant), plant(tenant)
    counted = way(memory, target, True)
    assert [name for name, kinds in CONTENT.items() if not any(counted.get(kind) for kind in kinds)] == []
    assert len(places_with(FACT)) > 10
    erased = way(memory, target, False)
    requested = {"audit entries": 1} if target == "tenant" else {}
    assert Counter(erased) == Counter(counted) + Counter(requested)
    assert places_with(FACT if target == "memory" else CANARY) <= {"compaction_erasure"}  # the dry run names it
    erasure = newest(tenant)
    assert erasure.counts == erased
    assert is_receipt_valid(erasure)
    assert CANARY not in str(erasure.receipt)
