"""The dated catalog of models."""

from datetime import date

import pytest

from context.services.assembly.model_catalog import encoding_for, family_of, find_family, load_catalog, scaled_count
from memories.services.tokens import ENCODINGS

CATALOG = load_catalog()


def test_catalog_is_dated_and_names_its_sources():
    assert date.fromisoformat(CATALOG.dated) >= date(2026, 11, 1)
    assert {family.provider for family in CATALOG.families} <= set(CATALOG.sources)
    assert {"openai", "anthropic", "google", "meta", "mistral", "deepseek", "qwen"} <= set(CATALOG.sources)


@pytest.mark.parametrize("family", CATALOG.families, ids=lambda family: family.names[0])
def test_every_family_is_plausible(family):
    assert family.names
    assert all(name == name.lower() for name in family.names)
    assert family.context_window >= 8_192
    assert family.max_output_tokens is None or 0 < family.max_output_tokens <= family.context_window
    assert family.encoding in ENCODINGS
    assert family.safety_factor >= 1.0
    assert family.is_exact is (family.provider == "openai")
    assert not family.is_exact or family.safety_factor == 1.0


def test_the_documented_default():
    default = CATALOG.default
    assert (default.context_window, default.encoding, default.is_exact) == (128_000, "o200k_base", False)


@pytest.mark.parametrize(
    ("model", "family_name"),
    [
        (None, "gpt-4o"),
        ("", "gpt-4o"),
        ("gpt-4o", "gpt-4o"),
        ("GPT-4o", "gpt-4o"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("openai/gpt-4.1-mini", "gpt-4.1"),
        ("ft:gpt-4o-mini:acme::1", "gpt-4o-mini"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-4-1106-preview", "gpt-4-turbo"),
        ("gpt-3.5-turbo-0125", "gpt-3.5-turbo"),
        ("o3-mini-2025-01-31", "o1"),
        ("gpt-oss-120b", "gpt-oss"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4-0"),
        ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama-3.1"),
        ("gemini-2.5-pro-exp-03-25", "gemini-2.5-pro"),
        ("mistral-small-3.2-24b-instruct-2506", "mistral-small-2503"),
        ("deepseek-r1-0528", "deepseek-v3"),
        ("qwen3-32b", "qwen3"),
    ],
)
def test_models_find_their_family(model, family_name):
    family = find_family(model)
    assert family is not None
    assert family.names[0] == family_name


@pytest.mark.parametrize(
    "model",
    ["gpt-4.7", "gpt-5.9", "claude-opus-4-9", "claude-sonnet-4-9-20270101", "gpt-4omega", "xgpt-4o", "llama-39b", "x"],
)
def test_other_versions_and_strangers_are_unknown(model):
    assert find_family(model) is None
    assert family_of(model) == CATALOG.default


def test_encodings():
    assert [encoding_for(model) for model in (None, "gpt-4", "gpt-4-turbo", "claude-opus-4-5", "x")] == [
        "o200k_base",
        "cl100k_base",
        "cl100k_base",
        "o200k_base",
        "o200k_base",
    ]


def test_counts_are_scaled_up_only_where_the_encoding_is_foreign():
    assert scaled_count(10, "gpt-4o") == 10
    assert scaled_count(10, "x") == 10
    assert scaled_count(10, "gemini-2.5-pro") == 11
    assert scaled_count(11, "gemini-2.5-pro") == 13
    assert scaled_count(0, "gemini-2.5-pro") == 0
