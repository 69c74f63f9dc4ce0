"""Several people who add one destination, or set the rules, at once."""

import pytest
from django.utils import timezone

from compaction.alerts.actions import RuleSetting, add_alert_destination, set_alert_rules
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
