"""A local server for OpenAI's `/v1/embeddings`: the real protocol over real HTTP, with faults on demand."""

import base64
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from memories.embeddings.providers.hashed_embedder import HashedNgramEmbedder
from memories.embeddings.providers.openai_embedder import OpenAIEmbedder

FAKE_EMBEDDING_MODEL = "fake-embedding-512"
DIMENSION = HashedNgramEmbedder.dimension
FAKE_EMBEDDING_API_KEY = "sk-test"
#: The maximum that the real endpoint accepts in one request.
MAX_INPUTS = 2048

EmbeddingAnswer = tuple[int, dict[str, Any]]
Fault = Callable[["EmbeddingServer", Sequence[str]], EmbeddingAnswer]


def failing_embedding(status: int, message: str = "no") -> Fault:
    """Respond with this status instead."""

    def answer(_server: "EmbeddingServer", _texts: Sequence[str]) -> EmbeddingAnswer:
        return status, {"error": {"message": message, "type": "error", "code": None}}

    return answer


def slow_embedding(seconds: float) -> Fault:
    """Respond correctly, but late."""

    def answer(server: "EmbeddingServer", texts: Sequence[str]) -> EmbeddingAnswer:
        time.sleep(seconds)
        return server.right_answer(texts, as_base64=False)

    return answer


def twisted(change: Callable[[dict[str, Any]], Any]) -> Fault:
    """Return the correct response, changed by `change`."""

    def answer(server: "EmbeddingServer", texts: Sequence[str]) -> EmbeddingAnswer:
        status, body = server.right_answer(texts, as_base64=False)
        change(body)
        return status, body

    return answer


class EmbeddingServer:
    """Responds with hashed n-grams, scaled so that the client has to normalise them; records every request's texts."""

    def __init__(self) -> None:
        self.requests: list[list[str]] = []
        #: Each fault is used for one request, in order; later responses are correct.
        self.faults: deque[Fault] = deque()
        #: Texts that contain this word are rejected.
        self.refuses: str | None = None
        #: Closed when the server is stopped permanently.
        self.clients: list[OpenAIEmbedder] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, authorization: str, body: dict[str, Any]) -> EmbeddingAnswer:
        """Return the endpoint's response to a request."""
        if path != "/v1/embeddings":
            return failing_embedding(404)(self, [])
        if authorization != f"Bearer {FAKE_EMBEDDING_API_KEY}":
            return failing_embedding(401, "Incorrect API key provided.")(self, [])
        given = body["input"]
        texts = [given] if isinstance(given, str) else list(given)
        self.requests.append(texts)
        if self.faults:
            return self.faults.popleft()(self, texts)
        if body["model"] != FAKE_EMBEDDING_MODEL:
            return failing_embedding(404, "The model does not exist.")(self, texts)
        is_refused = self.refuses is not None and any(self.refuses in text for text in texts)
        if is_refused or not 1 <= len(texts) <= MAX_INPUTS or not all(texts):
            return failing_embedding(400, "'$.input' is invalid.")(self, texts)
        return self.right_answer(texts, as_base64=body.get("encoding_format") == "base64")

    def right_answer(self, texts: Sequence[str], *, as_base64: bool) -> EmbeddingAnswer:
        vectors = HashedNgramEmbedder().embed(texts) * np.float32(3.0)
        data = [
            {"object": "embedding", "index": index, "embedding": _encoded(vector) if as_base64 else vector.tolist()}
            for index, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        return 200, {"object": "list", "data": data, "model": FAKE_EMBEDDING_MODEL, "usage": usage}


def _encoded(vector: Any) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()


def _handler_of(server: EmbeddingServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = server.answer(self.path, self.headers.get("Authorization", ""), body)
            content = json.dumps(answer).encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, *arguments: object) -> None:
            """Log nothing."""

    return Handler


@contextmanager
def running_embedding_server() -> Iterator[EmbeddingServer]:
    """A server for the duration of a test."""
    server = EmbeddingServer()
    try:
        yield server
    finally:
        for client in server.clients:
            client._client.close()
        server.stop()
