"""Tokenizers provided by a deployment: a file for a model family, or the package toksum."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from context.profiles import token_counters
from context.profiles.token_counters import available_counters, budget_calculator, tokenizer_file
from context.services.budget import BudgetCalculator, CounterError, TokenCount

pytest.importorskip("tokenizers")

#: Two words and their mark for anything else; `<|end|>` is special, and a text is cut after three tokens.
TINY = {
    "version": "1.0",
    "truncation": {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0},
    "padding": {
        "strategy": {"Fixed": 16},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "[UNK]",
    },
    "added_tokens": [
        {
            "id": 3,
            "content": "<|end|>",
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
    ],
    "normalizer": None,
    "pre_tokenizer": {"type": "Whitespace"},
    "post_processor": None,
    "decoder": None,
    "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "hello": 1, "world": 2}, "unk_token": "[UNK]"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "llama-3.1.json").write_text(json.dumps(TINY))
    (tmp_path / "README.md").write_text("not a tokenizer")
    return tmp_path


@pytest.fixture
def without_toksum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_counters, "is_toksum_installed", lambda: False)


@pytest.fixture
def with_toksum(monkeypatch: pytest.MonkeyPatch) -> None:
    class TokenCounter:
        def __init__(self, model: str) -> None:
            if not model.startswith("claude-3"):
                raise ValueError(model)

        def count(self, text: str) -> int:
            return 7

    monkeypatch.setitem(sys.modules, "toksum", SimpleNamespace(TokenCounter=TokenCounter))
    monkeypatch.setattr(token_counters, "is_toksum_installed", lambda: True)


@pytest.mark.usefixtures("without_toksum")
def test_a_file_counts_exactly_for_the_models_that_begin_with_its_name(folder: Path) -> None:
    calculator = BudgetCalculator(available_counters(folder))
    expected = TokenCount(2, "tokenizers/llama-3.1", exact=True)
    assert calculator.measure("hello world", "llama-3.1") == expected
    assert calculator.measure("hello world", "meta-llama/Llama-3.1-8B-Instruct") == expected
    # the same row of the catalog, and yet another tokenizer
    assert calculator.measure("hello world", "llama-3.3").tokenizer == "o200k_base"
    assert calculator.measure("hello world", "gpt-4o") == TokenCount(2, "o200k_base", exact=True)
    assert not calculator.measure("hello world", "llama-3.3").exact


def test_texts_are_neither_cut_nor_padded_and_special_tokens_are_ordinary_text(folder: Path) -> None:
    counter = tokenizer_file(folder / "llama-3.1.json")
    assert [counter.count(text) for text in ("", "hello", "hello " * 9)] == [0, 1, 9]
    assert counter.count("hello <|end|>") > 2


def test_without_a_folder_there_is_no_counter(without_toksum: None, tmp_path: Path) -> None:
    assert available_counters() == available_counters(tmp_path) == {}


def test_nothing_is_read_before_it_is_needed(without_toksum: None, tmp_path: Path) -> None:
    (tmp_path / "qwen3.json").write_text("{}")
    assert list(available_counters(tmp_path)) == ["qwen3"]


@pytest.mark.parametrize("text", ["", "{}", "\x00", '{"model": {"type": "Unigram", "vocab": 5}}'])
def test_file_that_is_no_tokenizer_leaves_the_count_to_the_next_tier(
    without_toksum: None, tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    (tmp_path / "qwen3.json").write_text(text)
    calculator = BudgetCalculator(available_counters(tmp_path))
    for _ in range(3):
        assert calculator.measure("hello world", "qwen3") == TokenCount(3, "o200k_base", exact=False)
    assert len(caplog.records) == 1
    assert "tokenizers/qwen3" in caplog.text
    with pytest.raises(CounterError):
        available_counters(tmp_path)["qwen3"].count("hello")


def test_toksum_estimates_known_models_and_a_tokenizer_file_takes_precedence(with_toksum: None, folder: Path) -> None:
    calculator = BudgetCalculator(available_counters(folder))
    assert calculator.measure("hello world", "claude-3-opus") == TokenCount(7, "toksum/claude-3-opus", exact=False)
    assert calculator.measure("", "claude-3-opus").tokens == 0
    assert calculator.measure("hello world", "qwen3").tokenizer == "o200k_base"
    assert calculator.measure("hello world", "llama-3.1").tokenizer == "tokenizers/llama-3.1"
    assert calculator.measure("hello world", "gpt-4o").exact


def test_calculator_of_the_deployment_uses_the_folder_in_the_settings(folder: Path, settings: Any) -> None:
    settings.TOKENIZERS_DIR = str(folder)
    budget_calculator.cache_clear()
    try:
        assert budget_calculator().measure("hello world", "llama-3.1").tokenizer == "tokenizers/llama-3.1"
        assert budget_calculator() is budget_calculator()
    finally:
        budget_calculator.cache_clear()
