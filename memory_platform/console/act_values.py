"""Acts that changed values which are stored with them (ADR-0282): how the values of their targets are read and set.

Undo sets the former values by the action that the page of the target calls, so its rules and its entry in the audit log
are the same, and the undo can be undone. Called inside a scope.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import ObjectDoesNotExist
from django.utils.dateparse import parse_datetime

from compaction.alerts.actions import RuleSetting, set_alert_rules
from compaction.erasure.actions import remove_retention_policy, set_retention_policy
from compaction.models import AlertRule, Compaction, RetentionPolicy
from compaction.review.actions import (
    STRUCK_FACT,
    SUMMARY_VALUES,
    reject_compaction,
    set_summary_values,
    strike_journal_entry,
)
from compaction.services.pipeline.journal_entries import STRUCK
from context.evaluation.actions.golden_questions import set_golden_values
from context.feedback.actions import set_votes
from context.feedback.votes import vote_values
from context.models import Feedback, GoldenQuestion
from memories.models import Membership, SavedView, Snapshot, StoredAct, Tenant
from memories.partitions.actions import restore_snapshot
from memories.search.actions import set_tenant_language
from memories.tenancy.actions.operators import add_member, change_role, remove_member
from memories.tenancy.actions.saved_views import change_view, delete_view
from memories.tenancy.audit import Actor, as_stored_value
from memories.tenancy.exceptions import Conflict, Forbidden, NotFound
from memories.tenancy.members import users_with_fixed_roles
from memory_platform.web.roles import Operator, Role, role_of

#: Values by the id of the target and the name of the field.
Values = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class StoredValues:
    """The values before and after an act."""

    before: Values
    after: Values


@dataclass(frozen=True)
class ValueKind:
    """Functions that read the current values of targets and set former ones, and the message after that (`said`)."""

    read: Callable[[UUID, Collection[str]], Values]
    write: Callable[..., None]
    said: str


def stored_values(changed: Collection[Mapping[str, Any]]) -> StoredValues:
    """Return the values of the rows that a stored act keeps."""
    before: dict[str, dict[str, Any]] = {}
    after: dict[str, dict[str, Any]] = {}
    for row in changed:
        before.setdefault(row["id"], {})[row["field"]] = row["before"]
        after.setdefault(row["id"], {})[row["field"]] = row["after"]
    return StoredValues(before, after)


def present_values(verb: str, tenant_id: UUID, target_ids: Collection[str]) -> Values:
    """Return the values that the targets have now, as a stored act would keep them; nothing of a missing target."""
    values: Values = as_stored_value(VALUE_KINDS[verb].read(tenant_id, target_ids))
    return values


def are_present(values: Values, present: Values) -> bool:
    """Return whether all of the values are current; a missing target has none."""
    return all(
        present.get(target, {}).get(name) == value for target, own in values.items() for name, value in own.items()
    )


def set_former_values(
    verb: str, tenant_id: UUID, changed: Collection[Mapping[str, Any]], *, by: Actor, now: datetime
) -> str:
    """Set the values from before an act, and describe that.

    Raises `Conflict` `changed` or `NotFound`, and as the action does: the caller must roll back then.
    """
    values = stored_values(changed)
    if not are_present(values.after, present_values(verb, tenant_id, values.after.keys())):
        raise changed_later()
    try:
        VALUE_KINDS[verb].write(tenant_id, values.before, by=by, now=now)
    except ObjectDoesNotExist as error:
        raise NotFound("not_found", "What was changed no longer exists.") from error
    # The action locks its rows only now and stores the values that it replaced, so changes of another request show
    # here.
    undos = StoredAct.objects.for_tenant(tenant_id).filter(act=StoredAct.Act.CHANGE, at=now)
    if not all(are_present(stored_values(undo.changed).before, values.after) for undo in undos):
        raise changed_later()
    return f"Undone: {VALUE_KINDS[verb].said}"


def changed_later() -> Conflict:
    """Return the refusal to undo an act that is no longer in effect."""
    return Conflict("changed", "This was changed again later. Undo the later change first.")


def _rows(model: Any, tenant_id: UUID, target_ids: Collection[str]) -> dict[str, Any]:
    return {str(row.pk): row for row in model.objects.for_tenant(tenant_id).with_ids(target_ids)}


def _the_row(model: Any, tenant_id: UUID, target_id: str) -> Any:
    return model.objects.for_tenant(tenant_id).get(pk=target_id)


def _members(tenant_id: UUID, target_ids: Collection[str]) -> Values:
    rows = Membership.objects.for_tenant(tenant_id).of_users(target_ids)
    ids = {str(pk) for pk in rows.values_list("user_id", flat=True)}
    return {pk: {"member": pk in ids} for pk in target_ids}


def _set_member(tenant_id: UUID, values: Values, **who: Any) -> None:
    for user_id, own in values.items():
        user = User.objects.get(pk=user_id)
        if own["member"]:
            operator = Operator(User.objects.get(pk=who["by"].id), Role.ADMIN)
            if role_of(user) is None or users_with_fixed_roles([user], operator):
                raise Conflict("fixed_role", f"{user.get_username()} must be invited, because of other tenants.")
            add_member(user=user, tenant=Tenant.objects.get(pk=tenant_id), **who)
        else:
            remove_member(membership=Membership.objects.for_tenant(tenant_id).get(user=user), **who)


def _roles(tenant_id: UUID, target_ids: Collection[str]) -> Values:
    rows = Membership.objects.for_tenant(tenant_id).with_roles().of_users(target_ids)
    return {str(row.user_id): {"role": role_of(row.user)} for row in rows}


def _set_role(tenant_id: UUID, values: Values, **who: Any) -> None:
    operator = Operator(User.objects.get(pk=who["by"].id), Role.ADMIN)
    for user_id, own in values.items():
        member = Membership.objects.for_tenant(tenant_id).with_roles().get(user_id=user_id)
        is_fixed = member.user_id in users_with_fixed_roles([member.user], operator)
        change_role(membership=member, role=own["role"] or "", is_fixed=is_fixed, **who)


def _language(tenant_id: UUID, _: Collection[str]) -> Values:
    return {str(tenant_id): {"language": Tenant.objects.get(pk=tenant_id).text_search_config}}


def _set_language(tenant_id: UUID, values: Values, **who: Any) -> None:
    language = values[str(tenant_id)]["language"]
    set_tenant_language(tenant=Tenant.objects.get(pk=tenant_id), language=language, **who)


def _alert_rules(tenant_id: UUID, _: Collection[str]) -> Values:
    rules = AlertRule.objects.all_kinds(tenant_id)
    return {rule.kind: {"is_enabled": rule.is_enabled, "threshold": rule.threshold} for rule in rules}


def _set_alert_rules(tenant_id: UUID, values: Values, **who: Any) -> None:
    present = _alert_rules(tenant_id, ())
    settings = {kind: RuleSetting(**{**present[kind], **own}) for kind, own in values.items()}
    set_alert_rules(tenant=Tenant.objects.get(pk=tenant_id), settings=settings, **who)


def _retention(tenant_id: UUID, target_ids: Collection[str]) -> Values:
    days: dict[str, dict[str, Any]] = {path: dict.fromkeys(RetentionPolicy.From.values) for path in target_ids}
    for policy in RetentionPolicy.objects.for_tenant(tenant_id).filter(partition_path__in=target_ids):
        days[policy.partition_path][policy.age_from] = policy.days
    return days


def _set_retention(tenant_id: UUID, values: Values, **who: Any) -> None:
    for path, own in values.items():
        for age_from, days in own.items():
            if days is not None:
                tenant = Tenant.objects.get(pk=tenant_id)
                set_retention_policy(tenant=tenant, partition=path, days=days, age_from=age_from, **who)
            elif policy := RetentionPolicy.objects.for_tenant(tenant_id).of(path, age_from).select_for_update().first():
                remove_retention_policy(policy=policy, **who)


def _golden(tenant_id: UUID, target_ids: Collection[str]) -> Values:
    rows = GoldenQuestion.objects.for_tenant(tenant_id).not_removed().with_ids(target_ids)
    return {str(row.pk): row.edited_values() for row in rows}


def _set_golden(tenant_id: UUID, values: Values, **who: Any) -> None:
    for question_id, own in values.items():
        given = {**own, "as_of": parse_datetime(own["as_of"] or "")} if "as_of" in own else own
        set_golden_values(question=_the_row(GoldenQuestion, tenant_id, question_id), values=given, **who)


def _views(tenant_id: UUID, target_ids: Collection[str]) -> Values:
    rows = SavedView.objects.for_tenant(tenant_id).kept().with_ids(target_ids)
    return {str(row.pk): {"name": row.name, "is_shared": row.is_shared} for row in rows}


def _set_view(tenant_id: UUID, values: Values, **who: Any) -> None:
    for view_id, own in values.items():
        view = SavedView.objects.for_tenant(tenant_id).select_for_update().get(pk=view_id)
        if not view.is_shared and str(view.user_id) != who["by"].id:
            raise Forbidden("not_owner", "The view is private now. Only the operator who saved it can undo this.")
        if own["name"]:
            change_view(view=view, name=own["name"], is_shared=own["is_shared"], **who)
        else:
            delete_view(view=view, **who)


def _snapshots(tenant_id: UUID, target_ids: Collection[str]) -> Values:
    rows = _rows(Snapshot, tenant_id, target_ids)
    return {pk: dict.fromkeys(("name", "recorded_at")) for pk in target_ids if pk not in rows}


def _restore_snapshot(tenant_id: UUID, values: Values, **who: Any) -> None:
    for snapshot_id, own in values.items():
        recorded_at = datetime.fromisoformat(own["recorded_at"])
        row = Snapshot(pk=snapshot_id, tenant_id=tenant_id, name=own["name"], recorded_at=recorded_at)
        restore_snapshot(snapshot=row, **who)


def _compactions(tenant_id: UUID, target_ids: Collection[str]) -> Values:
    """Return state, reason (empty while it waits), summary and, by number, whether each fact is struck."""
    values: dict[str, dict[str, Any]] = {}
    for pk, row in _rows(Compaction, tenant_id, target_ids).items():
        values[pk] = {name: getattr(row, name) for name in ("state", "decision_reason", *SUMMARY_VALUES)}
        for number, entry in enumerate(row.journal, 1):
            values[pk][f"{STRUCK_FACT} {number}"] = entry["status"] == STRUCK
    return values


def _set_facts(tenant_id: UUID, values: Values, **who: Any) -> None:
    for compaction_id, own in values.items():
        for name, is_struck in own.items():
            compaction, entry = _the_row(Compaction, tenant_id, compaction_id), int(name.rpartition(" ")[2])
            strike_journal_entry(compaction=compaction, entry=entry, is_struck=is_struck, **who)


def _set_summary(tenant_id: UUID, values: Values, **who: Any) -> None:
    for compaction_id, own in values.items():
        set_summary_values(compaction=_the_row(Compaction, tenant_id, compaction_id), values=own, **who)


def _decide_again(tenant_id: UUID, values: Values, **who: Any) -> None:
    for compaction_id, own in values.items():
        compaction = _the_row(Compaction, tenant_id, compaction_id)
        reject_compaction(compaction=compaction, reason=own["decision_reason"], **who)


def _votes(tenant_id: UUID, target_ids: Collection[str]) -> Values:
    return {pk: vote_values(row) for pk, row in _rows(Feedback, tenant_id, target_ids).items()}


def _set_votes(tenant_id: UUID, values: Values, **who: Any) -> None:
    present = _votes(tenant_id, values.keys())
    given = {UUID(pk): {**present[pk], **own} for pk, own in values.items() if pk in present}
    set_votes(tenant_id=tenant_id, values=given, **who)


_RETENTION = ValueKind(_retention, _set_retention, "the former retention policy is restored.")
_FACTS = ValueKind(_compactions, _set_facts, "the former state of the fact is restored.")
_SUMMARY = ValueKind(_compactions, _set_summary, "the summary has its former text again.")
_VOTES = ValueKind(_votes, _set_votes, "the former votes are restored.")
VALUE_KINDS: Mapping[str, ValueKind] = {
    "change_role": ValueKind(_roles, _set_role, "the member has the former role again."),
    "add_member": ValueKind(_members, _set_member, "the member is removed."),
    "remove_member": ValueKind(_members, _set_member, "the member is added again."),
    "set_language": ValueKind(_language, _set_language, "the former language is restored."),
    "set_alert_rules": ValueKind(_alert_rules, _set_alert_rules, "the former alert rules are restored."),
    **dict.fromkeys(("set_retention", "remove_retention"), _RETENTION),
    "change_golden_question": ValueKind(_golden, _set_golden, "the former question is restored."),
    "save_view": ValueKind(_views, _set_view, "the former saved views are restored."),
    "delete_snapshot": ValueKind(_snapshots, _restore_snapshot, "the snapshot is restored."),
    **dict.fromkeys(("strike_fact", "keep_fact"), _FACTS),
    **dict.fromkeys(("edit_compaction", "append_missing_facts", "withdraw_appended_facts"), _SUMMARY),
    **dict.fromkeys(("give_feedback", "withdraw_feedback", "restore_feedback", "record_outcome"), _VOTES),
    "reopen_compaction": ValueKind(_compactions, _decide_again, "the compaction is rejected again."),
}
