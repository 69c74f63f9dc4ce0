"""Alert rules of a tenant, the alerts that they open, and where and how those are delivered (ADR-0156)."""

import uuid

from django.db import models
from django.db.models import F, Index, Q

from compaction.alerts.queries import (
    AlertDeliveryQuerySet,
    AlertDestinationQuerySet,
    AlertQuerySet,
    AlertRuleQuerySet,
)
from compaction.services.alerts.rules import RULE_KINDS, RuleKind
from memories.models import Tenant
from memories.models.tenancy import check, one_of, unique

ADDRESS_CHARACTERS_MAX = 500


class AlertRule(models.Model):
    """One kind of rule of a tenant. A kind without a row is off."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=32)
    is_enabled = models.BooleanField()
    threshold = models.PositiveIntegerField(help_text="In the unit of the kind.")
    changed_by = models.CharField(max_length=150, default="", blank=True)
    changed_at = models.DateTimeField()
    evaluated_at = models.DateTimeField(null=True, blank=True)

    objects = AlertRuleQuerySet.as_manager()

    class Meta:
        constraints = [
            unique("alert_rule_is_one_of_its_kind", "tenant", "kind"),
            one_of("kind", RULE_KINDS, "alert_rule_kind_is_known"),
            check(Q(threshold__gte=1), "alert_rule_threshold_is_positive"),
        ]
        indexes = [Index(fields=["evaluated_at"], condition=Q(is_enabled=True), name="alert_rule_enabled")]

    def __str__(self) -> str:
        return f"alert rule {self.kind}"

    @property
    def rule_kind(self) -> RuleKind:
        """The kind of the rule: what it measures, and in which unit."""
        return RULE_KINDS[self.kind]


class AlertDestination(models.Model):
    """Where alerts of a tenant are sent. A removed one can be restored; the secret of a webhook is derived."""

    class Kind(models.TextChoices):
        EMAIL = "email", "E-mail"
        WEBHOOK = "webhook", "Webhook"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=7, choices=Kind)
    address = models.CharField(max_length=ADDRESS_CHARACTERS_MAX)
    sends_closing = models.BooleanField(default=True)
    created_by = models.CharField(max_length=150, default="", blank=True)
    created_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True, blank=True)

    objects = AlertDestinationQuerySet.as_manager()

    class Meta:
        constraints = [
            one_of("kind", ["email", "webhook"], "alert_destination_kind_is_known"),
            unique(
                "alert_destination_is_one_of_its_address",
                *("tenant", "kind", "address"),
                condition=Q(removed_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def label(self) -> str:
        """The address for people; of a webhook only the host, because the path may be a credential."""
        if self.kind == self.Kind.EMAIL:
            return self.address
        return self.address.partition("://")[2].partition("/")[0].partition("?")[0]

    @property
    def short_id(self) -> str:
        """The beginning of the id, which distinguishes webhooks of one host; "" for e-mail, whose address does."""
        return "" if self.kind == self.Kind.EMAIL else str(self.id)[:8]


class Alert(models.Model):
    """A condition that a rule found, from the evaluation that found it to the first one that did not."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=32)
    threshold = models.PositiveIntegerField(help_text="When it opened.")
    value = models.FloatField(help_text="As measured last while it was open, in the unit of the kind.")
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    objects = AlertQuerySet.as_manager()

    class Meta:
        constraints = [
            unique("alert_is_open_once", "tenant", "kind", condition=Q(closed_at__isnull=True)),
            one_of("kind", RULE_KINDS, "alert_kind_is_known"),
        ]
        indexes = [Index(F("tenant"), F("opened_at").desc(), F("id"), name="alert_newest")]

    def __str__(self) -> str:
        return f"alert {self.kind}"

    @property
    def rule(self) -> RuleKind:
        """The kind of the rule that opened it."""
        return RULE_KINDS[self.kind]

    @property
    def measured(self) -> str:
        """The value with its unit."""
        return self.rule.written(self.value)

    @property
    def limit(self) -> str:
        """The threshold with its unit."""
        return self.rule.written(self.threshold)


class AlertDelivery(models.Model):
    """One message to one destination, with the log of its attempts."""

    class Event(models.TextChoices):
        OPENED = "opened", "Opened"
        CLOSED = "closed", "Closed"
        TEST = "test", "Test"

    class State(models.TextChoices):
        WAITING = "waiting"
        DONE = "done"
        FAILED = "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+", db_index=False)
    destination = models.ForeignKey(AlertDestination, on_delete=models.CASCADE, related_name="+")
    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="+", null=True, blank=True)
    event = models.CharField(max_length=6, choices=Event)
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField(help_text="When it is tried next; during an attempt, when the claim ends.")
    log = models.JSONField(default=list, blank=True, help_text="Time, result and milliseconds of each attempt.")
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = AlertDeliveryQuerySet.as_manager()

    class Meta:
        constraints = [
            one_of("event", ["opened", "closed", "test"], "alert_delivery_event_is_known"),
            one_of("state", ["waiting", "done", "failed"], "alert_delivery_state_is_known"),
            check(Q(event="test") ^ Q(alert__isnull=False), "alert_delivery_has_an_alert_unless_it_is_a_test"),
        ]
        indexes = [
            Index(F("tenant"), F("created_at").desc(), F("id"), name="alert_delivery_newest"),
            Index(fields=["due_at"], condition=Q(state="waiting"), name="alert_delivery_due"),
        ]

    def __str__(self) -> str:
        return f"alert delivery {self.id}"
