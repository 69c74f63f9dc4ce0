"""The warning that probably nothing stored answers the query (ADR-0155)."""

from collections.abc import Mapping

import numpy as np

from context.assembly.requests import ResolvedContextRequest
from context.receipts.results import ContextWarning
from context.services.assembly.no_answer.features import CHARACTERS_READ, answer_features, compared_rows
from context.services.assembly.no_answer.probability import WARNING_MIN, no_answer_probability
from context.services.assembly.no_answer.query_parts import read_query
from memories.embeddings.embedders import embedder_of_model
from memories.embeddings.providers import Embedder, EmbeddingError
from memories.search.retrieval import Retrieval

NO_ANSWER_STORED = "no_answer_stored"
#: The weights were learned with this embedding model; with another one there is no warning.
CALIBRATED_MODEL = "wordllama-l2-supercat-256"


def no_answer_warnings(request: ResolvedContextRequest, retrieval: Retrieval) -> list[ContextWarning]:
    """Return the warning if it is probable enough that nothing stored answers the query. No query, one embedding."""
    if request.query is None or retrieval.query.model != CALIBRATED_MODEL:
        return []
    try:
        features = query_features(request.query, retrieval, embedder_of_model(request.sources.embedding_model))
    except EmbeddingError:
        return []
    probability = 0.0 if features is None else no_answer_probability(features)
    if probability < WARNING_MIN:
        return []
    detail = f"Probably nothing stored answers this query ({probability:.0%})."
    return [ContextWarning(NO_ANSWER_STORED, detail, round(probability, 3))]


def query_features(query: str, retrieval: Retrieval, embedder: Embedder) -> Mapping[str, float] | None:
    """Return the features of a query; None if it is no short question, has no attribute words, or finds messages.

    Raises `EmbeddingError`.
    """
    if not query.endswith("?") or len(query) > CHARACTERS_READ:
        return None
    rows = compared_rows([row for row in retrieval.candidates if row.id in retrieval.vectors])
    messages = sum(bool(row.session) and row.position is not None for row in rows)
    parts = read_query(query)
    if not parts.attributes or messages * 2 >= len(rows):
        return None
    attributes = embedder.embed([" ".join(parts.attributes)])[0]
    similarity = np.array([retrieval.vectors[row.id] @ attributes for row in rows], dtype=np.float64)
    return answer_features(query, parts, rows, similarity)
