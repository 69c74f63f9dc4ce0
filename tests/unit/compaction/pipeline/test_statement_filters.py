"""Which sentences are not statements."""

import pytest

from compaction.services.pipeline.statements import filters
from compaction.services.pipeline.statements.languages import load_language


@pytest.mark.parametrize(
    ("language", "text", "rest"),
    [
        ("en", "Ok, we use Postgres.", "we use Postgres."),
        ("en", "Thanks, great. The limit is 30.", "The limit is 30."),
        ("en", "ok so we use Postgres now", "ok so we use Postgres now"),
        ("en", "Perfect!", ""),
        ("en", "Great Danes are large.", "Great Danes are large."),
        ("en", "No, never on Fridays.", "No, never on Fridays."),
        ("de", "Alles klar, wir nehmen den Zug.", "wir nehmen den Zug."),
        ("es", "Vale, usamos Postgres.", "usamos Postgres."),
        ("zh", "好的，我们用它。", "好的，我们用它。"),
    ],
)
def test_only_acknowledgements_are_dropped_at_the_beginning(language: str, text: str, rest: str) -> None:
    assert filters.strip_opening(text, load_language(language)) == rest


@pytest.mark.parametrize(
    ("language", "text", "is_hedge"),
    [
        ("en", "We could use Redis.", True),
        ("en", "Option 2 would be faster.", True),
        ("en", "The credit is on the May bill.", False),
        ("en", "We use Redis.", False),
        ("de", "Man könnte einen Maler nehmen.", True),
        ("de", "Wir nehmen einen Maler.", False),
        ("es", "Podríamos usar Redis.", True),
        ("es", "Usamos Redis.", False),
    ],
)
def test_options_and_possibilities_are_hedges(language: str, text: str, is_hedge: bool) -> None:
    assert filters.is_hedged(text, load_language(language)) is is_hedge


def test_questions_end_with_a_question_mark_in_every_script() -> None:
    assert all(map(filters.is_question, ("Really?", 'He asked "why?"', "好吗？", "ok?? 😄")))
    assert not filters.is_question("I asked why.")


def test_run_is_unfit_when_too_long_without_words_or_only_an_announcement() -> None:
    assert filters.is_unfit("word " * (filters.WORDS_MAX + 1))
    assert filters.is_unfit("x" * (filters.CHARACTERS_MAX + 1))
    assert filters.is_unfit("12 : 30")
    assert filters.is_unfit("The slots are:")
    assert not filters.is_unfit("word " * filters.WORDS_MAX)
