"""Alerts in Chromium: setting a rule, adding a webhook, and the delivery of a test."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from memories.models import Tenant
from tests.e2e.console import on_a_phone
from tests.fakes.webhook_server import WebhookServer, running_webhook_server
from tests.users import new_operator

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def olga(acme: Tenant) -> User:
    """The signed-in operator, an admin."""
    return new_operator("olga", "admin", acme)


@pytest.fixture
def receiver(settings: Any) -> Iterator[WebhookServer]:
    settings.ALERT_WEBHOOKS_PRIVATE = True
    with running_webhook_server() as server:
        yield server


@on_a_phone
def test_rule_is_set_and_a_test_is_delivered(console: Page, acme: Tenant, receiver: WebhookServer) -> None:
    console.goto(f"/t/{acme.pk}/alerts")
    console.get_by_role("checkbox", name="Contradictions").check()
    console.get_by_label("Contradictions: Threshold in pairs").fill("3")
    console.get_by_role("button", name="Save rules").click()
    expect(console.get_by_text("Rules saved.")).to_be_visible()
    expect(console.get_by_role("checkbox", name="Contradictions")).to_be_checked()
    expect(console.get_by_label("Contradictions: Threshold in pairs")).to_have_value("3")
    console.get_by_label("Kind").select_option("webhook")
    console.get_by_label("Address").fill(receiver.url)
    console.get_by_role("button", name="Add destination").click()
    expect(console.get_by_text("shown only once")).to_be_visible()
    console.get_by_role("button", name="Test").click()
    expect(console.get_by_text("HTTP 204.", exact=False).first).to_be_visible()
    expect(console.get_by_role("cell", name="delivered")).to_be_visible()
    assert receiver.received[0].headers["x-memory-signature"].startswith("sha256=")
