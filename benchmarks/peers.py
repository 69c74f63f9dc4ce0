"""Run mem0 and LangGraph's PostgresStore for `benchmarks.table`, in the environment of the peers.

Reads commands from standard input, one JSON object per line, and answers each with the milliseconds that it took. Both
store their rows in the database with the given URL, with an HNSW index and vectors of the same embedder. mem0 stores
texts unchanged (`infer=False`), because there is no language model.
"""

import json
import os
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": tempfile.mkdtemp(), "OPENAI_API_KEY": "unused"}

import wordllama
from langgraph.store.base import PutOp
from langgraph.store.postgres import PostgresStore
from mem0 import Memory

DIMENSION = 256
USER = "bench"
ROWS_AT_ONCE = 500


class Embedder:
    """The default embedder of this project, in the forms of both peers."""

    def __init__(self) -> None:
        folder = Path(wordllama.__file__).parent
        self._model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """Return unit vectors."""
        return [row.tolist() for row in self._model.embed(list(texts), norm=True)]

    def embed(self, text: str, *_: Any, **__: Any) -> list[float]:
        """Return the vector of one text, for every action of mem0."""
        return self.vectors([text])[0]


class Peers:
    """Both stores."""

    def __init__(self, url: str) -> None:
        self._embedder = Embedder()
        vectors = {"connection_string": url, "collection_name": "mem0", "embedding_model_dims": DIMENSION, "hnsw": True}
        history = {"history_db_path": str(Path(os.environ["MEM0_DIR"]) / "history.db")}
        self._mem0: Any = Memory.from_config({"vector_store": {"provider": "pgvector", "config": vectors}, **history})
        self._mem0.embedding_model = self._embedder
        index: Any = {"dims": DIMENSION, "embed": self._embedder.vectors, "fields": ["text"]}
        self._opened: Any = PostgresStore.from_conn_string(url, index=index)
        self._store = self._opened.__enter__()
        self._store.setup()

    def mem0_load(self, texts: Sequence[str]) -> None:
        payloads = [{"data": text, "user_id": USER, "hash": str(place)} for place, text in enumerate(texts)]
        ids = [str(uuid.uuid4()) for _ in texts]
        self._mem0.vector_store.insert(vectors=self._embedder.vectors(texts), ids=ids, payloads=payloads)

    def langgraph_load(self, texts: Sequence[str]) -> None:
        self._store.batch([PutOp((USER,), str(uuid.uuid4()), {"text": text}) for text in texts])

    def mem0_write(self, text: str) -> None:
        self._mem0.add(text, user_id=USER, infer=False)

    def langgraph_write(self, text: str) -> None:
        self._store.put((USER,), str(uuid.uuid4()), {"text": text})

    def mem0_search(self, text: str) -> int:
        return len(self._mem0.search(text, filters={"user_id": USER}, top_k=200, threshold=0.0)["results"])

    def langgraph_search(self, text: str) -> int:
        return len(self._store.search((USER,), query=text, limit=200))


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of the peers is not a response
    peers = Peers(sys.argv[1])
    for line in sys.stdin:
        command = json.loads(line)
        call: Callable[[Any], Any] = getattr(peers, command["call"])
        given = command["given"]
        pieces = [given]
        if isinstance(given, list):
            pieces = [given[start : start + ROWS_AT_ONCE] for start in range(0, len(given), ROWS_AT_ONCE)]
        start = time.perf_counter()
        found = [call(piece) for piece in pieces][-1]
        elapsed = (time.perf_counter() - start) * 1_000
        answers.write(json.dumps({"milliseconds": elapsed, "found": found}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
