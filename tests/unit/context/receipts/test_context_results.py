"""The data classes of a context: results for entry points, rows for receipts, and the final reduction to the budget."""

import json
import uuid
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.assembly.candidates import plan_without_timings
from context.assembly.layout import drop_blocks
from context.assembly.orchestrator import StepTimer
from context.receipts import rows
from context.receipts.results import (
    Anchor,
    AssembledContext,
    Block,
    CandidateOutcome,
    ContextBudget,
    ContextWarning,
    Exclusion,
)

PARTS = {"relevance": 0.1, "recency": 0.2, "usefulness": 0.3, "confidence": 0.4, "frequency": 0.5}
ANCHOR = Anchor("memory", str(uuid.UUID(int=1)), 4)


def block(tokens: int = 10, text: str = "one") -> Block:
    return Block("memory", ANCHOR, text, tokens, 2, score=0.5, score_breakdown=PARTS)


def stored(contents: rows.ReceiptContents) -> rows.ReceiptContents:
    """The contents after a way through the database."""
    return rows.decode_receipt(**json.loads(json.dumps(rows.encode_receipt(contents))))


def test_blocks_survive_their_rows_but_for_the_text() -> None:
    memo = Block("tenant_memo", Anchor("tenant_memo", "t", 1), "", 7)
    assert memo.as_answer()["score_breakdown"] is None
    read = stored(rows.ReceiptContents([memo, block(text="secret")], [], []))
    assert read.blocks == [memo, block(text="")]


def test_omissions_and_candidates_survive_their_rows() -> None:
    omitted = [Exclusion(ANCHOR, "over_budget", 30, 0.25, missing) for missing in (None, 84)]
    candidate = CandidateOutcome(ANCHOR, 30, True, 0.25, PARTS, 1, None, 0.016, "kept", superseded_by="newer")
    for contents in (rows.ReceiptContents([], omitted, []), rows.ReceiptContents([], [], [candidate])):
        assert stored(contents) == contents


def test_blocks_and_omissions_that_are_candidates_only_point_to_them() -> None:
    kept = CandidateOutcome(ANCHOR, 30, True, 0.25, PARTS, 1, None, 0.016, "kept")
    left = CandidateOutcome(
        Anchor("memory", str(uuid.UUID(int=2)), 1), 40, False, 0.2, PARTS, 2, 1, 0.015, "over_budget"
    )
    memo = Block("tenant_memo", Anchor("tenant_memo", "t", 1), "", 7)
    whole = Block("linked_memory", ANCHOR, "", 30, 1, 0.25, PARTS)
    shortened = Block("memory", ANCHOR, "", 12, 1, 0.25, PARTS, 44)
    omitted = [Exclusion(left.anchor, "over_budget", 40, 0.2, 11), Exclusion(memo.anchor, "over_budget", 7, None)]
    for block in (whole, shortened):
        contents = rows.ReceiptContents([memo, block], omitted, [kept, left])
        packed = rows.encode_receipt(contents)
        assert packed["blocks"][1] == ["linked_memory", 0] or packed["blocks"][1] == ["memory", 0, 12, 44]
        assert packed["omitted"][0] == [1, 11]
        assert stored(contents) == contents


def test_near_duplicate_refers_to_its_candidate_and_to_the_block_with_the_same_statement() -> None:
    kept = CandidateOutcome(ANCHOR, 30, False, 0.25, PARTS, 1, None, 0.016, "kept")
    again = CandidateOutcome(
        Anchor("memory", str(uuid.UUID(int=2)), 1), 30, False, 0.2, PARTS, 2, 1, 0.015, "near_duplicate"
    )
    memo = Block("tenant_memo", Anchor("tenant_memo", "t", 1), "", 7)
    whole = Block("memory", ANCHOR, "", 30, 1, 0.25, PARTS)
    omission = Exclusion(again.anchor, "near_duplicate", 30, 0.2, twin=ANCHOR)
    contents = rows.ReceiptContents([memo, whole], [omission], [kept, again])
    assert rows.encode_receipt(contents)["omitted"] == [[1, None, 1]]
    assert stored(contents) == contents
    assert omission.as_answer()["near_duplicate_of"] == ANCHOR.as_answer()


def test_left_out_block_keeps_anchor_tokens_and_score() -> None:
    assert block().left_out("over_budget").as_answer() == {
        "anchor": ANCHOR.as_answer(),
        "reason": "over_budget",
        "tokens": 10,
        "score": 0.5,
        "near_duplicate_of": None,
    }


@pytest.mark.parametrize(("excess", "kept"), [(1, 3), (10, 3), (11, 2), (40, 0), (1000, 0)])
def test_the_last_blocks_go_until_the_excess_is_covered(excess: int, kept: int) -> None:
    assert len(drop_blocks([block()] * 4, excess, {})) == kept


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.integers(1, 200))
def test_at_least_one_block_is_dropped_and_the_first_ones_stay(sizes: list[int], excess: int) -> None:
    blocks = [block(size, str(place)) for place, size in enumerate(sizes)]
    kept = drop_blocks(blocks, excess, {})
    assert kept == blocks[: len(kept)]
    assert len(kept) < len(blocks)


def test_inflated_blocks_go_first_and_the_longest_of_them_before_the_others() -> None:
    blocks = [block(10, str(place)) for place in range(4)]
    assert drop_blocks(blocks, 80, {0: 90, 2: 30}) == blocks[1:]
    assert drop_blocks(blocks, 100, {0: 90, 2: 30}) == [blocks[1], blocks[3]]
    assert drop_blocks(blocks, 125, {0: 90, 2: 30}) == [blocks[1]]


def test_plan_without_times_keeps_everything_else() -> None:
    plan = {"mode": "hybrid", "vector": {"ms": 3.2, "rows": 4}}
    assert plan_without_timings(plan) == {"mode": "hybrid", "vector": {"rows": 4}}


def test_timer_notes_a_step_that_failed() -> None:
    timer = StepTimer()
    with pytest.raises(ValueError, match="no"), timer.step("broken"):
        raise ValueError("no")
    assert timer.milliseconds["broken"] >= 0


def test_response_of_a_preview_has_no_id_and_explains_only_on_request() -> None:
    context = AssembledContext(
        id=None,
        text="",
        blocks=[],
        omitted=[],
        budget=ContextBudget(10, 0, 4096, "o200k_base", True),
        profile={"name": "adr-0040", "version": 1},
        budget_profile={"name": "default", "version": 0},
        warnings=[ContextWarning("unknown_model", "It is unknown.")],
        timings={"total": 1.0},
        candidates=[CandidateOutcome(ANCHOR, 30, False, 0.25, PARTS, 1, 2, 0.03, "over_budget")],
        plan={"mode": "hybrid"},
        request={},
        created_at=datetime(2026, 3, 1, tzinfo=UTC),
    )
    plain = context.as_answer()
    assert plain["id"] is None
    assert plain["warnings"] == [{"code": "unknown_model", "detail": "It is unknown."}]
    assert context.as_answer(explain=True) == plain | {
        "explain": {
            "candidates": [context.candidates[0].as_answer()],
            "plan": {"mode": "hybrid"},
            "optimality": None,
        }
    }
