"""Near-duplicates over REST: a context excludes a repeated statement, and no other."""

import pytest
from rest_framework.test import APIClient

from tests.integration.rest_helpers import BULK, CONTEXT, post_memory
from tests.users import api_client

pytestmark = pytest.mark.django_db

DISTINCT = {
    "What is the door code of room 12?": (
        "The door code of room 12 is 4711.",
        "The door code of room 21 is 1174.",
    ),
    "When does the train to Lisbon leave?": (
        "The train to Lisbon leaves at 7:15 and arrives at 9:40.",
        "The train to Lisbon leaves at 9:40 and arrives at 7:15.",
    ),
    "Who owes whom?": ("Anna owes Ben 20 euros.", "Ben owes Anna 20 euros."),
    "Which version does the importer need?": (
        "The importer needs version 3.1 of the library.",
        "The importer needs version 3.10 of the library.",
    ),
    "Is the ladder safe?": ("The ladder in hall 4 is safe.", "The ladder in hall 4 is not safe."),
    "Wer vertritt wen?": ("Frau Kern vertritt Herrn Vogt im Mai.", "Herr Vogt vertritt Frau Kern im Mai."),
    "¿Quién paga?": ("Luis le paga el alquiler a Marta.", "Marta le paga el alquiler a Luis."),
}
REPEATED = [
    ("The audit of the bakery is on 3 May 2026.", "Please note that the audit of the bakery is on May 3rd, 2026."),
    ("In spring, the beehives are moved to the field.", "The beehives are moved to the field in spring."),
    ("Die Miete beträgt 1.250 €.", "Die Miete beträgt 1250 Euro."),
]


def ask(api: APIClient, query: str) -> tuple[list[str], list[str]]:
    """Return the texts of a context and the reasons of its exclusions."""
    answer = api.post(CONTEXT, {"query": query, "max_tokens": 4000}).json()
    return [block["text"] for block in answer["blocks"]], [row["reason"] for row in answer["omitted"]]


@pytest.mark.parametrize(("query", "contents"), DISTINCT.items())
def test_statements_that_differ_are_all_in_the_context(api: APIClient, query: str, contents: tuple[str, str]) -> None:
    for content in contents:
        post_memory(api, content)
    texts, reasons = ask(api, query)
    assert set(contents) <= set(texts)
    assert "near_duplicate" not in reasons


@pytest.mark.parametrize("contents", REPEATED)
def test_statement_in_other_words_is_in_the_context_once(
    api: APIClient, admin_key: str, contents: tuple[str, str]
) -> None:
    profile = {"name": "strict", "near_duplicate_threshold": 0.5}
    assert api_client(admin_key).post("/api/v1/budget-profiles", profile).status_code == 201
    for content in contents:
        post_memory(api, content)
    answer = api.post(CONTEXT, {"query": contents[0], "max_tokens": 4000, "budget_profile": "strict"}).json()
    assert len({block["text"] for block in answer["blocks"]} & set(contents)) == 1
    (omitted,) = (row for row in answer["omitted"] if row["reason"] == "near_duplicate")
    assert omitted["near_duplicate_of"] in [block["anchor"] for block in answer["blocks"]]


def test_hundred_texts_of_one_form_all_stay(api: APIClient) -> None:
    contents = [f"The door code of room {number} is {9000 - number}." for number in range(100)]
    api.post(BULK, {"memories": [{"content": content} for content in contents]})
    texts, reasons = ask(api, "What is the door code of room 12?")
    assert contents[12] in texts
    assert "near_duplicate" not in reasons
