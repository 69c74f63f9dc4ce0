"""Endpoints of alerts. They need a key of the whole tenant; rules and alerts are read with the scope read."""

from typing import Any
from uuid import UUID

from django.http import HttpResponseBase
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from compaction.alerts import actions
from compaction.alerts import serializers as schemas
from compaction.alerts.channels import webhook_secrets
from compaction.alerts.delivery import deliver
from compaction.models import Alert, AlertDelivery, AlertDestination, AlertRule
from compaction.services.alerts.rules import RULE_KINDS
from memories.store.api.schema import IF_MATCH, list_operation, operation
from memories.store.serializers.answers import content_etag
from memories.tenancy.api.endpoint import ALL_METHODS, Endpoint
from memories.tenancy.api.etags import conditional, require_etag, response_with_etag
from memories.tenancy.api.idempotency import idempotent, idempotent_in_steps
from memories.tenancy.exceptions import NotFound
from memories.tenancy.required_rows import find_row
from memories.tenancy.scopes import tenant_scope
from memory_platform.postgres import roles
from memory_platform.rest.cursor_pagination import PageInput
from memory_platform.rest.serializers import EmptyInput

_RULE = {"An alert at five contradictions": {"enabled": True, "threshold": 5}}
_WEBHOOK = {"A webhook": {"kind": "webhook", "address": "https://hooks.example.com/memory"}}
_MAIL = {"An e-mail address": {"kind": "email", "address": "ops@example.com"}}
_ADMIN = {"GET": "admin", "POST": "admin", "DELETE": "admin"}


class AlertEndpoint(Endpoint):
    """The base of these endpoints. Runs as the console, because the role of the API may not read alerts (ADR-0209)."""

    whole_tenant = ALL_METHODS

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Run the request as the role of the console."""
        with roles.logged_in_as(roles.CONSOLE):
            return super().dispatch(request, *args, **kwargs)


class AlertListEndpoint(AlertEndpoint):
    """List alerts."""

    @list_operation("alerts_list", schemas.AlertOutput, query=schemas.AlertListInput)
    def get(self, request: Request) -> Response:
        """Alerts, newest first. Closed ones are kept for 90 days."""
        values = self.query(schemas.AlertListInput)
        rows = Alert.objects.for_tenant(self.tenant_id)
        if "open" in values:
            rows = rows.open() if values["open"] else rows.closed()
        return self.listing(rows, values, schemas.AlertOutput, ordering="-opened_at")


class AlertRuleListEndpoint(AlertEndpoint):
    """List the alert rules of the tenant."""

    @operation("alert_rules_list", {200: schemas.AlertRulesOutput})
    def get(self, request: Request) -> Response:
        """All kinds of rules. An enabled rule is evaluated every minute."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            rules = AlertRule.objects.all_kinds(self.tenant_id)
        return Response(schemas.AlertRulesOutput({"rules": rules}).data)


class AlertRuleEndpoint(AlertEndpoint):
    """An alert rule."""

    scopes = {"PATCH": "admin"}
    output = schemas.AlertRuleOutput

    def edited_row(self, kind: str) -> AlertRule:
        """Return the rule that `If-Match` is about."""
        if kind not in RULE_KINDS:
            raise NotFound("not_found", "There is no such alert rule.")
        rules = AlertRule.objects.all_kinds(self.tenant_id)
        rule: AlertRule = next(rule for rule in rules if rule.kind == kind)
        return rule

    @operation("alert_rules_read", {200: schemas.AlertRuleOutput, 304: None}, 404)
    def get(self, request: Request, kind: str) -> Response:
        """An alert rule."""
        return self.answer_with_etag(lambda: self.shown(kind))

    @operation(
        "alert_rules_change", {200: schemas.AlertRuleOutput}, 404, request=schemas.AlertRuleInput, examples=_RULE
    )
    @conditional
    def patch(self, request: Request, kind: str) -> Response:
        """Turn a rule on or off, or change its threshold. Turning it off closes its open alert."""
        if kind not in RULE_KINDS:
            raise NotFound("not_found", "There is no such alert rule.")
        values = self.body(schemas.AlertRuleInput, kind=RULE_KINDS[kind])
        with tenant_scope(self.tenant_id):
            actions.change_alert_rule(kind=kind, **values, **self.action_arguments)
            return response_with_etag(request, self.shown(kind))


class AlertDestinationListEndpoint(AlertEndpoint):
    """Add and list alert destinations."""

    scopes = _ADMIN
    unrepeated = ("secret",)

    @list_operation("alert_destinations_list", schemas.AlertDestinationOutput)
    def get(self, request: Request) -> Response:
        """Active destinations, newest first."""
        values = self.query(PageInput)
        rows = AlertDestination.objects.for_tenant(self.tenant_id).active()
        return self.listing(rows, values, schemas.AlertDestinationOutput)

    @operation(
        "alert_destinations_create",
        {201: schemas.NewAlertDestinationOutput},
        request=schemas.AlertDestinationInput,
        examples=_WEBHOOK | _MAIL,
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Add a destination. Every alert that opens is sent to all of them."""
        values = self.body(schemas.AlertDestinationInput)
        with tenant_scope(self.tenant_id):
            made = actions.add_alert_destination(**values, **self.action_arguments)
        secret = webhook_secrets(made)[0] if made.kind == AlertDestination.Kind.WEBHOOK else None
        answer = {**schemas.AlertDestinationOutput(made).data, "secret": secret}
        headers = {"Location": request.build_absolute_uri(f"{request.path_info}/{made.pk}")}
        return Response(answer, status=status.HTTP_201_CREATED, headers=headers)


class _DestinationEndpoint(AlertEndpoint):
    """The base of the endpoints of one destination."""

    scopes = _ADMIN
    output = schemas.AlertDestinationOutput

    def edited_row(self, destination_id: UUID) -> AlertDestination:
        """Return the destination, whether or not it is removed. Called inside a scope."""
        rows = AlertDestination.objects.for_tenant(self.tenant_id).with_id(destination_id)
        return find_row(rows, AlertDestination, "alert destination")


class AlertDestinationEndpoint(_DestinationEndpoint):
    """Read or remove an alert destination."""

    @operation("alert_destinations_read", {200: schemas.AlertDestinationOutput, 304: None}, 404)
    def get(self, request: Request, destination_id: UUID) -> Response:
        """A destination; a removed one can be read for 90 days."""
        return self.answer_with_etag(lambda: self.shown(destination_id))

    @operation("alert_destinations_remove", {204: None}, 404)
    @conditional
    def delete(self, request: Request, destination_id: UUID) -> Response:
        """Send nothing more to a destination. Removing it again has no effect."""
        self.query(EmptyInput)
        with tenant_scope(self.tenant_id):
            destination = self.edited_row(destination_id)
            if destination.removed_at is None:
                actions.remove_alert_destination(destination=destination, by=self.actor, now=self.now)
        return Response(status=status.HTTP_204_NO_CONTENT)


class AlertDestinationRestoreEndpoint(_DestinationEndpoint):
    """Undo the removal of a destination."""

    @operation("alert_destinations_restore", {200: schemas.AlertDestinationOutput}, 404, 409)
    @conditional
    def post(self, request: Request, destination_id: UUID) -> Response:
        """Send to a removed destination again; a webhook keeps its secret."""
        self.body(EmptyInput)
        with tenant_scope(self.tenant_id):
            destination = self.edited_row(destination_id)
            if destination.removed_at is not None:
                actions.restore_alert_destination(destination=destination, by=self.actor, now=self.now)
            return response_with_etag(request, self.shown(destination_id))


class AlertDestinationTestEndpoint(AlertEndpoint):
    """Test a destination."""

    scopes = _ADMIN

    @operation("alert_destinations_test", {201: schemas.AlertDeliveryOutput}, 404, parameters=[IF_MATCH])
    @idempotent_in_steps
    def post(self, request: Request, destination_id: UUID) -> Response:
        """Send a test message now, within about five seconds, and return its delivery. It is tried once."""
        self.body(EmptyInput)
        with tenant_scope(self.tenant_id):
            rows = AlertDestination.objects.for_tenant(self.tenant_id).active().with_id(destination_id)
            destination = find_row(rows, AlertDestination, "alert destination")
            require_etag(request, lambda: content_etag(schemas.AlertDestinationOutput(destination).data))
            made = actions.request_test_delivery(destination=destination, by=self.actor, now=self.now)
            self.note_partial_write()
        sent = deliver(self.tenant_id, made.pk, now=self.now) or made
        return Response(schemas.AlertDeliveryOutput(sent).data, status=status.HTTP_201_CREATED)


class AlertDeliveryListEndpoint(AlertEndpoint):
    """List deliveries."""

    scopes = _ADMIN

    @list_operation("alert_deliveries_list", schemas.AlertDeliveryOutput, query=schemas.AlertDeliveryListInput)
    def get(self, request: Request) -> Response:
        """Deliveries of alerts and tests with their attempts, newest first. They are kept for 90 days."""
        values = self.query(schemas.AlertDeliveryListInput)
        filters = {name: values[name] for name in ("destination_id", "state") if name in values}
        rows = AlertDelivery.objects.for_tenant(self.tenant_id).narrowed(**filters)
        return self.listing(rows, values, schemas.AlertDeliveryOutput)
