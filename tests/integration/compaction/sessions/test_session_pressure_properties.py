"""Any window, messages and memories: a context fits, and excludes nothing while the pressure is below 1."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compaction.models import Message, Session
from compaction.pipeline.session_rows import messages_to_turns
from compaction.services.sessions.drafts import APPEND_MESSAGES_MAX, CONTENT_BYTES_MAX, NewMessage
from compaction.services.sessions.pressure import RESERVED_SHARE
from compaction.services.windowing import is_complete_unit, tool_call_units
from compaction.sessions.actions import append_messages, create_session
from compaction.sessions.context import build_session_context
from compaction.sessions.trimming import SessionContext
from context.profiles.actions.budget_profiles import create_budget_profile
from context.profiles.token_counters import budget_calculator
from context.receipts.results import ContextRequest, ContextWarning
from context.services.profiles.compaction_policy import CompactionPolicy
from memories.models import Tenant
from memories.partitions.actions import set_tenant_memo
from memories.services.partitions.paths import parse_partition
from memories.tenancy.scopes import tenant_scope
from tests.factories import FACTORY_NOW, TESTER, make_memory, make_tenant

pytestmark = pytest.mark.django_db

EXAMPLES = 8
PLACE = parse_partition("user=alex")
#: Texts that take about one token per repetition; the marker of a role in a message is escaped.
PIECES = st.sampled_from(["word ", "7 ", "語", "[user]\n", "\\[tool]\n", "🎉 "])
KINDS = st.sampled_from(["user", "assistant", "system", "developer", "pair", "pair", "call"])
#: Names of speakers, which the marker line quotes.
NAMES = st.sampled_from(["", "Alex", "a" * 60, '"' * 40, "\\" * 40, "日本" * 20])
MODELS = st.sampled_from(["gpt-4o", "gpt-4", "claude-opus-4-7", "claude-sonnet-4", "gemini-2.5-pro", "no-such-model"])
WINDOWS = st.floats(3, 6).map(lambda power: round(10**power))
PROFILES: dict[str, dict[str, Any]] = {
    "much": {"memories": {"share": 0.6}, "tenant_memo": {"share": 0.1}},
    "little": {"recent_messages": {"share": 0.1}},
}
#: A share of the window: most messages are tiny, a few huge.
SHARES = st.floats(-4, -0.2).map(lambda power: 10**power)


@dataclass(frozen=True)
class Batch:
    """Messages that are appended between two contexts: `count` equal ones, together a share of the window."""

    kind: str
    share: float
    count: int
    piece: str
    name: str
    is_pinned: bool


BATCHES = st.builds(Batch, KINDS, SHARES, st.sampled_from([1, 1, 2, 40, 240]), PIECES, NAMES, st.booleans())


def rows_of(batch: Batch, window: int, number: int) -> list[NewMessage]:
    repetitions = math.ceil(window * batch.share / batch.count)
    text = batch.piece * min(repetitions, CONTENT_BYTES_MAX // len(batch.piece.encode()))
    rows: list[NewMessage] = []
    for place in range(batch.count):
        if batch.kind not in {"pair", "call"}:
            rows.append(NewMessage(batch.kind, text, batch.name, pinned=batch.is_pinned))
            continue
        call_id = f"call_{number}_{place}"
        calls = [{"id": call_id, "type": "function", "function": {"name": "find", "arguments": '{"q": "[user]\\n"}'}}]
        rows.append(NewMessage("assistant", tool_calls=calls, pinned=batch.is_pinned))
        if batch.kind == "pair":
            rows.append(NewMessage("tool", text, batch.name, tool_call_id=call_id, pinned=batch.is_pinned))
    return rows


@dataclass
class Emergency:
    """Replaces the pipeline: records the sessions that crossed the threshold."""

    pressures: list[float]

    def __call__(self, session: Session, policy: CompactionPolicy, now: Any) -> Sequence[ContextWarning]:
        assert session.pressure >= policy.emergency_threshold
        self.pressures.append(session.pressure)
        return []


@pytest.fixture(scope="module")
def tenant(module_db: None) -> Tenant:
    """With more memories and a longer memo than fit in small windows."""
    tenant = make_tenant()
    for number in range(40):
        text = f"Alex said word number {number}. " + "It was about the garden. " * (number % 7)
        make_memory(tenant, text, partition="user=alex", is_embedded=True)
    with tenant_scope(tenant.pk):
        set_tenant_memo(tenant=tenant, content="Help Alex. " * 60, by=TESTER, now=FACTORY_NOW)
        for name, sections in PROFILES.items():
            create_budget_profile(
                tenant_id=tenant.pk, name=name, changes={"sections": sections}, by=TESTER, now=FACTORY_NOW
            )
    return tenant


def opened(tenant: Tenant, **fields: Any) -> Session:
    with tenant_scope(tenant.pk):
        return create_session(tenant=tenant, partition=PLACE, by=TESTER, now=FACTORY_NOW, **fields)


def append(session: Session, rows: Sequence[NewMessage]) -> None:
    with tenant_scope(session.tenant_id):
        for start in range(0, len(rows), APPEND_MESSAGES_MAX):
            batch = rows[start : start + APPEND_MESSAGES_MAX]
            append_messages(tenant_id=session.tenant_id, session_id=session.pk, rows=batch, by=TESTER, now=FACTORY_NOW)
        session.refresh_from_db()


def build(session: Session, emergency: Emergency, **options: Any) -> SessionContext:
    who: dict[str, Any] = {"tenant_id": session.tenant_id, "reach": "", "actor": TESTER, "now": FACTORY_NOW}
    return build_session_context(ContextRequest(**options), session_id=session.pk, compact=emergency, **who)


def complete_ids(tenant: Tenant, session: Session) -> set[str]:
    """Return the messages that a provider accepts."""
    with tenant_scope(tenant.pk):
        rows = list(Message.objects.for_tenant(tenant.pk).of_session(session.pk).originals())
    turns = messages_to_turns(rows, model=session.model)
    units = ([turns[index] for index in unit] for unit in tool_call_units(turns))
    return {str(turn.id) for unit in units if is_complete_unit(unit) for turn in unit}


def check(tenant: Tenant, context: SessionContext, emergency: Emergency) -> None:
    session, budget = context.session, context.budget
    assert budget.used == budget_calculator().count_tokens(context.text, session.model) <= budget.max_tokens
    assert budget.max_tokens + budget.reserved <= session.max_context_tokens
    shown = {block.anchor.id for block in context.blocks if block.kind == "message"}
    is_trimmed = "trimmed" in {notice.code for notice in context.warnings}
    assert is_trimmed == bool(complete_ids(tenant, session) - shown)
    if is_trimmed:
        assert context.pressure >= 1, f"left out at {context.pressure}"
        assert emergency.pressures
    needed = context.as_answer()["pressure_parts"]
    assert abs(context.pressure - sum(needed.values()) / session.max_context_tokens) <= 1e-4


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    window=WINDOWS,
    model=MODELS,
    directive=st.sampled_from([0, 0, 0.02, 0.2]),
    batches=st.lists(BATCHES, min_size=1, max_size=6),
    profile=st.sampled_from(["", *PROFILES]),
)
def test_no_context_is_over_its_window_nor_trimmed_below_a_pressure_of_1(
    tenant: Tenant, window: int, model: str, directive: float, batches: list[Batch], profile: str
) -> None:
    instructions = "Help Alex. " * int(min(window * directive / 3, CONTENT_BYTES_MAX / 11))
    session = opened(tenant, model=model, max_context_tokens=window, directive=instructions)
    emergency = Emergency([])
    for number, batch in enumerate(batches):
        append(session, rows_of(batch, window, number))
        check(tenant, build(session, emergency, budget_profile=profile), emergency)


@pytest.mark.parametrize(
    ("window", "model", "batch"),
    [
        (4_000, "gpt-4o", Batch("user", 0.015, 1, "[user]\n", "", False)),
        (4_000, "gpt-4o", Batch("pair", 0.025, 1, "\\[tool]\n", "", False)),
        (1_000, "gpt-4", Batch("user", 0.001, 1, "word ", '"' * 40, False)),
        (4_000, "claude-opus-4-7", Batch("pair", 0.0003, 1, "word ", "", False)),
        (4_000, "claude-opus-4-7", Batch("developer", 0.0003, 1, "7 ", "", False)),
    ],
    ids=["marker lines", "escaped markers in outputs", "quoted names", "short outputs", "short messages"],
)
def test_marks_and_escapes_of_messages_are_counted(tenant: Tenant, window: int, model: str, batch: Batch) -> None:
    """Sessions that are almost full of messages whose text takes more tokens than their content."""
    session = opened(tenant, model=model, max_context_tokens=window)
    append(session, rows_of(batch, window, 0))
    share = session.pressure - RESERVED_SHARE
    number = int((0.98 - session.pressure) / share)
    rows = [row for place in range(1, number + 1) for row in rows_of(batch, window, place)]
    append(session, rows)
    emergency = Emergency([])
    context = build(session, emergency)
    assert 0.9 < context.pressure < 1
    check(tenant, context, emergency)
