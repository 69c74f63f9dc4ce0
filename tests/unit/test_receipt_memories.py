"""Which memories a receipt holds: at its writing, and read from the rows of every version."""

import uuid
from dataclasses import replace
from importlib import import_module

from context.receipts import rows
from context.receipts.storing import memory_ids_of
from context.results import Anchor, Block, Consideration
from memories.querysets.rows import array_text

PARTS = {"relevance": 0.1, "recency": 0.2, "usefulness": 0.3, "confidence": 0.4, "frequency": 0.5}
ANCHOR = Anchor("memory", str(uuid.UUID(int=1)), 4)
BLOCK = Block("memory", ANCHOR, "one", 10, 2, score=0.5, score_breakdown=PARTS)


def test_memories_of_receipts_are_read_from_rows_of_every_version() -> None:
    memories_of = import_module("context.migrations.0004_memories_of_receipts").memories_of
    first, second = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))
    kept = Consideration(ANCHOR, 30, True, 0.25, PARTS, 1, None, 0.016, "kept")
    memo = rows.block_row(Block("tenant_memo", Anchor("tenant_memo", "t", 1), "", 7))
    summary = rows.block_row(Block("partition_summary", Anchor("partition_summary", second, 1), "", 7))
    whole = rows.block_row(Block("linked_memory", Anchor("memory", second, 1), "", 7))
    packed = rows.pack([BLOCK, BLOCK], [], [kept])
    assert memories_of([memo, summary, whole, whole], []) == [second]
    assert memories_of([*packed.blocks, whole], packed.candidates) == [first, second]
    assert memories_of(packed.blocks, [rows.candidate_row(kept)]) == [first]
    assert memories_of([["memory", 0]], [["memory", first, 1, 30, 0, 0.25, [], 1, None, 0.016, "kept"]]) == [first]
    assert memories_of([], packed.candidates) == []


def test_a_memory_that_stands_twice_is_named_once() -> None:
    memo = Block("tenant_memo", Anchor("tenant_memo", "t", 1), "", 7)
    assert memory_ids_of([memo, BLOCK, replace(BLOCK, text="two")]) == [str(uuid.UUID(int=1))]


def test_arrays_are_sent_as_the_text_postgres_reads() -> None:
    assert array_text([]) == "{}"
    assert array_text([uuid.UUID(int=1), "abc", ""]) == f'{{{uuid.UUID(int=1)},abc,""}}'
