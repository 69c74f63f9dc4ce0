"""A context waits for the database as rarely as possible, and computes meanwhile (ADR-0265)."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from context.receipts.results import Block
from tests.database_waits import counted_waits
from tests.integration.rest_helpers import post_memory

pytestmark = pytest.mark.django_db(transaction=True)


def test_answer_is_built_once_while_the_receipt_waits_for_the_disk(
    api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    post_memory(api, "Tea at four.", user_id="alex")
    request = {"query": "tea", "max_tokens": 500}
    api.post("/api/v1/context", request)  # which reads the settings of the tenant
    answer = Block.as_answer
    with counted_waits(monkeypatch) as steps:

        def recorded(block: Block) -> dict[str, Any]:
            steps.append("answer")
            return answer(block)

        monkeypatch.setattr(Block, "as_answer", recorded)
        response = api.post("/api/v1/context", request)
    assert response.json()["id"] is not None
    assert [block["text"] for block in response.json()["blocks"]] == ["Tea at four."]
    assert steps[-3:] == ["send", "answer", "_exit_gen"], "sent, used, and only then waited for"
    assert steps.count("answer") == 1
