"""Choosing which scored memories fit a token budget: greedily (ADR-0041), elastically (0042), optimally (0043)."""

from context.services.packer.elastic import ElasticPacker, common_length
from context.services.packer.greedy import MAX_CONSECUTIVE_SKIPS, GreedyKnapsackPacker
from context.services.packer.optimal import OptimalPacker
from context.services.packer.results import AFTER_SKIP_LIMIT, OVER_BUDGET, OmittedMemory, PackedMemories, TokenCounter

GREEDY, ELASTIC, OPTIMAL = PACKERS = ("greedy", "elastic", "optimal")

__all__ = [
    "AFTER_SKIP_LIMIT",
    "ELASTIC",
    "GREEDY",
    "MAX_CONSECUTIVE_SKIPS",
    "OPTIMAL",
    "OVER_BUDGET",
    "PACKERS",
    "ElasticPacker",
    "GreedyKnapsackPacker",
    "OmittedMemory",
    "OptimalPacker",
    "PackedMemories",
    "TokenCounter",
    "common_length",
]
