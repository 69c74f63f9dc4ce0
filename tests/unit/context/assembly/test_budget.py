"""Budgets and tiered counting (ADR-0052)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.services import budget as budget_module
from context.services.assembly.model_catalog import load_catalog
from context.services.budget import BudgetCalculator, TokenCount, message_text, response_reserve
from memories.services.tokens import TokenTableError

CALCULATOR = BudgetCalculator()


def test_worked_example_of_an_exact_model():
    budget = CALCULATOR.calculate("gpt-4o", [{"role": "user", "content": "hello world"}], "Be brief.")
    assert budget.context_window == 128_000
    assert budget.response_reserve_tokens == 4_096
    assert budget.safety_reserve_tokens == 0
    assert (budget.directive_tokens, budget.message_tokens) == (3, 2)
    assert budget.available_tokens == 128_000 - 4_096 - 3 - 2
    assert (budget.tokenizer, budget.exact, budget.warnings) == ("o200k_base", True, [])
    assert not budget.is_constrained


def test_worked_example_of_a_model_counted_by_the_nearest_encoding():
    budget = CALCULATOR.calculate("claude-haiku-4-5", ["hello world"], "")
    assert budget.safety_reserve_tokens == 10_000
    assert budget.message_tokens == 3
    assert budget.available_tokens == 200_000 - 4_096 - 10_000 - 3
    assert (budget.tokenizer, budget.exact, budget.warnings) == ("o200k_base", False, [])


def test_no_model_is_gpt_4o():
    assert CALCULATOR.calculate() == CALCULATOR.calculate("gpt-4o")
    assert CALCULATOR.calculate(None).model == "gpt-4o"


def test_budget_is_never_negative_and_reports_when_it_is_constrained():
    long_text = "word " * 8_000
    full = CALCULATOR.calculate("gpt-4", [long_text])
    assert (full.available_tokens, full.is_constrained) == (0, True)
    available = 8_192 - 1_228
    for size in range(available - 260, available - 250):
        budget = CALCULATOR.calculate("gpt-4", ["a" + " a" * (size - 1)])
        assert budget.message_tokens == size
        assert budget.is_constrained is (budget.available_tokens < 256)


@given(
    st.lists(st.text(max_size=50), max_size=5), st.text(max_size=50), st.sampled_from(["gpt-4o", "gpt-4", "x", None])
)
def test_the_parts_add_up_to_the_window(messages, directive, model):
    budget = CALCULATOR.calculate(model, messages, directive)
    spent = (
        budget.response_reserve_tokens + budget.safety_reserve_tokens + budget.directive_tokens + budget.message_tokens
    )
    assert budget.available_tokens == max(budget.context_window - spent, 0)


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


def test_counting_reports_the_tokenizer_and_whether_it_is_exact():
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


def test_without_tables_bytes_are_counted_instead(monkeypatch):
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
        ("plain", "plain"),
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
