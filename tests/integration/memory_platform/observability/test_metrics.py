"""`/metrics`: who may read it, what it counts over several processes, and the files that name its metrics."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client, override_settings
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.parser import text_string_to_metric_families

from compaction.pipeline.breakers import note_failure
from memories.models import Tenant
from memory_platform.embedded.config import PROJECT
from memory_platform.observability import metrics
from tests.factories import make_memory
from tests.users import api_client

pytestmark = pytest.mark.django_db
OPS = PROJECT / "docs" / "ops"


def samples(**headers: str) -> dict[tuple[str, ...], float]:
    """Return each sample by its name and the values of its labels."""
    response = Client(headers=headers).get("/metrics")
    assert response.status_code == 200, response.content
    families = text_string_to_metric_families(response.content.decode())
    return {(each.name, *each.labels.values()): each.value for family in families for each in family.samples}


@pytest.mark.parametrize(
    ("values", "headers", "status"),
    [
        ({}, {}, 200),
        ({}, {"X-Forwarded-For": "203.0.113.5"}, 403),
        ({"TRUSTED_PROXIES": 1}, {}, 403),
        ({"METRICS_TOKEN": "secret"}, {}, 403),
        ({"METRICS_TOKEN": "secret"}, {"Authorization": "Bearer other"}, 403),
        ({"METRICS_TOKEN": "secret"}, {"Authorization": "Bearer sécret"}, 403),
        ({"METRICS_TOKEN": "secret", "TRUSTED_PROXIES": 1}, {"Authorization": "Bearer secret"}, 200),
    ],
)
def test_only_the_token_or_this_machine_reads_metrics(values, headers, status) -> None:
    with override_settings(**values):
        assert Client(headers=headers).get("/metrics").status_code == status


def test_another_machine_is_refused_without_a_token() -> None:
    assert Client(REMOTE_ADDR="203.0.113.5").get("/metrics").status_code == 403


def test_contexts_tokens_requests_and_backlogs_are_counted(tenant: Tenant, api_key: str) -> None:
    make_memory(tenant, "Alex prefers green tea.", is_embedded=True)
    before = samples()
    body = {"query": "What does Alex drink?", "max_tokens": 500}
    used = api_client(api_key).post("/api/v1/context", body, format="json").json()["budget"]["used"]
    note_failure(tenant.pk, "openai", now=tenant.created_at)
    after = samples()

    def growth(*key: str) -> float:
        return after.get(key, 0) - before.get(key, 0)

    assert growth("memory_platform_contexts_total", "context") == 1
    assert growth("memory_platform_context_tokens_sum") == used
    assert growth("memory_platform_context_step_seconds_count", "pack") == 1
    assert growth("memory_platform_request_seconds_count", "POST", "/api/v1/context") == 1
    assert growth("memory_platform_provider_errors_total", "summariser") == 1
    assert after["memory_platform_component_up", "database"] == 1
    assert {kind for name, *kind in after if name == "memory_platform_backlog" for kind in kind} >= {"embeddings"}
    assert ("memory_platform_queue_tasks", "embedding") in after
    assert "memory_platform_unindexed_vectors" in {name for name, *_ in after}


def test_counts_of_several_processes_are_added_up(tmp_path: Path) -> None:
    """The counts include those of a process that has ended."""
    code = "from memory_platform.observability.metrics import CONTEXTS; CONTEXTS.labels('context').inc(2)"
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path / "metrics")}
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code], check=True, env=environment, cwd=PROJECT)
    with override_settings(PROMETHEUS_MULTIPROC_DIR=str(tmp_path / "metrics")):
        assert samples()["memory_platform_contexts_total", "context"] == 4


def test_dashboard_and_alerts_name_only_metrics_that_exist() -> None:
    def existing() -> set[str]:
        declared = set()
        for metric in vars(metrics).values():
            if isinstance(metric, MetricWrapperBase):
                (family,) = metric.describe()
                suffixes = ("_bucket", "_sum", "_count") if family.type == "histogram" else ("_total",)
                declared |= {family.name + suffix for suffix in suffixes}
        return declared | {name for name, *_ in samples()}

    known = existing()
    for path in OPS.iterdir():
        named = set(re.findall(r"memory_platform_\w+", path.read_text()))
        assert len(named) > 5, path
        assert named - {"memory_platform_context_step_seconds", "memory_platform_task_seconds"} <= known, path
    dashboard = json.loads((OPS / "grafana-dashboard.json").read_text())
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
