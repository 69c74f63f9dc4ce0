"""The shared test vectors of the rules, if present (`SHARED_DIR`, by default `shared` next to the repository)."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from compaction.services.windowing import first_preserved_index
from context.services.diff import diff_anchors
from context.services.ordering import order_items
from context.services.packer import MAX_CONSECUTIVE_SKIPS, ElasticPacker, GreedyKnapsackPacker, OptimalPacker
from context.services.scorer import MemoryScorer, ScoredMemory

SHARED = Path(os.environ.get("SHARED_DIR") or Path(__file__).resolve().parents[5] / "shared")
NOW = datetime(2026, 11, 20, tzinfo=UTC)


def vectors(name):
    path = SHARED / "vectors" / name
    if not path.is_file():
        pytest.skip(f"the shared vectors {name} are not at {path.parent}")
    return json.loads(path.read_text())


class SpelledCount:
    def count_tokens(self, content, model):
        return int(content)


def test_scorer_vectors():
    for case in vectors("scorer.json"):
        given = case["memory"]
        age = given["age_days"]
        memory = {
            "id": "m",
            "content": "",
            "similarity": given["similarity"],
            "created_at": None if age is None else NOW - timedelta(days=age),
            "usefulness_score": given["usefulness"],
            "confidence": given["confidence"],
            "retrieval_count": given["retrieval_count"],
        }
        scored = MemoryScorer(clock=lambda: NOW).score([memory], None)[0]
        assert {name: getattr(scored, name) for name in case["expected"]} == case["expected"], given


def test_greedy_vectors():
    for case in vectors("greedy.json"):
        assert case["max_consecutive_skips"] == MAX_CONSECUTIVE_SKIPS
        rows = [
            ScoredMemory({"id": row["id"], "content": str(row["tokens"])}, row["score"], 0.0, 0.0, 0.0, 0.0, 0.0)
            for row in case["items"]
        ]
        packed = GreedyKnapsackPacker(SpelledCount()).pack(rows, case["token_budget"])
        found = {name: getattr(packed, name) for name in case["expected"] if name != "packed"}
        found["packed"] = [one.memory["id"] for one in packed.memories]
        assert found == case["expected"]
        best = OptimalPacker(SpelledCount()).pack(rows, case["token_budget"])
        assert best.total_score == best.optimal_score == best.upper_bound == case["optimal_total_score"]
        assert packed.total_score <= best.total_score


def test_elastic_vectors():
    for case in vectors("elastic.json"):
        options = {name: case[name] for name in ("target_items", "min_item", "max_item")}
        rows = [
            ScoredMemory({"id": place, "content": "x" * length}, 1 - place / 100, 0.0, 0.0, 0.0, 0.0, 0.0)
            for place, length in enumerate(case["lengths"])
        ]
        packed = ElasticPacker(SpelledCount(), **options, final_pass=False).pack(rows, case["budget"])
        assert packed.allotted == {row["index"]: row["allotted"] for row in case["expected"]}, case
        assert packed.total_tokens == case["used"]


@pytest.mark.parametrize("ordering", ["top_down", "head_tail", "u_curve"])
def test_ordering_vectors(ordering):
    for case in vectors("ordering.json"):
        assert order_items(case["items"], ordering) == case[ordering]


def test_diff_vectors():
    for case in vectors("diff.json"):
        assert diff_anchors(case["prior"], case["now"])._asdict() == case["expected"]


def test_preserve_window_vectors():
    for case in vectors("preserve_window.json"):
        expected = case.pop("expected_first_preserved_index")
        assert first_preserved_index(case.pop("message_tokens"), case.pop("max_context_tokens"), **case) == expected
