"""Memories without a known token count are read until the gate has enough, and no further (ADR-0185)."""

from collections.abc import Mapping

import pytest

from memories.services.search.admission import UNKNOWN_TOKENS, UNREAD_SHARE, Admission
from memories.services.search.fusion import gate_by_tokens

#: Ids in fused order; the even ones were found by words, so their tokens are known.
IDS = list(range(1, 41))
BUDGET = 200


def admitted(tokens: Mapping[int, int], unread_tokens: int) -> list[int]:
    costs = [unread_tokens if tokens[key] == UNKNOWN_TOKENS else tokens[key] for key in IDS]
    return gate_by_tokens(IDS, costs, budget=BUDGET, overfetch_ratio=1.0, minimum=1)


@pytest.mark.parametrize("short", [3, 10, 16, 20, 35])
def test_the_same_memories_are_admitted_as_if_all_tokens_had_been_known(short: int) -> None:
    true = {key: short if key % 2 else 20 for key in IDS}
    known = {key: UNKNOWN_TOKENS if key % 2 else tokens for key, tokens in true.items()}
    by_words = [tokens for tokens in known.values() if tokens != UNKNOWN_TOKENS]
    admission = Admission([40, 2], admitted, known, by_words)
    steps = []
    while unread := admission.unread():
        steps.append(unread)
        admission.learn({key: true[key] for key in unread})
    assert admission.results == admitted(true, 0)
    assert admission.chosen == [40, 2, *(key for key in admission.results if key != 2)]
    read = [key for step in steps for key in step]
    assert len(read) == len(set(read)), "none is read twice"
    assert len(steps) == 1 or short < UNREAD_SHARE * 20, "only shorter memories than assumed take a second step"


def test_known_tokens_are_not_chosen_by_again() -> None:
    calls = []

    def choose(tokens: Mapping[int, int], _: int) -> list[int]:
        calls.append(dict(tokens))
        return list(tokens)

    admission = Admission([], choose, {1: 5, 2: 7}, [5, 7])
    assert admission.unread() == [1, 2]
    admission.learn({1: 5})
    assert (admission.unread(), len(calls)) == ([], 1)
