"""The page of alerts: rules, destinations with their test, what each role sees, and the log of deliveries."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.db import connections
from django.test import Client
from django.utils import timezone

from compaction.alerts.actions import DESTINATIONS_MAX, TESTS_MAX
from compaction.alerts.channels import webhook_secrets
from compaction.alerts.orchestrator import evaluate_alerts
from compaction.models import AlertDestination, AlertRule
from compaction.services.alerts.rules import RULE_KINDS
from memories.models import AuditEntry, Tenant
from memories.tenancy.scopes import tenant_scope
from memory_platform.postgres.roles import MAINTENANCE
from tests.fakes.webhook_server import running_webhook_server
from tests.integration.alert_helpers import add_destination, alerts_of, deliveries_of, make_contradiction
from tests.integration.page_helpers import HTMX, client_of, page, text_of, undo_of
from tests.users import new_operator

pytestmark = pytest.mark.django_db

NOW = timezone.now()


@pytest.fixture
def ada(tenant: Tenant) -> User:
    return new_operator("ada", "admin", tenant)


@pytest.fixture
def admin(ada: User) -> Client:
    return client_of(ada)


def rules_data(*enabled: str, **thresholds: Any) -> dict[str, Any]:
    """Return what the form posts."""
    data: dict[str, Any] = {f"{kind.name}_threshold": kind.threshold for kind in RULE_KINDS.values()}
    return data | dict.fromkeys(enabled, "on") | {f"{name}_threshold": value for name, value in thresholds.items()}


def rules_of(tenant: Tenant) -> dict[str, tuple[bool, int]]:
    with tenant_scope(tenant.pk):
        return {row.kind: (row.is_enabled, row.threshold) for row in AlertRule.objects.for_tenant(tenant.pk)}


def destinations_of(tenant: Tenant) -> list[AlertDestination]:
    with tenant_scope(tenant.pk):
        return list(AlertDestination.objects.for_tenant(tenant.pk).active())


def test_admin_sets_rules_and_the_alert_is_shown_until_it_closes(admin: Client, tenant: Tenant) -> None:
    address = page("alerts", tenant)
    empty = text_of(admin.get(address))
    assert "No rules enabled" in empty
    assert '<option value="webhook" selected>' in empty  # no mail server is configured
    saved = admin.post(address, rules_data("contradictions", contradictions=1), follow=True)
    assert "Rules saved." in text_of(saved)
    assert "No open alerts" in text_of(saved)
    assert rules_of(tenant) == {"contradictions": (True, 1)}
    make_contradiction(tenant, now=NOW)
    evaluate_alerts(now=NOW)
    shown = text_of(admin.get(address))
    assert f'href="{page("hygiene-list", tenant, "contradiction")}">Contradictions' in shown
    assert 'data-label="Now">1 pair<' in shown
    assert 'data-label="Threshold">1 pair<' in shown
    admin.post(address, rules_data())
    assert rules_of(tenant) == {"contradictions": (False, 1)}
    assert "Closed alerts" in text_of(admin.get(address))
    assert "Nothing to save." in text_of(admin.post(address, rules_data(), follow=True))
    with tenant_scope(tenant.pk):
        assert AuditEntry.objects.for_tenant(tenant.pk).filter(verb="set_alert_rules").count() == 2


def test_rules_that_another_admin_changed_meanwhile_are_not_overwritten(admin: Client, tenant: Tenant) -> None:
    address = page("alerts", tenant)
    shown = admin.get(address).context["rules_form"]["replaces"].value()
    assert admin.post(address, rules_data("contradictions", contradictions=2) | {"replaces": shown}).status_code == 302
    refused = admin.post(address, rules_data("full_sessions") | {"replaces": shown})
    assert refused.status_code == 422
    assert "Someone else changed the rules." in text_of(refused)
    assert rules_of(tenant) == {"contradictions": (True, 2)}
    shown = admin.get(address).context["rules_form"]["replaces"].value()
    assert admin.post(address, rules_data("full_sessions") | {"replaces": shown}).status_code == 302


def test_tests_of_a_tenant_are_limited(admin: Client, tenant: Tenant, settings: Any) -> None:
    settings.EMAIL_URL = "smtp://mail.example"
    destination = add_destination(tenant, "someone@example.com", now=NOW)
    address = page("alert-destination-test", tenant, destination.pk)
    for _ in range(TESTS_MAX):
        admin.post(address)
    assert len(mail.outbox) == TESTS_MAX
    assert f"at most {TESTS_MAX} tests an hour" in text_of(admin.post(address, follow=True))
    assert len(mail.outbox) == TESTS_MAX


def test_threshold_out_of_range_is_refused_with_its_unit(admin: Client, tenant: Tenant) -> None:
    refused = admin.post(page("alerts", tenant), rules_data("full_sessions", full_sessions=0))
    assert refused.status_code == 422
    assert "A whole number from 1 to 200 sessions." in text_of(refused)
    assert rules_of(tenant) == {}


def test_secret_of_a_webhook_is_shown_once(admin: Client, tenant: Tenant) -> None:
    fields = {"kind": "webhook", "address": "https://hooks.example/a/credential", "sends_closing": "on"}
    made = admin.post(page("alert-destination-add", tenant), fields, headers=HTMX)
    (destination,) = destinations_of(tenant)
    (secret,) = webhook_secrets(destination)
    assert secret in text_of(made)
    assert made["Cache-Control"] == "no-store, private"
    again = text_of(admin.get(page("alerts", tenant)))
    assert secret not in again
    assert "hooks.example" in again
    assert "credential" not in again


BAD_ADDRESSES = [
    ("email", "nobody", "Use an address such as name@example.com."),
    ("webhook", "http://example.com/", "Use a URL that starts with https://."),
    ("webhook", "http://127.0.0.1/", "Use a URL that starts with https://."),
    ("email", "taken@example.com", "This destination already exists."),
    ("email", "", "This field is required."),
]


def test_address_that_cannot_be_used_is_refused(admin: Client, tenant: Tenant) -> None:
    add_destination(tenant, "taken@example.com", now=NOW)
    for kind, address, problem in BAD_ADDRESSES:
        refused = admin.post(page("alert-destination-add", tenant), {"kind": kind, "address": address})
        assert refused.status_code == 422
        assert problem in text_of(refused)
    assert len(destinations_of(tenant)) == 1


def test_tenant_has_a_limited_number_of_destinations(admin: Client, tenant: Tenant) -> None:
    for number in range(DESTINATIONS_MAX):
        add_destination(tenant, f"ops-{number}@example.com", now=NOW)
    refused = admin.post(page("alert-destination-add", tenant), {"kind": "email", "address": "more@example.com"})
    assert "A tenant has at most 10 destinations." in text_of(refused)


def test_test_button_sends_now_and_shows_the_result(
    admin: Client, tenant: Tenant, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(connections.settings, MAINTENANCE)  # which a web process does not know
    settings.ALERT_WEBHOOKS_PRIVATE = True
    with running_webhook_server() as receiver:
        receiver.statuses.append(418)
        destination = add_destination(tenant, receiver.url, now=NOW)
        address = page("alert-destination-test", tenant, destination.pk)
        failed = text_of(admin.post(address, headers=HTMX))
        assert "failed: HTTP 418." in failed
        assert 'class="kind kind-bad">failed' in failed
        sent = admin.post(address, follow=True)
        assert f"Test sent to {destination.label}: HTTP 204." in text_of(sent)
        assert len(receiver.received) == 2
    assert [delivery.state for delivery in deliveries_of(tenant)] == ["failed", "done"]


def test_page_shows_that_mail_is_not_configured(admin: Client, tenant: Tenant, settings: Any) -> None:
    destination = add_destination(tenant, "ops@example.com", now=NOW)
    assert "Mail is not configured." in text_of(admin.get(page("alerts", tenant)))
    settings.EMAIL_URL = "smtp://mail.example"
    assert "Mail is not configured." not in text_of(admin.get(page("alerts", tenant)))
    admin.post(page("alert-destination-test", tenant, destination.pk))
    assert [message.subject for message in mail.outbox] == ["Test of alerts: Acme"]


def test_removal_is_undone_from_its_message(admin: Client, tenant: Tenant) -> None:
    destination = add_destination(tenant, "ops@example.com", now=NOW)
    removed = admin.post(page("alert-destination-remove", tenant, destination.pk), follow=True)
    assert destinations_of(tenant) == []
    assert admin.post(page("alert-destination-test", tenant, destination.pk)).status_code == 404
    assert "restored" in text_of(admin.post(undo_of(removed), follow=True))
    assert destinations_of(tenant) == [destination]
    admin.post(page("alert-destination-remove", tenant, destination.pk))
    add_destination(tenant, "ops@example.com", now=NOW)
    refused = admin.post(page("alert-destination-restore", tenant, destination.pk), follow=True)
    assert "Not restored: This destination already exists." in text_of(refused)


def test_others_read_and_change_nothing(tenant: Tenant, other_tenant: Tenant) -> None:
    destination = add_destination(tenant, "ops@example.com", now=NOW)
    viewer = client_of(new_operator("vera", "viewer", tenant))
    shown = text_of(viewer.get(page("alerts", tenant)))
    assert "An admin can change them." in shown
    assert "Pairs of memories that contradict each other; threshold 1 pair." in shown
    assert "Minutes that the oldest memory without a vector has waited; threshold 10 minutes." in shown
    for word in ("Save rules", "Add destination", ">Test<", ">Remove<"):
        assert word not in shown
    posts = [page("alerts", tenant), page("alert-destination-add", tenant)]
    posts += [page(f"alert-destination-{act}", tenant, destination.pk) for act in ("test", "remove", "restore")]
    stranger = client_of(new_operator("eve", "admin", other_tenant))
    for who, status in ((viewer, 403), (client_of(new_operator("olaf", "operator", tenant)), 403), (stranger, 404)):
        assert {who.post(address, rules_data()).status_code for address in posts} == {status}
    foreign = page("alert-destination-test", other_tenant, destination.pk)
    assert stranger.post(foreign).status_code == 404
    assert deliveries_of(tenant) == alerts_of(tenant) == []


def test_log_is_polled_while_something_waits(admin: Client, tenant: Tenant) -> None:
    assert "every 3s" not in text_of(admin.get(page("alerts", tenant)))
    admin.post(page("alerts", tenant), rules_data("contradictions"))
    add_destination(tenant, "ops@example.com", now=NOW)
    make_contradiction(tenant, now=NOW)
    evaluate_alerts(now=NOW)
    log = text_of(admin.get(page("alerts", tenant), headers=HTMX))
    assert "every 3s" in log
    assert "ops@example.com" in log
    assert "Save rules" not in log


def test_webhooks_of_one_host_are_distinguished_and_an_unsent_test_has_no_duration(
    admin: Client, tenant: Tenant, settings: Any
) -> None:
    settings.EMAIL_URL = ""
    hooks = [add_destination(tenant, f"https://hooks.example/{path}", now=NOW) for path in ("one", "two")]
    mailed = add_destination(tenant, "someone@example.com", now=NOW)
    admin.post(page("alert-destination-test", tenant, mailed.pk))
    shown = text_of(admin.get(page("alerts", tenant)))
    for hook in hooks:
        assert f">{str(hook.pk)[:8]}<" in shown
    assert str(mailed.pk)[:8] not in shown.replace(str(mailed.pk), "")
    log = shown.partition('class="alert-log"')[2].partition("</ol>")[0]
    assert "Mail is not configured" in log
    assert " ms" not in log
