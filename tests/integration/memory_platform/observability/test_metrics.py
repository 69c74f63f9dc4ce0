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

from compaction.models import Compaction
from compaction.pipeline.breakers import note_failure
from memories.models import Tenant
from memory_platform.embedded.config import PROJECT
from memory_platform.observability import metrics
from memory_platform.observability.metric_files import RESERVED_BYTES
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


FORKS = """
import os
from memory_platform.observability.metrics import CONTEXTS

def count():
    CONTEXTS.labels('context').inc()

def fork(work):
    return os.fork() or (work(), os._exit(0))

count()
for _ in range(20):
    os.waitpid(fork(lambda: (count(), os.waitpid(fork(count), 0))), 0)
"""


def test_processes_that_run_at_the_same_time_have_files_and_later_ones_continue_them(tmp_path: Path) -> None:
    folder = tmp_path / "metrics"
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(folder)}
    subprocess.run([sys.executable, "-c", FORKS], check=True, env=environment, cwd=PROJECT)
    assert {file.name for file in folder.glob("counter_*")} == {f"counter_{number}.db" for number in range(3)}
    with override_settings(PROMETHEUS_MULTIPROC_DIR=str(folder)):
        assert samples()["memory_platform_contexts_total", "context"] == 41
    for file in folder.glob("*.db"):
        assert file.stat().st_blocks * 512 >= RESERVED_BYTES[file.name.partition("_")[0]], "its space is reserved"


def labels_of_metrics() -> dict[str, set[str]]:
    """Return the labels of each sample by its name: those that processes count, and those of a scrape."""
    labels: dict[str, set[str]] = {}
    for metric in vars(metrics).values():
        if isinstance(metric, MetricWrapperBase):
            (family,) = metric.describe()
            own = set(metric._labelnames)
            is_histogram = family.type == "histogram"
            for suffix in ("_bucket", "_sum", "_count") if is_histogram else ("_total",):
                labels[family.name + suffix] = own | ({"le"} if suffix == "_bucket" else set())
    text = Client().get("/metrics").content.decode()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    return labels


#: `by (a, b)`, `{a="..."}`, `{{a}}` and `{{ $labels.a }}`.
LABELS = re.compile(r'by \(([^)]*)\)|(\w+)\s*(?:=~|!~|!=|=)\s*"|\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}')


def queries() -> list[str]:
    """Return each query of the dashboard and of the alert rules, with the texts that name its labels."""
    dashboard = json.loads((OPS / "grafana-dashboard.json").read_text())
    targets = [target for panel in dashboard["panels"] for target in panel["targets"]]
    rules = (OPS / "prometheus_rules.yml").read_text().split("- alert:")[1:]
    return [f"{target['expr']} {target['legendFormat']}" for target in targets] + rules


def test_dashboard_and_alerts_name_only_metrics_and_labels_that_exist() -> None:
    known = labels_of_metrics()
    assert len(queries()) > 20
    for query in queries():
        named = set(re.findall(r"memory_platform_\w+", re.sub("description: .*", "", query)))
        assert named, query
        assert named <= known.keys(), query
        labels = {each.strip() for found in LABELS.findall(query) for each in "".join(found).split(",")}
        assert labels <= set().union(*(known[name] for name in named)), query
    dashboard = json.loads((OPS / "grafana-dashboard.json").read_text())
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


def test_alerts_compare_labels_with_values_that_exist() -> None:
    kinds = {key[1] for key in samples() if key[0] == "memory_platform_backlog_age_seconds"}
    text = (OPS / "prometheus_rules.yml").read_text()
    named = {name: set(values.split("|")) for name, values in re.findall(r'(kind|outcome)=~?"([^"]+)"', text)}
    assert named["kind"] <= kinds
    assert named["outcome"] <= set(Compaction.State.values)
