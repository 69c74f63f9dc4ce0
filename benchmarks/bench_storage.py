"""Measure the bytes of a memory, a message and a receipt: `python -m benchmarks.bench_storage [--memories 20000]`.

docs/scaling.md uses the results as constants. With fewer rows, most pages of the tables would be half empty.
"""

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarks.database import api_client, new_benchmark_tenant, store_in_batches, throwaway_database
from benchmarks.texts import BENCHMARK_NOW, note_with_rare_words, question_with_rare_words
from benchmarks.timing import argument_parser

if TYPE_CHECKING:
    from memories.models import Tenant

CONTEXTS = 50
MESSAGES = 1_000
_SIZES = """
SELECT c.relname, pg_table_size(c.oid), pg_indexes_size(c.oid) FROM pg_class AS c
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
"""
_VECTOR_INDEX = """
SELECT coalesce(sum(pg_relation_size(oid)), 0) FROM pg_class WHERE relname LIKE 'embedding_near_%'
"""


def sizes() -> dict[str, int]:
    """Return the bytes of each table with its indexes, and of the indexes of vectors, by name."""
    from django.db import connections

    with connections["owner"].cursor() as cursor:
        cursor.execute("VACUUM")
        cursor.execute(_SIZES)
        found = {name: table + indexes for name, table, indexes in cursor.fetchall()}
        cursor.execute(_VECTOR_INDEX)
        return found | {"vector index": int(cursor.fetchone()[0])}


def grown(before: dict[str, int], after: dict[str, int], count: int) -> None:
    """Print the bytes per row of `count` new rows, by table."""
    each = {name: (size - before.get(name, 0)) / count for name, size in after.items()}
    for name, size in sorted(each.items(), key=lambda item: -item[1]):
        if size >= 1:
            print(f"  {size:8.0f}  {name}")
    print(f"  {sum(size for name, size in each.items() if name != 'vector index'):8.0f}  all")


def measure(what: str, count: int, work: Callable[[], None]) -> None:
    """Run the work and print the bytes that it took."""
    before = sizes()
    work()
    print(f"{count:,} {what}, bytes of each:")
    grown(before, sizes(), count)


def load(tenant: "Tenant", memories: int) -> None:
    """Store memories with vectors in the index."""
    from memories.embeddings.providers import get_embedder
    from memories.search.vector_index import ensure_vector_index
    from memories.services.store.drafts import NewMemory

    draw = random.Random(3)
    rows = (NewMemory(note_with_rare_words(number, draw)) for number in range(memories))
    store_in_batches(tenant, rows, now=BENCHMARK_NOW)
    embedder = get_embedder()
    ensure_vector_index(embedder.name, embedder.dimension, database="owner", is_rebuilt=True)


def ask(client: Any, path: str, body: dict[str, Any]) -> Any:
    """Return the answer of the API."""
    answer = client.post(f"/api/v1/{path}", body, format="json")
    assert answer.status_code < 300, answer.content
    return answer.json()


def main() -> None:
    """Print the bytes of each kind of row."""
    memories = argument_parser(__doc__, memories=20_000).parse_args().memories
    with throwaway_database():
        tenant, draw = new_benchmark_tenant("storage"), random.Random(4)
        client = api_client(tenant.pk)
        measure("memories with vectors", memories, lambda: load(tenant, memories))

        def contexts() -> None:
            for _ in range(CONTEXTS):
                ask(client, "context", {"query": question_with_rare_words(draw), "max_tokens": 4000})

        def messages() -> None:
            session = ask(client, "sessions", {"max_context_tokens": 100_000})["id"]
            for start in range(0, MESSAGES, 100):
                texts = [note_with_rare_words(number, draw) for number in range(start, start + 100)]
                rows = [{"role": "user", "content": text} for text in texts]
                ask(client, f"sessions/{session}/messages", {"messages": rows})

        measure("contexts of 4,000 tokens with receipts", CONTEXTS, contexts)
        measure("messages", MESSAGES, messages)


if __name__ == "__main__":
    main()
