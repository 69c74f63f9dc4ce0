"""The ranks of a memory in a search that did not return it. Call inside a scope."""

from dataclasses import replace

from memories.models import Memory
from memories.search.queries.lexemes import tenant_query_lexemes
from memories.search.queries.ranking import how_many_nearer
from memories.search.retrievers import build_text_query, rank_by_text_with, ranks_of
from memories.services.search.fusion import fused_score
from memories.store.queries.texts import TOKEN_COLUMNS
from memories.store.readings import Candidate, CandidateQuery, CandidateRanks, read_candidate_of_any_state
from memories.store.search_scope import SearchScope


def read_memory_ranks(scope: SearchScope, memory: Memory, text: str, query: CandidateQuery) -> Candidate:
    """Return a memory as a search for `text` in `scope` would find it, whether or not it is live and in scope.

    Each rank is among all rows of the scope, so the vectors or the matching rows of the whole scope are read. A rank is
    None without a vector of the query's model, or without a word of the query.
    """
    ranks = (_vector_rank(scope, memory, query), _text_rank(scope, memory, text))
    fused = fused_score(*ranks)
    by_vector, by_text = ({memory.pk.int: rank} if rank is not None else {} for rank in ranks)
    found = CandidateRanks(by_vector, by_text, {memory.pk.int: fused} if fused else {})
    return read_candidate_of_any_state(scope, memory.pk, query, found)


def _vector_rank(scope: SearchScope, memory: Memory, query: CandidateQuery) -> int | None:
    if query.vector is None:
        return None
    if (plain := scope.plain()) is not None:
        nearer = how_many_nearer(plain, query.vector, query.model, memory.pk)
        return None if nearer is None else 1 + nearer
    own = Memory.objects.for_tenant(scope.tenant_id).of_memories([memory.pk])
    if not own.nearest_to(query.vector, query.model).exists():
        return None
    return 1 + sum(rows.how_many_nearer(query.vector, query.model, own, memory) for rows in scope.sources())


def _text_rank(scope: SearchScope, memory: Memory, text: str) -> int | None:
    words = build_text_query(scope, tenant_query_lexemes(scope.tenant_id, text))
    if not words.matched:
        return None
    ranks = ranks_of(rank_by_text_with(scope, replace(words, newest=None), memory.pk, TOKEN_COLUMNS[0]))
    return ranks.get(memory.pk.int)
