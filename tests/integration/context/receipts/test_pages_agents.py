"""The agents page: figures by key and partition that agree with the context log behind each link, and its export."""

import csv
import io
import json
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from context.models import Receipt
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.page_helpers import client_of, make_bakery_memories, page, text_of
from tests.users import api_client, new_key

CONTEXT = "/api/v1/context"
QUESTION = "What does ERR_4012 mean?"


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


@pytest.fixture
def received(tenant: Tenant, api: APIClient) -> APIClient:
    """Three contexts of one key and one of another, whose partitions differ too."""
    make_bakery_memories(tenant)
    for budget in (60, 400, 400):
        api.post(CONTEXT, {"query": QUESTION, "max_tokens": budget, "partition": "agent=support"}, format="json")
    other = api_client(new_key(tenant, "write"))
    other.post(CONTEXT, {"query": "-1", "max_tokens": 5, "partition": "agent=service"}, format="json")
    return other


def rows_of(client: Client, tenant: Tenant, **query: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = client.get(page("agents", tenant), query).context["rows"]
    return rows


def test_figures_of_each_agent_are_those_of_the_log_behind_its_link(
    client: Client, tenant: Tenant, received: APIClient
) -> None:
    with tenant_scope(tenant.pk):
        stored = list(Receipt.objects.for_tenant(tenant.pk))
    for group, own in (("key", lambda row: row.api_key_id), ("partition", lambda row: row.partition_path)):
        rows = rows_of(client, tenant, by=group)
        assert [each["row"].figures.contexts for each in rows] == [3, 1]
        for each in rows:
            listed = client.get(f"{page('context-log', tenant)}?{each['log']}").context["table"].rows
            figures = each["row"].figures
            behind = [row for row in stored if row.pk in {one.pk for one in listed}]
            assert len({own(row) for row in behind}) == 1
            assert figures.contexts == len(behind)
            assert figures.tokens_used == sum(row.tokens_used for row in behind)
            assert figures.tokens_allowed == sum(row.max_tokens for row in behind)
            assert figures.included == sum(len(row.blocks) for row in behind)
            assert figures.excluded == sum(len(row.omitted) for row in behind)


def test_points_of_the_charts_lead_to_their_contexts(client: Client, tenant: Tenant, received: APIClient) -> None:
    first = rows_of(client, tenant, by="partition", range="24h")[0]
    response = client.get(f"{page('agents', tenant)}?{first['query']}")
    chart = response.context["charts"][0]
    points = [row for row in chart.rows if row.url]
    assert sum(row.values[0] or 0 for row in points) == 3
    listed = [client.get(row.url).context["table"].rows for row in points]
    assert sum(map(len, listed)) == 3
    assert points[0].url.replace("&", "&amp;") in text_of(response)
    unknown = client.get(page("agents", tenant), {"agent": "nobody", "range": "x"})
    assert unknown.status_code == 422
    assert unknown.context["charts"][0].is_empty


def test_log_filters_by_state_and_range(client: Client, tenant: Tenant, received: APIClient) -> None:
    with tenant_scope(tenant.pk):
        slow, failed, old = Receipt.objects.for_tenant(tenant.pk).filter(partition_path="agent=support")
        Receipt.objects.filter(pk=slow.pk).update(timings=slow.timings | {"total": 900.0})
        Receipt.objects.filter(pk=failed.pk).update(warnings=[{"code": "search_failed", "detail": "x"}])
        Receipt.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=2))
        empty = Receipt.objects.for_tenant(tenant.pk).get(partition_path="agent=service")

    def found(**query: str) -> set[Any]:
        return {row.pk for row in client.get(page("context-log", tenant), query).context["table"].rows}

    assert found(state="slow") == {slow.pk}
    assert found(state="failed") == {failed.pk}
    assert found(state="empty") == {empty.pk}
    assert old.pk not in found(range="24h")
    assert old.pk in found(range="7d")
    with tenant_scope(tenant.pk):
        full = {row.pk for row in Receipt.objects.for_tenant(tenant.pk) if row.tokens_used >= 0.95 * row.max_tokens}
    assert found(state="full") == full
    assert found(key="none") == set()
    assert client.get(page("context-log", tenant), {"state": "x"}).status_code == 422
    assert sum(each["row"].figures.failed for each in rows_of(client, tenant)) == 1
    charts = client.get(page("agents", tenant)).context["charts"]
    (point,) = (row for chart in charts if chart.title == "Errors" for row in chart.rows if row.values[0])
    assert {row.pk for row in client.get(point.url).context["table"].rows} == {failed.pk}


def test_export_has_the_filtered_contexts_and_no_formula(client: Client, tenant: Tenant, received: APIClient) -> None:
    def lines(**query: str) -> str:
        return "".join(part.decode() for part in client.get(page("context-export", tenant), query).streaming_content)

    rows = list(csv.DictReader(io.StringIO(lines())))
    assert [row["query"] for row in rows].count(QUESTION) == 3
    assert "'-1" in [row["query"] for row in rows]
    (only,) = [json.loads(line) for line in lines(type="jsonl", partition="agent=service").splitlines()]
    assert (only["query"], only["max_tokens"], only["warnings"]) == ("-1", 5, [])
    refused = client.get(page("context-export", tenant), {"state": "x"})
    assert refused.status_code == 302
    assert parse_qs(refused["Location"]) == {}
