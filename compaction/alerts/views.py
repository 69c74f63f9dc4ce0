"""The page of alerts: rules, destinations, open and closed alerts, and the log of deliveries."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone

from compaction.alerts.actions import (
    add_alert_destination,
    remove_alert_destination,
    request_test_delivery,
    restore_alert_destination,
    set_alert_rules,
)
from compaction.alerts.channels import is_mail_configured, webhook_secrets
from compaction.alerts.delivery import alert_url, deliver
from compaction.alerts.forms import AlertDestinationForm, AlertRulesForm
from compaction.models import Alert, AlertDelivery, AlertDestination, AlertRule
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.members import operator_actor
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import acting, submit, tenant_page
from memory_platform.web.flash_messages import add_flash, flash_error
from memory_platform.web.htmx import HtmxRequest, wants_fragment
from memory_platform.web.rendering import render_page
from memory_platform.web.tables import SortColumn, read_table

CLOSED_SHOWN_MAX = 20
_DELIVERY_COLUMNS = (SortColumn("when", "created_at", datetime),)


@tenant_page("viewer", to_change="admin")
def alerts(request: HtmxRequest) -> HttpResponseBase:
    """Show rules, destinations, alerts and deliveries; a POST saves the rules."""
    if request.method != "POST":
        return _alerts_page(request)
    form = AlertRulesForm(request.POST, label_suffix="")
    who = acting(request, timezone.now())
    changed = submit(request, form, lambda: set_alert_rules(**form.changes(), **who))
    if changed is None:
        return _alerts_page(request, rules_form=form)
    add_flash(request, "Rules saved. They are evaluated every minute." if changed else "Nothing to save.")
    return redirect("alerts", request.tenant.id)


@tenant_page(to_change="admin")
def destination_add(request: HtmxRequest) -> HttpResponseBase:
    """Add a destination. The secret of a webhook is only in the answer to the POST."""
    form = AlertDestinationForm(request.POST, label_suffix="")
    who = acting(request, timezone.now())
    made = submit(request, form, lambda: add_alert_destination(**form.cleaned_data, **who))
    if made is None:
        return _alerts_page(request, destination_form=form)
    if made.kind == AlertDestination.Kind.WEBHOOK:
        return _alerts_page(request, made={"made": made, "secret": webhook_secrets(made)[0]})
    add_flash(request, f"Destination {made.label} added. Test it.")
    return _done(request)


@tenant_page(to_change="admin")
def destination_test(request: HtmxRequest, destination_id: UUID) -> HttpResponseBase:
    """Send a test message now and show its result."""
    now = timezone.now()
    try:
        with tenant_scope(request.tenant.id):
            destination = _found(AlertDestination.objects.for_tenant(request.tenant.id).active(), destination_id)
            made = request_test_delivery(destination=destination, by=operator_actor(request.operator), now=now)
    except PlatformError as error:
        flash_error(request, error.detail)
        return _done(request)
    sent = deliver(request.tenant.id, made.pk, now=now)
    result = sent.log[-1]["result"] if sent else "A worker is sending it."
    if sent and sent.state == AlertDelivery.State.FAILED:
        flash_error(request, f"Test to {destination.label} failed: {result}")
    else:
        add_flash(request, f"Test sent to {destination.label}: {result}")
    return _done(request)


@tenant_page(to_change="admin")
def destination_remove(request: HtmxRequest, destination_id: UUID) -> HttpResponseBase:
    """Remove a destination; the message offers to undo it."""
    with tenant_scope(request.tenant.id):
        destination = _found(AlertDestination.objects.for_tenant(request.tenant.id).active(), destination_id)
        remove_alert_destination(destination=destination, by=operator_actor(request.operator), now=timezone.now())
    undo_url = reverse("alert-destination-restore", args=[request.tenant.id, destination_id])
    add_flash(request, f"Destination {destination.label} removed.", undo_url=undo_url)
    return redirect("alerts", request.tenant.id)


@tenant_page(to_change="admin")
def destination_restore(request: HtmxRequest, destination_id: UUID) -> HttpResponseBase:
    """Undo the removal of a destination."""
    try:
        with tenant_scope(request.tenant.id):
            destination = _found(AlertDestination.objects.for_tenant(request.tenant.id).removed(), destination_id)
            restore_alert_destination(destination=destination, by=operator_actor(request.operator), now=timezone.now())
    except PlatformError as error:
        flash_error(request, f"Not restored: {error.detail}")
    else:
        add_flash(request, f"Destination {destination.label} restored.")
    return redirect("alerts", request.tenant.id)


def _found(rows: Any, destination_id: UUID) -> AlertDestination:
    row: AlertDestination = get_object_or_404(rows, pk=destination_id)
    return row


def _done(request: HtmxRequest) -> HttpResponseBase:
    return _alerts_page(request) if wants_fragment(request) else redirect("alerts", request.tenant.id)


def _alerts_page(
    request: HtmxRequest,
    *,
    rules_form: AlertRulesForm | None = None,
    destination_form: AlertDestinationForm | None = None,
    made: Mapping[str, Any] | None = None,
) -> HttpResponse:
    """Render the page with a refused form or a new webhook. htmx gets the log for a GET, all of it for a POST."""
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        deliveries = AlertDelivery.objects.for_tenant(tenant_id).with_targets()
        table = read_table(request, _DELIVERY_COLUMNS, deliveries.page)
        found = Alert.objects.for_tenant(tenant_id)
        closed = list(found.closed().newest_first()[:CLOSED_SHOWN_MAX])
        open_alerts = [(alert, alert_url(alert)) for alert in found.open().newest_first()]
        rules = {rule.kind: rule for rule in AlertRule.objects.for_tenant(tenant_id)}
        destinations = list(AlertDestination.objects.for_tenant(tenant_id).active().oldest_first())
    evaluated = [rule.evaluated_at for rule in rules.values() if rule.is_enabled and rule.evaluated_at]
    page = {
        "section": "alerts",
        "table": table,
        "is_unfinished": any(row.state == AlertDelivery.State.WAITING for row in table.rows),
        "open_alerts": open_alerts,
        "closed": closed,
        "has_rules": any(rule.is_enabled for rule in rules.values()),
        "evaluated_at": max(evaluated, default=None),
        "rules_form": rules_form or AlertRulesForm(initial=AlertRulesForm.initial_of(rules), label_suffix=""),
        "destinations": destinations,
        "form": destination_form or AlertDestinationForm(initial={"sends_closing": True}, label_suffix=""),
        "has_mail": is_mail_configured(),
        **(made or {}),
    }
    fragment = "body" if request.method == "POST" else "rows"
    return render_page(
        request, "compaction/alerts/alerts.html", page, fragment=fragment, form=rules_form or destination_form
    )
