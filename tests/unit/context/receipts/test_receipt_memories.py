"""How the columns of a receipt are sent and read, in every version: its candidates, the memories it holds."""

import base64
import json
import uuid
import zlib
from dataclasses import replace
from typing import Any

from context.receipts import rows
from context.receipts.results import Anchor, Block, CandidateOutcome
from context.receipts.storing import packed_memory_ids
from memories.tenancy.queries.insertions import array_text

PARTS = {"relevance": 0.1, "recency": 0.2, "usefulness": 0.3, "confidence": 0.4, "frequency": 0.5}
ANCHOR = Anchor("memory", str(uuid.UUID(int=1)), 4)
BLOCK = Block("memory", ANCHOR, "one", 10, 2, score=0.5, score_breakdown=PARTS)


def deflated(candidates: list[list[Any]]) -> str:
    """As candidates were stored before they went by column."""
    return base64.b64encode(zlib.compress(json.dumps(candidates).encode())).decode()


def test_candidates_that_were_deflated_row_by_row_are_read_as_well() -> None:
    one = CandidateOutcome(ANCHOR, 30, True, 0.25, PARTS, 1, None, 0.016, "kept")
    for candidates in ([], [one], [one, replace(one, vector_rank=None, text_rank=3)]):
        packed = rows.encode_receipt([], [], candidates)
        assert rows.decode_receipt(packed).candidates == candidates
        earlier = [rows.encode_candidate(each, dict.values) for each in candidates]
        assert rows.decode_receipt(rows.ReceiptColumns([], [], earlier)).candidates == candidates
        assert rows.decode_receipt(rows.ReceiptColumns([], [], deflated(earlier))).candidates == candidates


def test_the_parts_of_a_profile_are_stored_by_name() -> None:
    parts = {**PARTS, "adjacent_turns": 0.25, "supersession": -0.5}
    one = CandidateOutcome(ANCHOR, 30, False, 0.25, parts, 1, None, 0.016, "kept")
    block = Block("linked_memory", replace(ANCHOR, version=9), "", 10, 0, score=0.5, score_breakdown=parts)
    found = rows.decode_receipt(rows.encode_receipt([block, replace(block, score_breakdown=PARTS)], [], [one, one]))
    assert [dict(each.score_breakdown) for each in found.candidates] == [parts, parts]
    assert [dict(each.score_breakdown or {}) for each in found.blocks] == [parts, PARTS]


def test_a_memory_that_stands_twice_is_named_once() -> None:
    memo = Block("tenant_memo", Anchor("tenant_memo", "t", 1), "", 7)
    assert packed_memory_ids([memo, BLOCK, replace(BLOCK, text="two")]) == [str(uuid.UUID(int=1))]


def test_arrays_are_sent_as_the_text_postgres_reads() -> None:
    assert array_text([]) == "{}"
    assert array_text([uuid.UUID(int=1), "abc", ""]) == f'{{{uuid.UUID(int=1)},abc,""}}'
