"""The journal: lasting facts of a session as memories, each once, never from text that was recalled (ADR-0072)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

import numpy as np

from compaction.models import Compaction, Session
from compaction.services.pipeline.recalled_text import (
    candidate_recalled_hashes,
    strip_recalled_pieces,
    strip_rendered_contexts,
)
from compaction.services.pipeline.retention import extract_facts, fact_lookup
from compaction.services.pipeline.splitting import split_text_by_bytes
from compaction.services.pipeline.stored_statements import CitedStatement
from compaction.services.sessions.drafts import AHEAD_MAX
from compaction.services.sessions.turns import LIVE, SessionTurn
from memories.embeddings.embedders import embedder_of, is_local_for
from memories.embeddings.providers import EmbeddingError
from memories.embeddings.providers.protocol import EmbeddingVectors
from memories.models import Memory, MemoryEmbedding
from memories.services.partitions.paths import parse_partition
from memories.services.store.content import MAX_CONTENT_BYTES, content_hash
from memories.services.store.drafts import NewMemory
from memories.services.store.recalled_text import recalled_hash
from memories.store.actions.edit import archive_memory
from memories.store.actions.store import store_memories
from memories.store.recall import recently_recalled_memories
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import tenant_scope

_KIND = "synthesis"
#: A text nearer than this to a stored one says the same.
NEAR_DUPLICATE_SIMILARITY = 0.95
#: The newest memories that a text is compared with.
NEAR_MEMORIES_MAX = 20_000
VECTORS_AT_ONCE = 64
#: Message ids that a memory's metadata names.
_SOURCES_MAX = 50

_NEW, _DUPLICATE, _NEAR_DUPLICATE, RECALLED, STORED, INVALID = (
    "new", "duplicate", "near_duplicate", "recalled", "stored", "invalid",
)  # fmt: skip


@dataclass(frozen=True)
class JournalEntry:
    """A lasting fact, and what became of it. `memory_id` is the memory that holds it, `held_text` what that says.

    `is_for_retention`: added because the summary lost what it holds.
    """

    told: CitedStatement
    status: str = _NEW
    memory_id: UUID | None = None
    held_text: str = ""
    is_for_retention: bool = False

    def as_record(self) -> dict[str, Any]:
        """As a compaction keeps it."""
        return {
            "text": self.told.text,
            "message_ids": list(self.told.message_ids),
            "kind": self.told.kind,
            "memory_id": str(self.memory_id) if self.memory_id else None,
            "status": self.status,
            "is_for_retention": self.is_for_retention,
        }


def strip_recalled_text(tenant_id: UUID, turns: Iterable[SessionTurn], *, now: datetime) -> list[SessionTurn]:
    """The turns with what they say themselves: without rendered contexts and quoted memories. Opens its own scope."""
    stripped = [replace(turn, content=strip_rendered_contexts(turn.content)) for turn in turns if turn.state == LIVE]
    hashes = {each for turn in stripped for each in candidate_recalled_hashes(turn.content)}
    with tenant_scope(tenant_id):
        recalled = (
            frozenset(recently_recalled_memories(tenant_id=tenant_id, hashes=hashes, now=now))
            if hashes
            else frozenset()
        )
    return [replace(turn, content=strip_recalled_pieces(turn.content, recalled)) for turn in stripped]


def classify_entries(
    tenant_id: UUID, path: str, told: Sequence[CitedStatement], *, now: datetime
) -> list[JournalEntry]:
    """The entries with what is known of each already, in the partition `path` and below. Called with no scope open.

    Near duplicates are looked for where embedding needs no network.
    """
    entries = _exact(tenant_id, path, _once(told), now)
    if not is_local_for(tenant_id) or not any(entry.status == _NEW for entry in entries):
        return entries
    try:
        embedder = embedder_of(tenant_id)
        vectors = embedder.embed([entry.told.text for entry in entries])
    except EmbeddingError:
        return entries
    return _near(tenant_id, path, entries, vectors, embedder.name, now)


def store_journal_entries(
    *,
    compaction: Compaction,
    session: Session,
    moments: Mapping[str, datetime],
    by: Actor,
    now: datetime,
) -> list[UUID]:
    """Store what is new of the compaction's journal and note on it what became of each; ids of new memories.

    A step of the verb that applies it, inside its transaction; `moments` are the times of the cited messages by id.
    """
    waiting = [record for record in compaction.journal if record["status"] == _NEW]
    rows = [_memory(record, compaction, session, moments, now) for record in waiting]
    results = store_memories(tenant=session.tenant, rows=rows, by=by, now=now) if rows else []
    created = []
    for record, result in zip(waiting, results, strict=True):
        record["memory_id"] = str(result.memory.pk) if result.memory else None
        record["status"] = {"created": STORED, "existing": _DUPLICATE}.get(str(result.status), INVALID)
        if result.memory and record["status"] == STORED:
            created.append(result.memory.pk)
    return created


def store_summary_memory(*, compaction: Compaction, session: Session, by: Actor, now: datetime) -> list[UUID]:
    """Store the applied summary as a memory, as several where it is longer than one may be; their ids."""
    pieces = split_text_by_bytes(compaction.summary_text, MAX_CONTENT_BYTES)
    rows = [
        NewMemory(
            content=piece,
            partition=parse_partition(session.partition_path),
            kind=_KIND,
            session=str(session.pk),
            source_id=f"compaction:{compaction.pk}:{compaction.edit_version}:{number}",
            metadata={
                "type": "context_synthesis",
                "session_id": str(session.pk),
                "compaction_id": str(compaction.pk),
                "generation": compaction.generation,
                "compacted_count": compaction.compacted_count,
            },
        )
        for number, piece in enumerate(pieces)
    ]
    results = store_memories(tenant=session.tenant, rows=rows, by=by, now=now)
    return [result.memory.pk for result in results if result.memory]


def withdraw_memories(*, tenant_id: UUID, memory_ids: Iterable[str], by: Actor, now: datetime) -> None:
    """Archive memories that a compaction made; those that are gone are passed over. A step of a verb."""
    for memory in Memory.objects.for_tenant(tenant_id).unarchived().with_ids(memory_ids):
        archive_memory(memory=memory, by=by, now=now)


def _once(told: Sequence[CitedStatement]) -> list[CitedStatement]:
    return list({recalled_hash(one.text): one for one in reversed(told)}.values())[::-1]


def _exact(tenant_id: UUID, path: str, told: Sequence[CitedStatement], now: datetime) -> list[JournalEntry]:
    hashes = {one.text: recalled_hash(one.text) for one in told}
    with tenant_scope(tenant_id):
        recalled = recently_recalled_memories(tenant_id=tenant_id, hashes=hashes.values(), now=now) if hashes else {}
        live = Memory.objects.for_tenant(tenant_id).live(now).within(path)
        same = live.with_content_hashes(content_hash(text) for text in hashes)
        held = {memory.content_hash: memory.pk for memory in same}
    entries = []
    for one in told:
        if hashes[one.text] in recalled:
            entries.append(JournalEntry(one, RECALLED, recalled[hashes[one.text]], one.text))
        elif (memory_id := held.get(content_hash(one.text))) is not None:
            entries.append(JournalEntry(one, _DUPLICATE, memory_id, one.text))
        else:
            entries.append(JournalEntry(one, held_text=one.text))
    return entries


def _near(
    tenant_id: UUID, path: str, entries: list[JournalEntry], vectors: EmbeddingVectors, model: str, now: datetime
) -> list[JournalEntry]:
    """With those marked that say what a stored memory or an earlier entry says.

    To be near is not enough: vectors hardly see that another number stands in a text, so all facts must be told.
    """
    teller = cache(lambda text: fact_lookup([text]))
    places = [place for place, entry in enumerate(entries) if entry.status == _NEW]
    stored = _nearest_memories(tenant_id, path, places, vectors, model, now)
    sorted_entries: list[JournalEntry] = []
    kept = np.zeros(len(entries), dtype=bool)
    for place, (entry, vector) in enumerate(zip(entries, vectors, strict=True)):
        if entry.status != _NEW:
            sorted_entries.append(entry)
            continue
        facts = extract_facts([SessionTurn("", "user", entry.told.text, 0)])
        twins = np.flatnonzero(kept[:place] & (vectors[:place] @ vector > NEAR_DUPLICATE_SIMILARITY))
        if any(all(map(teller(entries[other].told.text), facts)) for other in twins):
            continue
        nearest = stored.get(place)
        if nearest is not None and all(map(teller(nearest.content), facts)):
            entry = replace(entry, status=_NEAR_DUPLICATE, memory_id=nearest.pk, held_text=nearest.content)
        else:
            kept[place] = True
        sorted_entries.append(entry)
    return sorted_entries


def _nearest_memories(
    tenant_id: UUID, path: str, places: Sequence[int], vectors: EmbeddingVectors, model: str, now: datetime
) -> dict[int, Memory]:
    """By place the stored memory nearest to each of those vectors, where it is near enough to say the same."""
    with tenant_scope(tenant_id):
        live = Memory.objects.for_tenant(tenant_id).live(now).within(path)
        rows = MemoryEmbedding.objects.for_tenant(tenant_id).of_newest(live, model, NEAR_MEMORIES_MAX)
        found = [(memory_id, vector) for memory_id, _, vector in rows.vectors()]
        if not found:
            return {}
        matrix = np.stack([vector for _, vector in found]).T
        nearest: dict[int, UUID] = {}
        for start in range(0, len(places), VECTORS_AT_ONCE):
            some = places[start : start + VECTORS_AT_ONCE]
            similarities = vectors[some] @ matrix
            best = similarities.argmax(axis=1)
            near = similarities[np.arange(len(some)), best] > NEAR_DUPLICATE_SIMILARITY
            nearest |= {
                place: found[column][0] for place, column, is_near in zip(some, best, near, strict=True) if is_near
            }
        memories = {memory.pk: memory for memory in live.with_ids(map(str, set(nearest.values())))}
    return {place: memories[pk] for place, pk in nearest.items() if pk in memories}


def _memory(
    record: Mapping[str, Any], compaction: Compaction, session: Session, moments: Mapping[str, datetime], now: datetime
) -> NewMemory:
    said = [moments[source] for source in record["message_ids"] if source in moments]
    created_at = max(said, default=now)
    return NewMemory(
        content=record["text"],
        partition=parse_partition(session.partition_path),
        kind=_KIND,
        session=str(session.pk),
        created_at=created_at if created_at <= now + AHEAD_MAX else now,
        metadata={
            "type": "journal",
            "session_id": str(session.pk),
            "message_ids": record["message_ids"][:_SOURCES_MAX],
            "compaction_id": str(compaction.pk),
        },
    )
