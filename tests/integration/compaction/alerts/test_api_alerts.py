"""The endpoints of alerts: rules, destinations with their test, alerts and deliveries."""

from typing import Any

import pytest
from django.core import mail
from django.utils import timezone
from rest_framework.test import APIClient

from compaction.alerts.orchestrator import evaluate_alerts
from memories.models import Tenant
from tests.fakes.webhook_server import running_webhook_server
from tests.integration.alert_helpers import add_destination, deliveries_of, make_contradiction
from tests.integration.rest_helpers import assert_problem
from tests.users import api_client, new_key

pytestmark = pytest.mark.django_db

RULE, DESTINATIONS = "/api/v1/alert-rules/contradictions", "/api/v1/alert-destinations"
MAIL = {"kind": "email", "address": "ops@example.com"}
NOW = timezone.now()


@pytest.fixture
def admin(tenant: Tenant) -> APIClient:
    return api_client(new_key(tenant, "admin"))


def test_rule_is_changed_field_by_field_and_its_alert_is_listed_until_it_is_off(
    admin: APIClient, tenant: Tenant
) -> None:
    listed = {rule["kind"]: rule for rule in admin.get("/api/v1/alert-rules").json()["rules"]}
    assert (len(listed), listed["contradictions"]["enabled"]) == (7, False)
    assert admin.patch(RULE, {"threshold": 1}).json()["enabled"] is False
    changed = admin.patch(RULE, {"enabled": True})
    assert (changed.json()["enabled"], changed.json()["threshold"]) == (True, 1)
    assert changed["ETag"] == admin.get(RULE)["ETag"]
    make_contradiction(tenant, now=NOW)
    evaluate_alerts(now=NOW)
    assert admin.get(RULE)["ETag"] == changed["ETag"]  # an evaluation changes no rule
    reader = api_client(new_key(tenant, "read"))
    (alert,) = reader.get("/api/v1/alerts?open=true").json()["results"]
    assert (alert["rule"], alert["value"], alert["unit"], alert["closed_at"]) == ("contradictions", 1, "pairs", None)
    assert f"/t/{tenant.pk}/hygiene/contradiction" in alert["url"]
    admin.patch(RULE, {"enabled": False})
    assert reader.get("/api/v1/alerts?open=true").json()["results"] == []
    assert [row["id"] for row in reader.get("/api/v1/alerts").json()["results"]] == [alert["id"]]


WRONG_VALUES = [
    (RULE, {"threshold": 1_001}, "out_of_range", "threshold"),
    (RULE, {"enabled": 1}, "not_a_boolean", "enabled"),
    (DESTINATIONS, {"kind": "email", "address": "nobody"}, "bad_address", "address"),
    (DESTINATIONS, {"kind": "webhook", "address": "http://example.com"}, "bad_address", "address"),
    (DESTINATIONS, {"kind": "pager", "address": "x"}, "invalid_choice", "kind"),
]


def test_wrong_values_are_refused_by_field(admin: APIClient) -> None:
    for path, body, code, field in WRONG_VALUES:
        answer = admin.patch(path, body) if path == RULE else admin.post(path, body)
        assert answer.status_code == 400
        assert [(each["code"], each["field"]) for each in answer.json()["errors"]] == [(code, field)]


def test_unknown_rule_is_a_404(admin: APIClient) -> None:
    assert admin.patch("/api/v1/alert-rules/rain", {"enabled": True}).status_code == 404


def test_webhook_shows_its_secret_once_and_its_host_afterwards(admin: APIClient, settings: Any) -> None:
    settings.ALERT_WEBHOOKS_PRIVATE = True
    with running_webhook_server() as server:
        body = {"kind": "webhook", "address": server.url}
        made = admin.post(DESTINATIONS, body, headers={"Idempotency-Key": "a"})
        assert made["Location"] == f"http://testserver{DESTINATIONS}/{made.json()['id']}"
        again = admin.post(DESTINATIONS, body, headers={"Idempotency-Key": "a"}).json()
        assert made.json()["secret"]
        assert again == {**made.json(), "secret": None}
        assert server.url not in str(admin.get(DESTINATIONS).json())
        tested = admin.post(f"{made['Location']}/test").json()
    assert (tested["event"], tested["state"], tested["attempts"][0]["result"]) == ("test", "done", "HTTP 204.")
    (logged,) = admin.get("/api/v1/alert-deliveries?state=done").json()["results"]
    assert logged == tested
    assert admin.get("/api/v1/alert-deliveries?state=failed").json()["results"] == []
    assert admin.post(DESTINATIONS, body).json()["code"] == "duplicate"


def test_removed_destination_gets_no_alert_until_it_is_restored(
    admin: APIClient, tenant: Tenant, settings: Any
) -> None:
    settings.EMAIL_URL = "smtp://mail.example.com"
    destination = f"{DESTINATIONS}/{admin.post(DESTINATIONS, MAIL).json()['id']}"
    assert admin.delete(destination).status_code == admin.delete(destination).status_code == 204
    assert admin.get(DESTINATIONS).json()["results"] == []
    assert_problem(admin.post(f"{destination}/test"), 404, "not_found")
    assert admin.post(f"{destination}/restore").json()["removed_at"] is None
    assert admin.post(f"{destination}/test").json()["state"] == "done"
    assert [message.to for message in mail.outbox] == [["ops@example.com"]]
    assert len(deliveries_of(tenant)) == 1


def test_keys_without_the_scope_or_with_a_partition_are_refused(tenant: Tenant) -> None:
    add_destination(tenant, "ops@example.com", now=NOW)
    writer, partial = api_client(new_key(tenant, "write")), api_client(new_key(tenant, "admin", partition="user=sam"))
    for path in (DESTINATIONS, "/api/v1/alert-deliveries"):
        assert writer.get(path).status_code == 403
    assert writer.patch(RULE, {"enabled": True}).status_code == 403
    for path in (DESTINATIONS, "/api/v1/alert-deliveries", "/api/v1/alerts", "/api/v1/alert-rules"):
        assert partial.get(path).status_code == 403
