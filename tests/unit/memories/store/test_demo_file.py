"""The demo tenant's files: complete, valid, ordered, and recent whenever they are read."""

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memories.services.store.content import check_content, check_metadata, content_hash
from memories.services.store.demo import DEMO_FOLDER, demo_questions_for_tenant, expand_dates, read_demo
from memories.services.tokens import token_counts

NOW = datetime(2026, 11, 18, 14, 30, tzinfo=UTC)  # a Wednesday
TENANT = read_demo("tenant", NOW)
HISTORY = read_demo("history", NOW)
STEERING = read_demo("steering", NOW)
USAGE = read_demo("usage", NOW)


def of(steps: list[dict[str, Any]], *verbs: str) -> list[dict[str, Any]]:
    return [step for step in steps if step["do"] in verbs]


MEMORIES = of(HISTORY, "store_memory")
COUNTERS = {memory["ref"]: memory.get("counters", {}) for memory in MEMORIES}


def test_demo_has_about_150_memories_of_all_kinds() -> None:
    kinds = Counter(memory["kind"] for memory in MEMORIES)
    assert 145 <= len(MEMORIES) <= 165
    assert set(kinds) == {"fact", "preference", "procedure", "episode", "synthesis"}
    assert min(kinds.values()) >= 5


def test_demo_has_four_agents_with_subtopics() -> None:
    agents = Counter(memory["partition"].segments[0] for memory in MEMORIES)
    assert {key for key, _ in agents} == {"agent"}
    assert len(agents) == 4
    assert min(agents.values()) >= 25
    assert max(memory["partition"].depth for memory in MEMORIES) == 3


def test_demo_spans_about_six_months() -> None:
    moments = [memory["at"] for memory in MEMORIES]
    assert timedelta(days=170) < NOW - min(moments) < timedelta(days=190)
    assert NOW - max(moments) < timedelta(days=7)
    assert TENANT["at"] < min(moments)


@pytest.mark.parametrize("steps", [HISTORY, STEERING, USAGE], ids=["history", "steering", "usage"])
def test_steps_are_in_order_and_none_lies_in_the_future(steps: list[dict[str, Any]]) -> None:
    moments = [step["at"] for step in steps]
    assert all(TENANT["at"] < moment <= NOW for moment in moments)
    assert moments == sorted(moments)


def test_demo_has_history_archive_expiry_pins_links_and_memos() -> None:
    expiring = [memory["expires_at"] for memory in MEMORIES if "expires_at" in memory]
    assert len({step["ref"] for step in of(HISTORY, "update_memory")}) >= 10
    assert len(of(HISTORY, "archive_memory")) >= 3
    assert sum(moment > NOW for moment in expiring) >= 4
    assert sum(moment <= NOW for moment in expiring) >= 1
    assert 8 <= sum(memory.get("pinned", False) for memory in MEMORIES) <= 20
    assert len(of(HISTORY, "link_memories")) >= 25
    assert len(of(HISTORY, "set_memo")) >= 2
    assert len(of(HISTORY, "create_snapshot")) == 2


def test_partitions_that_are_summarised_exist_and_have_both_styles() -> None:
    summaries = of(HISTORY, "save_summary")
    styles = {step["partition"].path: set[str]() for step in summaries}
    for step in summaries:
        styles[step["partition"].path].add(step["style"])
        assert len(token_counts(step["content"])) == 2
    assert 4 <= len(styles) <= 6
    assert all(each == {"compact", "detailed"} for each in styles.values())
    partitions = [memory["partition"] for memory in MEMORIES]
    assert styles.keys() <= {each.path for partition in partitions for each in (*partition.ancestors(), partition)}
    assert len(summaries) > 2 * len(styles)


def test_counters_fit_the_age_of_their_memory() -> None:
    for memory in MEMORIES:
        counters = COUNTERS[memory["ref"]]
        assert 0 <= memory.get("confidence", 0.8) <= 1
        assert 0 <= counters.get("usefulness_score", 0.5) <= 1
        assert ("last_retrieved_at" in counters) == (counters.get("retrieval_count", 0) > 0), memory["ref"]
        if "last_retrieved_at" in counters:
            assert memory["at"] < counters["last_retrieved_at"] <= NOW, memory["ref"]
    assert len({counters.get("usefulness_score") for counters in COUNTERS.values()}) >= 12
    assert len({memory.get("confidence") for memory in MEMORIES}) >= 12
    assert len({counters.get("retrieval_count") for counters in COUNTERS.values()}) >= 25


def test_sessions_count_their_positions_from_zero_in_order() -> None:
    sessions: dict[str, list[int | None]] = {}
    for memory in MEMORIES:
        assert ("session" in memory) == ("position" in memory), memory["ref"]
        if "session" in memory:
            sessions.setdefault(memory["session"], []).append(memory["position"])
    assert len(sessions) >= 3
    assert all(positions == list(range(len(positions))) for positions in sessions.values())


def test_refs_are_unique_and_steps_name_memories_that_are_live_then() -> None:
    live: set[str] = set()
    for step in HISTORY:
        match step["do"]:
            case "store_memory":
                assert step["ref"] not in live
                live.add(step["ref"])
            case "link_memories":
                assert {step["source"], step["target"]} <= live
            case "update_memory":
                assert step["ref"] in live
            case "archive_memory":
                live.remove(step["ref"])
    assert len(COUNTERS) == len(MEMORIES)


def test_texts_are_valid_and_live_ones_unique_within_their_partition() -> None:
    texts: dict[str, str] = {}
    for step in of(HISTORY, "store_memory", "update_memory", "archive_memory"):
        if step["do"] == "archive_memory":
            del texts[step["ref"]]
            continue
        check_content(step["content"])
        check_metadata(step.get("metadata", {}))
        if step["do"] == "update_memory":
            assert content_hash(step["content"]) != content_hash(texts[step["ref"]]), step["ref"]
        texts[step["ref"]] = step["content"]
    partitions = {memory["ref"]: memory["partition"].path for memory in MEMORIES}
    places = Counter((partitions[ref], content_hash(text)) for ref, text in texts.items())
    assert max(places.values()) == 1


def test_texts_contain_what_makes_queries_interesting() -> None:
    texts = [memory["content"] for memory in MEMORIES]
    everything = "\n".join(texts)
    for wanted in ("ERR_4012", "€", "```python", "```\ncp .env.example", "バッテリー", "Leihrad", "\n1. "):
        assert wanted in everything, wanted
    assert min(map(len, texts)) < 50
    assert max(map(len, texts)) > 1_200


def test_no_placeholder_is_left_in_any_text() -> None:
    assert not [step for step in HISTORY if "{{" in step.get("content", "")]


@pytest.mark.parametrize("days", [0, 1, 2, 3, 4, 5, 6, 40, 102])
def test_demo_reads_on_every_day_of_the_week(days: int) -> None:
    assert len(read_demo("history", NOW + timedelta(days=days))) == len(HISTORY)


def test_six_questions_are_suggested_in_partitions_that_exist() -> None:
    paths = {memory["partition"].path for memory in MEMORIES}
    questions = demo_questions_for_tenant(TENANT["name"])
    assert len(questions) == 6
    for query, partition in questions:
        assert query
        assert any(path == partition or path.startswith(f"{partition}/") for path in paths)


def test_the_newest_queries_are_suggested() -> None:
    asked = [(step["query"], step["partition"].path) for step in of(USAGE, "assemble_context")]
    assert set(asked[-6:]) == set(demo_questions_for_tenant(TENANT["name"]))


def test_questions_are_suggested_for_the_demo_tenant_alone() -> None:
    assert demo_questions_for_tenant("Acme") == ()


def test_files_contain_no_absolute_dates() -> None:
    for name in ("history.json", "tenant.json"):
        assert not re.search(r"\b20[0-9]{2}\b", (DEMO_FOLDER / name).read_text(encoding="utf-8")), name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{iso 0}}", "2026-11-18"),
        ("by {{en -1}}.", "by 19 November 2026."),
        ("{{short 9}}", "9 November"),
        ("{{month -65}}", "January 2027"),
        ("{{de 8}}", "10.11.2026"),
        ("{{ja 16}}", "2026年11月2日"),
        ("{{iso 3}} {{iso 4}}", "2026-11-13 2026-11-13"),
        ("{{iso -3}} {{iso -4}}", "2026-11-23 2026-11-23"),
        ("{{ cart.total }} and {{name}}", "{{ cart.total }} and {{name}}"),
    ],
)
def test_placeholders_become_working_days(text: str, expected: str) -> None:
    assert expand_dates(text, NOW) == expected


@pytest.mark.parametrize("text", ["{{fr 3}}", "{{en 3.5}}", "{{ en 3 }}"])
def test_malformed_placeholder_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="placeholder"):
        expand_dates(text, NOW)


def test_votes_and_assignments_are_about_what_there_was() -> None:
    stored = {memory["ref"]: memory["at"] for memory in MEMORIES}
    archived = {step["ref"] for step in of(HISTORY, "archive_memory")}
    saved: set[str] = set()
    voted: set[tuple[str, str]] = set()
    for step in STEERING:
        match step["do"]:
            case "save_budget_profile":
                saved.add(step["name"])
            case "assign_budget_profile":
                assert step["profile_name"] in saved
            case "give_feedback":
                assert stored[step["ref"]] < step["at"]
                assert step["ref"] not in archived
                voted.add((step["ref"], step["feedback"]))
            case "withdraw_feedback":
                assert (step["ref"], step["feedback"]) in voted
    assert saved == {"workshop", "coder", "assistant"}


def test_usefulness_of_a_memory_that_was_voted_on_comes_from_its_votes() -> None:
    voted = {step["ref"] for step in of(STEERING, "give_feedback")}
    assert [ref for ref in voted if "usefulness_score" in COUNTERS[ref]] == []
    assert len(voted) >= 5
