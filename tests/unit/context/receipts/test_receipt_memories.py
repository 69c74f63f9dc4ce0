"""The columns of a receipt: its candidates, the memories it contains."""

import uuid
from dataclasses import replace

from context.receipts import rows
from context.receipts.results import Anchor, Block, CandidateOutcome
from context.receipts.storing import packed_memory_ids
from memories.tenancy.queries.insertions import array_text

PARTS = {"relevance": 0.1, "recency": 0.2, "usefulness": 0.3, "confidence": 0.4, "frequency": 0.5}
ANCHOR = Anchor("memory", str(uuid.UUID(int=1)), 4)
BLOCK = Block("memory", ANCHOR, "one", 10, 2, score=0.5, score_breakdown=PARTS)


def test_the_parts_of_a_profile_are_stored_by_name() -> None:
    parts = {**PARTS, "adjacent_turns": 0.25, "supersession": -0.5}
    one = CandidateOutcome(ANCHOR, 30, False, 0.25, parts, 1, None, 0.016, "kept")
    block = Block("linked_memory", ANCHOR._replace(version=9), "", 10, 0, score=0.5, score_breakdown=parts)
    contents = rows.ReceiptContents([block, replace(block, score_breakdown=PARTS)], [], [one, one])
    found = rows.decode_receipt(**rows.encode_receipt(contents))
    assert [dict(each.score_breakdown) for each in found.candidates] == [parts, parts]
    assert [dict(each.score_breakdown or {}) for each in found.blocks] == [parts, PARTS]


def test_a_memory_that_appears_twice_is_listed_once() -> None:
    memo = Block("tenant_memo", Anchor("tenant_memo", "t", 1), "", 7)
    assert packed_memory_ids([memo, BLOCK, replace(BLOCK, text="two")]) == [str(uuid.UUID(int=1))]


def test_arrays_are_sent_as_the_text_postgres_reads() -> None:
    assert array_text([]) == "{}"
    assert array_text([uuid.UUID(int=1), "abc", ""]) == f'{{{uuid.UUID(int=1)},abc,""}}'
