"""Deliveries over real HTTP and Django's mail: signature, retries, refusals, and the log of attempts."""

import hashlib
import hmac
import json
import smtplib
import socket
import time
from collections import deque
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from compaction.alerts import channels
from compaction.alerts.actions import remove_alert_destination, request_test_delivery
from compaction.alerts.channels import AlertMessage, ChannelError, send, webhook_secrets
from compaction.alerts.delivery import ATTEMPTS_MAX, BACK_OFF, deliver, due_deliveries
from compaction.alerts.orchestrator import evaluate_alerts
from compaction.models import AlertDelivery, AlertDestination
from compaction.services.alerts import rules
from compaction.tasks import deliver_alert_task, sweep_alert_deliveries
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.fakes.webhook_server import DRIPPING, WebhookServer, running_webhook_server, write_certificate
from tests.integration.alert_helpers import BY, add_destination, deliveries_of, make_contradiction, set_rule

pytestmark = pytest.mark.django_db

NOW = timezone.now()
LATER = timedelta(hours=1)


@pytest.fixture
def receiver(settings: Any) -> Iterator[WebhookServer]:
    settings.ALERT_WEBHOOKS_PRIVATE = True
    with running_webhook_server() as server:
        yield server


def open_alert(tenant: Tenant, address: str) -> AlertDelivery:
    """An open alert, and its delivery to this destination."""
    set_rule(tenant, rules.CONTRADICTIONS, now=NOW)
    add_destination(tenant, address, now=NOW)
    make_contradiction(tenant, now=NOW)
    evaluate_alerts(now=NOW)
    (delivery,) = deliveries_of(tenant)
    return delivery


def request_test(tenant: Tenant, destination: AlertDestination) -> AlertDelivery:
    with tenant_scope(tenant.pk):
        return request_test_delivery(destination=destination, by=BY, now=NOW)


def results(delivery: AlertDelivery | None) -> list[str]:
    assert delivery is not None
    return [entry["result"] for entry in delivery.log]


def test_webhook_is_signed_and_contains_ids_numbers_and_links(
    tenant: Tenant, receiver: WebhookServer, settings: Any
) -> None:
    settings.CONSOLE_URL = "https://memory.example"
    delivery = open_alert(tenant, receiver.url)
    done = deliver(tenant.pk, delivery.pk, now=NOW)
    (request,) = receiver.received
    assert results(done) == ["HTTP 204."]
    assert done is not None
    assert (done.state, done.finished_at) == ("done", NOW)
    assert request.path == "/hook?token=t"
    (secret,) = webhook_secrets(delivery.destination)
    signed = request.headers["x-memory-timestamp"].encode() + b"." + request.body
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    assert request.headers["x-memory-signature"] == f"sha256={expected}"
    assert request.headers["x-memory-timestamp"] == str(int(NOW.timestamp()))
    payload = json.loads(request.body)
    assert payload["alert"].pop("id") == str(delivery.alert_id)
    assert payload == {
        "delivery_id": request.headers["x-memory-delivery"],
        "event": "opened",
        "tenant_id": str(tenant.pk),
        "alerts_url": f"https://memory.example/t/{tenant.pk}/alerts",
        "alert": {
            "rule": "contradictions",
            "value": 1.0,
            "threshold": 1,
            "unit": "pairs",
            "opened_at": NOW.isoformat(),
            "closed_at": None,
            "url": f"https://memory.example/t/{tenant.pk}/hygiene/contradiction",
        },
    }
    assert b"Invoice" not in request.body
    assert deliver(tenant.pk, delivery.pk, now=NOW + LATER) is None


def test_former_deployment_key_still_signs(receiver: WebhookServer, settings: Any) -> None:
    destination = AlertDestination(kind="webhook", address=receiver.url)
    (former,) = webhook_secrets(destination)
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another key " * 6
    assert send(destination, AlertMessage("1", "", "", {"event": "test"}), timestamp=5) == "HTTP 204."
    (request,) = receiver.received
    expected = hmac.new(former.encode(), b'5.{"event":"test"}', hashlib.sha256).hexdigest()
    assert request.headers["x-memory-signature"].split(",")[1] == f"sha256={expected}"


def test_certificate_is_verified_for_the_name_of_the_host(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ALERT_WEBHOOKS_PRIVATE = True
    message = AlertMessage("1", "", "", {"event": "test"})
    with running_webhook_server(write_certificate(tmp_path / "localhost.pem", "localhost")) as receiver:
        destination = AlertDestination(kind="webhook", address=receiver.url)
        with pytest.raises(ChannelError, match="SSLCertVerificationError"):
            send(destination, message, timestamp=5)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "localhost.pem"))
        assert send(destination, message, timestamp=5) == "HTTP 204."
        destination.address = receiver.url.replace("localhost", "127.0.0.1")
        with pytest.raises(ChannelError, match="SSLCertVerificationError"):
            send(destination, message, timestamp=5)
    assert len(receiver.received) == 1


def test_failed_attempt_is_repeated_later_and_each_is_logged(tenant: Tenant, receiver: WebhookServer) -> None:
    receiver.statuses = deque([503, 500])
    delivery, at = open_alert(tenant, receiver.url), NOW
    for pause in BACK_OFF[:2]:
        assert deliver(tenant.pk, delivery.pk, now=at) is not None
        assert deliver(tenant.pk, delivery.pk, now=at + pause / 2) is None
        at += pause
        assert [row.pk for row in due_deliveries(now=at)] == [delivery.pk]
    done = deliver(tenant.pk, delivery.pk, now=at)
    assert results(done) == ["HTTP 503.", "HTTP 500.", "HTTP 204."]
    assert done is not None
    assert (done.state, done.attempts) == ("done", 3)
    assert [entry["is_done"] for entry in done.log] == [False, False, True]
    assert due_deliveries(now=at + LATER) == []


def test_delivery_fails_after_three_retries(tenant: Tenant, receiver: WebhookServer) -> None:
    receiver.statuses = deque([500] * 9)
    delivery = open_alert(tenant, receiver.url)
    for attempt in range(ATTEMPTS_MAX):
        last = deliver(tenant.pk, delivery.pk, now=NOW + attempt * LATER)
    assert last is not None
    assert (last.state, len(last.log), len(receiver.received)) == ("failed", 4, 4)
    assert deliver(tenant.pk, delivery.pk, now=NOW + 9 * LATER) is None


def test_killed_worker_leaves_a_delivery_that_is_due_again_and_ends(tenant: Tenant, receiver: WebhookServer) -> None:
    delivery = open_alert(tenant, receiver.url)
    with tenant_scope(tenant.pk):
        for attempt in range(ATTEMPTS_MAX):
            at = NOW + attempt * LATER
            rows = AlertDelivery.objects.for_tenant(tenant.pk)
            assert rows.claim(delivery.pk, now=at, until=at + LATER) == 1
            assert rows.claim(delivery.pk, now=at, until=at + LATER) == 0
    ended = deliver(tenant.pk, delivery.pk, now=NOW + 9 * LATER)
    assert results(ended) == ["The worker stopped during the attempt."]
    assert ended is not None
    assert ended.state == "failed"
    assert receiver.received == []


def test_redirect_is_not_followed(tenant: Tenant, receiver: WebhookServer) -> None:
    receiver.statuses = deque([302])
    delivery = open_alert(tenant, receiver.url)
    assert results(deliver(tenant.pk, delivery.pk, now=NOW)) == ["HTTP 302. Redirects are not followed."]
    assert len(receiver.received) == 1


def test_server_that_sends_byte_by_byte_is_left_in_time(
    tenant: Tenant, receiver: WebhookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels, "WEBHOOK_TIMEOUT_SECONDS", 0.5)
    receiver.statuses = deque([DRIPPING])
    delivery = open_alert(tenant, receiver.url)
    began = time.monotonic()
    assert results(deliver(tenant.pk, delivery.pk, now=NOW)) == ["No answer within 0.5 seconds."]
    assert time.monotonic() - began < 30  # the server sends until the test ends


def test_unencrypted_answer_to_https_and_closed_port_are_failures(tenant: Tenant, receiver: WebhookServer) -> None:
    first = add_destination(tenant, receiver.url.replace("http:", "https:"), now=NOW)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        second = add_destination(tenant, f"http://127.0.0.1:{unused.getsockname()[1]}/", now=NOW)
        for destination, name in ((first, "SSLError"), (second, "ConnectionRefusedError")):
            made = request_test(tenant, destination)
            assert results(deliver(tenant.pk, made.pk, now=NOW)) == [f"The connection failed: {name}."]


@pytest.mark.parametrize("found", [["10.0.0.7"], ["1.1.1.1", "127.0.0.1"], ["::1"]])
def test_host_with_a_private_address_is_refused_at_once(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, found: list[str]
) -> None:
    """No connection is made, even if only one of several addresses is private."""
    answers = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443)) for address in found]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers)
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: pytest.fail("it connects"))
    delivery = open_alert(tenant, "https://rebinding.example/hook")
    refused = deliver(tenant.pk, delivery.pk, now=NOW)
    assert refused is not None
    assert (refused.state, refused.attempts) == ("failed", 1)
    assert "private address" in refused.log[0]["result"]


def test_connection_goes_to_the_addresses_that_were_checked(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    """The addresses are tried one after the other, all within the time limit of a delivery."""
    hosts = ("2606:4700::1111", "1.1.1.1")
    answers = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, 443)) for host in hosts]
    connected: list[Any] = []

    def create(address: Any, timeout: float) -> Any:
        assert 0 < timeout <= 5
        connected.append(address)
        raise OSError

    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers)
    monkeypatch.setattr(socket, "create_connection", create)
    delivery = open_alert(tenant, "https://example.com/hook")
    assert results(deliver(tenant.pk, delivery.pk, now=NOW)) == ["The connection failed: OSError."]
    assert connected == [(host, 443) for host in hosts]


def test_http_to_this_machine_is_refused_once_the_setting_is_off(tenant: Tenant, receiver: WebhookServer) -> None:
    delivery = open_alert(tenant, receiver.url)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("django.conf.settings.ALERT_WEBHOOKS_PRIVATE", False)
        refused = deliver(tenant.pk, delivery.pk, now=NOW)
    assert refused is not None
    assert refused.state == "failed"
    assert receiver.received == []


def test_mail_names_tenant_rule_and_page_but_no_memory(tenant: Tenant, settings: Any) -> None:
    settings.EMAIL_URL = "smtp://mail.example"
    delivery = open_alert(tenant, "ops@example.com")
    done = deliver(tenant.pk, delivery.pk, now=NOW)
    assert results(done) == ["Accepted by the mail server."]
    (message,) = mail.outbox
    assert (message.to, message.subject) == (["ops@example.com"], "Alert opened: Contradictions: Acme")
    assert f"/t/{tenant.pk}/hygiene/contradiction" in message.body
    assert "1 pair (threshold: 1 pair)" in message.body
    assert "Invoice" not in message.body


def test_mail_that_is_not_configured_or_refused_fails_and_is_repeated(
    tenant: Tenant, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivery = open_alert(tenant, "ops@example.com")
    assert results(deliver(tenant.pk, delivery.pk, now=NOW)) == ["Mail is not configured: set EMAIL_URL."]
    settings.EMAIL_URL = "smtp://mail.example"

    def refuse(_: object) -> None:
        raise smtplib.SMTPAuthenticationError(535, b"secret")

    monkeypatch.setattr("django.core.mail.EmailMessage.send", refuse)
    again = deliver(tenant.pk, delivery.pk, now=NOW + LATER)
    assert results(again)[1:] == ["The mail server answered 535."]
    assert again is not None
    assert again.state == "waiting"


def test_test_is_not_repeated_and_removed_destination_gets_nothing(tenant: Tenant, receiver: WebhookServer) -> None:
    receiver.statuses = deque([500])
    delivery = open_alert(tenant, receiver.url)
    made = request_test(tenant, delivery.destination)
    tested = deliver(tenant.pk, made.pk, now=NOW)
    assert tested is not None
    assert (tested.state, results(tested)) == ("failed", ["HTTP 500."])
    assert json.loads(receiver.received[0].body)["event"] == "test"
    with tenant_scope(tenant.pk):
        remove_alert_destination(destination=delivery.destination, by=BY, now=NOW)
    ended = deliver(tenant.pk, delivery.pk, now=NOW)
    assert results(ended) == ["The destination was removed."]
    assert len(receiver.received) == 1


def test_sweep_enqueues_what_is_due_and_the_task_delivers_it(
    tenant: Tenant, receiver: WebhookServer, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    delivery = open_alert(tenant, receiver.url)
    monkeypatch.setattr("compaction.tasks.deliver_alert_task.delay", deliver_alert_task.run)
    with django_capture_on_commit_callbacks(execute=True):
        assert sweep_alert_deliveries() == 1
    assert len(receiver.received) == 1
    assert [row.state for row in deliveries_of(tenant)] == ["done"]
    assert delivery.state == "waiting"
