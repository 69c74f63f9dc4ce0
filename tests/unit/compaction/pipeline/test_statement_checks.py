"""What holds for every statement, whatever was said: it opens well, cites its messages and invents nothing."""

from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from compaction.services.pipeline.statements.extraction import extract_statements
from compaction.services.pipeline.statements.model import Statement, StatementKind, StatementMessage, StatementPart
from compaction.services.pipeline.statements.selection import choose_statements
from memories.services.tokens import count_tokens
from tests.statement_faults import faults_of, invented_words

SAID_AT = datetime(2024, 2, 29, tzinfo=UTC)
MESSAGES = {"m": StatementMessage("m", "user", "I want a red kayak.", "Ann", SAID_AT)}


def _listed(text):
    return text.split("|")


_STARTS = _listed(
    "I|We|You|It|She|They|My sister|Your dog|The kayak|This|There|Yes,|No.|When I was ten,|Last week I|Well, Ben, I"
    "|I think that|Let's|Going|What do you|Should I|That's why"
)
_MIDDLES = _listed("went to|am|want|have been to|was|is|can't stand|will try|painted|love|made me|'re|carry")
_ENDS = _listed(
    "Sweden|a red kayak|it|yesterday|for you|three years ago|my mother's garden|the U.S.|42 km|so much|myself"
    "|because it rains|and I laughed|, which helps|if you say so|with our kids|of course|really"
)
_MARKS = [".", "!", "?", "...", "", " - ", ";", "\n"]

sentences = st.builds(
    lambda start, middle, ends, mark: f"{start} {middle} {' '.join(ends)}{mark}",
    st.sampled_from(_STARTS),
    st.sampled_from(_MIDDLES),
    st.lists(st.sampled_from(_ENDS), min_size=1, max_size=3),
    st.sampled_from(_MARKS),
)
contents = st.one_of(st.lists(sentences, min_size=1, max_size=4).map(" ".join), st.text(max_size=60))
speakers = st.sampled_from(
    [("user", "Ann"), ("user", "Ben"), ("user", ""), ("assistant", ""), ("tool", ""), ("system", ""), ("", "")]
)


def statement(lead, body, *, ids=("m",)):
    return Statement("Ann", lead, (StatementPart(body),), ids, StatementKind.FACT)


def test_a_sound_statement_has_no_faults():
    assert faults_of(statement("Ann", "wants a red kayak (28 February 2024)"), MESSAGES) == []


@pytest.mark.parametrize(
    ("made", "fault"),
    [
        (statement("Ann:", "it is red"), "opens with 'it'"),
        (statement("Ann:", "yes, a kayak"), "opens with 'yes'"),
        (statement("", "she wants a kayak"), "opens with 'she'"),
        (statement("Ann", "wants a blue kayak"), "says blue"),
        (statement("Ann", "wants 3 kayak"), "says 3"),
        (statement("Ann", ""), "says nothing"),
        (statement("Ann", "wants a kayak", ids=("x",)), "unknown message x"),
        (statement("Ann", "wants a kayak", ids=()), "cites no message"),
    ],
)
def test_faults_are_named(made, fault):
    assert fault in " ".join(faults_of(made, MESSAGES))


def test_a_word_of_another_message_is_invented():
    others = MESSAGES | {"n": StatementMessage("n", "user", "Blue, please.", "Ben", SAID_AT)}
    assert invented_words(statement("Ann", "wants a blue kayak"), others) == ["blue"]


@given(st.lists(st.tuples(speakers, contents), min_size=1, max_size=6), st.booleans())
@example([(("user", "Ann"), "0__0 and 1**1")], False)
@settings(max_examples=300, deadline=None)
def test_no_statement_has_a_fault(rows, has_dates):
    messages = [
        StatementMessage(str(number), role, content, name, SAID_AT if has_dates else None, number)
        for number, ((role, name), content) in enumerate(rows)
    ]
    known = {message.id: message for message in messages}
    statements = extract_statements(messages)
    for made in [*statements, *choose_statements(statements, token_budget=40, count_tokens=count_tokens)]:
        assert faults_of(made, known) == [], made.text
