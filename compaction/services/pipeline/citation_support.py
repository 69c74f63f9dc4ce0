"""Whether a statement's words occur in the messages it cites (ADR-0072)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from compaction.services.pipeline.statements.lexicon import STATEMENT_STOP_WORDS

#: A statement is dropped when fewer of its content words occur in what it cites.
SUPPORTED_SHARE_MIN = 1 / 3
#: Words are compared by this many first letters, so that inflections count.
STEM_CHARACTERS = 5

_WORD = re.compile(r"\w+(?:['’]\w+)*")
#: Who speaks is no content.
_ROLES = frozenset({"user", "assistant", "said", "says"})


def is_supported(statement: str, cited: Iterable[str]) -> bool:
    """Whether enough of the statement's content words occur in the texts it cites.

    A statement without content words is supported by any text, by none without one.
    """
    texts = list(cited)
    wanted = _stems(statement)
    if not wanted:
        return bool(texts)
    found = wanted & {stem for text in texts for stem in _stems(text)}
    return len(found) >= SUPPORTED_SHARE_MIN * len(wanted)


def shared_word_share(statement: str, text: str) -> float:
    """The share of the statement's content words that occur in `text`."""
    wanted = _stems(statement)
    return len(wanted & _stems(text)) / len(wanted) if wanted else 0.0


def _stems(text: str) -> set[str]:
    words = (word.replace("’", "'").removesuffix("'s") for word in _WORD.findall(text.casefold()))
    return {word[:STEM_CHARACTERS] for word in words if word not in STATEMENT_STOP_WORDS | _ROLES}
