"""The page of alerts: rules, destinations, open and closed alerts, and the log of deliveries."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

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
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.tenant_pages import tenant_page
from memories.tenancy.views.page_actions import action_arguments, by_operator, errors_as_flash, submit
from memory_platform.web.flash_messages import add_flash, flash_error
from memory_platform.web.htmx import HtmxRequest, wants_fragment
from memory_platform.web.rendering import render_page
from memory_platform.web.tables import SortColumn, read_table

CLOSED_SHOWN_MAX = 20
_DELIVERY_COLUMNS = (SortColumn("when", "created_at", datetime),)


@tenant_page("viewer", to_change="admin", state="replaces")
def alerts(request: HtmxRequest) -> HttpResponseBase:
    """Show rules, destinations, alerts and deliveries; a POST saves the rules."""
    if request.method != "POST":
        return _alerts_page(request)
    form = AlertRulesForm(request.POST)
    changed = submit(request, form, lambda: set_alert_rules(**form.changes(), **action_arguments(request)))
    if changed is None:
        return _alerts_page(request, rules_form=form)
    add_flash(request, "Rules saved. They are evaluated every minute." if changed else "Nothing to save.")
    return redirect("alerts", request.tenant.id)


@tenant_page(to_change="admin")
def destination_add(request: HtmxRequest) -> HttpResponseBase:
    """Add a destination. The secret of a webhook is only in the response to the POST."""
    form = AlertDestinationForm(request.POST)
    added = submit(request, form, lambda: add_alert_destination(**form.cleaned_data, **action_arguments(request)))
    if added is None:
        return _alerts_page(request, destination_form=form)
    if added.kind == AlertDestination.Kind.WEBHOOK:
        return _alerts_page(request, added={"added": added, "secret": webhook_secrets(added)[0]})
    add_flash(request, f"Destination {added.label} added. Test it.")
    return _done(request)


@tenant_page(to_change="admin")
def destination_test(request: HtmxRequest, destination_id: UUID) -> HttpResponseBase:
    """Send a test message now and show its result."""
    who = by_operator(request)
    with errors_as_flash(request):
        with tenant_scope(request.tenant.id):
            destination = _find_destination(request, destination_id)
            delivery = request_test_delivery(destination=destination, **who)
        _flash_test_result(request, destination, deliver(request.tenant.id, delivery.pk, now=who["now"]))
    return _done(request)


def _flash_test_result(request: HtmxRequest, destination: AlertDestination, sent: AlertDelivery | None) -> None:
    result = sent.log[-1]["result"] if sent else "A worker is sending it."
    if sent and sent.state == AlertDelivery.State.FAILED:
        flash_error(request, f"Test to {destination.label} failed: {result}")
    else:
        add_flash(request, f"Test sent to {destination.label}: {result}")


@tenant_page(to_change="admin")
def destination_remove(request: HtmxRequest, destination_id: UUID) -> HttpResponseBase:
    """Remove a destination; the message offers to undo it."""
    with tenant_scope(request.tenant.id):
        destination = _find_destination(request, destination_id)
        remove_alert_destination(destination=destination, **by_operator(request))
    undo_url = reverse("alert-destination-restore", args=[request.tenant.id, destination_id])
    add_flash(request, f"Destination {destination.label} removed.", undo_url=undo_url)
    return redirect("alerts", request.tenant.id)


@tenant_page(to_change="admin")
def destination_restore(request: HtmxRequest, destination_id: UUID) -> HttpResponseBase:
    """Undo the removal of a destination."""
    with errors_as_flash(request, "Not restored: {}"), tenant_scope(request.tenant.id):
        destination = _find_destination(request, destination_id, is_removed=True)
        restore_alert_destination(destination=destination, **by_operator(request))
        add_flash(request, f"Destination {destination.label} restored.")
    return redirect("alerts", request.tenant.id)


def _find_destination(request: HtmxRequest, destination_id: UUID, *, is_removed: bool = False) -> AlertDestination:
    rows = AlertDestination.objects.for_tenant(request.tenant.id)
    row: AlertDestination = get_object_or_404(rows.removed() if is_removed else rows.active(), pk=destination_id)
    return row


def _done(request: HtmxRequest) -> HttpResponseBase:
    return _alerts_page(request) if wants_fragment(request) else redirect("alerts", request.tenant.id)


def _alerts_page(
    request: HtmxRequest,
    *,
    rules_form: AlertRulesForm | None = None,
    destination_form: AlertDestinationForm | None = None,
    added: Mapping[str, Any] | None = None,
) -> HttpResponse:
    """Render the page with a refused form or a new webhook. htmx gets the log for a GET, all of it for a POST."""
    tenant_id = request.tenant.id
    with tenant_scope(tenant_id):
        deliveries = AlertDelivery.objects.for_tenant(tenant_id).with_targets()
        table = read_table(request, _DELIVERY_COLUMNS, deliveries.page)
        rows = Alert.objects.for_tenant(tenant_id)
        closed = list(rows.closed().newest_first()[:CLOSED_SHOWN_MAX])
        open_alerts = [(alert, alert_url(alert)) for alert in rows.open().newest_first()]
        rules = AlertRule.objects.all_kinds(tenant_id)
        destinations = list(AlertDestination.objects.for_tenant(tenant_id).active().oldest_first())
    evaluated = [rule.evaluated_at for rule in rules if rule.is_enabled and rule.evaluated_at]
    page = {
        "section": "alerts",
        "table": table,
        "is_unfinished": any(row.state == AlertDelivery.State.WAITING for row in table.rows),
        "open_alerts": open_alerts,
        "closed": closed,
        "has_rules": any(rule.is_enabled for rule in rules),
        "evaluated_at": max(evaluated, default=None),
        "rules_form": rules_form or AlertRulesForm(initial=AlertRulesForm.initial_of(rules)),
        "destinations": destinations,
        "form": destination_form or AlertDestinationForm(initial={"sends_closing": True}),
        "has_mail": is_mail_configured(),
        **(added or {}),
    }
    fragment = "body" if request.method == "POST" else "rows"
    return render_page(
        request, "compaction/alerts/alerts.html", page, fragment=fragment, form=rules_form or destination_form
    )
