"""Which facts a conversation contains and which a text still states: labelled cases, invariants, hostile input."""

from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.services.pipeline.retention.check import check_retention, extract_facts
from compaction.services.pipeline.retention.matches import FACT_KINDS
from compaction.services.sessions.turns import SessionTurn
from tests.timing import seconds_of, timed_result

DATA = Path(__file__).parent / "data"


def cases(name):
    """By kind the lines of a file of labelled cases."""
    listed = defaultdict(list)
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        if line[1:-1] in FACT_KINDS:
            kind = line[1:-1]
        elif line and not line.startswith("# "):
            listed[kind].append(line)
    return listed


def turn_of(text, place=0):
    is_pinned = text.startswith("! ")
    return SessionTurn(place, "user", text[2:] if is_pinned else text, 1, pinned=is_pinned)


def facts(text, kind):
    return [fact for fact in extract_facts([turn_of(text)]) if fact.kind == kind]


EXTRACTION_CASES = cases("retention_extraction.txt")
MATCH_CASES = cases("retention_matches.txt")


def ratios(right, wrong, lost):
    return right / (right + wrong), right / (right + lost)


@pytest.mark.parametrize("kind", FACT_KINDS)
def test_facts_of_a_kind_are_found_with_precision_and_recall(kind):
    right = wrong = lost = negatives = 0
    failures = []
    for line in EXTRACTION_CASES[kind]:
        text, _, wanted = line.rpartition(" =>")
        expected = {each.strip() for each in wanted.split(" | ") if each.strip()}
        found = {fact.text for fact in facts(text, kind)}
        negatives += not expected
        right, wrong, lost = right + len(found & expected), wrong + len(found - expected), lost + len(expected - found)
        if found != expected:
            failures.append(f"{line} -- {found}")
    precision, recall = ratios(right, wrong, lost)
    assert len(EXTRACTION_CASES[kind]) >= 25
    assert 4 <= negatives <= 20
    assert precision >= 0.9, failures
    assert recall >= 0.9, failures
    print(f"extracted {kind}: precision {precision:.3f}, recall {recall:.3f}", *failures, sep="\n  ")


@pytest.mark.parametrize("kind", FACT_KINDS)
def test_facts_of_a_kind_are_matched_with_precision_and_recall(kind):
    right = wrong = lost = 0
    failures = []
    for line in MATCH_CASES[kind]:
        is_match = " !~ " not in line
        message, _, text = line.partition(" ~ " if is_match else " !~ ")
        wanted = facts(message, kind)
        assert wanted, line
        found = check_retention(wanted, [text])
        right += bool(is_match and not found.missing)
        wrong += bool(not is_match and found.kept)
        lost += bool(is_match and found.missing)
        if (is_match and found.missing) or (not is_match and found.kept):
            failures.append(line)
    precision, recall = ratios(right, wrong, lost)
    assert len(MATCH_CASES[kind]) >= 25
    assert right + lost >= 8
    assert len(MATCH_CASES[kind]) - right - lost >= 8
    assert precision >= 0.9, failures
    assert recall >= 0.9, failures
    print(f"matched {kind}: precision {precision:.3f}, recall {recall:.3f}", *failures, sep="\n  ")


def test_kept_and_missing_are_listed_with_their_messages():
    messages = [turn_of("ask Ann about ERR_4012", 1), turn_of("again ERR_4012 for $5", 2)]
    checked = check_retention(extract_facts(messages), ["Ann saw err_4012."])
    assert [(fact.kind, fact.text, fact.message_ids) for fact in checked.kept] == [
        ("name", "Ann", (1,)),
        ("identifier", "ERR_4012", (1, 2)),
    ]
    assert [(fact.kind, fact.text, fact.message_ids) for fact in checked.missing] == [("money", "$5", (2,))]
    assert checked.share == 2 / 3


def test_nothing_to_keep_is_not_measured():
    assert extract_facts([turn_of("so it goes")]) == []
    assert check_retention([], ["text"]).share is None


def test_facts_may_be_stated_by_different_texts():
    wanted = extract_facts([turn_of("we met Ann and Bob")])
    assert check_retention(wanted, ["with Ann", "with Bob"]).share == 1
    assert check_retention(wanted, []).share == 0


def test_nothing_is_counted_under_two_kinds():
    found = extract_facts([turn_of("`ERR_4012` at https://example.com/ERR_4012 and /tmp/ERR_4012.log")])
    assert [fact.kind for fact in found] == ["code", "url", "path"]


def test_same_fact_in_two_forms_is_one():
    found = extract_facts([turn_of("on 7 May 2023", 1), turn_of("on 2023-05-07", 2)])
    assert [(fact.text, fact.message_ids) for fact in found] == [("7 May 2023", (1, 2))]


def test_word_that_begins_a_sentence_counts_if_the_conversation_uses_it_as_a_name():
    found = extract_facts([turn_of("Caroline is here", 1), turn_of("I saw Caroline", 2), turn_of("Painting is fun", 3)])
    assert [(fact.normalised, set(fact.message_ids)) for fact in found] == [("caroline", {1, 2})]


def test_pinned_message_is_a_rule_beside_its_facts():
    found = extract_facts([turn_of("! Pay Ann $5 on Fridays")])
    assert {fact.kind for fact in found} == {"rule", "name", "money"}


FRAGMENTS = st.sampled_from([line.rpartition(" =>")[0] for lines in EXTRACTION_CASES.values() for line in lines])


@given(st.lists(FRAGMENTS | st.text(max_size=40), max_size=6))
def test_conversation_states_all_of_its_own_facts(texts):
    messages = [turn_of(text, place) for place, text in enumerate(texts)]
    found = extract_facts(messages)
    assert len({(fact.kind, fact.normalised) for fact in found}) == len(found)
    checked = check_retention(found, [message.content for message in messages])
    assert checked.missing == ()
    assert checked.share == (1 if found else None)


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=2))
def test_any_text_can_be_checked(texts, summary):
    checked = check_retention(extract_facts([turn_of(text, place) for place, text in enumerate(texts)]), summary)
    assert checked.share is None or 0 <= checked.share <= 1


HOSTILE = [
    "a", "1", "A", "_", ".", "/", "\\", "@", "`", '"', "'", " ", "\n", "-", "1,", "1.", "a.", "a@", "a@a.", "$", "$1",
    "A ", "Ab ", "Ab of ", "a_", "aB", "1/", "/a", "a/", "http://", "https://a.b/)", "(", ")", "www.", "May ", "1 May ",
    "may", "one ", "a thousand ", "twenty-", "1 a ", "12:", "#1", "0x", "v1.", "“", "« ", "C:\\a", "\\\\a", "' a", "é",
    "\ufffc", "1-1", "a-1-", "2023-", "in ", "US$ ", "1 k ", "a  ", "``",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_takes_time_in_proportion_to_its_length(piece):
    text = piece * (10_000 // len(piece)) + "!"
    # a quadratic rule takes seconds
    assert seconds_of(lambda: check_retention(extract_facts([turn_of(text)])[:1000], [text])) < 0.55


def test_seven_hundred_messages_are_checked_in_a_moment():
    lines = [line.rpartition(" =>")[0] for lines in EXTRACTION_CASES.values() for line in lines]
    messages = [
        turn_of((lines[place % len(lines)] + ". So it went and so we all talked on. ") * 2, place)
        for place in range(700)
    ]

    def check() -> int:
        found = extract_facts(messages)
        check_retention(found, [messages[0].content * 20])
        return len(found)

    count, taken = timed_result(check)
    assert count > 200
    assert taken < 1
