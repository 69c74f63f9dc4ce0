"""Inputs and outputs of the API for compactions, reviews and events."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from rest_framework import serializers

from compaction.models import Compaction, Run
from compaction.models.sessions import MODEL_CHARACTERS_MAX
from compaction.pipeline.plans import SessionPlan
from compaction.services.pipeline import states
from compaction.services.pipeline.stored_statements import NO_FACTS, NO_RULES, CitedStatement
from compaction.services.review.edited_statements import REVIEW_REASON_CHARACTERS_MAX, SUMMARY_BYTES_MAX
from context.assembly.serializers.shapes import WarningOutput
from memory_platform.rest.cursor_pagination import PageInput
from memory_platform.rest.fields import (
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictListField,
    StrictTextField,
)
from memory_platform.rest.serializers import StrictSerializer

FACTS_MAX = 500
#: The fields that each action takes besides its name.
FIELDS_OF = {
    states.APPROVE: {"reason", "text", "edit_version"},
    states.REJECT: {"reason", "edit_version"},
    states.EDIT: {"text", "edit_version"},
    states.SWAP: {"remove", "add", "edit_version"},
    states.STRIKE: {"entry", "is_struck", "edit_version"},
    states.APPEND_MISSING: {"facts"},
    states.REGENERATE: {"model", "prompt_version"},
    states.ROLL_BACK: {"reason"},
    states.REOPEN: set(),
    states.MARK_REVIEWED: {"reason", "edit_version"},
}


class CompactSessionInput(StrictSerializer):
    """How to compact a session."""

    dry_run = StrictBooleanField(default=False, help_text="Report what would be done without doing it.")
    wait = StrictBooleanField(default=False, help_text="Respond only when the compaction has finished.")


class CompactionListInput(PageInput):
    """The query parameters of the lists of compactions."""

    state = StrictChoiceField(choices=Compaction.State.values, required=False)
    to_review = StrictBooleanField(
        takes_text=True,
        default=False,
        help_text="The review queue: proposals, and unreviewed ones with a lost constraint or a possible instruction.",
    )


class ReviewInput(StrictSerializer):
    """A decision about a compaction, with the fields of its action."""

    action = StrictChoiceField(choices=[*FIELDS_OF])
    reason = StrictTextField(
        max_length=REVIEW_REASON_CHARACTERS_MAX,
        required=False,
        help_text="For approve, reject, rollback, mark_reviewed.",
    )
    text = StrictTextField(
        max_length=SUMMARY_BYTES_MAX, min_length=1, required=False, help_text="For edit and approve: the new summary."
    )
    edit_version = StrictIntegerField(
        required=False, help_text="For approve, reject, edit, swap, strike, mark_reviewed: the version that was read."
    )
    remove = StrictIntegerField(
        minimum=1, required=False, help_text="For swap: the place of a statement to remove, from 1."
    )
    add = StrictIntegerField(minimum=1, required=False, help_text="For swap: the place of a candidate to add, from 1.")
    entry = StrictIntegerField(
        minimum=1, required=False, help_text="For strike: the place of a fact in `journal`, from 1."
    )
    is_struck = StrictBooleanField(
        required=False, help_text="For strike: whether the fact is not stored (default), or is stored again."
    )
    facts = StrictListField(
        child=StrictTextField(max_length=SUMMARY_BYTES_MAX),
        required=False,
        max_length=FACTS_MAX,
        help_text="For append_missing: texts of missing facts; default: all of them.",
    )
    model = StrictTextField(
        max_length=MODEL_CHARACTERS_MAX, min_length=1, required=False, help_text="For regenerate: another model."
    )
    prompt_version = StrictIntegerField(minimum=1, required=False, help_text="For regenerate: another prompt.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Reject fields that the action does not accept."""
        action = attrs["action"]
        errors = {
            name: [serializers.ErrorDetail(f"The action {action} takes no {name}.", code="unexpected")]
            for name in attrs
            if name not in {"action", *FIELDS_OF[action]}
        }
        required = {states.EDIT: {"text"}, states.STRIKE: {"entry"}}
        required[states.SWAP] = {"edit_version"} if {"remove", "add"} & attrs.keys() else {"remove"}
        for name in required.get(action, set()) - attrs.keys():
            errors[name] = [serializers.ErrorDetail("This field is required.", code="required")]
        if errors:
            raise serializers.ValidationError(errors)
        return attrs


class BlankAsNullField(serializers.CharField):
    """A text of an answer; null instead of an empty one."""

    def to_representation(self, value: Any) -> Any:
        """Return the text or None."""
        return super().to_representation(value) or None


class SpanOutput(serializers.Serializer[Any]):
    """The messages that a summary is made from, both ends included."""

    first_sequence = serializers.IntegerField()
    last_sequence = serializers.IntegerField()

    def to_representation(self, instance: Compaction) -> Any:
        """Return the span of a compaction; None without a summary."""
        return None if instance.first_sequence is None else super().to_representation(instance)


class PlannedSpanOutput(SpanOutput):
    """The messages that a summary would be made from, and how many of them it would replace: pinned ones stay."""

    messages = serializers.IntegerField()
    tokens = serializers.IntegerField(help_text="Tokens of the original messages.")


class DryRunOutput(serializers.Serializer[Any]):
    """What a compaction would do now."""

    span = PlannedSpanOutput(allow_null=True, help_text="Null if no summary would be created.")
    tokens_before = serializers.IntegerField()
    tokens_after = serializers.IntegerField(help_text="Upper bound, assuming a summary of maximum length.")
    tokens_leaving = serializers.IntegerField(
        help_text="Tokens removed from the context: span, current summary and masked outputs."
    )
    masked = serializers.IntegerField()
    summarised = serializers.IntegerField()
    summary_budget_tokens = serializers.IntegerField(help_text="Token budget planned for the summary.")
    summary_tokens_at_most = serializers.IntegerField(help_text="Limit if further statements are worth keeping.")
    pressure = serializers.FloatField()
    reason = serializers.CharField(allow_null=True, help_text="Reason why no summary would be created.")

    def to_representation(self, instance: SessionPlan) -> dict[str, Any]:
        """Return the answer for a plan; the context has the session's `pressure`."""
        span = [turn.sequence for turn in instance.span if turn.sequence is not None]
        ends = {"first_sequence": span[0], "last_sequence": span[-1]} if span else {}
        return {
            "span": {**ends, "messages": len(span), "tokens": instance.span_tokens} if span else None,
            "tokens_before": instance.plan.tokens_before,
            "tokens_after": instance.plan.tokens_after_at_most,
            "tokens_leaving": instance.plan.tokens_leaving,
            "masked": len(instance.masked),
            "summarised": len(span),
            "summary_budget_tokens": instance.plan.summary_budget_tokens,
            "summary_tokens_at_most": instance.plan.summary_tokens_at_most,
            "pressure": self.context["pressure"],
            "reason": instance.plan.reason or None,
        }


class StartedRunOutput(serializers.Serializer[Any]):
    """A run that a worker does; `GET events/{event_id}` reports its progress."""

    event_id = serializers.UUIDField(source="pk")
    compaction_id = serializers.UUIDField()


class FailureOutput(serializers.Serializer[Any]):
    """Why a compaction or run failed."""

    code = serializers.CharField(source="error_code")
    detail = serializers.CharField(source="error_detail")

    def to_representation(self, instance: Compaction | Run) -> Any:
        """Return code and detail; None without a failure."""
        return super().to_representation(instance) if instance.error_code else None


class RetentionOutput(serializers.Serializer[Any]):
    """How many facts of all messages summarised so far the summary and the journals contain.

    Only statements made as true count: no questions, tool output, quotations or suggestions.
    """

    kept = serializers.IntegerField()
    missing = serializers.IntegerField()
    share = serializers.FloatField(
        allow_null=True,
        help_text="Weighted share of the facts kept: constraints, negations and pinned rules count 5, others from 3 (in"
        " a decision) to 0.1, as much as the statement that says them. Null without a summary or if not measured.",
    )
    not_measured = serializers.ChoiceField(
        choices=(NO_FACTS, NO_RULES),
        allow_null=True,
        help_text="Why there is no share: the messages state no facts that rules recognise, or most of them are in a"
        " language without rules. The summary waits for review unless the policy's minimum is 0.",
    )

    def to_representation(self, instance: Mapping[str, Any]) -> dict[str, Any]:
        """Return the counts of a stored retention record, which is empty without a summary."""
        counts = {name: len(instance.get(name, [])) for name in ("kept", "missing")}
        return {**counts, "share": instance.get("share"), "not_measured": instance.get("not_measured") or None}


class CompactionWarningOutput(WarningOutput):
    """A warning about a compaction and the messages that it is about."""

    messages = serializers.ListField(
        child=serializers.IntegerField(),
        default=list,
        read_only=True,
        help_text="For `instructions_left_out`: the numbers (`sequence`) of up to 50 messages with these paragraphs.",
    )


class CompactionRowOutput(serializers.Serializer[Any]):
    """A compaction in a list."""

    id = serializers.UUIDField()
    session_id = serializers.UUIDField()
    partition = serializers.CharField(allow_blank=True, source="session.partition_path")
    trigger = serializers.ChoiceField(choices=Compaction.Trigger.values)
    state = serializers.ChoiceField(choices=Compaction.State.values)
    generation = serializers.IntegerField(help_text="Accuracy degrades from generation 3.")
    summariser = serializers.CharField(allow_blank=True)
    is_fallback = serializers.BooleanField(help_text="The model failed, so the text is extractive.")
    model = serializers.CharField(allow_blank=True)
    prompt_version = serializers.IntegerField(help_text="0 if no prompt was used.")
    span = SpanOutput(allow_null=True, source="*")
    tokens_before = serializers.IntegerField()
    tokens_after = serializers.IntegerField()
    original_token_count = serializers.IntegerField()
    summary_token_count = serializers.IntegerField()
    summary_budget_tokens = serializers.IntegerField(help_text="0 if created before budgets were stored.")
    compacted_count = serializers.IntegerField()
    masked_count = serializers.IntegerField()
    retention = RetentionOutput()
    has_lost_constraint = serializers.BooleanField(
        help_text="A constraint is missing that the previous summary did not lose; a warning `constraint_missing` says"
        " so. The summary is applied but stays in the review queue until a person reviews it."
    )
    has_possible_instruction = serializers.BooleanField(
        help_text="A new statement or fact may instruct the assistant; a warning `possible_instructions` says so. In an"
        " emergency, the compaction is applied but stays in the review queue until a person reviews it."
    )
    warnings = CompactionWarningOutput(many=True)
    is_edited = serializers.BooleanField()
    edit_version = serializers.IntegerField()
    error = FailureOutput(allow_null=True, source="*")
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    compacted_at = serializers.DateTimeField(allow_null=True)
    requested_by = serializers.CharField(allow_blank=True)
    decided_by = serializers.CharField(allow_blank=True)
    decided_at = serializers.DateTimeField(allow_null=True)
    decision_reason = serializers.CharField(allow_blank=True)
    replaces = serializers.UUIDField(allow_null=True, source="replaces_id")
    previous = serializers.UUIDField(allow_null=True, source="previous_id")


_POSSIBLE_INSTRUCTION = "It may instruct the assistant, so it is stored only after a person reviewed the compaction."


class SummaryStatementOutput(serializers.Serializer[Any]):
    """One statement of a summary and the messages that it cites."""

    text = serializers.CharField()
    message_ids = serializers.ListField(child=serializers.UUIDField())
    kind = serializers.CharField()
    subject = serializers.CharField(allow_blank=True)
    stated_on = serializers.DateField(allow_null=True)
    is_from_earlier = serializers.BooleanField()
    is_edited = serializers.BooleanField()
    replaces = serializers.ListField(
        child=serializers.CharField(), help_text="Earlier statements on the same subject that it replaced."
    )
    is_possible_instruction = serializers.BooleanField(help_text=_POSSIBLE_INSTRUCTION)

    def to_representation(self, instance: Mapping[str, Any] | CitedStatement) -> Any:
        """Return the statement; older records have fewer fields."""
        record = instance.as_record() if isinstance(instance, CitedStatement) else instance
        return super().to_representation({"replaces": [], "is_possible_instruction": False, **record})


class JournalEntryOutput(serializers.Serializer[Any]):
    """A lasting fact and the memory that contains it."""

    text = serializers.CharField()
    message_ids = serializers.ListField(child=serializers.UUIDField())
    kind = serializers.CharField()
    memory_id = serializers.UUIDField(allow_null=True)
    status = serializers.CharField(
        help_text="new, stored, replaces (stored, and ends what it replaces), struck (never stored), duplicate,"
        " near_duplicate, recalled or invalid."
    )
    replaced_memory_ids = serializers.ListField(
        child=serializers.UUIDField(), help_text="The memories that it replaces, or will replace once stored."
    )
    is_possible_instruction = serializers.BooleanField(help_text=_POSSIBLE_INSTRUCTION)

    def to_representation(self, instance: Mapping[str, Any]) -> Any:
        """Return the entry; older records have fewer fields."""
        return super().to_representation({"replaced_memory_ids": [], "is_possible_instruction": False, **instance})


#: The classes of facts, for readers of the schema.
_CLASSES = (
    "constraint, negation, rule (a pinned message), identifier, number, date, money, url, path, email, quoted, name or"
    " code. The loss of one of the first three sets `has_lost_constraint`."
)


class RetainedFactOutput(serializers.Serializer[Any]):
    """A fact of the messages."""

    text = serializers.CharField()
    message_ids = serializers.ListField(child=serializers.UUIDField())

    def get_fields(self) -> dict[str, Any]:
        """Add the field `class`, whose name is a Python keyword."""
        return {"class": serializers.CharField(help_text=_CLASSES), **super().get_fields()}


class CompactionOutput(CompactionRowOutput):
    """A compaction with its summary, statements, journal and facts."""

    event_id = serializers.SerializerMethodField()
    summary = BlankAsNullField(allow_null=True, source="summary_text", help_text="Null if masking was sufficient.")
    statements = SummaryStatementOutput(many=True)
    candidates = SummaryStatementOutput(many=True, help_text="The next-best statements, best first.")
    journal = JournalEntryOutput(many=True)
    kept = RetainedFactOutput(many=True, source="retention.kept", default=(), read_only=True)
    missing = RetainedFactOutput(many=True, source="retention.missing", default=(), read_only=True)
    policy = serializers.DictField()
    allowed_actions = serializers.SerializerMethodField()

    def get_event_id(self, _row: Compaction) -> UUID | None:
        """The id of its newest event."""
        event_id: UUID | None = self.context["event_id"]
        return event_id

    def get_allowed_actions(self, _row: Compaction) -> list[str]:
        """The review actions that are allowed now."""
        allowed: list[str] = self.context["allowed_actions"]
        return allowed


class FinishedCompactionOutput(StartedRunOutput):
    """The result of a compaction whose caller waited for it."""

    state = serializers.ChoiceField(choices=Compaction.State.values)
    compaction = CompactionOutput()


class EventOutput(serializers.Serializer[Any]):
    """A job: a compaction or a roll-up."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=Run.Kind.values)
    state = serializers.ChoiceField(choices=Run.State.values)
    step = serializers.CharField(allow_blank=True)
    attempts = serializers.IntegerField()
    session_id = serializers.UUIDField(allow_null=True)
    compaction_id = serializers.UUIDField(allow_null=True)
    partition = serializers.SerializerMethodField()
    style = BlankAsNullField(allow_null=True)  # type: ignore[assignment]
    error = FailureOutput(allow_null=True, source="*")
    requested_by = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)

    def get_partition(self, row: Run) -> str:
        """The path of the session's partition or of the partition that is summarised."""
        return row.session.partition_path if row.session else row.partition.path if row.partition else ""
