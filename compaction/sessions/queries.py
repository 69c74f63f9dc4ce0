"""Sessions and messages."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from django.contrib.postgres.search import SearchQuery
from django.db import connection
from django.db.models import (
    Count,
    Exists,
    ExpressionWrapper,
    F,
    FloatField,
    Func,
    JSONField,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
)
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Cast, Coalesce, Floor, Left

from compaction.services.sessions.pressure import RESERVED_SHARE
from memories.tenancy.queries.conditions import segment_paths
from memories.tenancy.queries.languages import DEFAULT_TEXT_SEARCH_CONFIG
from memories.tenancy.queries.methods import rows_by, rows_of, rows_ordered_by, rows_where, rows_within, rows_without
from memories.tenancy.queries.prepared import execute_prepared, send_prepared
from memories.tenancy.queries.rows import TenantRows

#: Characters read of the message that gives a session its title.
TITLE_READ_CHARACTERS = 200
#: The columns of a message outline.
OUTLINE_COLUMNS = (
    "id",
    "role",
    "tokens",
    "shown_tokens",
    "state",
    "pinned",
    "tool_calls",
    "tool_call_id",
    "name",
    "sequence",
)


# Appending runs these for every message of an agent (ADR-0170).
_TO_APPEND = (
    "tenant_id = %(tenant)s AND id = %(session)s"
    " AND (%(reach)s::text = '' OR partition_path = %(reach)s OR starts_with(partition_path, %(reach)s || '/'))"
    " FOR NO KEY UPDATE"
)
_COUNT_APPENDED = """
UPDATE compaction_session
SET message_count = %(message_count)s, context_tokens = %(context_tokens)s, marker_tokens = %(marker_tokens)s,
    last_message_at = %(last_message_at)s
WHERE tenant_id = %(tenant)s AND id = %(session)s
"""
# Stops at the message that it returns.
_TAIL_START = """
SELECT sequence FROM (
    SELECT sequence, sum(shown_tokens) OVER (ORDER BY sequence DESC) AS tokens FROM compaction_message
    WHERE tenant_id = %(tenant)s AND session_id = %(session)s AND sequence IS NOT NULL AND state <> 'compacted'
) AS message
WHERE tokens >= %(tokens)s ORDER BY sequence DESC LIMIT 1
"""
#: Fields of a session that may be long and that appending does not need.
_LONG_FIELDS = frozenset({"directive", "metadata"})


_IS_PLAIN = Q(pinned=False, tool_calls=[]) & ~Q(role="tool")


class ToolCallIds(Func):
    """The ids of a message's tool calls as a JSON list."""

    function = "jsonb_path_query_array"
    template = "%(function)s(%(expressions)s, '$[*].id')"
    output_field = JSONField()


def pressure_of(session: str = "") -> "ExpressionWrapper[CombinedExpression]":
    """Return the pressure of the session at that path of fields, to annotate and to sort by."""
    # As a float: a numeric quotient has more digits than the position of a page keeps.
    window = Cast(F(f"{session}max_context_tokens"), FloatField())
    # The float is first, because the sum of two integer columns can exceed their 32 bits.
    needed = Floor(window * RESERVED_SHARE) + F(f"{session}context_tokens") + F(f"{session}marker_tokens")
    return ExpressionWrapper(needed / window, FloatField())


class SessionQuerySet(TenantRows):
    open = rows_where(closed_at__isnull=True)
    closed = rows_where(closed_at__isnull=False)
    newest_first = rows_ordered_by("-created_at", "id")
    #: Sessions of at least this pressure; after `with_pressure`.
    at_least = rows_by("fullness__gte")
    within = rows_within("partition_path")

    def with_current(self) -> Self:
        """With the current compaction, but not the facts that it retains: there are more with each message."""
        return self.select_related("current").defer("current__retention")

    def with_segments(self, segments: Mapping[str, str]) -> Self:
        """In partitions that contain every given `key=value` segment, at any depth."""
        if not segments:
            return self
        return self.filter(partition__segments__contains=segment_paths(segments))

    def with_titles(self) -> Self:
        """Add `first_user_text`, how the user's first message begins, for `Session.title`: one look-up per row."""
        messages = self.model._meta.get_field("messages").related_model.objects
        texts = messages.filter(session=OuterRef("pk"), role="user", sequence__isnull=False).order_by("sequence")
        first = texts.annotate(begin=Left("content", TITLE_READ_CHARACTERS)).values("begin")[:1]
        return self.annotate(first_user_text=Coalesce(Subquery(first), Value("")))

    def with_messages(self, messages: "MessageQuerySet") -> Self:
        """Sessions of any of these messages."""
        return self.filter(pk__in=messages.order_by().values("session"))

    def counted_by_partition(self) -> QuerySet[Any, Any]:
        """Return rows of (partition path, sessions, open sessions)."""
        is_open = Q(closed_at__isnull=True)
        counts = {"sessions": Count("pk"), "open_sessions": Count("pk", filter=is_open)}
        counted: QuerySet[Any, Any] = self.order_by().values_list("partition_path").annotate(**counts)
        return counted

    def with_pressure(self) -> Self:
        """Add `fullness`, the pressure that the database computes, to filter and to sort by."""
        return self.annotate(fullness=pressure_of())

    def idle_since(self, moment: datetime) -> Self:
        """Sessions without a message after `moment`, a later compaction, a proposal, or an open run."""
        compactions = self.model._meta.get_field("compactions").related_model.objects
        of_session = compactions.filter(session_id=OuterRef("pk"))
        newer, waiting = of_session.filter(created_at__gte=OuterRef("last_message_at")), of_session.waiting()
        rows = self.filter(last_message_at__lte=moment).exclude(runs__state__in=["queued", "running"])
        return rows.exclude(Exists(newer)).exclude(Exists(waiting))

    def behind(self, session_id: UUID | None, count: int) -> list[Any]:
        """The next `count` sessions after `session_id`, in the order of their ids."""
        rows = self if session_id is None else self.filter(pk__gt=session_id)
        return list(rows.order_by("id")[:count])

    def lock_to_append(self, tenant_id: UUID, session_id: UUID, reach: str) -> Any:
        """Return the session within `reach`, locked as by `locked`, without its long fields; None without one."""
        values = {"tenant": tenant_id, "session": session_id, "reach": reach}
        return next(iter(self.send_select(_TO_APPEND, values, without=_LONG_FIELDS)()), None)

    def count_appended(self, session: Any) -> None:
        """Store the counts of a session that `lock_to_append` returned."""
        names = ("message_count", "context_tokens", "marker_tokens", "last_message_at")
        own = {name: getattr(session, name) for name in names}
        send_prepared(_COUNT_APPENDED, {"tenant": session.tenant_id, "session": session.pk, **own})

    def locked(self) -> Self:
        """Locked until the transaction ends: appends, maskings and compactions of a session are serialised.

        The current compaction is read after the lock, because a join would read it as it was before.
        """
        compactions = self.model._meta.get_field("current").related_model.objects.defer("retention")
        return self.select_for_update(no_key=True, of=("self",)).prefetch_related(Prefetch("current", compactions))


class SessionRows(TenantRows):
    """Rows that belong to a session."""

    of_session = rows_by("session_id")
    newest_first = rows_ordered_by("-created_at", "id")
    in_state = rows_of("state")
    within = rows_within("session__partition_path")

    def with_titled_sessions(self) -> Self:
        """Rows with their sessions and titles. One query more."""
        sessions = self.model._meta.get_field("session").related_model.objects.with_titles()
        return self.prefetch_related(Prefetch("session", sessions))


class MessageQuerySet(SessionRows):
    from_sequence = rows_by("sequence__gte")
    #: Messages of a range of sequences, both ends included.
    between = rows_by("sequence__gte", "sequence__lte")
    #: The summary that a compaction made.
    of_compaction = rows_by("compaction_id")
    #: Rows without the column that only searches read.
    without_vectors = rows_without("search_vector")
    of_role = rows_of("role")

    def originals(self) -> Self:
        """Appended messages in order, without summaries."""
        return self.filter(sequence__isnull=False).order_by("sequence")

    def shown(self) -> Self:
        """Originals that a context shows, masked or unmasked."""
        return self.originals().exclude(state="compacted")

    def tail_start(self, tenant_id: UUID, session_id: UUID, tokens: int) -> int:
        """Return the sequence from which the newest shown messages have the given tokens; 0 if all have fewer."""
        rows = execute_prepared(_TAIL_START, {"tenant": tenant_id, "session": session_id, "tokens": tokens})
        return int(rows[0][0]) if rows else 0

    def without_plain_before(self, sequence: int) -> Self:
        """Messages from `sequence` on, and before it those that are pinned, call tools or are results."""
        return self.filter(Q(sequence__gte=sequence) | ~_IS_PLAIN) if sequence else self

    def plain_before(self, sequence: int) -> dict[str, int]:
        """Return `count`, `named` (with a name) and `tokens` of the messages that `without_plain_before` omits."""
        rows = self.filter(_IS_PLAIN, sequence__lt=sequence).order_by()
        counts = {"count": Count("*"), "named": Count("pk", filter=~Q(name=""))}
        totals: dict[str, int] = rows.aggregate(**counts, tokens=Coalesce(Sum("shown_tokens"), 0))
        return totals

    def containing_text(self, text: str) -> Self:
        """Messages with every word of `text` in any inflected form."""
        return self.filter(search_vector=SearchQuery(text, config=DEFAULT_TEXT_SEARCH_CONFIG, search_type="websearch"))

    def applied_summary_memory_ids(self) -> list[str]:
        """Return the ids of the memories that contain the summaries of applied compactions."""
        rows = self.filter(sequence__isnull=True, compaction__state="applied").order_by()
        return [
            memory_id for metadata in rows.values_list("metadata", flat=True) for memory_id in metadata["memory_ids"]
        ]

    def from_sources(self, source_ids: Collection[str]) -> dict[str, Any]:
        """Return the messages by their `source_id`."""
        return {row.source_id: row for row in self.filter(source_id__in=list(source_ids)).without_vectors()}

    def called_ids(self, call_ids: Collection[str]) -> set[str]:
        """The ids among `call_ids` that an assistant message gives to a call."""
        rows = self.filter(role="assistant").annotate(own_call_ids=ToolCallIds("tool_calls")).order_by()
        rows = rows.filter(own_call_ids__has_any_keys=list(call_ids))
        return {call_id for ids in rows.values_list("own_call_ids", flat=True) for call_id in ids} & set(call_ids)

    def answered_ids(self, call_ids: Collection[str]) -> set[str]:
        """The ids among `call_ids` that a result answers."""
        rows = self.filter(role="tool", tool_call_id__in=list(call_ids)).order_by()
        return set(rows.values_list("tool_call_id", flat=True))

    def outlines(self) -> Any:
        """Return rows without texts as named tuples of `OUTLINE_COLUMNS`."""
        return self.values_list(*OUTLINE_COLUMNS, named=True)

    def labels(self) -> Any:
        """Return the values in the markers of the messages, as named tuples."""
        return self.values_list("name", "tool_calls", "tool_call_id", named=True)

    def strip(self) -> list[tuple[int, str, str, int]]:
        """(sequence, role, state, tokens) of each original, in order."""
        return list(self.originals().values_list("sequence", "role", "state", "tokens"))

    def set_tokens(self, counts: Mapping[UUID, tuple[int, int]]) -> None:
        """Write `tokens` and `shown_tokens` by id, all in one statement."""
        table = connection.ops.quote_name(self.model._meta.db_table)
        tokens, shown = ([pair[place] for pair in counts.values()] for place in (0, 1))
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE {table} SET tokens = new.tokens, shown_tokens = new.shown_tokens"  # noqa: S608 - our own name
                " FROM unnest(%s::uuid[], %s::int[], %s::int[]) AS new (id, tokens, shown_tokens)"
                f" WHERE {table}.id = new.id",
                [list(counts), tokens, shown],
            )

    def newest_original(self) -> Any:
        """Return the newest original, None if there is none."""
        return self.filter(sequence__isnull=False).without_vectors().order_by("-sequence").first()

    def contents(self) -> dict[UUID, str]:
        """Return the contents by id."""
        return dict(self.order_by().values_list("pk", "content"))

    def contents_and_calls(self, message_ids: Iterable[Any]) -> list[tuple[UUID, str, list[dict[str, Any]]]]:
        """Return (id, content, tool calls) of each of these messages."""
        return list(self.with_ids(message_ids).order_by().values_list("pk", "content", "tool_calls"))

    def names_and_contents(self) -> list[tuple[UUID, str, str]]:
        """Return (id, name, content) of each message."""
        return list(self.order_by().values_list("pk", "name", "content"))

    def all_calls(self) -> list[list[dict[str, Any]]]:
        """Return the tool calls of each message that has any."""
        return list(self.exclude(tool_calls=[]).order_by().values_list("tool_calls", flat=True))

    def tokens_shown(self) -> int:
        """Return the tokens of the messages as a context shows them."""
        return int(self.order_by().aggregate(tokens=Coalesce(Sum("shown_tokens"), 0))["tokens"])
