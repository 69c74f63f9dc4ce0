"""Budgets and tiered counting (ADR-0052)."""

import pytest

from context.services import budget as budget_module
from context.services.assembly.model_catalog import load_catalog
from context.services.budget import BudgetCalculator, TokenCount, message_text, response_reserve
from memories.services.tokens import TokenTableError

CALCULATOR = BudgetCalculator()


@pytest.mark.parametrize(
    ("window", "limit", "reserve"),
    [
        (128_000, 16_384, 4_096),
        (128_000, None, 4_096),
        (20_000, None, 3_000),
        (200_000, 2_048, 2_048),
        (128_000, 100, 500),
        (1_000, None, 500),
        (8_192, 8_192, 1_228),
    ],
)
def test_response_reserve(window, limit, reserve):
    assert response_reserve(window, limit) == reserve


def test_unknown_model_gets_the_documented_default_and_a_warning():
    assert CALCULATOR.context_window("some-new-model") == 128_000
    assert CALCULATOR.measure("hello world", "some-new-model") == TokenCount(2, "o200k_base", False)
    (warning,) = CALCULATOR.warnings_for("some-new-model")
    assert "'some-new-model' is not in the catalog" in warning


def test_counting_says_which_tokenizer_and_whether_it_is_exact():
    assert CALCULATOR.measure("hello world", "gpt-4o") == TokenCount(2, "o200k_base", True)
    assert CALCULATOR.measure("hello world", "gpt-4") == TokenCount(2, "cl100k_base", True)
    assert CALCULATOR.measure("hello world", "claude-sonnet-4-5") == TokenCount(3, "o200k_base", False)
    assert CALCULATOR.count_tokens("hello world", "gpt-4o") == 2
    assert CALCULATOR.count_tokens("hello world") == 2


class WordCounter:
    name = "words"
    exact = True

    def count(self, text):
        return len(text.split())


def test_a_registered_counter_outranks_the_tables():
    calculator = BudgetCalculator({"claude-sonnet-4-5": WordCounter()})
    assert calculator.measure("one two three", "claude-sonnet-4-5-20250929") == TokenCount(3, "words", True)
    assert calculator.measure("hello world", "gpt-4o").tokenizer == "o200k_base"


def test_without_tables_bytes_stand_in(monkeypatch):
    def fail(text, encoding):
        raise TokenTableError("gone")

    monkeypatch.setattr(budget_module, "count_tokens", fail)
    assert CALCULATOR.measure("hello", "gpt-4o") == TokenCount(2, "bytes/4", False)
    assert CALCULATOR.measure("", "gpt-4o") == TokenCount(0, "bytes/4", False)
    assert CALCULATOR.safety_reserve("gpt-4o") == 6_400


def test_windows_and_warnings_by_model():
    assert CALCULATOR.context_window("gpt-4.1-mini") == 1_047_576
    assert CALCULATOR.safety_reserve("gpt-4o") == 0
    assert CALCULATOR.safety_reserve("claude-haiku-4-5") == 10_000
    assert CALCULATOR.warnings_for(None) == []
    assert load_catalog().dated in CALCULATOR.warnings_for("x")[0]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"role": "user", "content": "hi"}, "hi"),
        ({"role": "assistant", "content": None}, ""),
        ({"role": "assistant"}, ""),
        ({"content": "hi", "name": "alex"}, "alex\nhi"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}, "b"]}, "a\nb"),
        ({"content": "", "tool_calls": [{"id": "1"}]}, '[{"id": "1"}]'),
    ],
)
def test_message_text(message, text):
    assert message_text(message) == text
