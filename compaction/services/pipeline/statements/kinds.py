"""What kind of statement a clause is, told by its verbs."""

from __future__ import annotations

import re

from compaction.services.pipeline.statements.dates import RESOLVED_DATE
from compaction.services.pipeline.statements.model import StatementKind
from compaction.services.pipeline.statements.verbs import is_past

#: The first that is found counts.
_PATTERNS = (
    (
        StatementKind.DECISION,
        r"decided|decides|chose|chosen|agreed|agrees|settled|went with|going with|suggests|picked|signed up|confirmed"
        r"|denied|accepts?|accepted|approves?|approved",
    ),
    (
        StatementKind.PREFERENCE,
        r"loves?|likes|enjoys?|prefers?|favou?rites?|hates?|dislikes?|(?:fan|fond|tired) of|is into|keen|adores?"
        r"|allergic",
    ),
    (
        StatementKind.CONSTRAINT,
        r"must(?! be| have|'ve)|never|ha(?:ve|s) to|needs? to|not allowed|only (?:if|when|use)|requires?|required"
        r"|(?<=: )(?:always|only|use|avoid)|cannot|do not|don't|make sure|should not|shouldn't",
    ),
    (
        StatementKind.PLAN,
        r"will|going to|plans?|planning|hopes?|hoping|wants?|would love|would like|looking forward|thinking of"
        r"|thinking about|considering|can't wait|intends?|aims?|next",
    ),
)
_COMPILED = tuple((kind, re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)) for kind, pattern in _PATTERNS)
_OPINION = re.compile(
    r"^\S+ (?:is|was|are|were)? ?(?:great|awesome|amazing|cool|nice|proud|happy|glad|sure)\b", re.IGNORECASE
)
#: The verb of a clause stands among its first words.
_VERB_REACH_WORDS = 4


def classify_clause(text: str) -> StatementKind:
    """The kind of a clause by its wording; "fact" when nothing tells it."""
    for kind, pattern in _COMPILED:
        if pattern.search(text):
            return kind
    if _OPINION.search(text):
        return StatementKind.OPINION
    words = text.lower().split(" ")[1:_VERB_REACH_WORDS]
    return (
        StatementKind.EVENT
        if RESOLVED_DATE.search(text) or any(is_past(word) for word in words)
        else StatementKind.FACT
    )
