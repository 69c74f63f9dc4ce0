"""Partition summaries consist of stored memories, word for word, each with its own day."""

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from compaction.services.pipeline.statements.model import render_statements
from compaction.services.rollups.choice import StoredText, choose_texts
from memories.services.tokens import count_tokens

DAY = date(2026, 5, 1)
TEXTS = (
    "Alex moved to Lisbon in March 2026.",
    'Bea wrote: "The bridge to the island closes in June for a whole year of repairs."',
    "Never call Alex before 9.",
    "Alex keeps a greyhound named Pixel.",
)


def stored(texts: tuple[str, ...] = TEXTS, pinned: int | None = None) -> list[StoredText]:
    days = (DAY + timedelta(days=number) for number in range(len(texts)))
    return [
        StoredText(str(number), text, day, number == pinned)
        for number, (text, day) in enumerate(zip(texts, days, strict=True))
    ]


def chosen(texts: list[StoredText], budget: int) -> str:
    return render_statements(choose_texts(texts, token_budget=budget, count_tokens=count_tokens))


def test_memories_keep_their_words_their_order_and_their_days() -> None:
    assert chosen(stored(), 200).split("\n") == [f"{number + 1} May 2026: {text}" for number, text in enumerate(TEXTS)]


def test_constraint_comes_before_trivia_and_what_is_pinned_before_both() -> None:
    assert chosen(stored(), 16) == "3 May 2026: Never call Alex before 9."
    assert chosen(stored(pinned=3), 16) == "4 May 2026: Alex keeps a greyhound named Pixel."


def test_same_text_is_there_once() -> None:
    assert chosen(stored((TEXTS[0], TEXTS[0].upper())), 200) == f"1 May 2026: {TEXTS[0]}"


def test_long_memory_gives_whole_sentences_and_no_quotation_without_its_author() -> None:
    rest = "The waiting room has green chairs and a lamp. " * 12
    long = f"Dr. Ames runs the clinic in Porto. {rest}\n> The clinic closes."
    text = chosen(stored((long,)), 40)
    assert "Dr. Ames runs the clinic in Porto." in text
    assert "closes" not in text
    assert text.endswith(".")


def test_single_memory_is_enough_and_none_is_nothing() -> None:
    assert chosen(stored(TEXTS[:1]), 60) == f"1 May 2026: {TEXTS[0]}"
    assert chosen([], 60) == ""


@given(st.lists(st.sampled_from(TEXTS) | st.text(max_size=60), max_size=8), st.integers(0, 60))
def test_budget_is_never_exceeded(texts: list[str], budget: int) -> None:
    assert count_tokens(chosen(stored(tuple(texts)), budget)) <= budget
