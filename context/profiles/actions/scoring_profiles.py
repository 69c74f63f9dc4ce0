"""Draft, publish, roll back and retire scoring profiles. An edit is a new draft; no version's numbers ever change."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db import transaction

from context.models import EvaluationRun, ScoringProfileAssignment, ScoringProfileVersion
from context.profiles.publishing_gate import PublishingGate, publishing_gate
from context.profiles.scoring_profiles import apply_number_changes, listed_scoring_profile, scoring_profile_version
from context.profiles.versions import (
    audit_profile,
    changed_numbers,
    check_new_name,
    insert_version,
    labelled_changes,
    name_is_taken,
)
from context.services.profiles.publishing import ARGUMENT_PARTS, EVALUATION_CODES, NOT_EVALUATED
from context.services.profiles.scoring_profiles import DEFAULT_SCORING_PROFILE_NAME, SHIPPED_PROFILES
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import Conflict, InvalidInput, NotFound

_State = ScoringProfileVersion.State
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@transaction.atomic
def create_scoring_profile(
    *,
    tenant_id: UUID,
    name: str,
    changes: Mapping[str, Any] = _NOTHING,
    based_on: str = DEFAULT_SCORING_PROFILE_NAME,
    based_on_version: int | None = None,
    report: Mapping[str, Any] = _NOTHING,
    by: Actor,
    now: datetime,
) -> ScoringProfileVersion:
    """Create the first draft of a profile from the numbers of another one (active, or one version) with `changes`."""
    check_new_name("scoring", name, ScoringProfileVersion.objects.for_tenant(tenant_id), SHIPPED_PROFILES)
    try:
        if based_on_version is None:
            base = listed_scoring_profile(tenant_id, based_on)
        else:
            base = scoring_profile_version(tenant_id, based_on, based_on_version)
    except (NotFound, InvalidInput) as error:
        raise InvalidInput("invalid_choice", error.detail, "based_on") from error
    draft = _draft(base, name, 1, changes, report)
    insert_version(draft, refusal=name_is_taken("scoring", name), by=by, now=now)
    _audit(draft, "create", draft.tuned_numbers, by, now)
    return draft


@transaction.atomic
def edit_scoring_profile(
    *,
    tenant_id: UUID,
    name: str,
    changes: Mapping[str, Any],
    edited_from: int,
    report: Mapping[str, Any] = _NOTHING,
    by: Actor,
    now: datetime,
) -> ScoringProfileVersion:
    """Save `changes` to version `edited_from` as a new draft; without any difference return that version.

    Raises `Conflict` with code `locked` for a built-in profile and `profile_changed` if there is a newer version that
    the editor did not see, `NotFound` for an unknown profile, `InvalidInput` naming every invalid number.
    """
    rows = _locked_versions(tenant_id, name)
    newest, base = rows[0], _of_number(rows, edited_from)
    if base.state in (_State.DRAFT, _State.EVALUATED) and newest.version != edited_from:
        raise Conflict(
            "profile_changed", f"Version {newest.version} was saved in the meantime. Check it before you save again."
        )
    draft = _draft(base, name, newest.version + 1, changes, report)
    if draft.numbers == base.numbers:
        return base
    refusal = Conflict("profile_changed", "Someone else saved this scoring profile at the same time.")
    insert_version(draft, refusal=refusal, by=by, now=now)
    _audit(draft, "edit", [number.field for number in changed_numbers(base, draft)], by, now, before=base)
    return draft


@transaction.atomic
def publish_scoring_profile(
    *,
    tenant_id: UUID,
    name: str,
    version: int,
    argument: Mapping[str, str],
    reason: str = "",
    replaces: int | None = None,
    by: Actor,
    now: datetime,
) -> ScoringProfileVersion:
    """Publish a version that was compared with the profile in use, with its `argument` by `ARGUMENT_PARTS`.

    A version that is not clearly better also needs a `reason`. `replaces` is the active version that the caller saw, 0
    for none. Raises `Conflict` with the codes `not_evaluated`, `too_few_questions`, `baseline_not_evaluated` (which
    name missing texts as well), `locked`, `already_published`, `retired` and `profile_changed`, `InvalidInput` for the
    texts.
    """
    rows = _locked_versions(tenant_id, name)
    row = _of_number(rows, version)
    if row.state == _State.PUBLISHED:
        raise Conflict("already_published", f"Version {version} was published already; roll back to return to it.")
    if row.state == _State.RETIRED:
        raise Conflict("retired", f"Version {version} is retired; copy it into a new draft.")
    before = _active_version(rows, replaces)
    gate = publishing_gate(row, before, argument=argument, reason=reason)
    _refuse_unmet(gate)
    _lock_runs(gate)
    row.evaluation_run, row.baseline_run = gate.run, gate.baseline
    row.comparison = gate.comparison.to_dict() if gate.comparison else {}
    row.argument = {part: argument[part].strip() for part in ARGUMENT_PARTS} | {"reason": reason.strip()}
    row.published_at, row.published_by = now, by.stored_label
    _activate(row, before, now)
    fields = ["state", "evaluation_run", "argument"]
    _audit(row, "publish", fields, by, now, before=before, reason=row.argument["reason"])
    return row


@transaction.atomic
def roll_back_scoring_profile(
    *, tenant_id: UUID, name: str, version: int, replaces: int | None = None, by: Actor, now: datetime
) -> ScoringProfileVersion:
    """Make a formerly published version active again, also a retired one. Raises the errors of publishing."""
    rows = _locked_versions(tenant_id, name)
    row = _of_number(rows, version)
    if row.published_at is None:
        raise Conflict("not_published", f"Version {version} was never published, so there is nothing to return to.")
    if row.is_active:
        return row
    before = _active_version(rows, replaces)
    _activate(row, before, now)
    _audit(row, "roll_back", ["state"], by, now, before=before)
    return row


@transaction.atomic
def retire_scoring_profile(
    *, tenant_id: UUID, name: str, version: int, by: Actor, now: datetime
) -> ScoringProfileVersion:
    """Retire a version; receipts that name it stay readable. Raises `Conflict` while it is active and assigned."""
    row = _of_number(_locked_versions(tenant_id, name), version)
    if row.state == _State.RETIRED:
        return row
    assignments = ScoringProfileAssignment.objects.for_tenant(tenant_id).active().of_profile(name)
    if row.is_active and (count := assignments.row_count()):
        targets = "one target" if count == 1 else f"{count} targets"
        raise Conflict("assigned", f"The profile is assigned to {targets}; end that, or roll back instead.")
    # a superseded version keeps its end, so that undoing this does not activate it
    row.state, row.recorded_to = _State.RETIRED, row.recorded_to or max(now, row.recorded_from)
    row.save(update_fields=["state", "recorded_to"])
    _audit(row, "retire", ["state"], by, now)
    return row


@transaction.atomic
def restore_scoring_profile(
    *, tenant_id: UUID, name: str, version: int, retired_at: datetime, by: Actor, now: datetime
) -> ScoringProfileVersion:
    """Undo the retirement of a version at that time: a draft is a draft again, an active one active. Idempotent.

    Raises `Conflict` `profile_changed` if the version was active and another one is now.
    """
    rows = _locked_versions(tenant_id, name)
    row = _of_number(rows, version)
    if row.state != _State.RETIRED:
        return row
    was_in_use = row.recorded_to is None or row.recorded_to >= retired_at
    if row.published_at is not None:
        if was_in_use:
            _active_version(rows, 0)
        row.state = _State.PUBLISHED
    else:
        row.state = _State.EVALUATED if row.evaluation_run_id else _State.DRAFT
    row.recorded_to = None if was_in_use else row.recorded_to
    row.save(update_fields=["state", "recorded_to"])
    _audit(row, "restore", ["state"], by, now)
    return row


def _draft(
    base: ScoringProfileVersion, name: str, version: int, changes: Mapping[str, Any], report: Mapping[str, Any]
) -> ScoringProfileVersion:
    return ScoringProfileVersion(
        tenant_id=base.tenant_id,
        name=name,
        version=version,
        numbers=apply_number_changes(base, changes),
        based_on=f"{base.name} {base.version}",
        report=dict(report),
    )


def _locked_versions(tenant_id: UUID, name: str) -> list[ScoringProfileVersion]:
    """Return all versions of a profile, locked until the transaction ends, so that changes come in turn."""
    if name in SHIPPED_PROFILES:
        raise Conflict("locked", f"{name} is built in and locked. Copy it to a profile of your own.")
    rows = list(ScoringProfileVersion.objects.for_tenant(tenant_id).named(name).versions().locked())
    return rows or [listed_scoring_profile(tenant_id, name)]


def _of_number(rows: list[ScoringProfileVersion], version: int) -> ScoringProfileVersion:
    found = next((row for row in rows if row.version == version), None)
    if found is None:
        raise InvalidInput("unknown_version", "There is no such version of this scoring profile.", "version")
    return found


def _active_version(rows: list[ScoringProfileVersion], seen: int | None) -> ScoringProfileVersion | None:
    """Return the active version, which must be the one that the caller saw."""
    row = next((row for row in rows if row.is_active), None)
    if seen is not None and seen != (row.version if row else 0):
        active = f"version {row.version} is active" if row else "no version is active"
        raise Conflict("profile_changed", f"Now {active}. Check it before you continue.")
    return row


def _refuse_unmet(gate: PublishingGate) -> None:
    """Raise one error that names every unmet condition, with the code of the first."""
    if unmet := gate.missing:
        kind = Conflict if unmet[0].code in EVALUATION_CODES else InvalidInput
        detail = " ".join(condition.detail for condition in unmet)
        raise kind(unmet[0].code, detail, unmet[0].field, unmet)


def _lock_runs(gate: PublishingGate) -> None:
    """Lock both runs, so that neither is deleted before the version names it. Raises `Conflict` where one is gone."""
    ids = {run.pk for run in (gate.run, gate.baseline) if run is not None}
    rows = EvaluationRun.objects.for_tenant(gate.base.tenant_id).with_ids(ids).order_by("pk").locked()
    if len(rows) < len(ids):
        raise Conflict(NOT_EVALUATED, "The evaluation was deleted in the meantime. Run another one.", "version")


def _activate(row: ScoringProfileVersion, before: ScoringProfileVersion | None, now: datetime) -> None:
    if before is not None:
        before.recorded_to = max(now, before.recorded_from)
        before.save(update_fields=["recorded_to"])
    row.state, row.recorded_to = _State.PUBLISHED, None
    published = ("evaluation_run", "baseline_run", "comparison", "argument", "published_at", "published_by")
    row.save(update_fields=["state", "recorded_to", *published])


def _audit(
    row: ScoringProfileVersion,
    verb: str,
    fields: Iterable[str],
    by: Actor,
    now: datetime,
    *,
    before: ScoringProfileVersion | None = None,
    reason: str = "",
) -> None:
    targets, changed = [row.name, f"{row.name} {row.version}"], labelled_changes(before, row)
    audit_profile("scoring", row, verb, fields, targets=targets, changed=changed, reason=reason, by=by, now=now)
