"""Plan a search: exact or with the HNSW index (ADR-0077), and by which words (ADR-0076)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil
from typing import Any

from memories.services.search.fusion import MAX_CANDIDATES, RECIPROCAL_RANK_K
from memories.services.search.lexemes import STOP_WORD_MARK

#: Scopes of up to this many rows are searched exactly and ranked completely.
ALWAYS_EXACT_ROWS = 5_000
#: Up to this many rows, comparing memory by memory is cheaper than finding the vectors first.
BY_MEMORY_ROWS = 2_500
#: Cost of one vector of the index, in vectors read one after the other: 10 us against 0.45, and a third for the scan.
VISIT_COST_ROWS = 30
#: Cost of a row whose memory must be read to know whether it is in scope, in vectors read alone.
FILTERED_ROW_COST = 3
#: The scan ends after this many times the expected number of vectors.
SCAN_LIMIT_RATIO = 2
#: Vectors read from the index at once: as many as are read, those in place of expired memories included (ADR-0223), or
#: this many times as many for filters; within these bounds.
FILTERED_SCAN_RATIO = 2.0
MIN_EF_SEARCH, MAX_EF_SEARCH = 300, 1_000
#: In a scope with this share of the index's rows, a single scan finds enough; an iterative scan takes a fifth longer.
SINGLE_SCAN_SHARE = 0.9
#: Maximum of vectors that an index scan reads.
MAX_SCAN_TUPLES = 100_000
#: One more vector is read for every this many, because memories may have expired.
ROWS_PER_SPARE_ROW = 8
#: Minimum depth of a retriever in a large scope.
MIN_DEPTH = 200
#: Tokens of a memory and its marker, fewer than most have, to estimate the number of memories of a budget.
TOKENS_PER_MEMORY = 25
#: A scope of at most this many rows is searched by all words of a query.
ALL_WORDS_ROWS = 5_000
#: Maximum of a tenant's rows that the words of one query match together in a larger scope, as estimated.
MATCHED_ROWS_MAX = 3_000
#: Maximum number of a query's lexemes that rank: as many as fit into the bits of an integer.
LEXEMES_MAX = 62
#: The newest rows in scope that are read if even the rarest word of the query is in too many rows.
NEWEST_ROWS = 1_500


class SearchMethod(StrEnum):
    """The ways to find the nearest vectors."""

    EXACT = "exact"
    HNSW = "hnsw"


class SearchPlanReason(StrEnum):
    """Why the method was chosen."""

    #: No index contains superseded versions.
    HISTORY = "history"
    NO_INDEX = "no_index"
    FEW_ROWS = "few_rows"
    SHARED_INDEX = "shared_index"
    MANY_ROWS = "many_rows"
    #: The index scan ended with too few rows.
    TOO_FEW_FOUND = "too_few_found"


@dataclass(frozen=True)
class ScopeSize:
    """Rows in the partition and in the index (None: no index); `is_filtered` if only memories show the scope.

    `index_bound` is the last id of the vectors that the index was built of. With `has_expired`, a memory of the tenant
    has expired and is not archived yet.
    """

    rows: int
    index_rows: int | None
    is_filtered: bool = False
    index_bound: int = 0
    has_expired: bool = False


@dataclass(frozen=True)
class VectorPlan:
    """Method, reason and number of rows; for HNSW the width of the search and the vectors after which it stops.

    `reads_memories`: with the vectors instead of after them, for filters and tiny scopes. With `is_single_scan`, the
    index is scanned only once. With `is_all_live`, the vectors alone show which memories are live.
    """

    search: SearchMethod
    reason: SearchPlanReason
    limit: int
    reads_memories: bool = False
    ef_search: int = 0
    max_scan_tuples: int = 0
    is_single_scan: bool = False
    index_bound: int = 0
    is_all_live: bool = False

    @property
    def limit_with_spare(self) -> int:
        """The number of vectors to read; some of the nearest may belong to expired memories."""
        return self.limit + (0 if self.is_all_live else self.limit // ROWS_PER_SPARE_ROW)

    @property
    def enough_rows(self) -> int:
        """The vectors that a single scan must return; another scan for the last eighth is not worthwhile."""
        return self.limit_with_spare - self.limit_with_spare // ROWS_PER_SPARE_ROW

    @property
    def scan(self) -> dict[str, Any]:
        """The arguments of `begin_index_scan`."""
        return {name: getattr(self, name) for name in ("ef_search", "max_scan_tuples", "is_single_scan")}

    @property
    def min_rows(self) -> int:
        """The minimum number of result rows; with fewer, the scope is searched exactly."""
        return self.limit // 2


def rows_to_retrieve(*, tokens: float, limit: int | None, pool_size: int) -> int:
    """Return how many memories a search returns: the pool, the limit, or an estimate from the tokens."""
    if pool_size:
        return min(pool_size, MAX_CANDIDATES)
    return min(ceil(tokens / TOKENS_PER_MEMORY) if limit is None else limit, MAX_CANDIDATES)


def retriever_depth(wanted: int) -> int:
    """Return the depth of a retriever for the first `wanted` rows in fused order.

    It covers all rows that either retriever ranks among the first `wanted`, and some that both rank lower. Twice the
    depth, which covers every row that could reach the fused rank `wanted`, changed no packed evidence (ADR-0117).
    """
    return max(MIN_DEPTH, min(wanted + RECIPROCAL_RANK_K, MAX_CANDIDATES))


def plan_vector_search(scope: ScopeSize, *, wanted: int) -> VectorPlan:
    """Return the cheaper plan. The index contains all tenants: its cost grows with the share out of scope."""
    if scope.rows <= ALWAYS_EXACT_ROWS:
        is_tiny = scope.rows <= BY_MEMORY_ROWS
        return VectorPlan(
            SearchMethod.EXACT, SearchPlanReason.FEW_ROWS, MAX_CANDIDATES, reads_memories=scope.is_filtered or is_tiny
        )
    depth = retriever_depth(wanted)
    if scope.index_rows is None:
        return VectorPlan(SearchMethod.EXACT, SearchPlanReason.NO_INDEX, depth, reads_memories=scope.is_filtered)
    exact_cost = scope.rows * (FILTERED_ROW_COST if scope.is_filtered else 1)
    visits = depth * max(scope.index_rows, scope.rows) / scope.rows
    if visits * VISIT_COST_ROWS >= exact_cost:
        is_large_enough_alone = depth * VISIT_COST_ROWS < exact_cost
        reason = SearchPlanReason.SHARED_INDEX if is_large_enough_alone else SearchPlanReason.FEW_ROWS
        return VectorPlan(SearchMethod.EXACT, reason, depth, reads_memories=scope.is_filtered)
    plan = VectorPlan(
        SearchMethod.HNSW,
        SearchPlanReason.MANY_ROWS,
        depth,
        reads_memories=scope.is_filtered,
        max_scan_tuples=min(ceil(visits * SCAN_LIMIT_RATIO), MAX_SCAN_TUPLES),
        index_bound=scope.index_bound,
        is_all_live=not (scope.is_filtered or scope.has_expired),
    )
    look = FILTERED_SCAN_RATIO if scope.is_filtered else plan.limit_with_spare / plan.limit
    width = min(max(ceil(visits * look), MIN_EF_SEARCH), MAX_EF_SEARCH)
    is_nearly_all = not scope.is_filtered and scope.rows >= SINGLE_SCAN_SHARE * scope.index_rows
    return replace(plan, ef_search=width, is_single_scan=is_nearly_all and width >= plan.limit_with_spare)


@dataclass(frozen=True)
class TextQuery:
    """`lexemes` rank the rows that contain one of `matched`; with `newest`, only this many newest rows in scope."""

    lexemes: Sequence[str]
    matched: Sequence[str]
    newest: int | None = None

    @property
    def has_dropped(self) -> bool:
        """Whether the query may miss rows that contain a lexeme."""
        return len(self.matched) < len(self.lexemes) or self.newest is not None

    @property
    def ranking(self) -> Sequence[str]:
        """The lexemes that rank: all, or the longest of those that match, which are probably rare."""
        if len(self.lexemes) <= LEXEMES_MAX:
            return self.lexemes
        return sorted(self.matched, key=lambda lexeme: (-len(lexeme), lexeme))[:LEXEMES_MAX]


def significant_lexemes(lexemes: Iterable[str]) -> list[str]:
    """Return the lexemes without stop words, unless nothing else remains."""
    given = list(lexemes)
    significant = [lexeme for lexeme in given if not lexeme.startswith(STOP_WORD_MARK)]
    return significant or given


def match_all(lexemes: Sequence[str]) -> TextQuery:
    """Match every row that contains any of the lexemes."""
    return TextQuery(lexemes, lexemes)


def match_rarest(lexemes: Sequence[str], common_rows: Mapping[str, int]) -> TextQuery:
    """Match by the rarest lexemes with at most `MATCHED_ROWS_MAX` rows together, else by all in the newest rows."""
    rows = 0
    matched: list[str] = []
    for lexeme in sorted(lexemes, key=lambda lexeme: (common_rows.get(lexeme, 0), lexeme)):
        rows += common_rows.get(lexeme, 0)
        if rows > MATCHED_ROWS_MAX:
            break
        matched.append(lexeme)
    if matched or not lexemes:
        return TextQuery(lexemes, matched)
    return TextQuery(lexemes, lexemes, NEWEST_ROWS)


class RetrievalTrace:
    """Records the steps of a search for the receipt; `clock` returns seconds."""

    def __init__(self, mode: str, clock: Callable[[], float]) -> None:
        self.values: dict[str, Any] = {"mode": mode}
        self._clock = clock

    @contextmanager
    def step(self, name: str, **known: Any) -> Iterator[dict[str, Any]]:
        """Time a step; yield its entry for other values."""
        entry = self.values[name] = dict(known)
        start = self._clock()
        try:
            yield entry
        finally:
            entry["ms"] = round((self._clock() - start) * 1000, 3)
