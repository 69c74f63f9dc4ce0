"""The demo tenant's files: complete, valid, in order, and fresh whenever they are read."""

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from context.services.demo import Assigned, ProfileSaved, TakenBack, Voted, read_questions, read_votes
from memories.services.content import content_hash
from memories.services.demo import (
    DEMO_FOLDER,
    Archived,
    Corrected,
    DemoStory,
    Linked,
    MemoWritten,
    Named,
    Stored,
    Summarised,
    expand_dates,
    parse_story,
    questions_for,
    read_story,
)
from memories.services.tokens import token_counts

NOW = datetime(2026, 11, 18, 14, 30, tzinfo=UTC)  # a Wednesday
TENANT = json.dumps(
    {"name": "T", "days_ago": 9, "memos": [], "links": [], "summaries": [], "snapshots": [], "questions": []}
)


@pytest.fixture(scope="module")
def story() -> DemoStory:
    return read_story(NOW)


def row(**changes: object) -> dict[str, object]:
    return {"ref": "a", "partition": "agent=x", "kind": "fact", "content": "Text", "days_ago": 5.0, **changes}


def parse(*rows: dict[str, object], **tenant: object) -> DemoStory:
    text = json.dumps({**json.loads(TENANT), **tenant})
    return parse_story(text, "\n".join(json.dumps(each) for each in rows), now=NOW)


def test_demo_has_about_150_memories_of_all_kinds(story: DemoStory) -> None:
    kinds = Counter(memory.kind for memory in story.memories)
    assert 145 <= len(story.memories) <= 165
    assert set(kinds) == {"fact", "preference", "procedure", "episode", "synthesis"}
    assert min(kinds.values()) >= 5


def test_demo_has_four_agents_with_subtopics(story: DemoStory) -> None:
    agents = Counter(memory.partition.segments[0] for memory in story.memories)
    assert {key for key, _ in agents} == {"agent"}
    assert len(agents) == 4
    assert min(agents.values()) >= 25
    assert max(memory.partition.depth for memory in story.memories) == 3


def test_demo_spans_about_six_months(story: DemoStory) -> None:
    moments = [memory.created_at for memory in story.memories]
    assert timedelta(days=170) < NOW - min(moments) < timedelta(days=190)
    assert NOW - max(moments) < timedelta(days=7)
    assert story.began_at < min(moments)


def test_nothing_happened_in_the_future(story: DemoStory) -> None:
    assert all(story.began_at < step.at <= NOW for step in story.steps)
    assert all(story.began_at < step.at <= NOW for step in read_votes(NOW))
    assert all(story.began_at < question.at <= NOW for question in read_questions(NOW))
    assert [step.at for step in story.steps] == sorted(step.at for step in story.steps)


def test_demo_has_history_archive_expiry_pins_links_and_memos(story: DemoStory) -> None:
    expiring = [memory.expires_at for memory in story.memories if memory.expires_at]
    assert len({step.ref for step in story.steps if isinstance(step, Corrected)}) >= 10
    assert sum(isinstance(step, Archived) for step in story.steps) >= 3
    assert sum(moment > NOW for moment in expiring) >= 4
    assert sum(moment <= NOW for moment in expiring) >= 1
    assert 8 <= sum(memory.pinned for memory in story.memories) <= 20
    assert sum(isinstance(step, Linked) for step in story.steps) >= 25
    assert sum(isinstance(step, MemoWritten) for step in story.steps) >= 2
    assert sum(isinstance(step, Named) for step in story.steps) == 2


def test_partitions_that_are_summarised_exist_and_have_both_styles(story: DemoStory) -> None:
    summaries = [step for step in story.steps if isinstance(step, Summarised)]
    styles = {step.partition.path: set[str]() for step in summaries}
    for step in summaries:
        styles[step.partition.path].add(step.style)
        assert len(token_counts(step.content)) == 2
    assert 4 <= len(styles) <= 6
    assert all(each == {"compact", "detailed"} for each in styles.values())
    places = {place.path for memory in story.memories for place in (*memory.partition.ancestors(), memory.partition)}
    assert styles.keys() <= places
    assert len(summaries) > 2 * len(styles)


def test_counters_fit_the_age_of_their_memory(story: DemoStory) -> None:
    for memory in story.memories:
        assert 0 <= memory.confidence <= 1
        assert 0 <= memory.usefulness <= 1
        assert (memory.last_retrieved_at is None) == (memory.retrieval_count == 0), memory.ref
        if memory.last_retrieved_at:
            assert memory.created_at < memory.last_retrieved_at <= NOW, memory.ref
    assert len({memory.usefulness for memory in story.memories}) >= 12
    assert len({memory.confidence for memory in story.memories}) >= 12
    assert len({memory.retrieval_count for memory in story.memories}) >= 25


def test_sessions_count_their_positions_from_zero_in_order(story: DemoStory) -> None:
    sessions: dict[str, list[int | None]] = {}
    for memory in story.memories:
        assert bool(memory.session) == (memory.position is not None), memory.ref
        if memory.session:
            sessions.setdefault(memory.session, []).append(memory.position)
    assert len(sessions) >= 3
    assert all(positions == list(range(len(positions))) for positions in sessions.values())


def test_live_texts_are_unique_within_their_partition(story: DemoStory) -> None:
    texts = {memory.ref: memory.content for memory in story.memories}
    for step in story.steps:
        match step:
            case Corrected():
                assert content_hash(step.content) != content_hash(texts[step.ref]), step.ref
                texts[step.ref] = step.content
            case Archived():
                del texts[step.ref]
            case _:
                pass
    partitions = {memory.ref: memory.partition.path for memory in story.memories}
    places = Counter((partitions[ref], content_hash(text)) for ref, text in texts.items())
    assert max(places.values()) == 1


def test_texts_hold_what_makes_queries_interesting(story: DemoStory) -> None:
    texts = [memory.content for memory in story.memories]
    everything = "\n".join(texts)
    for wanted in ("ERR_4012", "€", "```python", "```\ncp .env.example", "バッテリー", "Leihrad", "\n1. "):
        assert wanted in everything, wanted
    assert min(map(len, texts)) < 50
    assert max(map(len, texts)) > 1_200


def test_no_placeholder_is_left_in_any_text(story: DemoStory) -> None:
    texts = [step.content for step in story.steps if isinstance(step, Corrected | MemoWritten | Summarised)]
    texts += [memory.content for memory in story.memories]
    assert not [text for text in texts if "{{" in text]


@pytest.mark.parametrize("days", [0, 1, 2, 3, 4, 5, 6, 40, 102])
def test_demo_reads_on_every_day_of_the_week(days: int) -> None:
    assert len(read_story(NOW + timedelta(days=days)).memories) == len(read_story(NOW).memories)


def test_six_questions_are_suggested_in_partitions_that_exist(story: DemoStory) -> None:
    paths = {memory.partition.path for memory in story.memories}
    assert len(story.questions) == 6
    for question in story.questions:
        assert question.query
        assert any(path == question.partition or path.startswith(f"{question.partition}/") for path in paths)


def test_what_was_asked_last_is_what_is_suggested(story: DemoStory) -> None:
    asked = [(question.query, question.partition) for question in reversed(read_questions(NOW))]
    assert set(asked[:6]) == {(question.query, question.partition) for question in story.questions}


def test_questions_are_suggested_for_the_demo_tenant_alone(story: DemoStory) -> None:
    assert questions_for(story.tenant_name) == story.questions
    assert questions_for("Acme") == ()


def test_files_hold_no_absolute_dates() -> None:
    for name in ("memories.jsonl", "tenant.json"):
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


def test_versions_are_told_as_corrections_in_order() -> None:
    story = parse(row(versions=[{"content": "One", "until_days_ago": 4}, {"content": "Two", "until_days_ago": 3}]))
    assert [step.content for step in story.steps if isinstance(step, Corrected)] == ["Two", "Text"]
    assert story.memories[0].content == "One"
    assert [(NOW - step.at).days for step in story.steps] == [5, 4, 3]


def test_steps_of_all_kinds_are_sorted_by_their_moment() -> None:
    story = parse(
        row(archived_days_ago=1),
        row(ref="b", days_ago=4.0, content="Other"),
        memos=[{"days_ago": 3, "content": "Memo of {{iso 0}}"}],
        links=[{"source": "a", "kind": "about", "target": "b", "days_ago": 2}],
    )
    assert [type(step) for step in story.steps] == [Stored, Stored, MemoWritten, Linked, Archived]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"colour": "red"}, "line 1: unknown colour"),
        ({"content": "  "}, "line 1: .*white space"),
        ({"partition": "agent"}, "line 1: .*key=value"),
        ({"metadata": []}, "line 1: .*object"),
        ({"days_ago": -1}, "line 1: .*lie ahead"),
        ({"archived_days_ago": 6}, "line 1: .*not in order"),
        ({"versions": [{"content": "Old", "until_days_ago": 5.0}]}, "line 1: .*not in order"),
        ({"versions": [{"content": "Old"}]}, "line 1: .*until_days_ago"),
    ],
)
def test_wrong_line_is_named(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(row(**changes))


def test_missing_field_is_named() -> None:
    with pytest.raises(ValueError, match="line 1: missing content, kind"):
        parse({"ref": "a", "partition": "", "days_ago": 1})


def test_repeated_ref_is_refused() -> None:
    with pytest.raises(ValueError, match="the ref a appears twice"):
        parse(row(), row())


def test_link_to_nothing_live_is_refused() -> None:
    link = {"source": "a", "kind": "about", "target": "b", "days_ago": 4.5}
    with pytest.raises(ValueError, match="names b, which is not live"):
        parse(row(), row(ref="b", days_ago=4.0, content="Later"), links=[link])


def test_votes_and_profiles_are_told_in_order_about_memories_that_were_live(story: DemoStory) -> None:
    steps = read_votes(NOW)
    assert [step.at for step in steps] == sorted(step.at for step in steps)
    stored = {memory.ref: step.at for step in story.steps if isinstance(step, Stored) for memory in [step.memory]}
    archived = {step.ref for step in story.steps if isinstance(step, Archived)}
    saved: set[str] = set()
    for step in steps:
        match step:
            case ProfileSaved():
                saved.add(step.name)
            case Assigned():
                assert step.name in saved
            case Voted():
                assert stored[step.ref] < step.at
                assert step.ref not in archived
            case TakenBack():
                assert step.vote.at < step.at
    assert saved == {"workshop", "coder", "assistant"}


def test_usefulness_of_a_memory_that_was_voted_on_comes_from_its_votes(story: DemoStory) -> None:
    voted = {step.ref for step in read_votes(NOW) if isinstance(step, Voted)}
    assert {memory.usefulness for memory in story.memories if memory.ref in voted} == {0.5}
    assert len(voted) >= 5
