"""The number of modules between the context endpoint and the rendered text (ADR-0094)."""

import sys
from itertools import groupby
from pathlib import Path
from types import FrameType

import pytest
from rest_framework.test import APIClient

from memories.models import Tenant
from tests.integration.context_helpers import BAKERY, new_row, store
from tests.integration.rest_helpers import CONTEXT

ROOT = f"{Path(__file__).parents[4]}/"
#: Rules, models and queries are leaves that any step may call, so their modules do not count.
STEPS = ("context/assembly/", "context/receipts/", "memories/search/", "memories/store/readings.py")
MODULES_MAX, RETURNS_MAX = 12, 10

pytestmark = pytest.mark.django_db


def called_functions(client: APIClient, body: dict[str, object]) -> list[tuple[str, str]]:
    """Return the functions of the project that a request calls, each once, in the order of their first calls."""
    called: dict[tuple[str, str], None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOT) and "<" not in code.co_name:
            called.setdefault((code.co_filename.removeprefix(ROOT), code.co_qualname))

    sys.setprofile(note)
    try:
        answer = client.post(CONTEXT, body)
    finally:
        sys.setprofile(None)
    assert answer.json()["text"]
    return list(called)


def test_a_request_passes_as_few_modules_as_it_has_steps(tenant: Tenant, api: APIClient) -> None:
    store(tenant, [new_row(content, partition) for content, partition in BAKERY])
    body: dict[str, object] = {"query": "What does Alex bake?", "max_tokens": 1000}
    api.post(CONTEXT, body)
    called = called_functions(api, body)
    names = [name for _, name in called]
    until_text = called[names.index("ContextEndpoint.post") : names.index("render_context")]
    steps = [path for path, _ in until_text if path.startswith(STEPS) and "/queries/" not in path]
    entered = [path for path, _ in groupby(steps)]
    assert len(set(entered)) <= MODULES_MAX
    assert len(entered) - len(set(entered)) <= RETURNS_MAX
