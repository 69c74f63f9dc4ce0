"""Compactions, what they did to which message, and the prompts they were made with."""

from collections.abc import Iterable
from typing import Self
from uuid import UUID

from memories.querysets import TenantRows, VersionedByRecordedTime
from memories.querysets.conditions import path_condition


class CompactionQuerySet(TenantRows):
    def with_id(self, compaction_id: UUID) -> Self:
        return self.filter(pk=compaction_id)

    def of_session(self, session_id: UUID) -> Self:
        return self.filter(session_id=session_id)

    def within(self, path: str) -> Self:
        """Compactions of sessions in `path` and below it."""
        return self.filter(path_condition("session__partition_path", path, exact=False))

    def in_state(self, *states: str) -> Self:
        return self.filter(state__in=states)

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "id")

    def last_applied_first(self) -> Self:
        """Those in force, the one that may be rolled back first."""
        return self.filter(state="applied").order_by("-compacted_at", "-created_at")

    def with_sessions(self) -> Self:
        return self.select_related("session")

    def locked(self) -> Self:
        """Held until the transaction ends: of two decisions the second sees the first."""
        return self.select_for_update(no_key=True, of=("self",))


class CompactionMemberQuerySet(TenantRows):
    def of_compaction(self, compaction_id: UUID) -> Self:
        return self.filter(compaction_id=compaction_id)

    def of_messages(self, message_ids: Iterable[UUID]) -> Self:
        return self.filter(message_id__in=list(message_ids))

    def with_messages(self) -> Self:
        return self.select_related("message").order_by("message__sequence")


class CompactionPromptQuerySet(VersionedByRecordedTime):
    def newest_first(self) -> Self:
        return self.order_by("-version")

    def numbered(self, version: int) -> Self:
        return self.filter(version=version)
