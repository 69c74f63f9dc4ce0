"""`manage.py evaluate_compaction labelled-sessions`: the table, the sample and the JSON, and what the rules achieve."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from compaction.evaluation.labelled_sessions import EvaluatedSession, evaluate_labelled_session, total_shares
from compaction.management.commands.evaluate_compaction import LABELLED_SESSIONS_PATH
from compaction.models import Compaction, Message, Session
from compaction.services.evaluation.labels import NEVER_REASONS, LabelledSession
from compaction.services.pipeline.planning import LONGER_FOR_FACTS
from memories.models import Memory
from memories.tenancy.scopes import admin_write_scope

pytestmark = pytest.mark.django_db

FILES = sorted(LABELLED_SESSIONS_PATH.glob("*.json"))
#: The minimum share of the labels of each measure. Nothing was learned from these sessions.
SHARE_MIN = {
    "keys_in_summary": 0.58,
    "keys_in_facts": 0.62,
    "current_in_summary": 0.7,
    "current_in_facts": 0.7,
    "decision_labels": 0.75,
    "constraint_labels": 0.7,
}
#: The maximum number.
COUNT_MAX = {
    "stale_in_summary": 6,
    "stale_in_facts": 8,
    "never_in_summary": 4,
    "false_labels": 3,
    **{f"never_{reason}": 0 for reason in NEVER_REASONS},
    "never_speculation": 4,
    "never_small_talk": 4,
}


def evaluated(file: Path) -> EvaluatedSession:
    session = LabelledSession.of(json.loads(file.read_text(encoding="utf-8")))
    return evaluate_labelled_session(session, is_by_rules=True, now=timezone.now())


def evaluate(*arguments: object) -> str:
    out = StringIO()
    call_command("evaluate_compaction", *map(str, arguments), stdout=out)
    return out.getvalue()


def test_sessions_of_several_genres_and_two_languages_are_included() -> None:
    sessions = [LabelledSession.of(json.loads(file.read_text(encoding="utf-8"))) for file in FILES]
    assert len(sessions) >= 6
    assert len({session.genre for session in sessions}) >= 4
    assert {session.language for session in sessions} == {"en", "de"}
    assert all(len(session.messages) >= 60 and len(session.keys) >= 15 for session in sessions)
    assert sum(len(session.changes) for session in sessions) >= 12
    assert {one.reason for session in sessions for one in session.never} >= {"injection", "quote", "tool"}


def test_rules_keep_what_people_would_keep() -> None:
    every = [evaluated(file) for file in FILES]
    assert all(one.draft.summary_tokens <= LONGER_FOR_FACTS * one.budget_tokens for one in every)
    totals = total_shares(every)
    shares = {name: totals[name].count / totals[name].of for name in SHARE_MIN}
    assert {name: share for name, share in shares.items() if share < SHARE_MIN[name]} == {}
    assert {name: totals[name].true for name, most in COUNT_MAX.items() if totals[name].count > most} == {}


def test_nothing_is_stored() -> None:
    with admin_write_scope():
        before = [rows.objects.count() for rows in (Session, Message, Compaction, Memory)]
    evaluate(FILES[0])
    with admin_write_scope():
        assert [rows.objects.count() for rows in (Session, Message, Compaction, Memory)] == before


def test_table_has_a_column_for_each_session_and_one_for_all(tmp_path: Path) -> None:
    for file in FILES[:2]:
        (tmp_path / file.name).write_bytes(file.read_bytes())
    rows = evaluate(tmp_path).splitlines()
    assert rows[0].split()[-3:] == [FILES[0].stem[:10], FILES[1].stem[:10], "all"]
    keys = next(row for row in rows if row.startswith("keys in the summary")).split()
    assert int(keys[-3]) == int(keys[-9]) + int(keys[-6])
    assert "all" not in evaluate(FILES[0]).splitlines()[0]


def test_sample_is_drawn_by_seed_and_shows_the_messages() -> None:
    sample = evaluate(FILES[0], "--sample", 5)
    assert sample == evaluate(FILES[0], "--sample", 5)
    assert sample != evaluate(FILES[0], "--sample", 5, "--seed", 2)
    statements = [line for line in sample.splitlines() if f". {FILES[0].stem}, " in line]
    assert [line.split(".")[0] for line in statements] == ["1", "2", "3", "4", "5"]
    contents = {message["content"] for message in json.loads(FILES[0].read_text(encoding="utf-8"))["messages"]}
    sources = [line.partition(": ")[2] for line in sample.splitlines() if line.startswith("     [")]
    assert len(sources) >= 5
    assert all(any(" / ".join(one[:1_000].split("\n")) == source for one in contents) for source in sources)


def test_json_names_the_labels_behind_each_figure() -> None:
    (record,) = json.loads(evaluate(FILES[0], "--json"))
    data = json.loads(FILES[0].read_text(encoding="utf-8"))
    keys: dict[str, Any] = record["measures"]["keys_in_summary"]
    assert sorted([*keys["true"], *keys["false"]]) == sorted(key["id"] for key in data["keys"])
    assert (len(keys["true"]), len(data["keys"])) == (keys["count"], keys["of"])
    assert {"kind", "text", "messages", "replaces"} == record["statements"][0].keys()
    assert record["facts"]


def test_summaries_are_written(tmp_path: Path) -> None:
    evaluate(FILES[0], "--summaries", tmp_path)
    written = json.loads((tmp_path / FILES[0].name).read_text(encoding="utf-8"))
    assert list(written) == [FILES[0].stem]


def test_bad_labels_are_refused_in_a_sentence(tmp_path: Path) -> None:
    data = json.loads(FILES[0].read_text(encoding="utf-8"))
    data["keys"][0]["needs"] = [["no such word"]]
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(data))
    with pytest.raises(CommandError, match=r"bad\.json is not a labelled session: k1: its words"):
        evaluate(bad)
