"""A deployment whose embedding settings cannot work gets an error at the start."""

from typing import Any

import pytest

from memories.embeddings import checks


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"EMBEDDING_PROVIDER": "hashed"}, []),
        ({"EMBEDDING_PROVIDER": "openai"}, ["memories.E002"]),
        (
            {
                "EMBEDDING_PROVIDER": "openai",
                "EMBEDDING_BASE_URL": "http://localhost:1/v1",
                "EMBEDDING_MODEL": "m",
                "EMBEDDING_DIMENSION": 8,
            },
            [],
        ),
    ],
)
def test_openai_needs_its_settings(settings: Any, values: dict[str, Any], expected: list[str]) -> None:
    for name, value in values.items():
        setattr(settings, name, value)
    assert [message.id for message in checks.embedding_provider_is_usable()] == expected


def test_wordllama_that_is_not_installed_is_named(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.EMBEDDING_PROVIDER = "wordllama"
    monkeypatch.setattr(checks.importlib.util, "find_spec", lambda _: None)
    (message,) = checks.embedding_provider_is_usable()
    assert (message.id, message.hint) == (
        "memories.E001",
        "Set EMBEDDING_PROVIDER=hashed, or =openai with an endpoint.",
    )
