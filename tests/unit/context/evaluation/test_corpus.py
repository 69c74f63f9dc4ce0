"""Corpora: reading, writing, and every error reported with line and field."""

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context.services.evaluation.corpus import (
    Corpus,
    CorpusError,
    CorpusMemory,
    CorpusQuestion,
    read_corpus,
    write_corpus,
)
from memories.services.store.content import content_hash
from memories.services.store.drafts import new_memory_problems

PROJECT = Path(__file__).resolve().parents[4]
MEMORY = {"id": "m1", "created_at": "2026-01-12T09:00:00Z", "content": "Priya lives in Leeds."}
LATER = {"id": "m2", "created_at": "2026-06-03T17:20:00+01:00", "content": "Priya has moved to Bristol."}
QUESTION = {"id": "q1", "text": "Where does Priya live?", "evidence": ["m2"], "stale": ["m1"]}
WITHOUT = object()


def folder_of(place: Path, memories: Any, questions: Any) -> Path:
    """A corpus in files; rows are written as JSON, text as it is."""
    for name, rows in (("memories.jsonl", memories), ("questions.jsonl", questions)):
        text = rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows)
        (place / name).write_text(text, encoding="utf-8")
    return place


def refusal(place: Path, memories: Any = (MEMORY, LATER), questions: Any = (QUESTION,)) -> CorpusError:
    with pytest.raises(CorpusError) as caught:
        read_corpus(folder_of(place, memories, questions))
    return caught.value


def with_field(row: dict[str, Any], field: str, value: Any) -> dict[str, Any]:
    return {key: entry for key, entry in {**row, field: value}.items() if entry is not WITHOUT}


def test_the_example_of_the_documentation_is_a_corpus(tmp_path: Path) -> None:
    text = (PROJECT / "docs" / "corpus.md").read_text(encoding="utf-8")
    memories, questions, *_ = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    corpus = read_corpus(folder_of(tmp_path, memories, questions))
    assert [memory.id for memory in corpus.memories] == ["m1", "m2", "m3"]
    assert corpus.questions[0] == CorpusQuestion(
        id="q1",
        text="Where does Priya live?",
        evidence=frozenset({"m2"}),
        stale=frozenset({"m1"}),
        answer="Bristol",
        category="now",
        asked_at=datetime(2026, 6, 3, 16, 20, tzinfo=UTC),
    )
    assert corpus.questions[2].asked_at == datetime(2026, 7, 1, 12, tzinfo=UTC)


def test_every_field_and_code_of_the_corpus_is_documented() -> None:
    text = (PROJECT / "docs" / "corpus.md").read_text(encoding="utf-8")
    fields = {*CorpusMemory.__dataclass_fields__, *CorpusQuestion.__dataclass_fields__}
    sources = "".join(path.read_text() for path in (PROJECT / "context/services/evaluation/corpus").glob("*.py"))
    codes = set(
        re.findall(
            r'(?:FieldProblem\([^,]+, |(?:CorpusProblem|CorpusError|ContentError)\(|yield )"([a-z_0-9]+)"', sources
        )
    )
    assert len(codes) >= 15
    assert not {name for name in fields | codes if f"`{name}`" not in text}


def test_defaults_are_those_of_a_memory(tmp_path: Path) -> None:
    corpus = read_corpus(folder_of(tmp_path, [MEMORY, LATER], [QUESTION]))
    assert corpus.name == tmp_path.name
    stored = corpus.memories[0].as_new_memory()
    assert (stored.source_id, stored.kind, stored.confidence, stored.partition.path) == ("m1", "fact", 0.8, "")
    assert (stored.pinned, stored.session, stored.position, stored.expires_at, stored.metadata) == (
        *(False, "", None, None),
        {},
    )
    assert new_memory_problems(stored, now=datetime(2026, 11, 1, tzinfo=UTC)) == []


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("id", WITHOUT, "required"),
        ("id", " ", "blank"),
        ("id", 7, "not_text"),
        ("id", "a\x00b", "null_character"),
        ("id", "x" * 256, "too_long"),
        ("id", "m1", "duplicate_id"),
        ("content", WITHOUT, "required"),
        ("content", None, "required"),
        ("content", " \n ", "blank"),
        ("content", ["a"], "not_text"),
        ("content", "a\x00b", "null_character"),
        ("content", "\ud800", "lone_surrogate"),
        ("content", "x" * 32769, "too_long"),
        ("content", " Priya lives in Leeds. ", "duplicate_content"),
        ("created_at", WITHOUT, "required"),
        ("created_at", "yesterday", "not_a_time"),
        ("created_at", 1767225600, "not_a_time"),
        ("created_at", "2026-02-30T10:00:00Z", "not_a_time"),
        ("created_at", "2026-01-12", "no_offset"),
        ("created_at", "2026-01-12T09:00:00", "no_offset"),
        ("created_at", "0001-01-01T00:00:00+14:00", "out_of_range"),
        ("expires_at", "2026-06-03T16:20:00Z", "before_creation"),
        ("expires_at", "soon", "not_a_time"),
        ("partition", "team", "bad_segment"),
        ("partition", 5, "bad_segment"),
        ("kind", "Fact", "bad_kind"),
        ("session", "x" * 256, "too_long"),
        ("position", -1, "out_of_range"),
        ("position", "1", "not_an_integer"),
        ("confidence", 1.5, "out_of_range"),
        ("confidence", "high", "not_a_number"),
        ("pinned", "yes", "not_a_boolean"),
        ("metadata", [], "not_an_object"),
        ("metadata", {"a": "x" * 8192}, "too_long"),
        ("text", "Priya", "unknown_field"),
        ("user_id", "priya", "unknown_field"),
    ],
)
def test_a_bad_memory_is_reported_with_line_and_field(tmp_path: Path, field: str, value: Any, code: str) -> None:
    error = refusal(tmp_path, memories=[MEMORY, with_field(LATER, field, value)])
    assert (error.code, error.problems[0].file, error.problems[0].line, error.problems[0].field) == (
        code,
        "memories.jsonl",
        2,
        field,
    )
    assert len(error.problems) == 1


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("id", WITHOUT, "required"),
        ("id", "q1", "duplicate_id"),
        ("text", WITHOUT, "required"),
        ("text", "", "blank"),
        ("text", "a\x00b", "null_character"),
        ("evidence", WITHOUT, "required"),
        ("evidence", [], "no_evidence"),
        ("evidence", "m2", "not_a_list"),
        ("evidence", [2], "not_text"),
        ("evidence", ["m3"], "unknown_memory"),
        ("evidence", ["m2", "M1"], "unknown_memory"),
        ("stale", ["m9"], "unknown_memory"),
        ("stale", ["m2"], "also_evidence"),
        ("asked_at", "2026-06-03T16:19:59Z", "not_yet_known"),
        ("asked_at", "2026-07-01T12:00:00", "no_offset"),
        ("asked_at", "noon", "not_a_time"),
        ("partition", "user=priya", "out_of_reach"),
        ("partition", "user", "bad_segment"),
        ("category", "x" * 256, "too_long"),
        ("category", 1, "not_text"),
        ("answer", True, "not_text"),
        ("answer", "a\x00b", "null_character"),
        ("question", "Where?", "unknown_field"),
    ],
)
def test_a_bad_question_is_reported_with_line_and_field(tmp_path: Path, field: str, value: Any, code: str) -> None:
    second = {"id": "q2", "text": "Where is Priya's home?", "evidence": ["m2"]}
    error = refusal(tmp_path, questions=[QUESTION, with_field(second, field, value)])
    assert (error.code, error.problems[0].file, error.problems[0].line) == (code, "questions.jsonl", 2)
    # A conflict of two fields is reported for the one that names the memory.
    named = "evidence" if code in {"not_yet_known", "out_of_reach"} else field
    assert {problem.field for problem in error.problems} == {named}


def test_evidence_that_has_expired_is_reported(tmp_path: Path) -> None:
    gone = with_field(LATER, "expires_at", "2026-06-10T00:00:00Z")
    asked = [with_field(QUESTION, "asked_at", f"2026-06-{day}T23:59:59Z") for day in ("09", "10")]
    assert read_corpus(folder_of(tmp_path, [MEMORY, gone], asked[:1])).questions
    error = refusal(tmp_path, [MEMORY, gone], asked[1:])
    assert [(problem.code, problem.line, problem.field) for problem in error.problems] == [("expired", 1, "evidence")]


@pytest.mark.parametrize(
    "line",
    [
        '{"id": "m3"',
        "[]",
        '"m3"',
        "1",
        '{"id": "m3", "id": "m4", "content": "x", "created_at": "2026-01-01T00:00:00Z"}',
        '{"id": "m3", "content": "x", "created_at": "2026-01-01T00:00:00Z", "confidence": NaN}',
        "[" * 100_000,
    ],
)
def test_a_line_that_is_no_object_is_reported(tmp_path: Path, line: str) -> None:
    error = refusal(tmp_path, memories=f"{json.dumps(MEMORY)}\n\n{line}\n{json.dumps(LATER)}\n")
    assert (error.code, error.problems[0].line, error.problems[0].field) == ("malformed_json", 3, "")


def test_all_problems_are_reported_at_once_and_in_order(tmp_path: Path) -> None:
    rows = [with_field(MEMORY, "content", ""), {**MEMORY, "kind": "A", "colour": "red"}, LATER, {**LATER, "pinned": 1}]
    error = refusal(tmp_path, memories=rows)
    assert [(problem.line, problem.field, problem.code) for problem in error.problems] == [
        (1, "content", "blank"),
        (2, "colour", "unknown_field"),
        (2, "kind", "bad_kind"),
        (4, "pinned", "not_a_boolean"),
    ]
    assert str(error) == "memories.jsonl, line 1, content: The text is empty or contains only whitespace. (and 3 more)"


@pytest.mark.parametrize(
    ("memories", "questions", "code", "file"),
    [
        ("", [QUESTION], "no_memories", "memories.jsonl"),
        ("\n  \n", [QUESTION], "no_memories", "memories.jsonl"),
        ([MEMORY, LATER], "", "no_questions", "questions.jsonl"),
    ],
)
def test_an_empty_corpus_is_refused(tmp_path: Path, memories: Any, questions: Any, code: str, file: str) -> None:
    error = refusal(tmp_path, memories, questions)
    assert (error.code, error.problems[0].file, error.problems[0].line) == (code, file, None)


def test_problems_never_quote_what_was_written(tmp_path: Path) -> None:
    rows = [with_field(MEMORY, "content", "secret\x00"), with_field(LATER, "created_at", "secret"), '{"secret']
    text = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
    assert not [problem for problem in refusal(tmp_path, memories=text).problems if "secret" in str(problem)]


def test_paths_without_a_corpus_are_reported(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    for path in (tmp_path, tmp_path / "none", tmp_path / "notes.txt"):
        with pytest.raises(CorpusError) as caught:
            read_corpus(path)
        assert caught.value.code == "not_a_corpus"
    folder_of(tmp_path, [MEMORY], [QUESTION])
    (tmp_path / "questions.jsonl").unlink()
    with pytest.raises(CorpusError) as caught:
        read_corpus(tmp_path)
    assert (caught.value.code, caught.value.problems[0].file) == ("unreadable", "questions.jsonl")
    (tmp_path / "questions.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(CorpusError) as caught:
        read_corpus(tmp_path)
    assert (caught.value.code, caught.value.problems[0].file) == ("not_utf8", "questions.jsonl")


TIMES = st.integers(0, 1_900_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
TEXTS = st.text(st.characters(exclude_characters="\x00", codec="utf-8"), min_size=1, max_size=30)


@settings(max_examples=30, deadline=None)
@given(
    rows=st.lists(
        st.builds(
            CorpusMemory,
            id=st.uuids().map(str),
            content=TEXTS.map(lambda text: f"x{text}".strip()),
            created_at=TIMES,
            partition=st.sampled_from(["", "user=a", "user=a%2Fb/topic=日本"]),
            kind=st.sampled_from(["fact", "plan"]),
            session=st.sampled_from(["", "s1"]),
            position=st.none() | st.integers(0, 9),
            confidence=st.floats(0, 1),
            pinned=st.booleans(),
            expires_at=st.none() | st.just(datetime(2040, 1, 1, tzinfo=UTC)),
            metadata=st.dictionaries(TEXTS, st.integers(-(2**63), 2**63 - 1) | TEXTS, max_size=2),
        ),
        min_size=1,
        max_size=4,
        unique_by=(lambda row: row.id, lambda row: content_hash(row.content)),
    )
)
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, rows: list[CorpusMemory]) -> None:
    folder = tmp_path_factory.mktemp("corpus")
    asked = datetime(2031, 5, 6, 7, 8, 9, tzinfo=timezone(timedelta(hours=2))).astimezone(UTC)
    question = CorpusQuestion("q", "What\u2028now?", frozenset({rows[0].id}), asked_at=asked, answer="12")
    corpus = Corpus(folder.name, tuple(rows), (question,))
    write_corpus(corpus, folder)
    assert read_corpus(folder) == corpus


TURNS = [
    {"speaker": "Ann", "dia_id": "D1:1", "text": "I moved to Oslo."},
    {"speaker": "Bo", "dia_id": "D1:2", "text": "Nice!"},
    {"speaker": "Bo", "dia_id": "D1:3", "text": "Nice!"},
]
ASKED = [
    {"question": "Where does Ann live?", "answer": "Oslo", "evidence": ["D1:1"], "category": 4},
    {"question": "How old is Ann?", "answer": 33, "evidence": ["D1:3; D1:1"], "category": 2},
    {"question": "Never said?", "adversarial_answer": "no", "evidence": ["D1:1"], "category": 5},
    {"question": "A slip?", "answer": "x", "evidence": ["D", "D7:7"], "category": 1},
    {"question": "Nothing named?", "answer": "x", "evidence": [], "category": 3},
]
CONVERSATION = {
    "session_1": TURNS,
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_1_summary": "An invented summary.",
    "session_1_observation": {"Ann": [["An invented observation.", "D1:1"]]},
    "events_session_1": {"Ann": ["An invented event."]},
    "qa": ASKED,
}


def test_a_conversation_is_a_corpus(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(CONVERSATION))
    corpus = read_corpus(path)
    said_at = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert corpus.name == "talk"
    assert [memory.content for memory in corpus.memories] == ["Ann: I moved to Oslo.", "Bo: Nice!"]
    assert corpus.memories[0] == CorpusMemory(
        id="talk/D1:1",
        content="Ann: I moved to Oslo.",
        created_at=said_at,
        partition="conversation=talk",
        kind="episode",
        session="session_1",
        position=1,
        metadata={"dia_id": "D1:1", "session": 1, "speaker": "Ann"},
    )
    assert corpus.questions == (
        CorpusQuestion(
            "talk/q1",
            "Where does Ann live?",
            frozenset({"talk/D1:1"}),
            said_at,
            partition="conversation=talk",
            category="single-hop",
            answer="Oslo",
        ),
        CorpusQuestion(
            "talk/q2",
            "How old is Ann?",
            frozenset({"talk/D1:1", "talk/D1:2"}),
            said_at,
            partition="conversation=talk",
            category="temporal",
            answer="33",
        ),
    )


def test_conversations_of_a_folder_keep_their_ids_apart(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / f"{name}.json").write_text(json.dumps(CONVERSATION))
    corpus = read_corpus(tmp_path)
    assert [memory.id for memory in corpus.memories] == ["a/D1:1", "a/D1:2", "b/D1:1", "b/D1:2"]
    assert len(corpus.questions) == 4
    write_corpus(corpus, tmp_path / "own")
    assert read_corpus(tmp_path / "own").questions == corpus.questions


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "malformed_json"),
        ("[" * 100_000, "malformed_json"),
        ("[]", "not_a_conversation"),
        (json.dumps({**CONVERSATION, "session_1": []}), "not_a_conversation"),
        (json.dumps({**CONVERSATION, "session_1_date_time": "8 May"}), "not_a_conversation"),
        (json.dumps({**CONVERSATION, "qa": {}}), "not_a_conversation"),
        (json.dumps({**CONVERSATION, "qa": [{"question": " "}]}), "not_a_conversation"),
        (json.dumps({**CONVERSATION, "qa": [{"question": "Who?", "category": "4"}]}), "not_a_conversation"),
        (json.dumps({**CONVERSATION, "qa": []}), "no_questions"),
        (json.dumps({**CONVERSATION, "qa": ASKED[2:]}), "no_questions"),
    ],
)
def test_text_that_is_no_conversation_is_reported(tmp_path: Path, text: str, code: str) -> None:
    path = tmp_path / "talk.json"
    path.write_text(text)
    with pytest.raises(CorpusError) as caught:
        read_corpus(path)
    assert caught.value.code == code
    assert caught.value.problems[0].file == ("" if code == "no_questions" else "talk.json")


@pytest.mark.parametrize(
    ("folder", "memories", "questions", "each"),
    [
        pytest.param(folder, memories, questions, each, id=folder.name)
        for name, memories, questions, each in (
            ("corpora", 400, 150, 10),
            ("learning", 170, 125, 4),
            ("held_out", 160, 110, 3),
        )
        for folder in sorted((PROJECT / "benchmarks" / name).iterdir())
    ],
)
def test_corpora_of_the_benchmarks_have_every_category(folder: Path, memories: int, questions: int, each: int) -> None:
    corpus = read_corpus(folder)
    assert len(corpus.memories) >= memories
    assert len(corpus.questions) >= questions
    counts = Counter(question.category for question in corpus.questions)
    assert set(counts) == {
        *("stable", "no_shared_word", "several", "now", "then"),
        *("similar_subjects", "negated", "other_language"),
    }
    assert min(counts.values()) >= each
    unanswerable = [json.loads(line) for line in (folder / "unanswerable.jsonl").read_text("utf-8").splitlines()]
    assert len(unanswerable) >= 15
    assert not {row["text"] for row in unanswerable} & {question.text for question in corpus.questions}
