"""Sessions and messages."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Self
from uuid import UUID

from django.contrib.postgres.search import SearchQuery
from django.db.models import F, FloatField, Q
from django.db.models.functions import Cast

from memories.querysets import TenantRows
from memories.querysets.conditions import TEXT_SEARCH_CONFIG, path_condition


class SessionQuerySet(TenantRows):
    def with_id(self, session_id: UUID) -> Self:
        return self.filter(pk=session_id)

    def within(self, path: str, *, exact: bool = False) -> Self:
        """Sessions of the partition `path` and, unless `exact`, those below it."""
        return self.filter(path_condition("partition_path", path, exact=exact))

    def open(self) -> Self:
        return self.filter(closed_at__isnull=True)

    def with_pressure(self) -> Self:
        """Each with `fullness`, its pressure as the database reckons it, to filter and to sort by."""
        return self.annotate(fullness=Cast(F("context_tokens"), FloatField()) / F("max_context_tokens"))

    def at_least(self, pressure: float) -> Self:
        """Those whose pressure is `pressure` or more; after `with_pressure`."""
        return self.filter(fullness__gte=pressure)

    def idle_since(self, moment: datetime) -> Self:
        """Nothing was appended after `moment`."""
        return self.filter(last_message_at__lte=moment)

    def without_open_run(self) -> Self:
        return self.exclude(runs__state__in=["queued", "running"])

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "id")

    def locked(self) -> Self:
        """Held until the transaction ends: appends, maskings and compactions of one session take turns."""
        return self.select_for_update(no_key=True, of=("self",))


class MessageQuerySet(TenantRows):
    def of_session(self, session_id: UUID) -> Self:
        return self.filter(session_id=session_id)

    def originals(self) -> Self:
        """What was appended, in its order; summaries are none."""
        return self.filter(sequence__isnull=False).order_by("sequence")

    def shown(self) -> Self:
        """Originals that a context shows, as they are or masked."""
        return self.originals().exclude(state="compacted")

    def with_id(self, message_id: UUID) -> Self:
        return self.filter(pk=message_id)

    def with_ids(self, message_ids: Iterable[UUID]) -> Self:
        return self.filter(pk__in=list(message_ids))

    def with_sources(self, source_ids: Collection[str]) -> Self:
        return self.filter(source_id__in=list(source_ids))

    def within(self, path: str) -> Self:
        """Messages of sessions in `path` and below it."""
        return self.filter(path_condition("session__partition_path", path, exact=False))

    def from_sequence(self, sequence: int) -> Self:
        return self.filter(sequence__gte=sequence)

    def between(self, first: int, last: int) -> Self:
        """Both included."""
        return self.filter(sequence__gte=first, sequence__lte=last)

    def mentioning(self, text: str) -> Self:
        """Messages with every word of `text`, however inflected."""
        return self.filter(search_vector=SearchQuery(text, config=TEXT_SEARCH_CONFIG, search_type="websearch"))

    def in_state(self, *states: str) -> Self:
        return self.filter(state__in=states)

    def of_role(self, *roles: str) -> Self:
        return self.filter(role__in=roles)

    def of_compaction(self, compaction_id: UUID) -> Self:
        """The summary that a compaction made."""
        return self.filter(compaction_id=compaction_id)

    def calling(self, call_ids: Collection[str]) -> Self:
        """Assistant messages that make any of these tool calls."""
        wanted = Q(pk__in=[])
        for call_id in call_ids:
            wanted |= Q(tool_calls__contains=[{"id": call_id}])
        return self.filter(wanted, role="assistant")
