"""Sessions and their messages. Originals are never changed or deleted; their state determines what a context shows."""

import uuid

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector, SearchVectorField
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import F, Index, Q

from compaction.services.sessions.pressure import reserved_tokens, window_pressure
from compaction.services.sessions.titles import session_title
from compaction.sessions.queries import MessageQuerySet, SessionQuerySet
from memories.models import ApiKey, Partition, Tenant
from memories.models.tenancy import check, one_of, unique

WINDOW_TOKENS_MIN, WINDOW_TOKENS_MAX = 256, 10_000_000
MODEL_CHARACTERS_MAX = 200


class Session(models.Model):
    """A conversation in a partition. `context_tokens` count directive, current summary and messages as shown."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="sessions", db_index=False)
    partition = models.ForeignKey(Partition, on_delete=models.PROTECT, related_name="sessions")
    partition_path = models.TextField(blank=True, db_collation="C", editable=False)
    created_by_key = models.ForeignKey(ApiKey, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    model = models.CharField(max_length=MODEL_CHARACTERS_MAX)
    max_context_tokens = models.PositiveIntegerField()
    directive = models.TextField(default="", blank=True)
    directive_tokens = models.PositiveIntegerField(default=0)
    metadata = models.JSONField(default=dict, blank=True, encoder=DjangoJSONEncoder)
    created_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)
    last_message_at = models.DateTimeField(null=True, blank=True, help_text="When a message was last appended.")
    message_count = models.PositiveIntegerField(default=0, help_text="Also the next message's sequence.")
    context_tokens = models.PositiveIntegerField(default=0)
    summary_tokens = models.PositiveIntegerField(default=0, help_text="Of them, those of the current summary.")
    marker_tokens = models.PositiveIntegerField(
        default=0, help_text="Tokens of the marker lines, not included in the message tokens."
    )
    current = models.ForeignKey(
        "compaction.Compaction",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The applied compaction whose summary is in the context.",
    )

    objects = SessionQuerySet.as_manager()

    class Meta:
        constraints = [
            check(
                Q(max_context_tokens__gte=WINDOW_TOKENS_MIN, max_context_tokens__lte=WINDOW_TOKENS_MAX),
                "session_window_is_bounded",
            ),
            check(Q(model__regex=r"\S"), "session_has_a_model"),
        ]
        indexes = [
            Index(F("tenant"), F("created_at").desc(), F("id"), name="session_newest"),
            Index(fields=["tenant", "id"], name="session_by_id"),
            Index(fields=["last_message_at"], condition=Q(closed_at__isnull=True), name="session_open_by_last_message"),
        ]

    def __str__(self) -> str:
        return f"session {self.id}"

    @property
    def title(self) -> str:
        """The title for display. Rows read `with_titles` contain the user's first message, from which it may come."""
        return session_title(self.metadata, getattr(self, "first_user_text", ""), self.pk)

    @property
    def message_tokens(self) -> int:
        """The tokens of the messages as the context shows them, without their markers."""
        return self.context_tokens - self.directive_tokens - self.summary_tokens

    @property
    def needed_tokens(self) -> int:
        """The tokens that the next context needs: messages, their markers, memories and the reply."""
        return self.context_tokens + self.marker_tokens + reserved_tokens(self.max_context_tokens)

    @property
    def pressure(self) -> float:
        """Needed tokens as a share of the window: 1.0 is full, more is over."""
        return window_pressure(self.needed_tokens, self.max_context_tokens)


class Message(models.Model):
    """A message or, without a sequence, the summary of a compaction. Tokens are those of the session's model."""

    class Role(models.TextChoices):
        SYSTEM = "system"
        DEVELOPER = "developer"
        USER = "user"
        ASSISTANT = "assistant"
        TOOL = "tool"

    class State(models.TextChoices):
        LIVE = "live"
        MASKED = "masked"
        COMPACTED = "compacted"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="+")
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="messages", db_index=False)
    sequence = models.PositiveIntegerField(null=True, blank=True, help_text="Place in the session, from 0.")
    compaction = models.ForeignKey(
        "compaction.Compaction",
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="summaries",
        help_text="Of a summary: the compaction that made it.",
    )
    role = models.CharField(max_length=9, choices=Role)
    content = models.TextField(blank=True)
    name = models.CharField(max_length=128, default="", blank=True)
    tool_calls = models.JSONField(default=list, blank=True, encoder=DjangoJSONEncoder)
    tool_call_id = models.CharField(max_length=255, default="", blank=True)
    tokens = models.PositiveIntegerField()
    shown_tokens = models.PositiveIntegerField(help_text="Tokens that it uses in a context now; 0 once compacted.")
    pinned = models.BooleanField(default=False)
    metadata = models.JSONField(default=dict, blank=True, encoder=DjangoJSONEncoder)
    source_id = models.CharField(max_length=255, default="", blank=True)
    created_at = models.DateTimeField(help_text="When it was said.")
    recorded_at = models.DateTimeField(help_text="When it was appended.")
    state = models.CharField(max_length=9, choices=State, default=State.LIVE)
    masked_at = models.DateTimeField(null=True, blank=True)
    original_tool = models.CharField(max_length=128, default="", blank=True)
    search_vector = models.GeneratedField(
        expression=SearchVector("content", config="english"), output_field=SearchVectorField(), db_persist=True
    )

    objects = MessageQuerySet.as_manager()

    class Meta:
        constraints = [
            unique("message_sequence_is_unique", "session", "sequence", "tenant"),
            unique("message_source_is_unique", "session", "source_id", "tenant", condition=~Q(source_id="")),
            unique("compaction_has_one_summary", "compaction", "tenant", condition=Q(compaction__isnull=False)),
            check(
                Q(sequence__isnull=False, compaction__isnull=True)
                | Q(sequence__isnull=True, compaction__isnull=False, role="system"),
                "message_is_original_or_summary",
            ),
            one_of("role", ["system", "developer", "user", "assistant", "tool"], "message_role_is_known"),
            check(Q(role="assistant") | Q(tool_calls=[]), "message_tools_are_called_by_the_assistant"),
            check(
                Q(role="tool", tool_call_id__gt="") | (~Q(role="tool") & Q(tool_call_id="")),
                "message_of_a_tool_answers_a_call",
            ),
            check(Q(state="live") | Q(state="compacted") | Q(state="masked", role="tool"), "message_state_is_known"),
            check(~Q(state="masked") | Q(masked_at__isnull=False), "message_masked_says_when"),
            check(Q(pinned=False) | ~Q(state="compacted"), "message_pinned_is_never_compacted"),
        ]
        indexes = [
            Index(fields=["session", "state", "sequence"], name="message_of_session_by_state"),
            GinIndex(fields=["search_vector"], name="message_search"),
        ]

    def __str__(self) -> str:
        return f"message {self.sequence} of session {self.session_id}"
