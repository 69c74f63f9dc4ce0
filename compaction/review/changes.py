"""What became of a compaction last, by whom and when: told to whoever looks at an older state of it. Inside a scope."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from compaction.models import Compaction
from memories.models import AuditEntry

#: Each verb as a sentence about who did it goes on.
_DONE: Mapping[str, str] = {
    "approve_compaction": "approved it",
    "reject_compaction": "rejected it",
    "edit_compaction": "edited its text",
    "append_missing_facts": "appended missing facts",
    "withdraw_appended_facts": "took appended facts out again",
    "reopen_compaction": "put it back in the queue",
    "roll_back_compaction": "rolled it back",
}


@dataclass(frozen=True)
class ReviewChange:
    """Who did what when; `is_own` for the reader, in another tab."""

    who: str
    did: str
    at: datetime
    is_own: bool = False


def last_review_change(compaction: Compaction, *, reader_id: str) -> ReviewChange | None:
    """The last decision or edit of anybody; None where there was none. One query, of a superseded one two."""
    if compaction.state == Compaction.State.SUPERSEDED:
        rows = Compaction.objects.for_tenant(compaction.tenant_id).replacing(compaction.pk)
        made = rows.first()
        if made is not None:
            who = made.requested_by or "Somebody"
            return ReviewChange(who, "had it made anew", made.finished_at or made.created_at)
    entries = AuditEntry.objects.for_tenant(compaction.tenant_id).of_kind("compaction").about(compaction.pk)
    entry: AuditEntry | None = entries.of_verbs(_DONE).newest_first().first()
    if entry is None:
        return None
    is_own = entry.actor_kind == AuditEntry.ActorKind.OPERATOR and entry.actor_id == reader_id
    return ReviewChange(entry.actor_label, _DONE[entry.verb], entry.at, is_own)
