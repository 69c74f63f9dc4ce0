"""Compactions, their review and their runs: what agents send about them and what they get."""

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from compaction.models import Compaction, Run, Session
from compaction.models.sessions import MODEL_CHARACTERS_MAX
from compaction.pipeline.plans import SessionPlan
from compaction.services.pipeline.states import APPEND_MISSING, APPROVE, EDIT, REGENERATE, REJECT, REOPEN, ROLL_BACK
from compaction.services.review.editing import REVIEW_REASON_CHARACTERS_MAX, SUMMARY_BYTES_MAX
from memory_platform.rest.fields import (
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictTextField,
    format_utc,
)
from memory_platform.rest.pages import PageInput
from memory_platform.rest.serializers import StrictSerializer

REVIEW_ACTIONS = (APPROVE, REJECT, EDIT, APPEND_MISSING, REGENERATE, ROLL_BACK, REOPEN)
FACTS_MAX = 500
#: Which fields an action takes beside its name.
FIELDS_OF = {
    APPROVE: {"reason", "edit_version"},
    REJECT: {"reason", "edit_version"},
    EDIT: {"text", "edit_version"},
    APPEND_MISSING: {"facts"},
    REGENERATE: {"model", "prompt_version"},
    ROLL_BACK: {"reason"},
    REOPEN: set(),
}


class CompactSessionInput(StrictSerializer):
    """How to compact a session."""

    dry_run = StrictBooleanField(required=False, default=False, help_text="Only tell what would be done.")
    wait = StrictBooleanField(required=False, default=False, help_text="Answer when it is done.")


class CompactionListInput(PageInput):
    """The query parameters of the lists of compactions."""

    state = StrictChoiceField(choices=Compaction.State.values, required=False)


class ReviewInput(StrictSerializer):
    """A decision about a compaction, with what it takes."""

    action = StrictChoiceField(choices=REVIEW_ACTIONS)
    reason = StrictTextField(
        max_length=REVIEW_REASON_CHARACTERS_MAX, required=False, help_text="For approve, reject, rollback."
    )
    text = StrictTextField(
        max_length=SUMMARY_BYTES_MAX, min_length=1, required=False, help_text="For edit: the summary from now on."
    )
    edit_version = StrictIntegerField(required=False, help_text="For approve, reject, edit: the one that was read.")
    facts = serializers.ListField(
        child=StrictTextField(max_length=SUMMARY_BYTES_MAX),
        required=False,
        max_length=FACTS_MAX,
        help_text="For append_missing: texts of missing facts; absent: all of them.",
    )
    model = StrictTextField(
        max_length=MODEL_CHARACTERS_MAX, min_length=1, required=False, help_text="For regenerate: another model."
    )
    prompt_version = StrictIntegerField(minimum=1, required=False, help_text="For regenerate: another prompt.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Each action takes its own fields."""
        action = attrs["action"]
        errors = {
            name: [serializers.ErrorDetail(f"The action {action} takes no {name}.", code="unexpected")]
            for name in attrs
            if name not in FIELDS_OF[action] | {"action"}
        }
        if action == EDIT and "text" not in attrs:
            errors["text"] = [serializers.ErrorDetail("This field is required.", code="required")]
        if errors:
            raise serializers.ValidationError(errors)
        return attrs


def serialize_dry_run(session: Session, plan: SessionPlan) -> dict[str, Any]:
    """What a compaction would do now; `reason` says why it would make no summary."""
    span = [turn.sequence for turn in plan.span if turn.sequence is not None]
    return {
        "span": {"first_sequence": span[0], "last_sequence": span[-1], "messages": len(span)} if span else None,
        "tokens_before": plan.plan.tokens_before,
        "tokens_after": plan.plan.tokens_after_at_most,
        "masked": len(plan.masked),
        "summarised": len(span),
        "summary_budget_tokens": plan.plan.summary_budget_tokens,
        "pressure": session.pressure,
        "reason": plan.plan.reason or None,
    }


def serialize_compaction_row(row: Compaction) -> dict[str, Any]:
    """A compaction as lists show it; it was read `with_sessions`."""
    has_span = row.first_sequence is not None
    span = {"first_sequence": row.first_sequence, "last_sequence": row.last_sequence} if has_span else None
    retention = row.retention or {}
    return {
        "id": str(row.pk),
        "session_id": str(row.session_id),
        "partition": row.session.partition_path,
        "trigger": row.trigger,
        "state": row.state,
        "generation": row.generation,
        "summariser": row.summariser,
        "is_fallback": row.is_fallback,
        "model": row.model,
        "prompt_version": row.prompt_version,
        "span": span,
        "tokens_before": row.tokens_before,
        "tokens_after": row.tokens_after,
        "original_token_count": row.original_token_count,
        "summary_token_count": row.summary_token_count,
        "compacted_count": row.compacted_count,
        "masked_count": row.masked_count,
        "retained": {
            "kept": len(retention.get("kept", [])),
            "missing": len(retention.get("missing", [])),
            "share": retention.get("share"),
        },
        "warnings": row.warnings,
        "is_edited": row.is_edited,
        "edit_version": row.edit_version,
        "error": {"code": row.error_code, "detail": row.error_detail} if row.error_code else None,
        "created_at": format_utc(row.created_at),
        "finished_at": format_utc(row.finished_at),
        "compacted_at": format_utc(row.compacted_at),
        "requested_by": row.requested_by,
        "decided_by": row.decided_by,
        "decided_at": format_utc(row.decided_at),
        "decision_reason": row.decision_reason,
        "replaces": str(row.replaces_id) if row.replaces_id else None,
        "previous": str(row.previous_id) if row.previous_id else None,
    }


def serialize_compaction(row: Compaction, *, event_id: object, allowed: Sequence[str]) -> dict[str, Any]:
    """One compaction with all it says and rests on."""
    retention = row.retention or {}
    return {
        **serialize_compaction_row(row),
        "event_id": str(event_id) if event_id else None,
        "summary": row.summary_text or None,
        "statements": row.statements,
        "journal": row.journal,
        "kept": [_fact(fact) for fact in retention.get("kept", [])],
        "missing": [_fact(fact) for fact in retention.get("missing", [])],
        "policy": row.policy,
        "allowed_actions": list(allowed),
    }


def serialize_event(row: Run) -> dict[str, Any]:
    """A piece of background work; it was read `with_targets`."""
    place = row.session.partition_path if row.session else row.partition.path if row.partition else ""
    return {
        "id": str(row.pk),
        "kind": row.kind,
        "state": row.state,
        "step": row.step,
        "attempts": row.attempts,
        "session_id": str(row.session_id) if row.session_id else None,
        "compaction_id": str(row.compaction_id) if row.compaction_id else None,
        "partition": place,
        "style": row.style or None,
        "error": {"code": row.error_code, "detail": row.error_detail} if row.error_code else None,
        "requested_by": row.requested_by,
        "created_at": format_utc(row.created_at),
        "started_at": format_utc(row.started_at),
        "finished_at": format_utc(row.finished_at),
    }


def _fact(fact: dict[str, Any]) -> dict[str, Any]:
    return {name: fact[name] for name in ("class", "text", "message_ids")}
