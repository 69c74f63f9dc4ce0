"""The contract of every embedding provider, and how the one that uses HTTP fails."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memories.embeddings import providers
from memories.embeddings.providers import Embedder, EmbeddingError, get_embedder, is_provider_local, unit_rows
from memories.embeddings.providers import openai_embedder as openai_module
from memories.embeddings.providers.hashed_embedder import HashedNgramEmbedder
from memories.embeddings.providers.openai_embedder import OpenAIEmbedder
from memory_platform.embedded.environment import EmbeddingFiles
from tests.fakes.embedding_server import (
    DIMENSION,
    FAKE_EMBEDDING_API_KEY,
    FAKE_EMBEDDING_MODEL,
    EmbeddingServer,
    failing_embedding,
    running_embedding_server,
    slow_embedding,
    twisted,
)
from tests.fakes.onnx_encoder import ONNX_DIMENSION, write_onnx_encoder

TEXTS = ["Alex prefers tea.", "The gate code is 4012.", "日本語のテキスト", "🙂", "x" * 30_000, "a"]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with running_embedding_server() as server:
        yield server


def openai_embedder(server: EmbeddingServer, **changes: Any) -> OpenAIEmbedder:
    values = {
        "base_url": server.base_url,
        "api_key": FAKE_EMBEDDING_API_KEY,
        "model": FAKE_EMBEDDING_MODEL,
        "dimension": DIMENSION,
    }
    embedder = OpenAIEmbedder(**{**values, "timeout_seconds": 5.0, **changes})
    server.clients.append(embedder)
    return embedder


def onnx_files(folder: Path, **changes: Any) -> EmbeddingFiles:
    """Return the settings of a small encoder, which is written into the folder."""
    pytest.importorskip("onnxruntime", reason="needs the packages of requirements-onnx.in")
    write_onnx_encoder(folder)
    return EmbeddingFiles(**{"model": "tiny", "dimension": ONNX_DIMENSION, "folder": str(folder), **changes})


@pytest.fixture(params=["wordllama", "hashed", "onnx", "openai"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "openai":
        return openai_embedder(request.getfixturevalue("server"))
    if request.param == "wordllama" and importlib.util.find_spec("wordllama") is None:
        pytest.skip("wordllama has no wheel for this platform")
    settings = request.getfixturevalue("settings")
    if request.param == "onnx":
        folder = request.getfixturevalue("tmp_path")
        settings.EMBEDDING_FILES = (onnx_files(folder),)
        monkeypatch = request.getfixturevalue("monkeypatch")
        monkeypatch.setattr(providers, "_loaded", {})  # the folder of another test
        return get_embedder(settings.EMBEDDING_FILES[0].model)
    settings.EMBEDDING_PROVIDER = request.param
    return get_embedder()


def test_vectors_are_unit_length_float32_in_the_order_of_the_texts(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimension)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    for text, vector in zip(TEXTS, vectors, strict=True):
        np.testing.assert_allclose(embedder.embed([text])[0], vector, atol=1e-5)


def test_no_texts_make_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimension)


@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_blank_text_has_a_finite_unit_vector(embedder: Embedder, blank: str) -> None:
    vectors = embedder.embed([blank, "Alex prefers tea."])
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_same_text_has_the_same_vector_again(embedder: Embedder) -> None:
    first, again = embedder.embed(["Alex prefers tea."]), embedder.embed(["Alex prefers tea."])
    np.testing.assert_array_equal(first, again)


def test_text_about_the_same_is_nearer(embedder: Embedder) -> None:
    query, near, far = embedder.embed(
        ["Which tea does Alex prefer?", "Alex prefers green tea.", "The printer on floor three is broken."]
    )
    assert float(query @ near) > float(query @ far) + 0.1


def test_embedder_can_be_shared_by_threads(embedder: Embedder) -> None:
    texts = [f"text number {number}" for number in range(32)]
    with ThreadPoolExecutor(4) as pool:
        parallel = list(pool.map(lambda text: embedder.embed([text])[0], texts))
    np.testing.assert_allclose(np.array(parallel), embedder.embed(texts), atol=1e-5)


def test_name_dimension_and_batch_size_are_stated(embedder: Embedder) -> None:
    assert 1 <= len(embedder.name) <= 100
    assert embedder.dimension > 0
    assert embedder.batch_size > 0


def test_more_texts_than_a_batch_are_embedded(embedder: Embedder) -> None:
    texts = [f"text {number}" for number in range(2 * embedder.batch_size + 3)]
    assert embedder.embed(texts).shape == (len(texts), embedder.dimension)


# --- The one that reads files ---------------------------------------------------------------------------------------


def test_vector_of_the_first_token_can_be_that_of_the_text(tmp_path: Path) -> None:
    embedder = new_onnx_embedder(onnx_files(tmp_path, pooling="first"))
    tea, green_tea, green = embedder.embed(["tea green", "tea", "green tea"])
    np.testing.assert_array_equal(tea, green_tea)
    assert not np.allclose(tea, green)


@pytest.mark.parametrize("lost", ["model.onnx", "tokenizer.json"])
def test_missing_file_is_named(tmp_path: Path, lost: str) -> None:
    files = onnx_files(tmp_path)
    (tmp_path / lost).unlink()
    with pytest.raises(EmbeddingError, match=r"must contain model\.onnx and tokenizer\.json"):
        new_onnx_embedder(files)


def test_files_of_another_dimension_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="32 dimensions per text instead of 8"):
        new_onnx_embedder(onnx_files(tmp_path, dimension=8)).embed(["tea"])


def new_onnx_embedder(files: EmbeddingFiles) -> Embedder:
    module = importlib.import_module("memories.embeddings.providers.onnx_embedder")
    embedder: Embedder = module.OnnxEmbedder(**vars(files))
    return embedder


# --- The one that speaks HTTP --------------------------------------------------------------------------------------


def drop_a_vector(body: dict[str, Any]) -> None:
    body["data"].pop()


def shorten_the_vectors(body: dict[str, Any]) -> None:
    for item in body["data"]:
        item["embedding"] = item["embedding"][:7]


def repeat_an_index(body: dict[str, Any]) -> None:
    for item in body["data"]:
        item["index"] = 0


def lose_the_numbers(body: dict[str, Any]) -> None:
    body["data"][0]["embedding"] = None


def write_words(body: dict[str, Any]) -> None:
    body["data"][0]["embedding"] = ["a"] * DIMENSION


def forget_everything(body: dict[str, Any]) -> None:
    body.clear()


@pytest.mark.parametrize(
    ("fault", "is_permanent", "words"),
    [
        (failing_embedding(400), True, "400"),
        (failing_embedding(413), True, "413"),
        (failing_embedding(422), True, "422"),
        (failing_embedding(401), False, "401"),
        (failing_embedding(404), False, "404"),
        (failing_embedding(429), False, "429"),
        (failing_embedding(500), False, "500"),
        (failing_embedding(503), False, "503"),
        (twisted(drop_a_vector), False, "1 vector for 2 texts"),
        (twisted(repeat_an_index), False, "vectors for 2 texts"),
        (twisted(shorten_the_vectors), False, "7 dimensions per text"),
        (twisted(forget_everything), False, "vectors"),
        (twisted(lose_the_numbers), False, "cannot be read"),
        (twisted(write_words), False, "cannot be read"),
    ],
)
def test_fault_is_an_error_that_shows_whether_it_is_permanent(
    server: EmbeddingServer, fault: Any, is_permanent: bool, words: str
) -> None:
    server.faults.append(fault)
    with pytest.raises(EmbeddingError, match=words) as caught:
        openai_embedder(server).embed(["one", "two"])
    assert caught.value.is_permanent is is_permanent
    assert len(server.requests) == 1, "the client retried in secret"
    assert openai_embedder(server).embed(["one", "two"]).shape == (2, DIMENSION)


def test_late_answer_is_a_temporary_error(server: EmbeddingServer) -> None:
    server.faults.append(slow_embedding(0.6))
    with pytest.raises(EmbeddingError, match="in time") as caught:
        openai_embedder(server, timeout_seconds=0.2).embed(["one"])
    assert not caught.value.is_permanent


def test_nothing_waits_for_a_server_that_did_not_answer_shortly_before(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai_module, "SLOW_FAILURE_SECONDS", 0.1)
    server.faults.append(slow_embedding(0.6))
    embedder = openai_embedder(server, timeout_seconds=0.2)
    for _ in range(3):
        with pytest.raises(EmbeddingError, match="in time") as caught:
            embedder.embed(["one"])
        assert not caught.value.is_permanent
    assert len(server.requests) == 1
    monkeypatch.setattr(embedder, "_paused_until", 0.0)
    assert embedder.embed(["one"]).shape == (1, DIMENSION)


def test_server_whose_name_is_unknown_is_a_temporary_error() -> None:
    unknown = OpenAIEmbedder(
        base_url="http://embeddings.invalid/v1", api_key="k", model="m", dimension=DIMENSION, timeout_seconds=5
    )
    with pytest.raises(EmbeddingError, match="cannot be reached") as caught:
        unknown.embed(["one"])
    assert not caught.value.is_permanent


def test_server_that_is_away_is_a_temporary_error(server: EmbeddingServer) -> None:
    server.stop()
    with pytest.raises(EmbeddingError, match="cannot be reached") as caught:
        openai_embedder(server).embed(["one"])
    assert not caught.value.is_permanent


def test_error_never_quotes_the_text(server: EmbeddingServer) -> None:
    server.faults.append(failing_embedding(400, "cannot embed 'my secret'"))
    with pytest.raises(EmbeddingError) as caught:
        openai_embedder(server).embed(["my secret"])
    assert "secret" not in caught.value.detail


def test_vectors_out_of_order_are_put_in_order(server: EmbeddingServer) -> None:
    expected = openai_embedder(server).embed(["one", "two"])
    server.faults.append(twisted(lambda body: body["data"].reverse()))
    np.testing.assert_array_equal(openai_embedder(server).embed(["one", "two"]), expected)


def test_texts_are_sent_in_batches(server: EmbeddingServer) -> None:
    openai_embedder(server).embed([str(number) for number in range(250)])
    assert [len(request) for request in server.requests] == [100, 100, 50]


# --- Choosing one --------------------------------------------------------------------------------------------------


def test_settings_choose_the_provider(settings: Any, server: EmbeddingServer) -> None:
    settings.EMBEDDING_PROVIDER = "hashed"
    assert get_embedder().name == HashedNgramEmbedder.name
    assert is_provider_local()
    settings.EMBEDDING_PROVIDER = "openai"
    settings.EMBEDDING_MODEL, settings.EMBEDDING_DIMENSION = FAKE_EMBEDDING_MODEL, DIMENSION
    settings.EMBEDDING_BASE_URL, settings.EMBEDDING_API_KEY = server.base_url, FAKE_EMBEDDING_API_KEY
    assert get_embedder().name == FAKE_EMBEDDING_MODEL
    assert get_embedder() is get_embedder()
    assert not is_provider_local()


def test_wordllama_loads_without_the_network() -> None:
    """In a fresh process that cannot open a socket; its weights are in its package."""
    if importlib.util.find_spec("wordllama") is None:
        pytest.skip("wordllama has no wheel for this platform")
    code = (
        "import socket\n"
        "def refuse(*a, **k): raise OSError('no network here')\n"
        "socket.socket.connect = refuse; socket.getaddrinfo = refuse\n"
        "from memories.embeddings.providers.wordllama_embedder import WordLlamaEmbedder\n"
        "print(WordLlamaEmbedder().embed(['hello']).shape)\n"
    )
    environment = {**os.environ, "HF_HUB_OFFLINE": "0"}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert result.stdout.strip() == "(1, 256)", result.stderr


@pytest.mark.parametrize(
    "make", [lambda: np.full((1, 4), np.nan), lambda: np.zeros((1, 4)), lambda: np.full((1, 4), np.inf)]
)
def test_row_without_direction_becomes_a_neutral_unit_vector(make: Callable[[], Any]) -> None:
    np.testing.assert_allclose(unit_rows(make().astype(np.float32)), np.full((1, 4), 0.5))
