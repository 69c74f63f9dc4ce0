"""How much each fact counts: as much as the statement that says it (ADR-0104)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from compaction.services.pipeline.retention.check import RetainedFact
from compaction.services.pipeline.statements.model import Statement, StatementKind

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
#: Of a fact in a sentence that cannot be a statement, such as "It costs 5 EUR" without what costs it.
OTHER_WEIGHT = 0.1


def weigh_facts(facts: Sequence[RetainedFact], statements: Sequence[Statement]) -> list[RetainedFact]:
    """Return the facts with the weight of the most important statement of their messages that says them."""
    of_message: defaultdict[str, list[Statement]] = defaultdict(list)
    for statement in statements:
        for message_id in statement.message_ids:
            of_message[message_id].append(statement)

    def weight(fact: RetainedFact) -> float:
        told = " ".join(fact.text.split())
        weights = (
            STATEMENT_WEIGHTS[statement.kind]
            for message_id in fact.message_ids
            for statement in of_message[str(message_id)]
            if told in statement.text
        )
        return max(weights, default=OTHER_WEIGHT)

    return [fact if fact.is_binding else replace(fact, weight=weight(fact)) for fact in facts]
