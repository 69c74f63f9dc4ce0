"""Which facts a conversation contains and which a text still states: labelled cases, invariants, hostile input."""

import time
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.services.pipeline.retention.check import check_retention, extract_facts
from compaction.services.pipeline.retention.matches import FACT_KINDS
from compaction.services.sessions.turns import SessionTurn
from tests.timing import allowed_seconds, seconds_of

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


def said(text, place=0):
    is_pinned = text.startswith("! ")
    return SessionTurn(place, "user", text[2:] if is_pinned else text, 1, pinned=is_pinned)


def facts(text, kind):
    return [fact for fact in extract_facts([said(text)]) if fact.kind == kind]


FOUND = cases("retention_found.txt")
TOLD = cases("retention_told.txt")


def ratios(right, wrong, lost):
    return right / (right + wrong), right / (right + lost)


@pytest.mark.parametrize("kind", FACT_KINDS)
def test_facts_of_a_kind_are_found_with_precision_and_recall(kind):
    right = wrong = lost = negatives = 0
    failures = []
    for line in FOUND[kind]:
        text, _, wanted = line.rpartition(" =>")
        expected = {each.strip() for each in wanted.split(" | ") if each.strip()}
        found = {fact.text for fact in facts(text, kind)}
        negatives += not expected
        right, wrong, lost = right + len(found & expected), wrong + len(found - expected), lost + len(expected - found)
        if found != expected:
            failures.append(f"{line} -- {found}")
    precision, recall = ratios(right, wrong, lost)
    assert len(FOUND[kind]) >= 25
    assert 4 <= negatives <= 20
    assert precision >= 0.9, failures
    assert recall >= 0.9, failures
    print(f"found {kind}: precision {precision:.3f}, recall {recall:.3f}", *failures, sep="\n  ")


@pytest.mark.parametrize("kind", FACT_KINDS)
def test_facts_of_a_kind_are_matched_with_precision_and_recall(kind):
    right = wrong = lost = 0
    failures = []
    for line in TOLD[kind]:
        is_told = " !~ " not in line
        message, _, text = line.partition(" ~ " if is_told else " !~ ")
        wanted = facts(message, kind)
        assert wanted, line
        found = check_retention(wanted, [text])
        right += bool(is_told and not found.missing)
        wrong += bool(not is_told and found.kept)
        lost += bool(is_told and found.missing)
        if (is_told and found.missing) or (not is_told and found.kept):
            failures.append(line)
    precision, recall = ratios(right, wrong, lost)
    assert len(TOLD[kind]) >= 25
    assert right + lost >= 8
    assert len(TOLD[kind]) - right - lost >= 8
    assert precision >= 0.9, failures
    assert recall >= 0.9, failures
    print(f"told {kind}: precision {precision:.3f}, recall {recall:.3f}", *failures, sep="\n  ")


def test_kept_and_missing_are_listed_with_their_messages():
    messages = [said("ask Ann about ERR_4012", 1), said("again ERR_4012 for $5", 2)]
    checked = check_retention(extract_facts(messages), ["Ann saw err_4012."])
    assert [(fact.kind, fact.text, fact.message_ids) for fact in checked.kept] == [
        ("name", "Ann", (1,)),
        ("identifier", "ERR_4012", (1, 2)),
    ]
    assert [(fact.kind, fact.text, fact.message_ids) for fact in checked.missing] == [("money", "$5", (2,))]
    assert checked.share == 2 / 3


def test_nothing_to_keep_is_not_measured():
    assert extract_facts([said("so it goes")]) == []
    assert check_retention([], ["text"]).share is None


def test_facts_may_be_stated_by_different_texts():
    wanted = extract_facts([said("we met Ann and Bob")])
    assert check_retention(wanted, ["with Ann", "with Bob"]).share == 1
    assert check_retention(wanted, []).share == 0


def test_nothing_is_counted_under_two_kinds():
    found = extract_facts([said("`ERR_4012` at https://example.com/ERR_4012 and /tmp/ERR_4012.log")])
    assert [fact.kind for fact in found] == ["code", "url", "path"]


def test_same_fact_in_two_forms_is_one():
    found = extract_facts([said("on 7 May 2023", 1), said("on 2023-05-07", 2)])
    assert [(fact.text, fact.message_ids) for fact in found] == [("7 May 2023", (1, 2))]


def test_word_that_opens_a_sentence_counts_where_the_conversation_knows_it_as_a_name():
    found = extract_facts([said("Caroline is here", 1), said("I saw Caroline", 2), said("Painting is fun", 3)])
    assert [(fact.normalised, set(fact.message_ids)) for fact in found] == [("caroline", {1, 2})]


def test_pinned_message_is_a_rule_beside_its_facts():
    found = extract_facts([said("! Pay Ann $5 on Fridays")])
    assert {fact.kind for fact in found} == {"rule", "name", "money"}


FRAGMENTS = st.sampled_from([line.rpartition(" =>")[0] for lines in FOUND.values() for line in lines])


@given(st.lists(FRAGMENTS | st.text(max_size=40), max_size=6))
def test_conversation_states_all_of_its_own_facts(texts):
    messages = [said(text, place) for place, text in enumerate(texts)]
    found = extract_facts(messages)
    assert len({(fact.kind, fact.normalised) for fact in found}) == len(found)
    checked = check_retention(found, [message.content for message in messages])
    assert checked.missing == ()
    assert checked.share == (1 if found else None)


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=2))
def test_any_text_can_be_checked(texts, summary):
    checked = check_retention(extract_facts([said(text, place) for place, text in enumerate(texts)]), summary)
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
    assert seconds_of(lambda: check_retention(extract_facts([said(text)])[:1000], [text])) < 0.55


def test_seven_hundred_messages_are_checked_in_a_moment():
    lines = [line.rpartition(" =>")[0] for lines in FOUND.values() for line in lines]
    messages = [
        said((lines[place % len(lines)] + ". So it went and so we all talked on. ") * 2, place) for place in range(700)
    ]
    began = time.process_time()
    found = extract_facts(messages)
    check_retention(found, [messages[0].content * 20])
    assert len(found) > 200
    assert time.process_time() - began < allowed_seconds(1)
