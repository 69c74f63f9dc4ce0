"""Inputs and outputs of the API for alerts."""

from typing import Any
from urllib.parse import urljoin

from django.conf import settings
from rest_framework import serializers

from compaction.alerts.channels import address_error
from compaction.alerts.delivery import alert_url
from compaction.models import Alert, AlertDelivery, AlertDestination
from compaction.models.alerts import ADDRESS_CHARACTERS_MAX
from memory_platform.rest.cursor_pagination import PageInput
from memory_platform.rest.fields import (
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictTextField,
    StrictUuidField,
)
from memory_platform.rest.serializers import StrictSerializer

_UNIT = "The unit of value and threshold, in plural."


def _error(field: str, detail: str, code: str) -> serializers.ValidationError:
    return serializers.ValidationError({field: [serializers.ErrorDetail(detail, code)]})


class AlertRuleInput(StrictSerializer):
    """The fields of a rule to change."""

    enabled = StrictBooleanField(required=False)
    threshold = StrictIntegerField(
        minimum=1, required=False, help_text="The alert is open from this value on, at most `threshold_max`."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check the threshold by the kind of the rule."""
        highest = self.context["kind"].threshold_max
        if attrs.get("threshold", 1) > highest:
            raise _error("threshold", f"The integer must be between 1 and {highest:,}.", "out_of_range")
        return attrs


class AlertRuleOutput(serializers.Serializer[Any]):
    """One rule of the tenant."""

    kind = serializers.CharField()
    description = serializers.CharField(
        source="rule_kind.description", help_text="What the rule measures every minute."
    )
    unit = serializers.CharField(source="rule_kind.unit", help_text=_UNIT)
    enabled = serializers.BooleanField(source="is_enabled")
    threshold = serializers.IntegerField()
    threshold_max = serializers.IntegerField(source="rule_kind.threshold_max")
    changed_by = serializers.CharField()
    changed_at = serializers.DateTimeField(allow_null=True, help_text="null if the rule still has its initial values.")


class AlertRulesOutput(serializers.Serializer[Any]):
    """All rules of the tenant."""

    rules = AlertRuleOutput(many=True)


class AlertListInput(PageInput):
    """The query parameters of the list of alerts."""

    open = StrictBooleanField(
        takes_text=True, required=False, help_text="true: only open alerts; false: only closed ones."
    )


class AlertOutput(serializers.Serializer[Any]):
    """One alert."""

    id = serializers.UUIDField()
    rule = serializers.CharField(source="kind", help_text="The kind of the rule.")
    value = serializers.FloatField(help_text="As measured last while it was open.")
    threshold = serializers.IntegerField(help_text="When it opened.")
    unit = serializers.CharField(source="rule.unit", help_text=_UNIT)
    opened_at = serializers.DateTimeField()
    closed_at = serializers.DateTimeField(allow_null=True)
    url = serializers.SerializerMethodField(help_text="The page of the console that shows the cause.")

    def get_url(self, alert: Alert) -> str:
        """Return the URL of the page that shows the cause."""
        return str(urljoin(settings.CONSOLE_URL, alert_url(alert)))


class AlertDestinationInput(StrictSerializer):
    """Where to send alerts."""

    kind = StrictChoiceField(choices=AlertDestination.Kind.values)
    address = StrictTextField(
        min_length=1, max_length=ADDRESS_CHARACTERS_MAX, help_text="An e-mail address, or the https URL of a webhook."
    )
    sends_closing = StrictBooleanField(default=True, help_text="Also send when an alert closes.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check the address by its kind."""
        if detail := address_error(attrs["kind"], attrs["address"]):
            raise _error("address", detail, "bad_address")
        return attrs


class AlertDestinationOutput(serializers.Serializer[Any]):
    """One destination."""

    id = serializers.UUIDField()
    kind = serializers.CharField(help_text="`email` or `webhook`.")
    address = serializers.CharField(
        source="label", help_text="For a webhook, only the host, because the path may be secret."
    )
    sends_closing = serializers.BooleanField()
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    removed_at = serializers.DateTimeField(allow_null=True)


class NewAlertDestinationOutput(AlertDestinationOutput):
    """A new destination, with the secret of a webhook."""

    secret = serializers.CharField(
        allow_null=True, help_text="Signs the messages to a webhook. Returned only in this response."
    )


class AlertDeliveryListInput(PageInput):
    """The query parameters of the log of deliveries."""

    destination_id = StrictUuidField(required=False)
    state = StrictChoiceField(choices=AlertDelivery.State.values, required=False)


class AlertAttemptOutput(serializers.Serializer[Any]):
    """One attempt at a delivery."""

    at = serializers.DateTimeField()
    accepted = serializers.BooleanField(source="is_done")
    result = serializers.CharField()
    milliseconds = serializers.IntegerField(help_text="0 if nothing was sent.")


class AlertDeliveryOutput(serializers.Serializer[Any]):
    """One message to one destination."""

    id = serializers.UUIDField()
    destination_id = serializers.UUIDField()
    alert_id = serializers.UUIDField(allow_null=True, help_text="null for a test message.")
    event = serializers.CharField(help_text="`opened`, `closed` or `test`.")
    state = serializers.CharField(help_text="`waiting`, `done` or `failed`.")
    attempts = AlertAttemptOutput(many=True, source="log")
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
