"""Instances of knapsack classes known to be hard, from Pisinger, "Where are the hard knapsack problems?" (2005).

Scores are integer millionths from 1 to 1,000,000. A class named "... rounded" has the shape of the class without that
suffix, but its scores are fractions rounded to millionths, which hides the shape from common divisors.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

MILLION = 1_000_000
#: The highest weight of the classes that draw weights from a range.
_MAX_TOKENS = 640


@dataclass(frozen=True)
class Instance:
    """Scores in millionths, and tokens, in the order of the items."""

    scores: list[int]
    tokens: list[int]


Pair = tuple[float, int]

#: Score and tokens of an item from tokens drawn between 1 and the highest, and a source of further draws.
_BY_TOKENS: dict[str, Callable[[int, random.Random], Pair]] = {
    "weakly correlated": lambda t, draw: (MILLION * (0.9 * (t / _MAX_TOKENS) + draw.uniform(-0.09, 0.09)), t),
    "strongly correlated": lambda t, _: (1_400 * t + 100_000, t),
    "strongly correlated, rounded": lambda t, _: (MILLION * (0.9 * (t / _MAX_TOKENS) + 0.1), t),
    "inverse strongly correlated": lambda t, _: (1_500 * t, t + _MAX_TOKENS // 10),
    "inverse strongly, rounded": lambda t, _: (MILLION * t / (_MAX_TOKENS + 7), t + _MAX_TOKENS // 10),
    "almost strongly correlated": lambda t, draw: (1_400 * t + 100_000 + draw.randint(-500, 500), t),
    "subset sum": lambda t, _: (1_500 * t, t),
    "subset sum, rounded": lambda t, _: (MILLION * (0.99 * (t / _MAX_TOKENS)), t),
    "circle": lambda t, _: (MILLION * (2 / 3 * (4 - (t / _MAX_TOKENS - 2) ** 2) ** 0.5 / 1.2), t),
    "profit ceiling": lambda t, _: (1_500 * 3 * -(-t // 3), t),
    "profit ceiling, rounded": lambda t, _: (MILLION * 3 * -(-t // 3) / (_MAX_TOKENS + 11), t),
    "multiple strongly correlated": lambda t, _: (1_000 * t + (190_000 if t % 6 == 0 else 130_000), t),
}


def _even_weights(draw: random.Random) -> Pair:
    tokens = 2 * draw.randint(1, _MAX_TOKENS // 2)
    return 1_400 * tokens + 100_000, tokens


def _few_types(draw: random.Random) -> Pair:
    tokens = 100 * draw.randint(1, 4)
    return 1_000 * tokens + 50_000 * draw.randint(0, 2), tokens


#: Items of the classes with their own weights.
_BY_DRAWS: dict[str, Callable[[random.Random], Pair]] = {
    "uncorrelated": lambda draw: (draw.randint(1, MILLION), draw.randint(1, _MAX_TOKENS)),
    "even weights": _even_weights,
    "similar weights": lambda draw: (draw.randint(1, MILLION), draw.randint(_MAX_TOKENS, _MAX_TOKENS * 11 // 10)),
    "few types": _few_types,
    "realistic": lambda draw: (
        MILLION * draw.betavariate(6, 5),
        min(max(5, int(draw.lognormvariate(5.3, 0.8))), 8_000),
    ),
}
KNAPSACK_CLASS_NAMES = [*_BY_TOKENS, *_BY_DRAWS, "spanner"]


def make(name: str, items: int, seed: int) -> Instance:
    """Return an instance of the class; equal arguments give equal instances."""
    draw = random.Random(f"{name} {items} {seed}")
    if name in _BY_TOKENS:
        pairs = [_BY_TOKENS[name](draw.randint(1, _MAX_TOKENS), draw) for _ in range(items)]
    elif name in _BY_DRAWS:
        pairs = [_BY_DRAWS[name](draw) for _ in range(items)]
    else:  # a spanner: the items are multiples of two that are drawn first
        kinds = [(draw.randint(40_000, 90_000), draw.randint(20, 60)) for _ in range(2)]
        drawn = ((draw.choice(kinds), draw.randint(1, 10)) for _ in range(items))
        pairs = [(score * times, tokens * times) for (score, tokens), times in drawn]
    return Instance([min(max(round(score), 1), MILLION) for score, _ in pairs], [tokens for _, tokens in pairs])
