"""The warning `no_answer_stored` over REST, in the receipt, in a replay, and on the page of the context."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from rest_framework.test import APIClient

from context.assembly import no_answer
from context.services.assembly.no_answer.probability import WARNING_MIN
from memories.models import Tenant
from tests.integration.page_helpers import client_of
from tests.integration.rest_helpers import CONTEXT, post_memory

QUERY = "What is Keith Marlow's phone number?"
TEXTS = (
    "Keith Marlow awake and in good form, asked nine questions.",
    "Keith Marlow runs the cold store in Athlone.",
    "The phone number of the bakery is 01539 720 411.",
    "Niamh Geary: no meetings before ten, she does the school run.",
)


@pytest.fixture
def stored(api: APIClient) -> None:
    for text in TEXTS:
        post_memory(api, text, partition="team=sales")


def warnings_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [warning for warning in answer["warnings"] if warning["code"] == "no_answer_stored"]


def context_of(api: APIClient, query: str = QUERY, **more: Any) -> dict[str, Any]:
    response = api.post(CONTEXT, {"query": query, **more})
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("profile", ["adr-0040", "conversation-recall", "recall"])
def test_a_context_warns_with_a_probability_under_each_profile(api: APIClient, profile: str) -> None:
    answer = context_of(api, profile=profile)
    (warning,) = warnings_of(answer)
    assert WARNING_MIN <= warning["probability"] <= 1
    assert warning["detail"] == f"Probably nothing stored answers this query ({warning['probability']:.0%})."
    assert "Keith Marlow awake" in answer["text"], "the context is packed as always"


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    "query",
    ["What is the phone number of the bakery?", "Where is Keith Marlow's cold store?", "Keith Marlow phone number", ""],
)
def test_an_answered_question_and_other_queries_get_no_warning(api: APIClient, query: str) -> None:
    assert warnings_of(context_of(api, query)) == []


@pytest.mark.usefixtures("stored")
def test_an_answer_that_is_stored_later_ends_the_warning(api: APIClient) -> None:
    post_memory(api, "Keith Marlow's phone number is 01539 720 500.", partition="team=sales")
    assert warnings_of(context_of(api)) == []


@pytest.mark.usefixtures("stored")
def test_another_embedding_model_has_no_warning(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(no_answer, "CALIBRATED_MODEL", "another-model")
    assert warnings_of(context_of(api)) == []


def test_a_conversation_has_no_warning(api: APIClient) -> None:
    for position, text in enumerate(TEXTS):
        post_memory(api, text, partition="team=sales", session="call-1", position=position)
    assert warnings_of(context_of(api)) == []


@pytest.mark.usefixtures("stored")
def test_receipt_replay_and_page_keep_the_warning(api: APIClient, operator: User, tenant: Tenant) -> None:
    given = context_of(api)
    (warning,) = warnings_of(given)
    assert warnings_of(api.get(f"{CONTEXT}/{given['id']}").json()) == [warning]
    post_memory(api, "Keith Marlow's phone number is 01539 720 500.", partition="team=sales")
    recorded = api.post(f"{CONTEXT}/{given['id']}/replay", {"mode": "recorded"}).json()
    assert warnings_of(recorded) == [warning]
    today = api.post(f"{CONTEXT}/{given['id']}/replay", {"mode": "today"}).json()
    assert warnings_of(today) == []
    page = client_of(operator).get(reverse("receipt", args=[tenant.pk, given["id"]])).content.decode()
    assert warning["detail"] in page
