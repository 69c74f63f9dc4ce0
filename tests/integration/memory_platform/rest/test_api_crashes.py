"""A web process dies during a POST with an `Idempotency-Key`: the repeated request writes once."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from http.client import RemoteDisconnected
from itertools import count
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from compaction.models import Compaction, Message, Session
from context.models import Feedback, Receipt
from memories.models import ApiKey, Memory, Snapshot, Tenant
from memories.tenancy.idempotency import CLAIM_SECONDS
from memories.tenancy.scopes import tenant_scope
from memory_platform.embedded.supervisor import web_command
from tests import servers
from tests.architecture import ROOT
from tests.integration.memory_platform.rest.test_api_http_server import Server, wait_until_it_answers
from tests.users import api_client

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

#: Ends the process immediately after a number of commits since the claim: 0 is right after the claim.
APPLICATION = """
import os
import threading
from contextlib import contextmanager

from memory_platform.wsgi import application as platform
from memories.tenancy.api import idempotency
from memory_platform.postgres.base import DatabaseWrapper

left = threading.local()
claim, commit, pipeline = idempotency.claim_idempotency_key, DatabaseWrapper._commit, DatabaseWrapper.pipeline

def note_commit():
    left.commits = getattr(left, "commits", -1) - 1
    if left.commits == -1:
        os._exit(9)

def note_claim(**values):
    record = claim(**values)
    left.commits = left.requested
    note_commit()
    return record

def note_end(wrapper):
    commit(wrapper)
    note_commit()

@contextmanager
def note_end_of_pipeline(wrapper):
    with pipeline(wrapper):
        yield
    if not wrapper.in_atomic_block:
        note_commit()

idempotency.claim_idempotency_key = note_claim
DatabaseWrapper._commit, DatabaseWrapper.pipeline = note_end, note_end_of_pipeline

def application(environ, start_response):
    left.requested, left.commits = int(environ.get("HTTP_X_COMMITS", "1000")), -1
    return platform(environ, start_response)
"""

MEMORY = {"content": "Alex lives in Lisbon."}
MESSAGES = {"messages": [{"role": "user", "content": f"Bowl {bowl} costs {bowl} euros."} for bowl in range(60)]}


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None) -> Iterator[int]:
    """One gunicorn, which replaces each web process that dies."""
    folder, bound = tmp_path_factory.mktemp("dying"), servers.unused_port()
    (folder / "dying_application.py").write_text(APPLICATION)
    command = [
        part.replace("memory_platform.wsgi", "dying_application")
        for part in web_command(f"127.0.0.1:{bound}", processes=1)
    ]
    path = os.pathsep.join([str(folder), str(ROOT)])
    with (folder / "gunicorn.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, stdout=log, stderr=log
        )
        try:
            wait_until_it_answers(bound, process)
            yield bound
        finally:
            process.terminate()
            process.wait(30)


@pytest.fixture
def server(port: int, admin_key: str) -> Server:
    return Server(port, admin_key)


def post(server: Server, path: str, body: Any, commits: int) -> Any:
    """Return the response, or None if the process died."""
    headers = {"Idempotency-Key": f"once-{commits}", "X-Commits": str(commits)}
    with suppress(RemoteDisconnected, ConnectionError):
        response, answer = server.request("POST", f"/api/v1/{path}", body, headers=headers)
        assert response.status < 300, answer
        return answer
    return None


def repeated(server: Server, path: str, body: Any, commits: int) -> Any:
    """Return the response to a repetition after the claim of a dead process has expired."""
    with time_machine.travel(timezone.now() + timedelta(seconds=CLAIM_SECONDS + 1)):
        headers = {"Idempotency-Key": f"once-{commits}"}
        return api_client(server.key).post(f"/api/v1/{path}", body, format="json", headers=headers)


def new_session(server: Server) -> str:
    return str(server.request("POST", "/api/v1/sessions", {"max_context_tokens": 2000})[1]["id"])


def no_preparation(_: Server) -> str:
    return ""


def memory_in_context(server: Server) -> str:
    server.request("POST", "/api/v1/memories", MEMORY)
    return str(server.request("POST", "/api/v1/context", {"query": "Where?"})[1]["id"])


@pytest.mark.parametrize(
    ("model", "path", "body", "prepare"),
    [
        (Memory, "memories", lambda _: MEMORY, no_preparation),
        (Memory, "memories/bulk", lambda _: {"memories": [MEMORY]}, no_preparation),
        (Session, "sessions", lambda _: {"max_context_tokens": 2000}, no_preparation),
        (Message, "sessions/{}/messages", lambda _: {"messages": MESSAGES["messages"][:1]}, new_session),
        (Receipt, "context", lambda _: {"query": "Where?"}, no_preparation),
        (Receipt, "sessions/{}/context", lambda _: {"query": "Where?"}, new_session),
        (Feedback, "feedback", lambda pk: {"context_id": pk, "feedback": "POSITIVE"}, memory_in_context),
        (Feedback, "context/{}/outcome", lambda _: {"answer": MEMORY["content"]}, memory_in_context),
        (Snapshot, "snapshots", lambda _: {"name": "Before"}, no_preparation),
        (ApiKey, "keys", lambda _: {"name": "another", "scopes": ["read"]}, no_preparation),
    ],
)
def test_repetition_writes_once_whenever_the_process_died(
    server: Server,
    tenant: Tenant,
    model: Any,
    path: str,
    body: Callable[[str], Any],
    prepare: Callable[[Server], str],
) -> None:
    def rows() -> set[Any]:
        with tenant_scope(tenant.pk):
            return set(model.objects.for_tenant(tenant.pk).values_list("pk", flat=True))

    is_replayed_after_death = False
    for commits in count():
        made = prepare(server)
        url, sent, before = path.format(made), body(made), rows()
        first = post(server, url, sent, commits)
        again, third = (repeated(server, url, sent, commits) for _ in range(2))
        assert again.status_code in {200, 201}, again.json()
        new = rows() - before
        assert len(new) == 1
        assert third.json() == again.json() | ({"key": None} if model is ApiKey else {})
        if first is not None:
            break
        is_replayed_after_death |= "Idempotent-Replayed" in again
        with tenant_scope(tenant.pk):
            model.objects.for_tenant(tenant.pk).filter(pk__in=new).delete()
    assert commits >= 2, "it died after the claim and after the write"
    assert is_replayed_after_death


def test_repetition_of_a_compaction_that_may_have_run_is_refused(server: Server, tenant: Tenant) -> None:
    statuses = {}
    for commits in count():
        path = f"sessions/{new_session(server)}"
        server.request("POST", f"/api/v1/{path}/messages", MESSAGES)
        if post(server, f"{path}/compact", {"wait": True}, commits) is not None:
            break
        again = [repeated(server, f"{path}/compact", {"wait": True}, commits) for _ in range(2)]
        statuses[commits] = {(each.status_code, each.json().get("code")) for each in again}
        with tenant_scope(tenant.pk):
            assert Compaction.objects.for_tenant(tenant.pk).of_session(path.partition("/")[2]).count() == 1
    unknown = {(409, "idempotency_outcome_unknown")}
    assert statuses == {0: {(200, None)}} | dict.fromkeys(range(1, commits - 1), unknown) | {commits - 1: {(200, None)}}
    assert commits > 3
