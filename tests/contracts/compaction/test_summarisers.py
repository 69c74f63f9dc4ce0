"""The contract of every summariser, and how the one that uses HTTP fails."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from compaction.pipeline.summarisers import Summariser, SummariserError, SummaryTask, configured_summariser
from compaction.pipeline.summarisers.extractive import ExtractiveSummariser
from compaction.pipeline.summarisers.openai_chat import OpenAIChatSummariser
from compaction.services.pipeline.stored_statements import CitedStatement
from compaction.services.sessions.turns import SessionTurn
from memories.services.tokens import count_tokens
from tests.fakes.chat_server import (
    FAKE_CHAT_API_KEY,
    FAKE_CHAT_MODEL,
    ChatMode,
    ChatServer,
    bad_citations,
    completion,
    dripping,
    failing_chat,
    garbage,
    lines_of,
    running_chat_server,
    saying,
    slow_chat,
    too_long,
    without_schemas,
)

STATED = [
    ("user", "Alex", "I moved to Lisbon on 3 May 2026 because of the job at Arbor Labs."),
    ("assistant", "", "Congratulations! How do you like it?"),
    ("user", "Alex", "I love the light. My flat costs 950 EUR a month, near the Graca viewpoint."),
    ("assistant", "", "I booked the movers for 14 May at 9:30, order MV-20931."),
    ("user", "Alex", "I decided to sell the old car, and I will take the train to Porto next week."),
    ("assistant", "", "Noted: the car is to be sold before the end of June."),
    ("user", "Alex", "I am allergic to peanuts, never order anything with them."),
    ("assistant", "", "I will keep peanuts out of every order."),
] * 3


def count(text: str) -> int:
    return count_tokens(text, "o200k_base")


def turns() -> list[SessionTurn]:
    began = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
    return [
        SessionTurn(
            f"m{place}", role, text, count(text), name=name, created_at=began + timedelta(minutes=place), sequence=place
        )
        for place, (role, name, text) in enumerate(STATED)
    ]


def task(**changes: Any) -> SummaryTask:
    values: dict[str, Any] = {"messages": turns(), "earlier": (), "budget_tokens": 150, "count_tokens": count}
    return SummaryTask(**{**values, "model": FAKE_CHAT_MODEL, **changes})


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with running_chat_server() as server:
        yield server


def openai_chat(server: ChatServer, **changes: Any) -> OpenAIChatSummariser:
    values = {"base_url": server.base_url, "api_key": FAKE_CHAT_API_KEY, "timeout_seconds": 5.0}
    summariser = OpenAIChatSummariser(**{**values, **changes})
    server.clients.append(summariser)
    return summariser


@pytest.fixture(params=["extractive", "openai"])
def summariser(request: pytest.FixtureRequest) -> Summariser:
    if request.param == "openai":
        return openai_chat(request.getfixturevalue("server"))
    return ExtractiveSummariser()


def test_summary_fits_its_budget_and_cites_only_what_it_got(summariser: Summariser) -> None:
    known = {turn.id for turn in turns()}
    for budget in (70, 150, 300):
        summary = summariser.summarise(task(budget_tokens=budget))
        assert 0 < count(summary.text) <= budget
        assert summary.statements
        for statement in summary.statements:
            assert statement.text.strip()
            assert statement.message_ids
            assert set(statement.message_ids) <= known
            assert not statement.is_from_earlier


def test_earlier_statement_is_taken_over_with_its_messages(summariser: Summariser) -> None:
    earlier = CitedStatement(
        "Alex keeps the spare key 7714 with the neighbour Ines.", ("old-1", "old-2"), "fact", "Alex"
    )
    summary = summariser.summarise(task(earlier=(earlier,), budget_tokens=300))
    kept = [statement for statement in summary.statements if statement.is_from_earlier]
    assert len(kept) == 1
    assert kept[0].message_ids == ("old-1", "old-2")
    assert "7714" in summary.text


def test_journal_cites_messages_within_its_budget(summariser: Summariser) -> None:
    entries = summariser.journal(task(budget_tokens=120))
    assert entries
    assert sum(count(entry.text) for entry in entries) <= 120
    assert all(set(entry.message_ids) <= {turn.id for turn in turns()} for entry in entries)


def test_statement_survives_its_storage(summariser: Summariser) -> None:
    for statement in summariser.summarise(task()).statements:
        assert CitedStatement.of(statement.as_record()) == statement


def test_summariser_describes_itself(summariser: Summariser) -> None:
    assert summariser.name in {"extractive", "openai"}
    assert summariser.is_local is (summariser.name == "extractive")


def test_extractive_summary_is_the_same_again() -> None:
    first, again = (ExtractiveSummariser().summarise(task()) for _ in range(2))
    assert first == again


def test_extractive_summariser_returns_a_statement_for_any_text() -> None:
    odd = [SessionTurn("a", "user", "¿¿¿ !!! ???", 5), SessionTurn("b", "assistant", "ок 好的", 4)]
    summary = ExtractiveSummariser().summarise(task(messages=odd, budget_tokens=100))
    assert summary.text
    with pytest.raises(SummariserError, match="no text"):
        ExtractiveSummariser().summarise(task(messages=[SessionTurn("a", "user", "  ", 1)]))


# --- The one that speaks HTTP --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "code", "is_permanent"),
    [
        (failing_chat(429), "rate_limited", False),
        (failing_chat(500), "provider_error", False),
        (failing_chat(503), "provider_error", False),
        (failing_chat(401), "refused_401", True),
        (failing_chat(404), "refused_404", True),
        (failing_chat(413), "refused_413", True),
        (garbage, "not_json", False),
        (saying(""), "empty", False),
        (saying(None), "empty", False),
        (saying('{"statements": []}'), "empty", False),
        (saying('{"answer": 1}'), "bad_shape", False),
        (saying('{"statements": [{"text": "A."}]}'), "no_citation", False),
        (saying('{"statements": [{"text": "A.", "messages": [true]}]}'), "unknown_citation", False),
        (saying('{"statements": [{"text": " ", "messages": [1]}]}'), "bad_text", False),
        (too_long, "over_budget", False),
        (bad_citations, "unknown_citation", False),
        (lambda *_: (200, {"choices": []}, {}), "unreadable", False),
    ],
)
def test_fault_is_an_error_whose_code_shows_whether_it_is_permanent(
    server: ChatServer, mode: ChatMode, code: str, is_permanent: bool
) -> None:
    server.mode = mode
    with pytest.raises(SummariserError) as caught:
        openai_chat(server).summarise(task())
    assert (caught.value.code, caught.value.is_permanent) == (code, is_permanent)
    assert "secret" not in caught.value.detail
    assert len(server.requests) == 1, "the client retried in secret"


def test_waiting_time_that_is_requested_is_reported(server: ChatServer) -> None:
    for header, expected in (("7", 7.0), ("100000", 300.0), ("soon", 0.0), ("-3", 0.0)):
        server.modes.append(failing_chat(429, Retry_After=header))
        with pytest.raises(SummariserError) as caught:
            openai_chat(server).summarise(task())
        assert caught.value.retry_after_seconds == expected


def test_late_answer_is_a_temporary_error(server: ChatServer) -> None:
    server.mode = slow_chat(0.6)
    with pytest.raises(SummariserError, match="in time") as caught:
        openai_chat(server, timeout_seconds=0.2).summarise(task())
    assert (caught.value.code, caught.value.is_permanent) == ("timeout", False)
    with pytest.raises(SummariserError, match="in time"):
        openai_chat(server).summarise(task(time_limit_seconds=0.3))
    with pytest.raises(SummariserError, match="in time"):
        openai_chat(server).summarise(task(time_limit_seconds=0.0))


def test_endpoint_that_never_comes_to_an_end_is_left_in_time(server: ChatServer) -> None:
    server.mode = dripping(0.1)
    started = time.monotonic()
    with pytest.raises(SummariserError) as caught:
        openai_chat(server, timeout_seconds=0.4).summarise(task())
    assert (caught.value.code, caught.value.is_permanent) == ("timeout", False)
    assert time.monotonic() - started < 30  # it responds slowly, for minutes


def test_server_that_is_away_is_a_temporary_error(server: ChatServer) -> None:
    server.stop()
    with pytest.raises(SummariserError) as caught:
        openai_chat(server).summarise(task())
    assert (caught.value.code, caught.value.is_permanent) == ("unreachable", False)


def test_endpoint_without_schemas_gets_a_request_for_json_alone(server: ChatServer) -> None:
    server.mode = without_schemas
    summariser = openai_chat(server)
    summariser.summarise(task())
    summariser.summarise(task())
    assert [body["response_format"]["type"] for body in server.requests] == [
        "json_schema",
        "json_object",
        "json_object",
    ]


def test_answer_inside_a_fence_is_read(server: ChatServer) -> None:
    server.mode = saying('```json\n{"statements": [{"text": "Alex moved.", "messages": [1, 3]}]}\n```')
    (statement,) = openai_chat(server).summarise(task()).statements
    assert statement.message_ids == ("m0", "m2")


def test_span_larger_than_the_window_is_summarised_in_parts(server: ChatServer) -> None:
    long = [
        SessionTurn(f"m{place}", "user", f"Note {place}. " + "Alex likes tea. " * 300, 1_200) for place in range(12)
    ]
    model = "gpt-4"  # a window of 8,192 tokens
    summary = openai_chat(server).summarise(task(messages=long, model=model, budget_tokens=600))
    assert len(server.requests) > 1
    sent = [line for body in server.requests for line in lines_of(body)]
    assert "".join(line["text"] for line in sent) == "".join(turn.content for turn in long)
    assert {one for statement in summary.statements for one in statement.message_ids} <= {turn.id for turn in long}
    assert count(summary.text) <= 600


def test_message_larger_than_the_window_is_cut_into_pieces_of_one_source(server: ChatServer) -> None:
    huge = [SessionTurn("m0", "user", "Alex likes tea. " * 6_000, 24_000)]
    summary = openai_chat(server).summarise(task(messages=huge, model="gpt-4", budget_tokens=600))
    assert len(server.requests) > 3
    assert {one for statement in summary.statements for one in statement.message_ids} == {"m0"}


def test_window_too_small_for_anything_is_a_permanent_error(server: ChatServer) -> None:
    with pytest.raises(SummariserError) as caught:
        openai_chat(server).summarise(task(model="gpt-4", budget_tokens=20_000))
    assert (caught.value.code, caught.value.is_permanent) == ("window_too_small", True)


def test_journal_may_be_empty(server: ChatServer) -> None:
    server.mode = lambda *_: completion('{"entries": []}')
    assert openai_chat(server).journal(task()) == []


def test_settings_choose_the_summariser(settings: Any, server: ChatServer) -> None:
    assert isinstance(configured_summariser(), ExtractiveSummariser)
    settings.LLM_BASE_URL, settings.LLM_API_KEY = server.base_url, FAKE_CHAT_API_KEY
    assert configured_summariser().name == "openai"
    assert configured_summariser() is configured_summariser()
    configured_summariser().summarise(task())
    settings.LLM_BASE_URL = settings.LLM_API_KEY = ""
    assert isinstance(configured_summariser(), ExtractiveSummariser)
