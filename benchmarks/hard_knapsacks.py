"""Knapsacks known to be hard, after Pisinger, "Where are the hard knapsack problems?" (2005), as scores and tokens.

Scores are integer millionths from 1 to 1,000,000. A class called "... rounded" has the shape of its namesake, but its
scores are fractions rounded to millionths, which hides the shape from common divisors.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

MILLION = 1_000_000
#: Weights are drawn from 1 to here where a class has a range.
_MAX_TOKENS = 640


@dataclass(frozen=True)
class Instance:
    """Scores in millionths and tokens, position by position."""

    scores: list[int]
    tokens: list[int]


Pair = tuple[float, int]


def _fraction(chance: random.Random, share: Callable[[float], float]) -> Pair:
    tokens = chance.randint(1, _MAX_TOKENS)
    return MILLION * share(tokens / _MAX_TOKENS), tokens


def _uncorrelated(chance: random.Random) -> Pair:
    return chance.randint(1, MILLION), chance.randint(1, _MAX_TOKENS)


def _weak(chance: random.Random) -> Pair:
    return _fraction(chance, lambda part: 0.9 * part + chance.uniform(-0.09, 0.09))


def _strong(chance: random.Random) -> Pair:
    tokens = chance.randint(1, _MAX_TOKENS)
    return 1_400 * tokens + 100_000, tokens


def _strong_rounded(chance: random.Random) -> Pair:
    return _fraction(chance, lambda part: 0.9 * part + 0.1)


def _inverse(chance: random.Random) -> Pair:
    tokens = chance.randint(1, _MAX_TOKENS)
    return 1_500 * tokens, tokens + _MAX_TOKENS // 10


def _inverse_rounded(chance: random.Random) -> Pair:
    tokens = chance.randint(1, _MAX_TOKENS)
    return MILLION * tokens / (_MAX_TOKENS + 7), tokens + _MAX_TOKENS // 10


def _almost_strong(chance: random.Random) -> Pair:
    tokens = chance.randint(1, _MAX_TOKENS)
    return 1_400 * tokens + 100_000 + chance.randint(-500, 500), tokens


def _subset_sum(chance: random.Random) -> Pair:
    tokens = chance.randint(1, _MAX_TOKENS)
    return 1_500 * tokens, tokens


def _subset_sum_rounded(chance: random.Random) -> Pair:
    return _fraction(chance, lambda part: 0.99 * part)


def _even_weights(chance: random.Random) -> Pair:
    tokens = 2 * chance.randint(1, _MAX_TOKENS // 2)
    return 1_400 * tokens + 100_000, tokens


def _similar_weights(chance: random.Random) -> Pair:
    return chance.randint(1, MILLION), chance.randint(_MAX_TOKENS, _MAX_TOKENS * 11 // 10)


def _few_types(chance: random.Random) -> Pair:
    tokens = 100 * chance.randint(1, 4)
    return 1_000 * tokens + 50_000 * chance.randint(0, 2), tokens


def _circle(chance: random.Random) -> Pair:
    return _fraction(chance, lambda part: 2 / 3 * (4 - (part - 2) ** 2) ** 0.5 / 1.2)


def _profit_ceiling(chance: random.Random) -> Pair:
    tokens = chance.randint(1, _MAX_TOKENS)
    return 1_500 * 3 * -(-tokens // 3), tokens


def _profit_ceiling_rounded(chance: random.Random) -> Pair:
    tokens = chance.randint(1, _MAX_TOKENS)
    return MILLION * 3 * -(-tokens // 3) / (_MAX_TOKENS + 11), tokens


def _multiple_strong(chance: random.Random) -> Pair:
    tokens = chance.randint(1, _MAX_TOKENS)
    return 1_000 * tokens + (190_000 if tokens % 6 == 0 else 130_000), tokens


def _realistic(chance: random.Random) -> Pair:
    return MILLION * chance.betavariate(6, 5), min(max(5, int(chance.lognormvariate(5.3, 0.8))), 8_000)


def _spanner(chance: random.Random) -> Callable[[random.Random], Pair]:
    kinds = [(chance.randint(40_000, 90_000), chance.randint(20, 60)) for _ in range(2)]

    def draw(chance: random.Random) -> Pair:
        score, tokens = chance.choice(kinds)
        times = chance.randint(1, 10)
        return score * times, tokens * times

    return draw


#: Every class but the spanner, whose items are multiples of a few that are drawn first.
CLASSES: dict[str, Callable[[random.Random], Pair]] = {
    "uncorrelated": _uncorrelated,
    "weakly correlated": _weak,
    "strongly correlated": _strong,
    "strongly correlated, rounded": _strong_rounded,
    "inverse strongly correlated": _inverse,
    "inverse strongly, rounded": _inverse_rounded,
    "almost strongly correlated": _almost_strong,
    "subset sum": _subset_sum,
    "subset sum, rounded": _subset_sum_rounded,
    "even weights": _even_weights,
    "similar weights": _similar_weights,
    "few types": _few_types,
    "circle": _circle,
    "profit ceiling": _profit_ceiling,
    "profit ceiling, rounded": _profit_ceiling_rounded,
    "multiple strongly correlated": _multiple_strong,
    "realistic": _realistic,
}
KNAPSACK_CLASS_NAMES = [*CLASSES, "spanner"]


def make(name: str, items: int, seed: int) -> Instance:
    """An instance of the class; the same for the same arguments."""
    chance = random.Random(f"{name} {items} {seed}")
    draw = _spanner(chance) if name == "spanner" else CLASSES[name]
    pairs = [draw(chance) for _ in range(items)]
    return Instance([min(max(round(score), 1), MILLION) for score, _ in pairs], [tokens for _, tokens in pairs])
