"""The retention record grows with the session: requests do not read it, and a compaction reads it once."""

import tracemalloc
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from compaction.models import Compaction
from compaction.pipeline.orchestrator import run_compaction
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.compaction_helpers import (
    compact,
    conversation,
    full_session,
    hours_later,
    set_policy,
    stored_runs,
)
from tests.integration.session_helpers import SESSIONS, append
from tests.users import api_client

pytestmark = pytest.mark.django_db

FACTS = 5_000
#: By compaction, for each fact that its session has stated so far.
BYTES_PER_FACT_MAX = 2_200


@pytest.fixture
def admin(admin_key: str) -> APIClient:
    return api_client(admin_key)


@pytest.fixture
def session(admin: APIClient, tenant: Tenant) -> dict[str, Any]:
    """A session whose summary retains many facts and that can be compacted again."""
    set_policy(tenant, has_emergency=False, retention_floor=0.0)
    session = full_session(admin, user_id="alex")
    compact(admin, session)
    facts = [
        {
            "class": "identifier",
            "text": f"MV-{number:012}",
            "normalised": f"mv-{number:012}",
            "weight": 0.02,
            "message_ids": [f"00000000-0000-0000-0000-{number:012}"],
        }
        for number in range(FACTS)
    ]
    with tenant_scope(tenant.pk):
        Compaction.objects.for_tenant(tenant.pk).update(retention={"kept": [], "missing": facts, "share": 0.5})
    append(admin, session, *conversation(30, start=100))
    return session


def test_requests_do_not_read_what_a_summary_retains(admin: APIClient, session: dict[str, Any]) -> None:
    with CaptureQueriesContext(connection) as queries:
        append(admin, session, *conversation(1, start=200))
        assert admin.post(f"{SESSIONS}/{session['id']}/context", {}).status_code == 200
        admin.get(SESSIONS)
        compact(admin, session, 202, wait=False)
    statements = [query["sql"] for query in queries]
    assert len(statements) > 10
    assert not [sql for sql in statements if sql.startswith("SELECT") and '"retention"' in sql]


def test_compaction_keeps_one_copy_of_what_a_summary_retains(
    admin: APIClient, tenant: Tenant, session: dict[str, Any]
) -> None:
    compact(admin, session, 202, wait=False)
    run = stored_runs(tenant)[-1]
    tracemalloc.start()
    try:
        assert run_compaction(tenant.pk, run.pk, now=hours_later(), is_in_turn=True).state
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < BYTES_PER_FACT_MAX * FACTS
