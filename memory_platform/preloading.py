"""Data that is loaded before processes fork (ADR-0163): children share it, so none loads it at the first request."""

from compaction.services.pipeline.statements.extraction import extract_statements
from compaction.services.pipeline.statements.model import StatementMessage
from memories.embeddings.providers import get_embedder, is_provider_local
from memories.services.tokens import token_counts
from memory_platform.observability.memory import exempt_loaded_objects

#: One sentence in each language that has its own rules.
_SENTENCES = (
    "We moved the meeting to Monday, and it is not on Tuesday any more.",
    "Wir haben das Treffen auf Montag verschoben, und es ist nicht mehr am Dienstag.",
    "Hemos pasado la reunión al lunes, y ya no es el martes.",
)


def preload_rules() -> None:
    """Load the rules of compaction; before `preload_models`, which keeps them out of garbage collection."""
    for sentence in _SENTENCES:
        extract_statements([StatementMessage("", "user", sentence)])


def preload_models() -> None:
    """Load the token tables and the local embedding model, and keep both out of garbage collection.

    No text is embedded, because the tokenizers library would start threads that a child process lacks.
    """
    token_counts("warm")
    if is_provider_local():
        get_embedder()
    exempt_loaded_objects()
