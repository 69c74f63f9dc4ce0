"""Time full-text searches of one large tenant: `python -m benchmarks.bench_text [--memories 100000] [--queries 200]`.

Texts consist of invented words with the frequencies of natural language (Zipf); queries are drawn from the same words,
so most contain a word that is in many rows. Each query is searched twice: once matching every word, and once with
common words used only for ranking (ADR-0076). Prints the median and the 95th percentile of both, their ratios, and the
share of the best 20 rows by all words that the second search finds; then the same for queries of common words only.
Both searches rank in the same way, so only the matching differs.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from itertools import accumulate, product
from statistics import fmean, median
from typing import Any

from benchmarks.database import analyse, benchmark_scope, new_benchmark_tenant, store_in_batches, throwaway_database
from benchmarks.texts import BENCHMARK_NOW
from benchmarks.timing import argument_parser, p95, timed

_BATCH = 1_000
VOCABULARY_WORDS = 20_000
#: The most frequent words; queries of common words consist of them.
_COMMON_WORDS = 60
BEST_ROWS = 20
WARM_UP_QUERIES = 10


def vocabulary() -> list[str]:
    """Return invented words without endings that a stemmer would remove."""
    syllables = [first + second for first, second in product("bdfgklmnprtvz", "aiou")]
    words = (first + second + last + "k" for first, second, last in product(syllables, repeat=3))
    return random.Random(5).sample(list(words), VOCABULARY_WORDS)


def zipf(words: Sequence[str], draw: random.Random) -> Callable[[int], list[str]]:
    """Return a function that draws words, the n-th with a probability proportional to 1 / n."""
    weights = list(accumulate(1 / place for place in range(1, len(words) + 1)))
    return lambda count: draw.choices(words, cum_weights=weights, k=count)


def load_text_memories(tenant: Any, words: Sequence[str], memories: int) -> None:
    """Store that many memories, without vectors."""
    from memories.search.languages import recount_common_lexemes
    from memories.services.store.drafts import NewMemory

    draw = random.Random(7)
    some = zipf(words, draw)
    rows = (
        NewMemory(
            content=f"The {' '.join(some(draw.randint(8, 30)))} of note {number}.",
            created_at=BENCHMARK_NOW - timedelta(minutes=draw.randrange(365 * 24 * 60)),
        )
        for number in range(memories)
    )
    store_in_batches(tenant, rows, now=BENCHMARK_NOW, batch=_BATCH, with_vectors=False)
    analyse()
    milliseconds, found = timed(partial(recount_common_lexemes, tenant.pk))
    print(f"{memories:,} memories; counting {found:,} common lexemes took {milliseconds / 1_000:.2f} s")


def drawn_queries(words: Sequence[str], count: int) -> Iterator[tuple[str, str]]:
    """Yield (kind, text) of queries: some like the texts, some of the most frequent words only."""
    draw = random.Random(11)
    some = zipf(words, draw)
    for _ in range(count):
        yield "mixed", " ".join(some(draw.randint(3, 8)))
        yield "common only", " ".join(draw.sample(words[:_COMMON_WORDS], draw.randint(1, 3)))


def time_text_search(tenant: Any, text: str, *, drops: bool) -> tuple[float, list[Any]]:
    """Return milliseconds, and the rows in the order of the lexical retriever."""
    from memories.search.queries.lexemes import tenant_query_lexemes
    from memories.search.retrievers import SentTextSearch, build_text_query
    from memories.services.search.planner import match_all
    from memories.tenancy.scopes import tenant_scope

    scope = benchmark_scope(tenant.pk)

    def search() -> list[Any]:
        rows_by_lexeme = tenant_query_lexemes(tenant.pk, text)
        query = build_text_query(scope, rows_by_lexeme) if drops else match_all(list(rows_by_lexeme))
        return list(SentTextSearch.send(scope, query, "tokens_o200k_base").read())

    with tenant_scope(tenant.pk):
        return timed(search)


def measure_text_search(tenant: Any, queries: Sequence[tuple[str, str]]) -> dict[str, list[tuple[float, float, float]]]:
    """Return by kind, for each query: milliseconds by all words and by rare words, share of the best rows found."""
    measured: dict[str, list[tuple[float, float, float]]] = {}
    for number, (kind, text) in enumerate(queries):
        order = (False, True) if number % 2 else (True, False)
        pairs = {drops: time_text_search(tenant, text, drops=drops) for drops in order}
        (slow, every), (quick, rare) = pairs[False], pairs[True]
        best = every[:BEST_ROWS]
        if number >= WARM_UP_QUERIES and best:
            measured.setdefault(kind, []).append((slow, quick, len({*best} & {*rare}) / len(best)))
    return measured


def main() -> None:
    options = argument_parser(__doc__, memories=100_000, queries=200).parse_args()
    words = vocabulary()
    with throwaway_database():
        tenant = new_benchmark_tenant("benchmark")
        load_text_memories(tenant, words, options.memories)
        for kind, rows in measure_text_search(tenant, list(drawn_queries(words, options.queries))).items():
            every, rare, kept = zip(*rows, strict=True)
            slow, quick = [(median(values), p95(values)) for values in (every, rare)]
            print(
                f"{kind}: all words p50 {slow[0]:.1f} p95 {slow[1]:.1f} ms; rare words p50 {quick[0]:.1f}"
                f" p95 {quick[1]:.1f} ms; ratios {quick[0] / slow[0]:.2f} and {quick[1] / slow[1]:.2f};"
                f" of the best {BEST_ROWS} by all words {fmean(kept):.0%} found"
            )


if __name__ == "__main__":
    main()
