"""Twice the input takes about twice as long, at every stage with an input of any size."""

import ast
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from itertools import count as count_from
from types import FrameType
from typing import Any
from uuid import UUID

import pytest

from compaction.pipeline.fitting import SummaryFitting
from compaction.pipeline.summarisers.extractive import ExtractiveSummariser
from compaction.pipeline.summarisers.protocol import SummaryTask
from compaction.services.erasure.quotes import QuotedTexts, ids_in
from compaction.services.pipeline.chunking import divide_budget, split_text_by_bytes, split_turns_to_fit
from compaction.services.pipeline.faithfulness import check_statements
from compaction.services.pipeline.masking import messages_to_mask
from compaction.services.pipeline.missing_facts import sentences_with_facts
from compaction.services.pipeline.recalled_text import candidate_recalled_hashes, strip_rendered_contexts
from compaction.services.pipeline.retention.check import check_retention, extract_facts, mark_facts
from compaction.services.pipeline.retention.stated import WithdrawnText, stated_turns, turn_sentences, without_withdrawn
from compaction.services.pipeline.retention.weights import weigh_facts
from compaction.services.pipeline.statements.extraction import extract_statements
from compaction.services.pipeline.statements.model import StatementMessage
from compaction.services.pipeline.statements.prediction import predict_text
from compaction.services.pipeline.stored_once import without_stored
from compaction.services.pipeline.stored_statements import CitedStatement
from compaction.services.review.edited_statements import parse_statements, split_appended_text
from compaction.services.rollups.choice import StoredText, choose_texts
from compaction.services.sessions.drafts import NewMessage, new_message_problems, tool_call_problems
from compaction.services.sessions.session_budget import order_by_tool_units
from compaction.services.sessions.trimming import trim_to_newest_turns
from compaction.services.sessions.turns import SessionTurn
from compaction.services.simulation.simulator import simulate_session
from compaction.services.windowing import first_preserved_index, tool_call_units
from context.services.assembly.packing_settings import OPTIMAL_WORK_LIMIT
from context.services.assembly.signals import SIGNALS
from context.services.assembly.signals.columns import CandidatePool, ScoringQuestion
from context.services.assembly.superseded import statements as superseded
from context.services.budget import BudgetCalculator
from context.services.diff import diff_anchors, rank_changes, unmoved_keys
from context.services.feedback.votes import find_overlaps
from context.services.ordering import order_items
from context.services.packer import ElasticPacker, GreedyKnapsackPacker, OptimalPacker
from context.services.profiles.compaction_policy import CompactionPolicy
from context.services.rendering import RENDER_STYLES, render_context
from context.services.scorer import MemoryScorer, ScoredMemory
from memories.services.hygiene.rules import classify_pair, group_pairs, limit_pairs_per_memory
from memories.services.hygiene.statements import read_statement, states_the_same
from memories.services.search.excerpts import candidate_match_words, excerpt
from memories.services.search.fusion import fuse
from memories.services.search.lexemes import search_columns, search_terms
from memories.services.store.content import ContentError, check_metadata
from memories.services.store.hidden_characters import show_hidden
from memories.services.store.text_diff import diff_words
from tests.architecture import ROOT
from tests.timing import assert_linear

NOW = datetime(2026, 11, 27, tzinfo=UTC)
BUDGET = BudgetCalculator()
_NOTES = count_from(1)
LOOPS = (ast.For, ast.While)


@dataclass(frozen=True)
class Block:
    text: str
    kind: str = "memory"
    created_at: datetime | None = None


def words(size: int) -> str:
    return " ".join(f"w{number:06}" for number in range(size))


def sentences(size: int) -> str:
    """Return a text that no earlier call had: cached results would not be measured."""
    line = "Ann keeps {0:06} boxes on shelf {0:06}, and never moves box{0:06}."
    return " ".join([f"Note {next(_NOTES):06}.", *(line.format(number) for number in range(size))])


def turns(size: int) -> list[SessionTurn]:
    return [SessionTurn(f"m{number}", "user", sentences(1), 20) for number in range(size)]


def calls(size: int) -> list[NewMessage]:
    return [NewMessage("assistant", tool_calls=[{"id": f"c{number}"}]) for number in range(size)]


def cited(size: int) -> list[CitedStatement]:
    return [CitedStatement(f"Ann keeps {number} boxes on shelf {number}.", (f"m{number}",)) for number in range(size)]


def like_cited(size: int) -> list[CitedStatement]:
    """Return statements about one message that differ from those of `cited` in the number alone."""
    return [CitedStatement(f"Ann keeps {number} boxes on shelf {number + 1}.", ("m0",)) for number in range(size)]


def new_cited(size: int) -> list[CitedStatement]:
    """Return statements that no call before had, as `sentences` does."""
    note = next(_NOTES)
    return [CitedStatement(f"Ann keeps {note}{number:06} boxes on shelf {number}.", ("m0",)) for number in range(size)]


def one_turn(content: str) -> SessionTurn:
    return SessionTurn("m0", "user", content, 20)


def summarised(size: int) -> None:
    """Summarise people who take turns: each statement costs more than its text, so some are withdrawn."""
    messages = [replace(turn, name=f"Person{number % 7}", sequence=number) for number, turn in enumerate(turns(size))]
    task = SummaryTask(messages, (), 10 * size, count, longest_tokens=15 * size)
    result = ExtractiveSummariser().summarise(task)
    SummaryFitting([str(turn.id) for turn in messages], 8 * size, count).fit(result, result.statements)


def retained(size: int) -> None:
    """Check the facts of messages whose numbers, dates and names are all different."""
    line = "Ann{0} paid {0} EUR on 2024-03-{1:02} at 9:{1:02}."
    messages = [one_turn(" ".join(line.format(number, number % 28 + 1) for number in range(size)))]
    facts = extract_facts(stated_turns(messages))
    statements = extract_statements([StatementMessage("m0", "user", messages[0].content)])
    check_retention(weigh_facts(facts, statements), [one.text for one in statements])
    mark_facts(messages[0].content, facts)


def check_rules(size: int) -> None:
    """Check rules, dates, lists of numbers and withdrawn words of one message each."""
    line = "Could Ann sell box {0}? Never move box {0} on 3 May 2024. Actually, move box {0} on Friday by 5 and {0} km."
    messages = [SessionTurn(f"m{at}", "user", line.format(next(_NOTES)), 20, created_at=NOW) for at in range(size)]
    facts = extract_facts(stated_turns(messages))
    withdrawn = [WithdrawnText(one.content, (str(one.id),)) for one in messages]
    check_retention(facts, ["Boxes were moved on 3 May 2024."] * size)
    without_withdrawn(facts, withdrawn)
    texts = [text for at in range(size) for text in (f"Ann sells box {at}.", "Boxes moved on 3 May 2024.")]
    check_statements([CitedStatement(text, (str(messages[at // 2].id),)) for at, text in enumerate(texts)], messages)


def checked_metadata(size: int) -> None:
    """Check metadata, of which the size is known last."""
    with suppress(ContentError):
        check_metadata({f"k{number}": [number] for number in range(size)})


def count(text: str) -> int:
    return len(text) // 4


def candidates(size: int) -> list[dict[str, Any]]:
    """Return memories of a search, as scoring and packing read them."""
    return [
        {
            "id": UUID(int=number),
            "content": f"Ann keeps {number} boxes.",
            "created_at": NOW,
            "kind": "note",
            "similarity": number * 7919 % 1000 / 1000,
            "pinned": False,
            "holds": ["box"],
            "partition_path": "",
            "token_counts": {"o200k_base": number * 31 % 97 + 3},
            "session": "s",
            "position": number,
        }
        for number in range(size)
    ]


@cache  # not what is timed
def scored(size: int) -> list[ScoredMemory]:
    return [ScoredMemory(row, row["similarity"], *[0.5] * 5) for row in candidates(size)]


def pool(size: int) -> CandidatePool:
    """Return the candidates of a question that every signal looks at."""
    asked = ScoringQuestion("When did Ann move 5 boxes in May 2024?", NOW, ["box"])
    return CandidatePool(candidates(size), asked, {})


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
    "compaction: statements like stored ones": (
        lambda size: without_stored(new_cited(size), {one.text for one in new_cited(size)}),
        60,
    ),
    "compaction: statements about one message": (
        lambda size: check_statements(like_cited(size), [one_turn(" ".join(one.text for one in like_cited(size)))]),
        400,
    ),
    "compaction: summary by rules": (summarised, 60),
    "compaction: facts of one message": (retained, 60),
    "compaction: rules and withdrawn words": (check_rules, 30),
    "review: edited statements": (
        lambda size: parse_statements(
            " ".join(one.text for one in like_cited(size)), cited(5), {"m0": sentences(size // 5)}
        ),
        400,
    ),
    "review: text behind statements": (lambda size: split_appended_text("a.B" * size, cited(size)), 400),
    "simulation": (lambda size: simulate_session(turns(size), CompactionPolicy(), 4_000), 400),
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
    "search: fusion": (
        lambda size: fuse(dict(enumerate(range(size), 1)), dict(enumerate(range(size, 0, -1), 1))),
        4_000,
    ),
    "search: words of results": (lambda size: candidate_match_words([words(size)], {"w5"}), 4_000),
    "context: scores": (lambda size: MemoryScorer(clock=lambda: NOW).score(candidates(size)), 2_000),
    "context: signals of a profile": (
        lambda size: [signal(pool(size)) for name, signal in SIGNALS.items() if name != "supersession"],
        200,
    ),
    # Twice as many still fit into the processor's cache; from 1,000 on, each takes up to five times as long.
    "context: greedy packing": (lambda size: GreedyKnapsackPacker(BUDGET).pack(scored(size), 9 * size), 250),
    "context: elastic packing": (
        lambda size: ElasticPacker(BUDGET, unit="tokens", fills_budget=True, target_items=size).pack(
            scored(size), 20 * size
        ),
        125,
    ),
    "context: optimal packing": (
        lambda size: OptimalPacker(BUDGET, work_limit=OPTIMAL_WORK_LIMIT).pack(scored(size), 9 * size),
        1_000,
    ),
    "context: moves": (lambda size: unmoved_keys(rank_changes(range(size), range(size, 0, -1))), 4_000),
    "context: ordering": (lambda size: order_items(range(size), "u_curve"), 8_000),
    "context: anchors": (lambda size: diff_anchors(range(size), range(size // 2, size * 2)), 4_000),
    "context: ranks": (lambda size: rank_changes(range(size), range(size, 0, -1)), 4_000),
    **{f"context: rendering, {style}": (rendered(style), 2_000) for style in RENDER_STYLES},
    "context: hidden characters": (lambda size: show_hidden("a\u202e\\" * size), 4_000),
    "diff: words of two versions": (lambda size: diff_words(words(size), words(size) + " end"), 4_000),
    "diff: words that moved": (lambda size: diff_words(words(size), words(size)[24:] + " end"), 4_000),
    "context: one long word": (lambda size: superseded.read_statement("a1" * size + f" {next(_NOTES)}"), 8_000),
    "erasure: quotations": (lambda size: QuotedTexts([sentences(size)]).redact(sentences(size)), 200),
    "hygiene: groups of pairs": (lambda size: group_pairs((at, at + 1) for at in range(size, 0, -1)), 4_000),
    "hygiene: pairs of a batch": (
        lambda size: limit_pairs_per_memory((at % (size // 9), at, 0.9) for at in range(size)),
        900,
    ),
    "hygiene: a pair of texts": (
        lambda size: classify_pair(sentences(size), sentences(size), 0.95, was_shown=False),
        40,
    ),
    "hygiene: a memory as a statement": (lambda size: read_statement(sentences(size)), 50),
    "compaction: sentences of missing facts": (
        lambda size: sentences_with_facts(extract_facts(turns(size)), {str(one.id): one for one in turns(size)}),
        60,
    ),
    "sessions: messages to append": (
        lambda size: (
            new_message_problems(calls(size), now=NOW),
            tool_call_problems(dict(enumerate(calls(size))), called=(), answered=()),
        ),
        100,
    ),
    "sessions: newest messages": (lambda size: trim_to_newest_turns(turns(size), 10 * size), 1_000),
    "sessions: messages and their results": (lambda size: order_by_tool_units(turns(size)), 2_000),
    "memories: metadata": (checked_metadata, 2_000),
    "feedback: words of an answer": (
        lambda size: find_overlaps({1: sentences(size)}, sentences(size), sample=[], similarities={}),
        200,
    ),
    "erasure: ids in a value": (lambda size: ids_in([str(UUID(int=at)) for at in range(size)]), 2_000),
    "hygiene: two long memories": (lambda size: states_the_same(sentences(size), sentences(size) + " So."), 50),
}


#: Service functions with a loop inside another one that no stage runs, by what limits their input.
BOUNDED = {
    "a statement of at most 80 words (`WORDS_MAX`), or one sentence of at most 24 (`SENTENCE_WORDS_MAX`)": {
        "hygiene/replacement/comparison.py:_corrects",
        "hygiene/replacement/comparison.py:_has_other_status",
        "hygiene/replacement/comparison.py:_have_opposite_directions",
        "hygiene/replacement/facts.py:bound_at",
        "hygiene/replacement/facts.py:named",
        "hygiene/replacement/facts.py:placed",
        "hygiene/replacement/facts.py:statuses",
        "hygiene/replacement/reading.py:_split_speaker",
        "hygiene/replacement/slots.py:has_rivals",
        "hygiene/replacement/topics.py:conflicts",
        "hygiene/statements/lists.py:_has_items",
    },
    "a list of the module": {
        "assembly/model_catalog.py:find_family",
        "hygiene/replacement/vocabulary.py:_language",
        "hygiene/replacement/vocabulary.py:status_words",
        "hygiene/statements/vocabulary.py:_german_numbers",
        "packer/core.py:flip_weight_range",
        "pipeline/retention/units.py:_listed",
        "pipeline/statements/languages/__init__.py:days",
    },
    "the fields of one request or form": {
        "profiles/compaction_policy.py:problems_of_policy",
        "profiles/sections.py:problems_of_sections",
        "search/filters.py:parse_filters",
    },
    "the candidates of one context, compared in pairs within a time limit": {
        "assembly/near_duplicates.py:_keep_equivalent",
        "assembly/near_duplicates.py:_pairs_above",
        "assembly/superseded/rivals.py:find_rivals",
    },
    "the neighbours of a message (`_REACH`)": {"search/text_ranking.py:_adjacent"},
    "files of an operator": {
        "evaluation/corpus/conversations.py:read_conversations",
        "evaluation/corpus/folders.py:_problems_of_questions",
        "store/locomo.py:parse_conversation",
    },
}


#: Pieces of hostile texts: each made a stage slow once, or looks as if it could.
PIECES = {
    "quotation marks": '"',
    "opened quotations": "“b ",
    "brackets": '{"a":[',
    "amounts": "$5,",
    "digits": "7",
    "letters": "aB1-",
    "paths": "a/b.c",
    "addresses": "a@b.",
    "short lines": "a\n",
    "spaces": " \t\n",
    "letters of other scripts": "é漢",
    "dates": "on 1 May a ",
    "announced dates": "from May 1 on ",
    "numbers in words": "two hundred and ",
    "fences": "<recalled nonce=a> [memory-",
    "single quotation marks": "'a ",
    "addressees": "note to ai ",
}
#: What reads a text that anyone may have written, sentence by sentence or as a whole.
READERS: dict[str, tuple[Callable[[str], object], int]] = {
    "sentences": (lambda text: turn_sentences(one_turn(text)), 8_000),
    "prediction": (predict_text, 1_000),
    "facts": (lambda text: extract_facts([one_turn(text)]), 4_000),
    "successors": (superseded.read_statement, 8_000),
    "statement": (read_statement, 4_000),
    "lexemes": (search_columns, 4_000),
    "diff": (lambda text: diff_words(text, text[7:]), 4_000),
    "words of results": (lambda text: candidate_match_words([text], {"a7"}), 8_000),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("piece", PIECES)
def test_hostile_texts_are_read_in_linear_time(piece: str, reader: str) -> None:
    work, size = READERS[reader]

    def read(characters: int) -> object:
        text = f"{next(_NOTES)} {PIECES[piece] * characters}"[:characters]
        return work(text)

    assert_linear(read, size)


def nested_loops(tree: ast.AST) -> set[str]:
    """Return the functions with a loop inside another one, whose time can grow faster than their input."""
    comprehensions = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

    def is_nested(node: ast.AST) -> bool:
        if isinstance(node, comprehensions):
            return len(node.generators) > 1
        lines = node.body if isinstance(node, LOOPS) else []
        return any(isinstance(each, LOOPS) for line in lines for each in ast.walk(line))

    return {
        function.name
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and any(is_nested(node) for node in ast.walk(function))
        # What is kept forever depends on no input.
        if not any(isinstance(each, ast.Name) and each.id == "cache" for each in function.decorator_list)
    }


def test_no_function_with_nested_loops_is_without_a_stage() -> None:
    called: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called.add((frame.f_code.co_filename, frame.f_code.co_name))

    former = sys.getprofile()
    sys.setprofile(note)
    try:
        for work, _ in STAGES.values():
            work(9)
    finally:
        sys.setprofile(former)
    files = [file for app in ("memories", "context", "compaction") for file in (ROOT / app / "services").rglob("*.py")]
    nested = {
        f"{file.relative_to(ROOT).as_posix().partition('/services/')[2]}:{name}": (str(file), name)
        for file in files
        for name in nested_loops(ast.parse(file.read_text()))
    }
    bounded = set().union(*BOUNDED.values())
    assert {name for name, place in nested.items() if place not in called} <= bounded <= nested.keys()


@pytest.mark.parametrize("stage", STAGES)
def test_twice_the_input_takes_about_twice_as_long(stage: str) -> None:
    assert_linear(*STAGES[stage])
