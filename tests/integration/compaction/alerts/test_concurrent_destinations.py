"""Several people add the same destination, or set the rules, at the same time."""

from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from compaction.alerts.actions import (
    DESTINATIONS_MAX,
    TESTS_MAX,
    RuleSetting,
    add_alert_destination,
    change_alert_rule,
    request_test_delivery,
    set_alert_rules,
)
from compaction.models import AlertDestination, AlertRule
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.concurrency import concurrent_refusal_codes
from tests.factories import TESTER

pytestmark = pytest.mark.django_db(transaction=True)

PEOPLE = 4
NOW = timezone.now()


def test_one_destination_is_added_once(tenant: Tenant) -> None:
    def add() -> None:
        with tenant_scope(tenant.pk):
            add_alert_destination(
                tenant=tenant, kind="email", address="ops@example.com", sends_closing=True, by=TESTER, now=NOW
            )

    assert sorted(concurrent_refusal_codes([add] * PEOPLE)) == ["", *["duplicate"] * (PEOPLE - 1)]
    with tenant_scope(tenant.pk):
        assert AlertDestination.objects.for_tenant(tenant.pk).count() == 1


def test_rules_set_at_once_are_stored_once(tenant: Tenant) -> None:
    def set_rules() -> None:
        with tenant_scope(tenant.pk):
            settings = {"contradictions": RuleSetting(is_enabled=True, threshold=1)}
            set_alert_rules(tenant=tenant, settings=settings, by=TESTER, now=NOW)

    assert concurrent_refusal_codes([set_rules] * PEOPLE) == [""] * PEOPLE
    with tenant_scope(tenant.pk):
        assert AlertRule.objects.for_tenant(tenant.pk).count() == 1


def test_destinations_and_tests_added_at_once_stay_within_their_limits(tenant: Tenant) -> None:
    def add(name: str) -> AlertDestination:
        with tenant_scope(tenant.pk):
            return add_alert_destination(
                tenant=tenant, kind="email", address=f"{name}@example.com", sends_closing=True, by=TESTER, now=NOW
            )

    destination, *_ = [add(str(number)) for number in range(DESTINATIONS_MAX - 1)]
    adding = [partial(add, f"late-{number}") for number in range(PEOPLE)]
    assert sorted(concurrent_refusal_codes(adding)) == ["", *["too_many"] * (PEOPLE - 1)]

    def send_test() -> None:
        with tenant_scope(tenant.pk):
            request_test_delivery(destination=destination, by=TESTER, now=NOW)

    for _ in range(TESTS_MAX - 1):
        send_test()
    assert sorted(concurrent_refusal_codes([send_test] * PEOPLE)) == ["", *["too_many"] * (PEOPLE - 1)]


def test_two_changes_of_a_rule_that_was_never_set_are_both_kept(tenant: Tenant) -> None:
    def change(**values: Any) -> None:
        with tenant_scope(tenant.pk):
            change_alert_rule(tenant=tenant, kind="contradictions", by=TESTER, now=NOW, **values)

    changes = [partial(change, enabled=True), partial(change, threshold=7)]
    assert concurrent_refusal_codes(changes) == ["", ""]
    with tenant_scope(tenant.pk):
        rule = AlertRule.objects.for_tenant(tenant.pk).get()
    assert (rule.is_enabled, rule.threshold) == (True, 7)
