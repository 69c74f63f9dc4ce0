"""Twice the input takes at most 2.3 times as long, at every stage whose input people and agents determine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count as count_from

import pytest

from compaction.services.pipeline.chunking import divide_budget, split_text_by_bytes, split_turns_to_fit
from compaction.services.pipeline.faithfulness import check_statements
from compaction.services.pipeline.masking import messages_to_mask
from compaction.services.pipeline.recalled_text import candidate_recalled_hashes, strip_rendered_contexts
from compaction.services.pipeline.statements.extraction import extract_statements
from compaction.services.pipeline.statements.model import StatementMessage
from compaction.services.pipeline.stored_once import without_stored
from compaction.services.pipeline.stored_statements import CitedStatement
from compaction.services.rollups.choice import StoredText, choose_texts
from compaction.services.sessions.turns import SessionTurn
from compaction.services.windowing import first_preserved_index, tool_call_units
from context.services.diff import diff_anchors, rank_changes
from context.services.ordering import order_items
from context.services.rendering import RENDER_STYLES, render_context
from memories.services.hygiene.statements import read_statement, states_the_same
from memories.services.search.excerpts import excerpt
from memories.services.search.fusion import reciprocal_rank_fusion
from memories.services.search.lexemes import search_columns, search_terms
from memories.services.store.hidden_characters import show_hidden
from memories.services.store.text_diff import diff_words
from tests.timing import doubling_factor

#: With a quadratic step, the factor is 4.
GROWTH_MAX = 2.3
_NOTES = count_from(1)


@dataclass(frozen=True)
class Block:
    text: str
    kind: str = "memory"
    created_at: datetime | None = None


def words(size: int) -> str:
    return " ".join(f"w{number:06}" for number in range(size))


def sentences(size: int) -> str:
    """Return a text that no call before had: what is kept of an earlier one would not be measured."""
    line = "Ann keeps {0:06} boxes on shelf {0:06}, and never moves box{0:06}."
    return " ".join([f"Note {next(_NOTES):06}.", *(line.format(number) for number in range(size))])


def turns(size: int) -> list[SessionTurn]:
    return [SessionTurn(f"m{number}", "user", sentences(1), 20) for number in range(size)]


def cited(size: int) -> list[CitedStatement]:
    return [CitedStatement(f"Ann keeps {number} boxes on shelf {number}.", (f"m{number}",)) for number in range(size)]


def count(text: str) -> int:
    return len(text) // 4


def rendered(style: str) -> Callable[[int], object]:
    return lambda size: render_context(
        [Block(f"Box {number} <b> `x` \\ is here.") for number in range(size)], style=style, secret=b"s", tenant_id="t"
    )


STAGES: dict[str, tuple[Callable[[int], object], int]] = {
    "compaction: statements of one message": (
        lambda size: extract_statements([StatementMessage("m", "user", sentences(size))]),
        400,
    ),
    "compaction: one sentence of many words": (
        lambda size: extract_statements([StatementMessage("m", "user", words(size))]),
        16_000,
    ),
    "compaction: statements checked": (lambda size: check_statements(cited(size), turns(size)), 100),
    "compaction: statements stored already": (
        lambda size: without_stored(cited(size), {one.text for one in cited(size)}),
        400,
    ),
    "compaction: units of a session": (lambda size: tool_call_units(turns(size)), 2_000),
    "compaction: preserve window": (lambda size: first_preserved_index([1] * size, size), 8_000),
    "compaction: masking": (lambda size: messages_to_mask(turns(size), size, 10), 2_000),
    "compaction: parts of a session": (lambda size: split_turns_to_fit(turns(size), 400, lambda _: 20), 2_000),
    "compaction: parts of a message": (
        lambda size: split_turns_to_fit(
            [SessionTurn("m", "user", words(size), size)], 100, lambda one: count(one.content)
        ),
        16_000,
    ),
    "compaction: parts of a text": (lambda size: split_text_by_bytes(words(size), 500), 20_000),
    "compaction: budget of parts": (lambda size: divide_budget(10_000, range(size)), 8_000),
    "compaction: recalled text": (lambda size: candidate_recalled_hashes(sentences(size)), 400),
    "compaction: rendered contexts": (
        lambda size: strip_rendered_contexts("<recalled nonce=a> [memory-" * size, lambda _: False),
        16_000,
    ),
    "roll-ups: texts of a partition": (
        lambda size: choose_texts(
            [StoredText(str(number), f"Shelf {number} holds {number} boxes.") for number in range(size)],
            token_budget=500,
            count_tokens=count,
        ),
        40,
    ),
    "search: lexemes of a memory": (lambda size: search_columns(words(size)), 2_000),
    "search: lexemes of a query": (lambda size: search_terms(words(size), is_query=True), 2_000),
    "search: excerpt": (lambda size: excerpt(words(size), {"w5"}), 4_000),
    "search: fusion": (lambda size: reciprocal_rank_fusion(range(size), range(size, 0, -1)), 4_000),
    "context: ordering": (lambda size: order_items(range(size), "u_curve"), 8_000),
    "context: anchors": (lambda size: diff_anchors(range(size), range(size // 2, size * 2)), 4_000),
    "context: ranks": (lambda size: rank_changes(range(size), range(size, 0, -1)), 4_000),
    **{f"context: rendering, {style}": (rendered(style), 2_000) for style in RENDER_STYLES},
    "context: hidden characters": (lambda size: show_hidden("a\u202e\\" * size), 4_000),
    "diff: words of two versions": (lambda size: diff_words(words(size), words(size) + " end"), 4_000),
    "hygiene: a memory as a statement": (lambda size: read_statement(sentences(size)), 50),
    "hygiene: two long memories": (lambda size: states_the_same(sentences(size), sentences(size) + " So."), 50),
}


@pytest.mark.parametrize("stage", STAGES)
def test_twice_the_input_takes_about_twice_as_long(stage: str) -> None:
    work, size = STAGES[stage]
    work(size)  # loads word lists
    # Of a busy machine the best of five attempts counts: a quadratic step fails all of them.
    factors: Sequence[float] = []
    for _ in range(5):
        factors = [*factors, doubling_factor(work, size, runs=3)]
        if factors[-1] <= GROWTH_MAX:
            return
    raise AssertionError(f"{stage}: {factors}")
