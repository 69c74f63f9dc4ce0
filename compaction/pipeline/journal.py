"""The journal: store each lasting fact of a session once as a memory, never from recalled text (ADR-0072).

A fact that gives an attribute another value replaces the memory that states the former one (ADR-0103).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

import numpy as np
from django.conf import settings

from compaction.models import Compaction, Message, Session
from compaction.services.erasure.quotes import ERASED
from compaction.services.pipeline.chunking import split_text_by_bytes
from compaction.services.pipeline.journal_entries import (
    DUPLICATE,
    INVALID,
    NEAR_DUPLICATE,
    NEW,
    RECALLED,
    REPLACES,
    STORED,
    WAITING,
    is_waiting,
    reset_entries,
)
from compaction.services.pipeline.recalled_text import (
    candidate_recalled_hashes,
    strip_recalled_pieces,
    strip_rendered_contexts,
)
from compaction.services.pipeline.stored_once import text_without_stored
from compaction.services.pipeline.stored_statements import CitedStatement
from compaction.services.sessions.turns import SessionTurn
from context.services.rendering import is_fence_nonce
from memories.embeddings.embedders import embedder_of, is_local_for
from memories.embeddings.providers import EmbeddingError, EmbeddingVectors
from memories.hygiene.actions import undo_hygiene
from memories.models import Memory, MemoryEmbedding
from memories.services.hygiene.replacement import replaces
from memories.services.hygiene.rules import limit_pairs_per_memory, nearest_pairs
from memories.services.hygiene.statements import states_the_same
from memories.services.partitions.paths import parse_partition
from memories.services.store.content import MAX_CONTENT_BYTES, content_hash, recalled_hash
from memories.services.store.drafts import MAX_AHEAD, NewMemory
from memories.services.store.session_summaries import SESSION_SUMMARY_TYPE, summary_source
from memories.services.time_limits import in_time
from memories.store.actions.edit import archive_memory, restore_memory
from memories.store.actions.replace import replace_memories
from memories.store.actions.store import store_memories
from memories.store.queries.memories import MemoryQuerySet
from memories.store.recall import recently_recalled_memories
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import Conflict, NotFound
from memories.tenancy.scopes import tenant_scope

_KIND = "synthesis"
#: A text of higher cosine similarity to a stored one is a near-duplicate.
NEAR_DUPLICATE_SIMILARITY = 0.95
#: The number of newest memories that a text is compared with.
NEAR_MEMORIES_MAX = 20_000
#: The number of nearest memories and preceding texts that a text is compared with word by word.
NEAREST_COMPARED = 10
#: Besides the nearest memories, a fact may replace this many without a vector: those with the most words in common.
WORDS_COMPARED = 10
#: Vectors of memories per read: they and their cosines take a few MB.
ROWS_READ = 1_000
#: Maximum message ids in a memory's metadata.
_SOURCES_MAX = 50

_JOURNAL = "journal"


@dataclass(frozen=True)
class JournalEntry:
    """A lasting fact, its status and the memory that contains it; `replaced` are the memories that it replaces."""

    statement: CitedStatement
    status: str = NEW
    memory_id: UUID | None = None
    existing_text: str = ""
    replaced: tuple[UUID, ...] = ()

    @property
    def is_withheld(self) -> bool:
        """Whether it is stored only after a person approved it."""
        return self.status in WAITING and self.statement.is_possible_instruction

    def as_record(self) -> dict[str, Any]:
        """Return the entry as JSON for `Compaction.journal`."""
        return {
            "text": self.statement.text,
            "message_ids": list(self.statement.message_ids),
            "kind": self.statement.kind,
            "memory_id": str(self.memory_id) if self.memory_id else None,
            "status": self.status,
            "replaced_memory_ids": [str(memory_id) for memory_id in self.replaced],
            "is_possible_instruction": self.statement.is_possible_instruction,
        }


def strip_recalled_text(
    session: Session, turns: Iterable[SessionTurn], *, api_key_ids: Collection[str], now: datetime
) -> list[SessionTurn]:
    """Return the turns without rendered contexts, and without memories that those keys received for the session.

    Opens its own scope.
    """
    is_ours = partial(is_fence_nonce, settings.SECRET_KEY.encode(), str(session.tenant_id))
    stripped = [replace(turn, content=strip_rendered_contexts(turn.content, is_ours)) for turn in in_time(turns)]
    hashes = {each for turn in in_time(stripped) for each in candidate_recalled_hashes(turn.content)}
    with tenant_scope(session.tenant_id):
        found = _recalled(session, hashes, api_key_ids, now)
        live = _unarchived(session.tenant_id, found)
    # A fact that a person states again is true again, although another memory replaced it; an agent may only repeat it.
    texts = {True: frozenset(live), False: frozenset(found)}
    return [
        replace(turn, content=strip_recalled_pieces(turn.content, texts[turn.role == Message.Role.USER]))
        for turn in stripped
    ]


def classify_entries(
    session: Session, statements: Sequence[CitedStatement], *, api_key_ids: Collection[str], now: datetime
) -> list[JournalEntry]:
    """Classify against memories in the session's partition, near-duplicates only if embedding is local.

    A new entry replaces what an earlier journal stored in the same partition about the same attribute with another
    value. Called with no scope open.
    """
    tenant_id, path = session.tenant_id, session.partition_path
    each_once = list({recalled_hash(one.text): one for one in reversed(statements)}.values())[::-1]
    entries = _exact(session, each_once, api_key_ids, now)
    nearest: dict[str, list[Memory]] | None = None
    if is_local_for(tenant_id) and any(entry.status == NEW for entry in entries):
        with suppress(EmbeddingError):
            embedder = embedder_of(tenant_id)
            vectors = embedder.embed([entry.statement.text for entry in entries])
            entries, nearest = _near(tenant_id, path, entries, vectors, embedder.name, now)
    return _replacing(session, entries, nearest, now)


def store_journal_entries(
    compaction: Compaction, session: Session, moments: Mapping[str, datetime], *, by: Actor, now: datetime
) -> list[UUID]:
    """Store the new entries of the journal, replace memories and set status; returns new ids.

    Possible instructions wait until a person decided on the compaction. `moments` are the messages' times.
    """
    is_decided = compaction.decided_at is not None
    waiting: list[dict[str, Any]] = []
    for record in compaction.journal:
        if not is_waiting(record) or (record.get("is_possible_instruction") and not is_decided):
            continue
        if ERASED in record["text"]:  # by an erasure, after the draft or before the compaction was applied again
            record["status"] = INVALID
        else:
            waiting.append(record)
    rows = [_memory(record, compaction, session, moments, now) for record in waiting]
    results = store_memories(tenant=session.tenant, rows=rows, by=by, now=now) if rows else []
    for record, result in zip(waiting, results, strict=True):
        record["memory_id"] = str(result.memory.pk) if result.memory else None
        record["status"] = {"created": STORED, "existing": DUPLICATE}.get(str(result.status), INVALID)
        if result.memory and record["status"] == STORED and record.get("replaced_memory_ids"):
            _replace(record, result.memory, by, now)
    return [UUID(record["memory_id"]) for record in waiting if record["status"] in (STORED, REPLACES)]


def _replace(record: dict[str, Any], memory: Memory, by: Actor, now: datetime) -> None:
    """Replace the memories of an entry that are still live and not stated later; record which, and the actions."""
    rows = _journal_memories(memory.tenant_id, memory.partition_path, now).with_ids(record["replaced_memory_ids"])
    rows = rows.filter(created_at__lte=memory.created_at).exclude(pk=memory.pk)
    older = rows.locked().ids()
    acts = replace_memories(tenant_id=memory.tenant_id, replaced={memory.pk: older}, by=by, now=now)
    record["replaced_memory_ids"] = [str(pk) for pk in older]
    record["replacement_act_ids"] = [str(act.pk) for act in acts]
    record["status"] = REPLACES if older else STORED


def restore_replaced_memories(*, compaction: Compaction, withdrawn: Collection[str], by: Actor, now: datetime) -> None:
    """Restore the memories that the `withdrawn` ones of a journal replaced, unless they were changed since."""
    entries = (record for record in compaction.journal if record["memory_id"] in withdrawn)
    for act_id in (act_id for record in entries for act_id in record.get("replacement_act_ids", ())):
        with suppress(Conflict, NotFound):
            undo_hygiene(tenant_id=compaction.tenant_id, act_id=UUID(act_id), by=by, now=now)


def store_summary_memory(compaction: Compaction, session: Session, *, by: Actor, now: datetime) -> list[UUID]:
    """Store the parts of the applied summary that the journal lacks, split by the maximum length; return the ids.

    A statement that is stored as a separate memory is omitted, so that no search finds a sentence twice, and so is a
    possible instruction that no person approved.
    """
    statements = list(map(CitedStatement.of, compaction.statements))
    stored = _stored_texts(compaction, session)
    text = text_without_stored(compaction.summary_text, statements, stored, _withheld_texts(compaction, statements))
    pieces = split_text_by_bytes(text, MAX_CONTENT_BYTES)
    if not pieces:
        return []
    metadata = {"generation": compaction.generation, "compacted_count": compaction.compacted_count}
    source = summary_source(compaction.pk, compaction.edit_version)
    new = _new_memory(compaction, session, SESSION_SUMMARY_TYPE, metadata)
    rows = [replace(new, content=piece, source_id=f"{source}:{number}") for number, piece in enumerate(pieces)]
    results = store_memories(tenant=session.tenant, rows=rows, by=by, now=now)
    return [result.memory.pk for result in results if result.memory]


def withdraw_approved_facts(compaction: Compaction, *, by: Actor, now: datetime) -> None:
    """Archive the facts that an approval stored although they may instruct the assistant; they wait again.

    A memory that another applied compaction references stays.
    """
    stored = [one for one in compaction.journal if one["status"] == STORED and one.get("is_possible_instruction")]
    ids = [one["memory_id"] for one in stored]
    shared = Compaction.objects.for_tenant(compaction.tenant_id).referenced_memories(ids, but=compaction.pk)
    withdraw_memories(tenant_id=compaction.tenant_id, memory_ids={*ids} - shared, by=by, now=now)
    reset_entries(stored)


def withdraw_memories(*, tenant_id: UUID, memory_ids: Iterable[str], by: Actor, now: datetime) -> list[str]:
    """Archive the memories that a compaction stored; return the ids of those that were not archived already."""
    rows = list(Memory.objects.for_tenant(tenant_id).unarchived().with_ids(memory_ids))
    return [str(archive_memory(memory=memory, by=by, now=now).pk) for memory in rows]


def restore_withdrawn_memories(*, tenant_id: UUID, memory_ids: Iterable[str], by: Actor, now: datetime) -> None:
    """Restore withdrawn memories; a memory whose text a live memory now has stays archived."""
    for memory in Memory.objects.for_tenant(tenant_id).archived().with_ids(memory_ids):
        with suppress(Conflict):
            restore_memory(memory=memory, by=by, now=now)


def journal_texts(tenant_id: UUID, session_id: UUID, *, but: UUID | None = None) -> list[str]:
    """Return the unarchived memories in journals of a session's applied compactions, without the compaction `but`."""
    rows = Compaction.objects.for_tenant(tenant_id).of_session(session_id)
    memories = Memory.objects.for_tenant(tenant_id).unarchived().with_ids(rows.journal_memory_ids(but=but))
    return [text for _, text in memories.contents()]


def _withheld_texts(compaction: Compaction, statements: Iterable[CitedStatement]) -> set[str]:
    """Return the texts of the possible instructions in a summary that no person approved."""
    marked = {one.text for one in statements if one.is_possible_instruction}
    if not marked or compaction.decided_at is not None:
        return set()
    rows = Compaction.objects.for_tenant(compaction.tenant_id).of_session(compaction.session_id)
    return marked - rows.approved_instructions()


def _stored_texts(compaction: Compaction, session: Session) -> set[str]:
    """Return the texts that memories of the journals of all generations state, this one included."""
    own = {str(record["memory_id"]): str(record["text"]) for record in compaction.journal if record["memory_id"]}
    live = Memory.objects.for_tenant(session.tenant_id).unarchived().with_ids(own).contents()
    texts = {text for pk, content in live for text in (content, own[str(pk)])}
    return texts.union(journal_texts(session.tenant_id, session.pk))


def _recalled(session: Session, hashes: Iterable[str], api_key_ids: Collection[str], now: datetime) -> dict[str, UUID]:
    """Return the memories that those keys received for the session's partition, by the hash of their text."""
    texts = {(value, session.partition_path) for value in hashes}
    found = recently_recalled_memories(tenant_id=session.tenant_id, texts=texts, api_key_ids=api_key_ids, now=now)
    return {value: memory_ids[0] for (value, _), memory_ids in found.items()}


def _unarchived(tenant_id: UUID, found: Mapping[str, UUID]) -> dict[str, UUID]:
    live = set(Memory.objects.for_tenant(tenant_id).unarchived().with_ids(found.values()).ids()) if found else set()
    return {value: memory_id for value, memory_id in found.items() if memory_id in live}


def _journal_memories(tenant_id: UUID, path: str, now: datetime) -> MemoryQuerySet:
    """Return the live memories that journals stored in a partition itself."""
    rows = Memory.objects.for_tenant(tenant_id).live(now).within(path, exact=True).of_kind(_KIND)
    return rows.filter(metadata__contains={"type": _JOURNAL})


def _replacing(
    session: Session, entries: Sequence[JournalEntry], nearest: Mapping[str, Sequence[Memory]] | None, now: datetime
) -> list[JournalEntry]:
    """Return the entries, each new one with the memories that it replaces.

    Candidates are the nearest and, without vectors, those that share words. `nearest` is None if no vectors were
    compared. A possible instruction replaces nothing.
    """
    found: list[JournalEntry] = []
    with tenant_scope(session.tenant_id):
        rows = _journal_memories(session.tenant_id, session.partition_path, now)
        unread = rows if nearest is None else rows.not_ready()
        has_unread = unread.exists()
        stored = set(rows.with_ids({memory.pk for near in (nearest or {}).values() for memory in near}).ids())
        for entry in in_time(entries):
            text = entry.statement.text
            if entry.status == NEW and not entry.statement.is_possible_instruction:
                candidates = [memory for memory in (nearest or {}).get(text, ()) if memory.pk in stored]
                candidates += unread.matching(text)[:WORDS_COMPARED] if has_unread else []
                older = dict.fromkeys(memory.pk for memory in candidates if replaces(text, memory.content))
                entry = replace(entry, status=REPLACES, replaced=tuple(older)) if older else entry
            found.append(entry)
    return found


def _exact(
    session: Session, statements: Sequence[CitedStatement], api_key_ids: Collection[str], now: datetime
) -> list[JournalEntry]:
    hashes = {one.text: recalled_hash(one.text) for one in statements}
    with tenant_scope(session.tenant_id):
        recalled = _unarchived(session.tenant_id, _recalled(session, hashes.values(), api_key_ids, now))
        live = Memory.objects.for_tenant(session.tenant_id).live(now).within(session.partition_path)
        same = live.with_content_hashes(content_hash(text) for text in hashes)
        ids_by_hash = {memory.content_hash: memory.pk for memory in same}

    def entry(one: CitedStatement) -> JournalEntry:
        if hashes[one.text] in recalled:
            return JournalEntry(one, RECALLED, recalled[hashes[one.text]], one.text)
        memory_id = ids_by_hash.get(content_hash(one.text))
        return JournalEntry(one, DUPLICATE if memory_id else NEW, memory_id, one.text)

    return list(map(entry, statements))


def _near(
    tenant_id: UUID, path: str, entries: list[JournalEntry], vectors: EmbeddingVectors, model: str, now: datetime
) -> tuple[list[JournalEntry], dict[str, list[Memory]]]:
    """Mark near-duplicates of stored memories, drop those of earlier entries; also return the nearest by text.

    Similarity alone is not enough, because vectors hardly reflect a different number: the texts must state the same.
    """
    places = [place for place, entry in enumerate(entries) if entry.status == NEW]
    stored = _nearest_memories(tenant_id, path, places, vectors, model, now)
    sorted_entries: list[JournalEntry] = []
    kept = np.zeros(len(entries), dtype=bool)
    for place, (entry, vector) in enumerate(in_time(zip(entries, vectors, strict=True))):
        if entry.status != NEW:
            sorted_entries.append(entry)
            continue
        similarities = np.where(kept[:place], vectors[:place] @ vector, -1.0)
        similar = np.flatnonzero(similarities > NEAR_DUPLICATE_SIMILARITY)
        duplicates = similar[np.argsort(-similarities[similar], kind="stable")][:NEAREST_COMPARED]
        text = entry.statement.text
        if any(states_the_same(text, entries[other].statement.text) for other in duplicates):
            continue
        near = (memory for memory, similarity in stored.get(place, ()) if similarity > NEAR_DUPLICATE_SIMILARITY)
        same = next((memory for memory in near if states_the_same(text, memory.content)), None)
        if same is not None:
            entry = replace(entry, status=NEAR_DUPLICATE, memory_id=same.pk, existing_text=same.content)
        else:
            kept[place] = True
        sorted_entries.append(entry)
    nearest = {entries[place].statement.text: [memory for memory, _ in found] for place, found in stored.items()}
    return sorted_entries, nearest


def _nearest_memories(
    tenant_id: UUID, path: str, places: Sequence[int], vectors: EmbeddingVectors, model: str, now: datetime
) -> dict[int, list[tuple[Memory, float]]]:
    """Return by index the stored memories nearest to each vector with their cosines."""
    found: list[tuple[int, UUID, float]] = []
    with tenant_scope(tenant_id):
        live = Memory.objects.for_tenant(tenant_id).live(now).within(path)
        newest = live.newest_ids(NEAR_MEMORIES_MAX)
        rows = MemoryEmbedding.objects.for_tenant(tenant_id)
        for ids, matrix in in_time(rows.current_matrices(newest, model, ROWS_READ)):
            near = nearest_pairs(vectors[places], matrix, count=NEAREST_COMPARED, minimum=-1.0)
            found += [(places[i], ids[j], cosine) for i, j, cosine in near]
            found = limit_pairs_per_memory(found, NEAREST_COMPARED)
        memories = {row.pk: row for row in live.with_ids({pk for _, pk, _ in found})}
    nearest = defaultdict[int, list[tuple[Memory, float]]](list)
    for place, pk, cosine in found:
        if pk in memories:
            nearest[place].append((memories[pk], cosine))
    return nearest


def _memory(
    record: Mapping[str, Any], compaction: Compaction, session: Session, moments: Mapping[str, datetime], now: datetime
) -> NewMemory:
    created_at = max((moments[source] for source in record["message_ids"] if source in moments), default=now)
    new = _new_memory(compaction, session, _JOURNAL, {"message_ids": record["message_ids"][:_SOURCES_MAX]})
    return replace(new, content=record["text"], created_at=created_at if created_at <= now + MAX_AHEAD else now)


def _new_memory(compaction: Compaction, session: Session, kind: str, metadata: Mapping[str, Any]) -> NewMemory:
    return NewMemory(
        content="",
        partition=parse_partition(session.partition_path),
        kind=_KIND,
        session=str(session.pk),
        metadata={"type": kind, "session_id": str(session.pk), "compaction_id": str(compaction.pk), **metadata},
    )
