"""How a statement must begin, so that it is readable on its own."""

from __future__ import annotations

from compaction.services.pipeline.statements.lexicon import NO_WORDS, PRONOUNS, YES_WORDS
from compaction.services.pipeline.statements.words import strip_punctuation


def unfit_opening(lead: str, body: str) -> str:
    """The pronoun or the bare yes or no that a statement opens with, "" when it opens well or with a quotation."""
    told = body if lead.endswith(":") or not lead else lead
    first = "" if told.startswith('"') else strip_punctuation(told.split(" ", 1)[0])
    return first if first in PRONOUNS or first in YES_WORDS or first in NO_WORDS else ""
