"""`manage.py evaluate_compaction`: what it prints, writes and refuses; how much of the data set the rules keep."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from compaction.evaluation.conversations import evaluate_conversation
from compaction.pipeline.summarisers import fallback_summariser
from memories.services.tokens import count_tokens

LOCOMO = Path(__file__).resolve().parents[4].parent / "shared" / "data" / "locomo"
#: The share that the summaries of the other conversations keep.
KEPT_MIN = 0.41


def conversation() -> dict[str, Any]:
    return {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Mina", "dia_id": "D1:1", "text": "Hey Sam! I adopted a greyhound named Pixel last week."},
            {"speaker": "Sam", "dia_id": "D1:2", "text": "Wow, great! I moved to Lisbon for my job at Norrland Rail."},
        ],
        "session_1_summary": (
            "Mina tells Sam that she adopted a dog, a greyhound, in the week before they talk, and how she named it. "
            "Sam has moved to another city, to Lisbon, since there is a new job for him there."
        ),
        "session_2_date_time": "2:00 pm on 9 May, 2023",
        "session_2": [{"speaker": "Mina", "dia_id": "D2:1", "text": "No summary of this one."}],
        "qa": [
            {"question": "What is the dog called?", "answer": "Pixel", "evidence": ["D1:1"], "category": 4},
            {"question": "Where does Sam live?", "answer": "Lisbon", "evidence": ["D1:2"], "category": 4},
            {"question": "Asked of both?", "answer": "x", "evidence": ["D1:1", "D2:1"], "category": 1},
            {"question": "Of no summary?", "answer": "summary", "evidence": ["D2:1"], "category": 4},
        ],
    }


def evaluate(*arguments: object) -> str:
    out = StringIO()
    call_command("evaluate_compaction", *map(str, arguments), stdout=out)
    return out.getvalue()


def test_table_and_summaries_are_written(tmp_path: Path) -> None:
    source = tmp_path / "talk.json"
    source.write_text(json.dumps(conversation()))
    printed = evaluate(source, "--summaries", tmp_path / "out")
    heading, row = (line.split() for line in printed.splitlines())
    assert heading[0] == "conversation"
    assert (row[0], row[1], row[2], row[-2], row[-1]) == ("talk", "1", "2", "0", "1.000")
    texts = json.loads((tmp_path / "out" / "talk.json").read_text())
    assert list(texts) == ["1"]
    assert "Pixel" in texts["1"]
    assert count_tokens(texts["1"]) <= count_tokens(conversation()["session_1_summary"])


def test_folder_adds_a_line_for_all(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text(json.dumps(conversation()))
    assert evaluate(tmp_path).splitlines()[-1].split()[:4] == ["all", "questions", "2", "4"]


@pytest.mark.parametrize(
    ("text", "words"), [("{}", "not a LoCoMo conversation"), ("{", "not JSON"), (None, "cannot be read")]
)
def test_bad_file_is_refused_in_a_sentence(tmp_path: Path, text: str | None, words: str) -> None:
    path = tmp_path / "bad.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(CommandError, match=words):
        evaluate(path)


def test_empty_folder_and_absent_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"no \.json file"):
        evaluate(tmp_path)
    (tmp_path / "talk.json").write_text(json.dumps(conversation()))
    with pytest.raises(CommandError, match="No model is configured"):
        evaluate(tmp_path, "--summariser", "configured")


@pytest.mark.long
@pytest.mark.skipif(not LOCOMO.is_dir(), reason="the LoCoMo conversations are not here: ../shared/data/locomo")
def test_rules_keep_the_answer_words_of_conversations_at_equal_tokens() -> None:
    found = [
        evaluate_conversation(json.loads(path.read_text()), fallback_summariser(), model="")
        for path in sorted(LOCOMO.glob("*.json"))[::2]
    ]
    assert sum(one.too_long for one in found) == 0
    kept = sum((one.share or 0.0) * one.questions for one in found) / sum(one.questions for one in found)
    assert kept >= KEPT_MIN
