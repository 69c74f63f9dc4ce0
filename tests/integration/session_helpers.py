"""Helpers of the tests of sessions: a session over REST, and short ways to append messages."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from compaction.models import Message, Session
from compaction.pipeline.session_rows import CONTEXT_COUNTS, count_placeholder_tokens, recount_context
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.factories import FACTORY_NOW

SESSIONS = "/api/v1/sessions"
MESSAGES = "/api/v1/messages"


def open_session(client: Any, **fields: Any) -> dict[str, Any]:
    response = client.post(SESSIONS, fields)
    assert response.status_code == 201, response.content
    answer: dict[str, Any] = response.json()
    return answer


def append(client: Any, session: dict[str, Any], *messages: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages as the API represents them."""
    response = client.post(f"{SESSIONS}/{session['id']}/messages", {"messages": list(messages)})
    assert response.status_code in {200, 201}, response.content
    results: list[dict[str, Any]] = response.json()["results"]
    return results


def user(content: str, **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **fields}


def assistant(content: str, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **fields}


def calling(*call_ids: str, name: str = "search", arguments: str = '{"q": "x"}') -> dict[str, Any]:
    calls = [{"id": each, "type": "function", "function": {"name": name, "arguments": arguments}} for each in call_ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def tool_result_body(call_id: str, content: str = "found", **fields: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **fields}


def read(client: Any, session: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = client.get(f"{SESSIONS}/{session['id']}").json()
    return answer


def stored_session(tenant: Tenant, session_id: str) -> Session:
    with tenant_scope(tenant.pk):
        row: Session = Session.objects.for_tenant(tenant.pk).with_current().get(pk=session_id)
        return row


def stored_messages(tenant: Tenant, session_id: str) -> list[Message]:
    with tenant_scope(tenant.pk):
        return list(Message.objects.for_tenant(tenant.pk).of_session(UUID(session_id)).originals())


def assert_recounted(session: Session) -> None:
    """Assert that the counts of a session's context are those of its rows."""
    before = [getattr(session, name) for name in CONTEXT_COUNTS]
    assert before == [getattr(session, name) for name in recount_context(session)]


def put_in_state(tenant: Tenant, message_ids: Sequence[str], state: str) -> None:
    """Change messages as a compaction does: masked or compacted, and the session's tokens with them."""
    with tenant_scope(tenant.pk):
        for message in Message.objects.for_tenant(tenant.pk).with_ids([UUID(each) for each in message_ids]):
            message.state = state
            message.shown_tokens = 0
            if state == Message.State.MASKED:
                message.masked_at, message.original_tool = FACTORY_NOW, message.name
                message.shown_tokens = count_placeholder_tokens(message.name, message.session.model)
            message.save(update_fields=["state", "masked_at", "original_tool", "shown_tokens"])
            session = message.session
            session.save(update_fields=recount_context(session))
