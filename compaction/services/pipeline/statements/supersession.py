"""Statements that a later one of the same conversation replaces (ADR-0102)."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from compaction.services.pipeline.statements.model import ReplacedStatement, Statement, StatementKind
from compaction.services.pipeline.statements.rarity import word_weights

#: How many earlier statements with a word in common are compared.
COMPARED_MAX = 24
#: What two statements must have in common, in the rarity of their words within the conversation.
SHARED_MIN = 2.0
#: Others than the nearest are replaced too when they share almost as much with the newer one.
NEAREST_SHARE_MIN = 0.75
_REPLACEABLE = frozenset(StatementKind) - {StatementKind.QUOTED, StatementKind.QUESTION}


def drop_replaced(statements: Sequence[Statement]) -> list[Statement]:
    """Return the statements in order without those that a later one replaced; the later ones list them."""
    stems = [frozenset(word_weights(statement.body)) for statement in statements]
    counts = Counter(one for several in stems for one in several)
    rarity = {one: math.log((len(statements) + 1) / count) for one, count in counts.items()}
    by_stem: defaultdict[str, list[int]] = defaultdict(list)
    replaced: dict[int, int] = {}
    for number, statement in enumerate(statements):
        if statement.kind == StatementKind.CORRECTION:
            for other in _outdated(number, statements, stems, rarity, by_stem, replaced):
                replaced[other] = number
        for one in stems[number]:
            by_stem[one].append(number)
    return _with_replaced(statements, replaced)


def _outdated(
    number: int,
    statements: Sequence[Statement],
    stems: Sequence[frozenset[str]],
    rarity: Mapping[str, float],
    by_stem: Mapping[str, Sequence[int]],
    replaced: Mapping[int, int],
) -> list[int]:
    near = {other for one in stems[number] if one in by_stem for other in by_stem[one][-COMPARED_MAX:]}
    shares = {
        other: sum(rarity[one] for one in stems[number] & stems[other] if not one[:1].isdigit())
        for other in near
        if other not in replaced
        and statements[other].kind in _REPLACEABLE
        and not set(statements[other].message_ids) & set(statements[number].message_ids)
    }
    best = max(shares.values(), default=0.0)
    if best < SHARED_MIN:
        return []
    return [other for other, share in shares.items() if share >= best * NEAREST_SHARE_MIN]


def _with_replaced(statements: Sequence[Statement], replaced: Mapping[int, int]) -> list[Statement]:
    former: defaultdict[int, list[ReplacedStatement]] = defaultdict(list)
    for number in sorted(replaced):
        statement = statements[number]
        own = ReplacedStatement(statement.text, statement.message_ids)
        former[replaced[number]] += [*statement.replaces, *former[number], own]
    return [
        replace(statement, replaces=(*statement.replaces, *former[number])) if number in former else statement
        for number, statement in enumerate(statements)
        if number not in replaced
    ]
