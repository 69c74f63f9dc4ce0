"""What answers about compactions look like, for the OpenAPI document."""

from typing import Any

from rest_framework import serializers

from compaction.models import Compaction, Run


class SpanOutput(serializers.Serializer[Any]):
    """The messages a summary is made from, both ends included."""

    first_sequence = serializers.IntegerField()
    last_sequence = serializers.IntegerField()


class PlannedSpanOutput(SpanOutput):
    """The same with how many are to leave: pinned ones between them stay."""

    messages = serializers.IntegerField()


class DryRunOutput(serializers.Serializer[Any]):
    """What a compaction would do now."""

    span = PlannedSpanOutput(allow_null=True, help_text="Null where no summary would be made.")
    tokens_before = serializers.IntegerField()
    tokens_after = serializers.IntegerField(help_text="At most, with a summary as long as it may be.")
    masked = serializers.IntegerField()
    summarised = serializers.IntegerField()
    summary_budget_tokens = serializers.IntegerField()
    pressure = serializers.FloatField()
    reason = serializers.CharField(allow_null=True, help_text="Why no summary would be made.")


class StartedRunOutput(serializers.Serializer[Any]):
    """Work that a worker does; the event tells how far it is."""

    event_id = serializers.UUIDField()
    compaction_id = serializers.UUIDField()


class FailureOutput(serializers.Serializer[Any]):
    """Why something failed."""

    code = serializers.CharField()
    detail = serializers.CharField()


class CompactionWarningOutput(serializers.Serializer[Any]):
    """Something that readers should know."""

    code = serializers.CharField()
    detail = serializers.CharField()


class RetentionOutput(serializers.Serializer[Any]):
    """How many facts of the messages summary and journal keep."""

    kept = serializers.IntegerField()
    missing = serializers.IntegerField()
    share = serializers.FloatField(allow_null=True)


class CompactionRowOutput(serializers.Serializer[Any]):
    """A compaction as lists show it."""

    id = serializers.UUIDField()
    session_id = serializers.UUIDField()
    partition = serializers.CharField(allow_blank=True)
    trigger = serializers.ChoiceField(choices=Compaction.Trigger.values)
    state = serializers.ChoiceField(choices=Compaction.State.values)
    generation = serializers.IntegerField(help_text="From 3 on accuracy degrades.")
    summariser = serializers.CharField(allow_blank=True)
    is_fallback = serializers.BooleanField(help_text="The model failed, so the text was made without it.")
    model = serializers.CharField(allow_blank=True)
    prompt_version = serializers.IntegerField(help_text="0: made without a prompt.")
    span = SpanOutput(allow_null=True)
    tokens_before = serializers.IntegerField()
    tokens_after = serializers.IntegerField()
    original_token_count = serializers.IntegerField()
    summary_token_count = serializers.IntegerField()
    compacted_count = serializers.IntegerField()
    masked_count = serializers.IntegerField()
    retained = RetentionOutput()
    warnings = CompactionWarningOutput(many=True)
    is_edited = serializers.BooleanField()
    edit_version = serializers.IntegerField()
    error = FailureOutput(allow_null=True)
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    compacted_at = serializers.DateTimeField(allow_null=True)
    requested_by = serializers.CharField(allow_blank=True)
    decided_by = serializers.CharField(allow_blank=True)
    decided_at = serializers.DateTimeField(allow_null=True)
    decision_reason = serializers.CharField(allow_blank=True)
    replaces = serializers.UUIDField(allow_null=True)
    previous = serializers.UUIDField(allow_null=True)


class SummaryStatementOutput(serializers.Serializer[Any]):
    """One statement of a summary and the messages that say it."""

    text = serializers.CharField()
    message_ids = serializers.ListField(child=serializers.UUIDField())
    kind = serializers.CharField()
    subject = serializers.CharField(allow_blank=True)
    said_on = serializers.DateField(allow_null=True)
    is_from_earlier = serializers.BooleanField()
    is_edited = serializers.BooleanField()


class JournalEntryOutput(serializers.Serializer[Any]):
    """A lasting fact and the memory that holds it."""

    text = serializers.CharField()
    message_ids = serializers.ListField(child=serializers.UUIDField())
    kind = serializers.CharField()
    memory_id = serializers.UUIDField(allow_null=True)
    status = serializers.CharField(help_text="new, stored, duplicate, near_duplicate, recalled or invalid.")
    is_for_retention = serializers.BooleanField(help_text="Added because the summary lost what it holds.")


class RetainedFactOutput(serializers.Serializer[Any]):
    """A fact of the messages, by its class."""

    text = serializers.CharField()
    message_ids = serializers.ListField(child=serializers.UUIDField())

    def get_fields(self) -> dict[str, Any]:
        """With the field whose name is a word of the language."""
        return {"class": serializers.CharField(), **super().get_fields()}


class CompactionOutput(CompactionRowOutput):
    """A compaction with all it says and rests on."""

    event_id = serializers.UUIDField(allow_null=True)
    summary = serializers.CharField(allow_null=True, help_text="Null where masking was enough.")
    statements = SummaryStatementOutput(many=True)
    journal = JournalEntryOutput(many=True)
    kept = RetainedFactOutput(many=True)
    missing = RetainedFactOutput(many=True)
    policy = serializers.DictField()
    allowed_actions = serializers.ListField(child=serializers.CharField())


class FinishedCompactionOutput(StartedRunOutput):
    """What came of a compaction that was waited for."""

    state = serializers.ChoiceField(choices=Compaction.State.values)
    compaction = CompactionOutput()


class CompactionPageOutput(serializers.Serializer[Any]):
    """A page of compactions, newest first."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = CompactionRowOutput(many=True)


class EventOutput(serializers.Serializer[Any]):
    """A piece of background work: a compaction or a roll-up."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=Run.Kind.values)
    state = serializers.ChoiceField(choices=Run.State.values)
    step = serializers.CharField(allow_blank=True)
    attempts = serializers.IntegerField()
    session_id = serializers.UUIDField(allow_null=True)
    compaction_id = serializers.UUIDField(allow_null=True)
    partition = serializers.CharField(allow_blank=True)
    style = serializers.CharField(allow_null=True)  # type: ignore[assignment]
    error = FailureOutput(allow_null=True)
    requested_by = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
