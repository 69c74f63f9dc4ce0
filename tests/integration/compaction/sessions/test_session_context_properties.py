"""Any messages and any budget: a context never exceeds it or splits a tool call; emergency compactions."""

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compaction.models import Message, Session
from compaction.pipeline import session_rows
from compaction.services.sessions.drafts import NewMessage
from compaction.services.sessions.transcript import ChatMessage, render_transcript
from compaction.sessions import context as session_context
from compaction.sessions.actions import append_messages, create_session, pin_message
from compaction.sessions.context import build_session_context
from compaction.sessions.trimming import SessionContext
from context.profiles.token_counters import budget_calculator
from context.receipts.results import ContextRequest, ContextWarning
from context.services.budget import message_text
from context.services.profiles.compaction_policy import CompactionPolicy
from memories.models import Tenant
from memories.services.partitions.paths import parse_partition
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.scopes import tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_memory, make_tenant
from tests.integration.session_helpers import put_in_state
from tests.parsed_contexts import parse_transcript

EXAMPLES = 20
PLACE = parse_partition("user=alex")
WORDS = st.sampled_from(
    [
        "hello ",
        "[user]\n",
        "\n\n[system]\n",
        "日本語",
        "🎉",
        "\\[tool]",
        "ünïcode ",
        "a" * 40,
        "\u2028[calls]",
        '{"a": 1}',
    ]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=25).map("".join)
TURNS = st.lists(
    st.tuples(st.sampled_from(["user", "assistant", "system", "call", "result", "pair"]), TEXTS, st.booleans()),
    max_size=14,
)
MODELS = st.sampled_from(["gpt-4o", "gpt-4", "claude-sonnet-4", "no-such-model"])


def rows_of(turns: Sequence[tuple[str, str, bool]]) -> Iterator[NewMessage]:
    """Messages in which every result answers an open call, and some calls stay open."""
    waiting: list[str] = []
    for number, (kind, text, is_pinned) in enumerate(turns):
        if kind in {"call", "pair"}:
            waiting.append(f"call_{number}")
            function = {"name": "search", "arguments": text}
            calls = [{"id": waiting[-1], "type": "function", "function": function}]
            yield NewMessage("assistant", "", tool_calls=calls, pinned=is_pinned)
        if kind in {"result", "pair"} and waiting:
            yield NewMessage("tool", text, name="search", tool_call_id=waiting.pop(), pinned=is_pinned)
        elif kind in {"user", "assistant", "system"}:
            yield NewMessage(kind, text, pinned=is_pinned)


def opened(tenant: Tenant, rows: Sequence[NewMessage], **fields: Any) -> Session:
    with tenant_scope(tenant.pk):
        session = create_session(tenant=tenant, partition=PLACE, by=TESTER, now=FACTORY_NOW, **fields)
        if rows:
            append_messages(tenant_id=session.tenant_id, session_id=session.pk, rows=rows, by=TESTER, now=FACTORY_NOW)
        session.refresh_from_db()
        return session


def left_alone(session: Session, policy: CompactionPolicy, now: Any) -> list[ContextWarning]:
    """Do not compact."""
    return []


def build(tenant: Tenant, session: Session, **options: Any) -> SessionContext:
    compact = options.pop("compact", left_alone)
    who: dict[str, Any] = {"tenant_id": tenant.pk, "reach": "", "actor": TESTER, "now": FACTORY_NOW}
    return build_session_context(ContextRequest(**options), session_id=session.pk, compact=compact, **who)


def build_reading(tokens: int, tenant: Tenant, session: Session, **options: Any) -> SessionContext:
    """Assemble a context that reads only the newest messages up to this many tokens, as for long sessions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session_context, "READ_SHARE", 0)
        patch.setattr(session_context, "READ_TOKENS_MORE", tokens)
        return build(tenant, session, preview=True, **options)


def compared(context: SessionContext) -> dict[str, Any]:
    """Return what two contexts of the same session have in common."""
    answer = context.as_answer()
    return {name: answer[name] for name in answer if name not in {"context_id", "timings"}}


def test_long_session_is_read_from_its_end(tenant: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        NewMessage("assistant", "word " * 500),
        NewMessage("user", "early", pinned=True),
        *(NewMessage("user", f"message {number}", name="Alex" if number % 3 else "") for number in range(100)),
    ]
    session = opened(tenant, rows)
    read: list[int] = []
    outlined = session_rows.outlines_to_turns

    def counted(found: Any, *, model: str) -> Any:
        turns = outlined(found, model=model)
        read.append(len(turns))
        return turns

    monkeypatch.setattr(session_rows, "outlines_to_turns", counted)
    in_part = build_reading(150, tenant, session, max_tokens=100)
    assert max(read) < 60
    assert compared(in_part) == compared(build(tenant, session, max_tokens=100, preview=True))


def check(context: SessionContext, model: str) -> None:
    count = budget_calculator().count_tokens
    assert context.budget.used == count(context.text, model) <= context.budget.max_tokens
    answers = [message.as_answer() for message in context.messages]
    assert sum(count(message_text(answer), model) for answer in answers) <= context.budget.max_tokens
    assert [message.as_answer() for message in parse_transcript(context.text)] == answers
    open_calls: set[str] = set()
    for message in context.messages:
        if message.role == "tool":
            assert message.tool_call_id in open_calls
            open_calls.remove(message.tool_call_id)
        else:
            assert not open_calls
        open_calls |= {call["id"] for call in message.tool_calls}
    assert not open_calls


@pytest.fixture
def tenant(db: None) -> Tenant:
    tenant = make_tenant()
    for number in range(8):
        make_memory(tenant, f"Alex said hello {number} times.", partition="user=alex", is_embedded=True)
    return tenant


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(turns=TURNS, max_tokens=st.integers(1, 700), model=MODELS, directive=st.just("") | TEXTS, data=st.data())
def test_context_never_exceeds_its_budget_nor_parts_a_call_from_its_results(
    tenant: Tenant, turns: list[tuple[str, str, bool]], max_tokens: int, model: str, directive: str, data: st.DataObject
) -> None:
    rows = list(rows_of(turns))
    session = opened(tenant, rows, model=model, directive=directive, max_context_tokens=1000)
    with tenant_scope(tenant.pk):
        tools = [str(row.pk) for row in Message.objects.of_session(session.pk).filter(role="tool").order_by("sequence")]
    if tools:
        put_in_state(tenant, data.draw(st.lists(st.sampled_from(tools), unique=True)), "masked")
    head = [ChatMessage("system", directive)] if directive else []
    if budget_calculator().count_tokens(render_transcript(head), model) > max_tokens:
        with pytest.raises(InvalidInput, match="directive"):
            build(tenant, session, max_tokens=max_tokens)
        return
    context = build(tenant, session, max_tokens=max_tokens)
    check(context, model)
    for more in (-max_tokens, 1 - max_tokens, 0):
        in_part = build_reading(max_tokens + more, tenant, session, max_tokens=max_tokens)
        assert [compared(in_part)] == [compared(context)]
    if directive:
        assert context.messages[0].content == directive


def test_newest_message_has_priority_over_memories_and_older_messages(tenant: Tenant) -> None:
    session = opened(tenant, [NewMessage("user", f"message {number}") for number in range(20)])
    for max_tokens in range(10, 400, 13):
        context = build(tenant, session, max_tokens=max_tokens)
        check(context, "gpt-4o")
        assert context.messages[-1].content == "message 19"


def test_pinned_unit_outlives_newer_ones(tenant: Tenant) -> None:
    session = opened(tenant, [NewMessage("user", f"message {number}") for number in range(20)])
    with tenant_scope(tenant.pk):
        first = Message.objects.of_session(session.pk).get(sequence=0)
        pin_message(message=first, pinned=True, by=TESTER, now=FACTORY_NOW)
    context = build(tenant, session, max_tokens=20)
    assert [message.content for message in context.messages] == ["message 0", "message 19"]


class Compaction:
    """Replaces the pipeline: compacts the oldest half, or fails."""

    def __init__(self, tenant: Tenant, *, fails: bool = False) -> None:
        self.tenant, self.fails = tenant, fails
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, session: Session, policy: CompactionPolicy, now: Any) -> list[ContextWarning]:
        self.calls.append((session.pk, policy.emergency_threshold, now))
        if self.fails:
            return [ContextWarning("compaction_failed", "It failed.")]
        with tenant_scope(session.tenant_id):
            rows = Message.objects.of_session(session.pk).originals()[: session.message_count // 2]
            ids = [str(row.pk) for row in rows]
        put_in_state(self.tenant, ids, "compacted")
        return []


@pytest.fixture
def full(tenant: Tenant) -> Session:
    """A session at nine tenths of its window."""
    return opened(tenant, [NewMessage("user", "word " * 90) for _ in range(10)], max_context_tokens=1000)


def test_full_session_is_compacted_before_its_context_is_built(
    tenant: Tenant, full: Session, caplog: pytest.LogCaptureFixture
) -> None:
    compaction = Compaction(tenant)
    with caplog.at_level(logging.WARNING):
        context = build(tenant, full, compact=compaction)
    assert compaction.calls == [(full.pk, 0.80, FACTORY_NOW)]
    assert f"emergency compaction of session {full.pk} at pressure 1.20" in caplog.text
    assert context.pressure < 0.8
    assert "pressure_high" not in {notice.code for notice in context.warnings}


def test_failing_emergency_trims_with_a_warning(tenant: Tenant, full: Session) -> None:
    context = build(tenant, full, compact=Compaction(tenant, fails=True))
    check(context, "gpt-4o")
    assert {"compaction_failed", "pressure_high", "trimmed"} <= {notice.code for notice in context.warnings}


def test_previews_and_sessions_below_the_threshold_are_not_compacted(tenant: Tenant, full: Session) -> None:
    compaction = Compaction(tenant)
    build(tenant, full, compact=compaction, preview=True)
    build(tenant, opened(tenant, [NewMessage("user", "hello")]), compact=compaction)
    assert compaction.calls == []
