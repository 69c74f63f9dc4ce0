"""The journal: store the lasting facts of a session as memories, once each, never from recalled text (ADR-0072)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

import numpy as np
from django.conf import settings

from compaction.models import Compaction, Session
from compaction.services.pipeline.chunking import split_text_by_bytes
from compaction.services.pipeline.recalled_text import (
    candidate_recalled_hashes,
    strip_recalled_pieces,
    strip_rendered_contexts,
)
from compaction.services.pipeline.stored_statements import CitedStatement
from compaction.services.sessions.turns import SessionTurn
from context.services.rendering import is_fence_nonce
from memories.embeddings.embedders import embedder_of, is_local_for
from memories.embeddings.providers import EmbeddingError, EmbeddingVectors
from memories.models import Memory, MemoryEmbedding
from memories.services.hygiene.statements import states_the_same
from memories.services.partitions.paths import parse_partition
from memories.services.store.content import MAX_CONTENT_BYTES, content_hash, recalled_hash
from memories.services.store.drafts import MAX_AHEAD, NewMemory
from memories.store.actions.edit import archive_memory, restore_memory
from memories.store.actions.store import store_memories
from memories.store.recall import recently_recalled_memories
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import Conflict
from memories.tenancy.scopes import tenant_scope

_KIND = "synthesis"
#: A text of higher cosine similarity to a stored one is a near-duplicate.
NEAR_DUPLICATE_SIMILARITY = 0.95
#: The number of newest memories that a text is compared with.
NEAR_MEMORIES_MAX = 20_000
#: The nearest of them, whose texts are compared word by word.
NEAREST_COMPARED = 5
VECTORS_AT_ONCE = 64
#: Message ids that a memory's metadata names.
_SOURCES_MAX = 50

_NEW, _DUPLICATE, _NEAR_DUPLICATE = "new", "duplicate", "near_duplicate"
RECALLED, STORED, INVALID = "recalled", "stored", "invalid"


@dataclass(frozen=True)
class JournalEntry:
    """A lasting fact, its status and the memory that contains it. `is_for_retention`: the summary lost its facts."""

    statement: CitedStatement
    status: str = _NEW
    memory_id: UUID | None = None
    existing_text: str = ""
    is_for_retention: bool = False

    def as_record(self) -> dict[str, Any]:
        """Return the entry as JSON for `Compaction.journal`."""
        return {
            "text": self.statement.text,
            "message_ids": list(self.statement.message_ids),
            "kind": self.statement.kind,
            "memory_id": str(self.memory_id) if self.memory_id else None,
            "status": self.status,
            "is_for_retention": self.is_for_retention,
        }


def strip_recalled_text(
    session: Session, turns: Iterable[SessionTurn], *, api_key_ids: Collection[str], now: datetime
) -> list[SessionTurn]:
    """Return the turns without rendered contexts, and without memories that those keys received for the session.

    Opens its own scope.
    """
    is_ours = partial(is_fence_nonce, settings.SECRET_KEY.encode(), str(session.tenant_id))
    stripped = [replace(turn, content=strip_rendered_contexts(turn.content, is_ours)) for turn in turns]
    hashes = {each for turn in stripped for each in candidate_recalled_hashes(turn.content)}
    with tenant_scope(session.tenant_id):
        found = frozenset(_recalled(session, hashes, api_key_ids, now))
    return [replace(turn, content=strip_recalled_pieces(turn.content, found)) for turn in stripped]


def classify_entries(
    session: Session, statements: Sequence[CitedStatement], *, api_key_ids: Collection[str], now: datetime
) -> list[JournalEntry]:
    """Classify against memories in the session's partition, near-duplicates only if embedding is local.

    Called with no scope open.
    """
    tenant_id, path = session.tenant_id, session.partition_path
    each_once = list({recalled_hash(one.text): one for one in reversed(statements)}.values())[::-1]
    entries = _exact(session, each_once, api_key_ids, now)
    if not is_local_for(tenant_id) or not any(entry.status == _NEW for entry in entries):
        return entries
    try:
        embedder = embedder_of(tenant_id)
        vectors = embedder.embed([entry.statement.text for entry in entries])
    except EmbeddingError:
        return entries
    return _near(tenant_id, path, entries, vectors, embedder.name, now)


def store_journal_entries(
    compaction: Compaction, session: Session, moments: Mapping[str, datetime], *, by: Actor, now: datetime
) -> list[UUID]:
    """Store the new entries of the journal and set their status; returns new ids. `moments` are the messages' times."""
    waiting = [record for record in compaction.journal if record["status"] == _NEW]
    rows = [_memory(record, compaction, session, moments, now) for record in waiting]
    results = store_memories(tenant=session.tenant, rows=rows, by=by, now=now) if rows else []
    for record, result in zip(waiting, results, strict=True):
        record["memory_id"] = str(result.memory.pk) if result.memory else None
        record["status"] = {"created": STORED, "existing": _DUPLICATE}.get(str(result.status), INVALID)
    return [UUID(record["memory_id"]) for record in waiting if record["status"] == STORED]


def store_summary_memory(compaction: Compaction, session: Session, *, by: Actor, now: datetime) -> list[UUID]:
    """Store the applied summary as one or more memories, split by their maximum length; returns their ids."""
    pieces = split_text_by_bytes(compaction.summary_text, MAX_CONTENT_BYTES)
    metadata = {"generation": compaction.generation, "compacted_count": compaction.compacted_count}
    source = f"compaction:{compaction.pk}:{compaction.edit_version}"
    new = _new_memory(compaction, session, "context_synthesis", metadata)
    rows = [replace(new, content=piece, source_id=f"{source}:{number}") for number, piece in enumerate(pieces)]
    results = store_memories(tenant=session.tenant, rows=rows, by=by, now=now)
    return [result.memory.pk for result in results if result.memory]


def withdraw_memories(*, tenant_id: UUID, memory_ids: Iterable[str], by: Actor, now: datetime) -> list[str]:
    """Archive the memories that a compaction made; return the ids of those that were not archived already."""
    rows = list(Memory.objects.for_tenant(tenant_id).unarchived().with_ids(memory_ids))
    return [str(archive_memory(memory=memory, by=by, now=now).pk) for memory in rows]


def restore_withdrawn_memories(*, tenant_id: UUID, memory_ids: Iterable[str], by: Actor, now: datetime) -> None:
    """Restore withdrawn memories; one whose text a live memory has by now stays archived."""
    for memory in Memory.objects.for_tenant(tenant_id).archived().with_ids(memory_ids):
        with suppress(Conflict):
            restore_memory(memory=memory, by=by, now=now)


def journal_texts(tenant_id: UUID, session_id: UUID, *, but: UUID | None = None) -> list[str]:
    """Return the unarchived memories in journals of a session's applied compactions, without the compaction `but`."""
    rows = Compaction.objects.for_tenant(tenant_id).of_session(session_id)
    memories = Memory.objects.for_tenant(tenant_id).unarchived().with_ids(rows.journal_memory_ids(but=but))
    return [text for _, text in memories.contents()]


def _recalled(session: Session, hashes: Iterable[str], api_key_ids: Collection[str], now: datetime) -> dict[str, UUID]:
    """Return the memories that those keys received for the session's partition, by the hash of their text."""
    texts = {(value, session.partition_path) for value in hashes}
    found = recently_recalled_memories(tenant_id=session.tenant_id, texts=texts, api_key_ids=api_key_ids, now=now)
    return {value: memory_ids[0] for (value, _), memory_ids in found.items()}


def _exact(
    session: Session, statements: Sequence[CitedStatement], api_key_ids: Collection[str], now: datetime
) -> list[JournalEntry]:
    hashes = {one.text: recalled_hash(one.text) for one in statements}
    with tenant_scope(session.tenant_id):
        recalled = _recalled(session, hashes.values(), api_key_ids, now)
        live = Memory.objects.for_tenant(session.tenant_id).live(now).within(session.partition_path)
        same = live.with_content_hashes(content_hash(text) for text in hashes)
        held = {memory.content_hash: memory.pk for memory in same}

    def entry(one: CitedStatement) -> JournalEntry:
        if hashes[one.text] in recalled:
            return JournalEntry(one, RECALLED, recalled[hashes[one.text]], one.text)
        memory_id = held.get(content_hash(one.text))
        return JournalEntry(one, _DUPLICATE if memory_id else _NEW, memory_id, one.text)

    return list(map(entry, statements))


def _near(
    tenant_id: UUID, path: str, entries: list[JournalEntry], vectors: EmbeddingVectors, model: str, now: datetime
) -> list[JournalEntry]:
    """Mark near-duplicates of stored memories and drop those of earlier entries.

    Similarity alone is not enough, because vectors hardly reflect another number: the texts must state the same.
    """
    places = [place for place, entry in enumerate(entries) if entry.status == _NEW]
    stored = _nearest_memories(tenant_id, path, places, vectors, model, now)
    sorted_entries: list[JournalEntry] = []
    kept = np.zeros(len(entries), dtype=bool)
    for place, (entry, vector) in enumerate(zip(entries, vectors, strict=True)):
        if entry.status != _NEW:
            sorted_entries.append(entry)
            continue
        duplicates = np.flatnonzero(kept[:place] & (vectors[:place] @ vector > NEAR_DUPLICATE_SIMILARITY))
        text = entry.statement.text
        if any(states_the_same(text, entries[other].statement.text) for other in duplicates):
            continue
        same = next((memory for memory in stored.get(place, ()) if states_the_same(text, memory.content)), None)
        if same is not None:
            entry = replace(entry, status=_NEAR_DUPLICATE, memory_id=same.pk, existing_text=same.content)
        else:
            kept[place] = True
        sorted_entries.append(entry)
    return sorted_entries


def _nearest_memories(
    tenant_id: UUID, path: str, places: Sequence[int], vectors: EmbeddingVectors, model: str, now: datetime
) -> dict[int, list[Memory]]:
    """Return by index the stored memories nearest to each vector and above `NEAR_DUPLICATE_SIMILARITY`."""
    with tenant_scope(tenant_id):
        live = Memory.objects.for_tenant(tenant_id).live(now).within(path)
        rows = MemoryEmbedding.objects.for_tenant(tenant_id).of_newest(live, model, NEAR_MEMORIES_MAX)
        found = [(memory_id, vector) for memory_id, _, vector in rows.vectors()]
        if not found:
            return {}
        matrix = np.stack([vector for _, vector in found]).T
        nearest: dict[int, list[UUID]] = {}
        for start in range(0, len(places), VECTORS_AT_ONCE):
            some = places[start : start + VECTORS_AT_ONCE]
            similarities = vectors[some] @ matrix
            count = min(NEAREST_COMPARED, len(found))
            best = np.argpartition(-similarities, count - 1, axis=1)[:, :count]
            for place, row, columns in zip(some, similarities, best, strict=True):
                nearest[place] = [found[each][0] for each in columns if row[each] > NEAR_DUPLICATE_SIMILARITY]
        memories = {memory.pk: memory for memory in live.with_ids({str(pk) for pks in nearest.values() for pk in pks})}
    return {place: [memories[pk] for pk in pks if pk in memories] for place, pks in nearest.items()}


def _memory(
    record: Mapping[str, Any], compaction: Compaction, session: Session, moments: Mapping[str, datetime], now: datetime
) -> NewMemory:
    created_at = max((moments[source] for source in record["message_ids"] if source in moments), default=now)
    new = _new_memory(compaction, session, "journal", {"message_ids": record["message_ids"][:_SOURCES_MAX]})
    return replace(new, content=record["text"], created_at=created_at if created_at <= now + MAX_AHEAD else now)


def _new_memory(compaction: Compaction, session: Session, kind: str, metadata: Mapping[str, Any]) -> NewMemory:
    return NewMemory(
        content="",
        partition=parse_partition(session.partition_path),
        kind=_KIND,
        session=str(session.pk),
        metadata={"type": kind, "session_id": str(session.pk), "compaction_id": str(compaction.pk), **metadata},
    )
