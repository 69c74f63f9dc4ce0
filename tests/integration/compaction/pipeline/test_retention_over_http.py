"""Retention over HTTP: what counts, what is added to a summary, and what is not measured."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from rest_framework.test import APIClient

from memories.models import Tenant
from tests.fakes.chat_server import (
    FAKE_CHAT_API_KEY,
    ChatAnswer,
    ChatServer,
    completion,
    is_journal,
    lines_of,
    running_chat_server,
)
from tests.integration.compaction_helpers import compact, live_memories, review, set_policy
from tests.integration.session_helpers import append, assistant, open_session, user
from tests.users import api_client

pytestmark = pytest.mark.django_db

CHATTER = (
    "We walked along the river for a while and looked at the boats, then we had a coffee and talked about the weather"
    " and the neighbours until it was time to go home for dinner."
)
RULES = (
    "Never leave the garden gate open while the dog is outside.",
    "You must not lend the silver violin to anybody from the orchestra.",
    "No deliveries before breakfast on public holidays.",
    "Never pour hot oil into the kitchen sink of the restaurant.",
    "The archive must never be cleaned with water or soap.",
    "Please don't feed bread to the ducks behind the mill.",
    "Nobody may enter the boiler room without a helmet and gloves.",
    "Never photograph the manuscripts with a flash.",
    "Children must not climb the apple tree near the fence.",
    "Never switch off the freezer in the laboratory during experiments.",
    "You must not park in front of the fire station.",
    "Never tell the press about the negotiations with the union.",
)
ALLERGY, RULE = "I am allergic to penicillin.", "Never call me before 9."


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


@pytest.fixture
def server(settings: Any) -> Iterator[ChatServer]:
    with running_chat_server() as server:
        settings.LLM_BASE_URL, settings.LLM_API_KEY, settings.LLM_MODEL = server.base_url, FAKE_CHAT_API_KEY, ""
        yield server
        settings.LLM_BASE_URL = settings.LLM_API_KEY = ""


def session_of(client: APIClient, *texts: str, chatter: str = CHATTER, pairs: int = 30) -> dict[str, Any]:
    """A session that begins with these messages, followed by enough chatter that they are summarised."""
    session = open_session(client, max_context_tokens=4_000)
    if texts:
        append(client, session, *(user(text, name="Ann") for text in texts))
    for _ in range(pairs):
        append(client, session, user(chatter, name="Ann"), assistant(chatter))
    return session


def model_says(server: ChatServer, *items: tuple[str, str]) -> None:
    """Each item: a statement, and words of the message that it cites."""

    def answer(_server: ChatServer, body: dict[str, Any]) -> ChatAnswer:
        if is_journal(body):
            return completion('{"entries": []}')
        lines = lines_of(body)
        statements = [
            {"text": text, "messages": [next(line["n"] for line in lines if words in line["text"])]}
            for text, words in items
        ]
        return completion(json.dumps({"statements": statements}))

    server.mode = answer


def test_rules_keep_constraints_and_list_what_is_lost_by_class(admin: APIClient, tenant: Tenant) -> None:
    made = compact(admin, session_of(admin, ALLERGY, RULE, "The order MV-20931 is here."))["compaction"]
    kept = {(fact["class"], fact["text"]) for fact in made["kept"]}
    assert {("constraint", ALLERGY), ("negation", RULE)} <= kept
    assert made["state"] == "applied"


def test_summary_of_a_model_that_loses_an_allergy_gets_it_back(
    admin: APIClient, tenant: Tenant, server: ChatServer
) -> None:
    set_policy(tenant, has_journal=False)
    model_says(server, ("Ann walked along the river and looked at the boats.", "river"))
    made = compact(admin, session_of(admin, ALLERGY, RULE))["compaction"]
    assert ALLERGY in made["summary"]
    assert RULE in made["summary"]
    assert (made["state"], made["summariser"]) == ("applied", "openai")


def test_constraint_that_does_not_fit_is_listed_and_reported_whatever_the_floor(
    admin: APIClient, tenant: Tenant
) -> None:
    set_policy(tenant, retention_floor=0.0, has_journal=False, summary_share=0.02)
    made = compact(admin, session_of(admin, *RULES))["compaction"]
    assert (made["state"], made["has_lost_constraint"]) == ("applied", True)
    assert "negation" in {fact["class"] for fact in made["missing"]}
    assert "constraint_missing" in {warning["code"] for warning in made["warnings"]}


def test_lost_number_alone_does_not_wait_below_a_low_floor(admin: APIClient, tenant: Tenant) -> None:
    set_policy(tenant, retention_floor=0.0, has_journal=False, summary_share=0.02)
    orders = [f"The order MV-{20_000 + number} is here." for number in range(60)]
    made = compact(admin, session_of(admin, *orders))["compaction"]
    assert made["missing"]
    assert made["state"] == "applied"


def test_questions_do_not_count_as_facts(admin: APIClient, tenant: Tenant) -> None:
    texts = ("Is the order MV-20931 here?", "The deposit is 40 EUR.")
    made = compact(admin, session_of(admin, *texts))["compaction"]
    facts = {fact["text"] for fact in (*made["kept"], *made["missing"])}
    assert "40 EUR" in facts
    assert "MV-20931" not in facts


@pytest.mark.parametrize(
    ("texts", "chatter", "reason"),
    [
        ((), CHATTER, "no_facts"),
        (
            ("Le train 4711 part à 9:30 et il ne faut jamais le rater.",),
            "Nous avons marché le long de la rivière et nous avons regardé les bateaux, puis nous sommes rentrés chez"
            " nous parce que le temps était mauvais et que la nuit est tombée.",
            "no_rules_for_language",
        ),
    ],
)
def test_retention_that_rules_cannot_judge_is_not_measured_and_awaits_review(
    admin: APIClient, tenant: Tenant, texts: tuple[str, ...], chatter: str, reason: str
) -> None:
    made = compact(admin, session_of(admin, *texts, chatter=chatter))["compaction"]
    assert (made["retention"]["share"], made["retention"]["not_measured"]) == (None, reason)
    assert made["state"] == "proposed"
    assert [warning["code"] for warning in made["warnings"]] == ["retention_not_measured"]


def test_unfaithful_statements_of_a_model_are_dropped_counted_and_filled_in_by_rules(
    admin: APIClient, tenant: Tenant, server: ChatServer
) -> None:
    set_policy(tenant, has_journal=False)
    model_says(
        server,
        ("Ann walked along the river.", "river"),
        ("Ann is not allergic to penicillin.", "penicillin"),
        ("Ann moved to Porto.", "river"),
        ("The order MV-20932 is here.", "MV-20931"),
    )
    made = compact(admin, session_of(admin, ALLERGY, "The order MV-20931 is here."))["compaction"]
    texts = [statement["text"] for statement in made["statements"]]
    assert "Ann walked along the river." in texts
    assert f"Ann: {ALLERGY}" in texts
    assert not any("not allergic" in text or "Porto" in text or "20932" in text for text in texts)
    dropped = [warning["detail"] for warning in made["warnings"] if warning["code"] == "unsupported_dropped"]
    assert dropped == ["3 statements of the model were left out of the summary: the cited messages do not say so."]
    assert made["summary_token_count"] <= made["original_token_count"]


def test_nothing_is_stored_for_retention_and_no_sentence_twice(admin: APIClient, tenant: Tenant) -> None:
    orders = [f"The order MV-{20_000 + number} is here, and it cost {number} EUR." for number in range(20)]
    made = compact(admin, session_of(admin, ALLERGY, RULE, *orders))["compaction"]
    if made["state"] == "proposed":
        made = review(admin, made, "approve")
    assert all("is_for_retention" not in entry for entry in made["journal"])
    stored = [memory.content for memory in live_memories(tenant)]
    for sentence in (ALLERGY, RULE, *orders):
        assert sum(sentence.rstrip(".") in text for text in stored) <= 1
