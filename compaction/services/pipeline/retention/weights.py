"""The weight of each fact: that of the statement that contains it (ADR-0104)."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from compaction.services.pipeline.retention.check import RetainedFact
from compaction.services.pipeline.retention.matches import RULE
from compaction.services.pipeline.statements.kinds import BINDING
from compaction.services.pipeline.statements.model import Statement, StatementKind
from memories.services.time_limits import in_time

#: Weight of a fact by the kind of the statement that says it; constraints themselves have `BINDING_WEIGHT`.
STATEMENT_WEIGHTS: Mapping[StatementKind, float] = {
    StatementKind.DECISION: 3.0,
    StatementKind.CONSTRAINT: 2.0,
    StatementKind.PREFERENCE: 2.0,
    StatementKind.INSTRUCTION: 2.0,
    StatementKind.COMMITMENT: 2.0,
    StatementKind.IDENTITY: 2.0,
    StatementKind.VALUE: 1.0,
    StatementKind.QUESTION: 0.5,
    StatementKind.STATE: 0.5,
    StatementKind.EVENT: 0.25,
    StatementKind.FACT: 0.25,
}
#: A statement of less worth does not count.
COUNTED_WORTH_MIN = 0.2
#: The weight of a fact in a sentence that is not a statement, such as "It costs 5 EUR" without the product.
OTHER_WEIGHT = 0.02
#: The weight of a constraint in such a sentence, which may be an idiom ("you must be tired").
OTHER_BINDING_WEIGHT = 0.1
_WORD = re.compile(r"\w+")


def weigh_facts(facts: Sequence[RetainedFact], statements: Sequence[Statement]) -> list[RetainedFact]:
    """Return the facts with their share of the most important statement of their messages that says them.

    A statement counts by its kind times its worth, regardless of the number of facts in it. A constraint counts by
    itself in a statement that binds. Rules that a person pinned keep their weight.
    """
    saying = statements_saying(facts, statements)
    counts = Counter(statement for fact, statement in zip(facts, saying, strict=True) if not fact.is_binding)

    def weight(fact: RetainedFact, statement: Statement | None) -> float:
        if statement is None or statement.worth < COUNTED_WORTH_MIN:
            return OTHER_BINDING_WEIGHT if fact.is_binding else OTHER_WEIGHT
        if fact.is_binding and statement.kind in BINDING:
            return fact.weight * statement.worth
        return STATEMENT_WEIGHTS[statement.kind] * statement.worth / max(counts[statement], 1)

    return [
        fact if fact.kind == RULE else replace(fact, weight=round(weight(fact, statement), 4))
        for fact, statement in zip(facts, saying, strict=True)
    ]


def statements_saying(facts: Iterable[RetainedFact], statements: Sequence[Statement]) -> list[Statement | None]:
    """Return for each fact the statement of its messages that says it and counts most; None for no statement."""
    with_word: defaultdict[tuple[str, str], list[Statement]] = defaultdict(list)
    for statement in statements:
        for word in dict.fromkeys(_WORD.findall(statement.body)):
            for message_id in statement.message_ids:
                with_word[message_id, word].append(statement)

    def saying(fact: RetainedFact) -> Statement | None:
        text = " ".join(fact.text.split())
        words = set(_WORD.findall(text))
        whole = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)")
        found = []
        for message_id in map(str, fact.message_ids):
            near = min((with_word.get((message_id, word), []) for word in words), key=len, default=[])
            found += [statement for statement in near if whole.search(statement.body)]
        return max(found, key=lambda one: STATEMENT_WEIGHTS[one.kind] * one.worth, default=None)

    return [saying(fact) for fact in in_time(facts)]
