"""The probability that nothing stored answers a query: a learned judgement (ADR-0155).

`python -m benchmarks.learn_no_answer` learns the weights from four corpora of notes in which 11 % of the questions have
no answer, so the probabilities suit that share.
"""

from collections.abc import Mapping
from math import exp
from types import MappingProxyType

#: ADR-0155. The least probability of a warning.
WARNING_MIN = 0.70

INTERCEPT = 0.082
WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "answer_similarity": -7.493,
        "attribute_similarity": 3.548,
        "attribute_words": -0.843,
        "is_composite": -3.651,
        "other_language": -1.920,
    }
)


def no_answer_probability(features: Mapping[str, float]) -> float:
    """Return the probability, 0..1."""
    log_odds = INTERCEPT + sum(weight * features[name] for name, weight in WEIGHTS.items())
    return 1.0 / (1.0 + exp(-log_odds))
