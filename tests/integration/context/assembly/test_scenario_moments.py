"""A conversation of several months: every earlier point in time can be read back, byte for byte.

At the end of each session, its turns are imported and contexts are assembled. Between sessions, memories are edited,
archived, restored and pinned, and the memo, summaries, links and the budget profile change. At the end, every context
is replayed, and every point in time is read again, by valid time and by recorded time.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from uuid import UUID

import pytest

from context.assembly.orchestrator import assemble_context
from context.assembly.replay import replay_context
from context.assembly.sources import ContextCaller
from context.models import Receipt
from context.profiles.actions.budget_profiles import save_budget_profile
from context.profiles.budget_profiles import current_budget_profile
from context.receipts.results import AssembledContext, ContextRequest, Focus
from memories.embeddings.indexer import index_memories
from memories.management.commands.import_locomo import read_locomo_conversation
from memories.models import Memory, Tenant
from memories.partitions.actions import link_memories, save_summary, set_tenant_memo
from memories.services.partitions.paths import parse_partition
from memories.services.store.moments import PointInTime
from memories.store.actions.edit import archive_memory, restore_memory, update_memory
from memories.store.actions.store import store_memories
from memories.store.recall import fold_tenant_retrievals
from memories.tenancy.scopes import tenant_scope
from tests.architecture import ROOT
from tests.integration.context_helpers import SYSTEM, block_texts, make_empty_tenant, recounted

CONVERSATION = ROOT.parent / "shared" / "data" / "locomo" / "26.json"
PLACE = "conversation=26"
HOUR = timedelta(hours=1)
QUESTIONS = ("What did Caroline research?", "When did Melanie paint a sunrise?", "Who went camping with the family?")
PACKERS = ("greedy", "elastic", "optimal")
RENDERS = ("markdown", "xml", "json")

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.long,
    pytest.mark.skipif(not CONVERSATION.is_file(), reason=f"needs the LoCoMo conversation {CONVERSATION.name}"),
]


@dataclass(frozen=True)
class Given:
    """A context as an agent received it, and its request."""

    request: ContextRequest
    context: AssembledContext
    at: datetime


class TenantHistory:
    """A tenant during the sessions of one conversation; randomness is seeded."""

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        self.draw = random.Random(26)
        self.given: list[Given] = []
        self.live_versions: dict[datetime, set[tuple[UUID, int]]] = {}

    def play_sessions(self) -> datetime:
        """Play every session; return the time at the end."""
        sessions = list(_sessions())
        for number, (at, rows) in enumerate(sessions):
            with tenant_scope(self.tenant.pk):
                results = store_memories(tenant=self.tenant, rows=rows, by=SYSTEM, now=at)
            index_memories(self.tenant.pk, [result.memory.pk for result in results if result.memory])
            self.ask(number, at + HOUR)
            self.note(at + HOUR)
            self.change(number, at + 2 * HOUR)
            self.note(at + 3 * HOUR)
        return sessions[-1][0] + timedelta(days=1)

    def ask(self, number: int, at: datetime) -> None:
        """Assemble one context with each packer, and one about a memory."""
        focus = self.some(1, at)[0]
        requests = [
            {"query": question, "packer": packer, "max_tokens": 120 + 150 * (number % 3)}
            for question, packer in zip(QUESTIONS, PACKERS, strict=True)
        ]
        earlier = self.given[-1].context.id if self.given else None
        requests += [{"focus": Focus(memory_id=focus.pk)}, {"query": QUESTIONS[0], "stable_with": earlier}]
        for options in requests:
            request = ContextRequest(partition=PLACE, render=RENDERS[number % 3], **options)
            self.given.append(Given(request, self.assemble(request, at), at))

    def assemble(self, request: ContextRequest, at: datetime) -> AssembledContext:
        return assemble_context(request, ContextCaller(self.tenant.pk, SYSTEM, at))

    def note(self, at: datetime) -> None:
        """Record which versions are live at `at`."""
        with tenant_scope(self.tenant.pk):
            self.live_versions[at] = set(
                Memory.objects.for_tenant(self.tenant.pk).live(at).values_list("pk", "version")
            )

    def some(self, count: int, at: datetime) -> list[Memory]:
        with tenant_scope(self.tenant.pk):
            return self.draw.sample(list(Memory.objects.for_tenant(self.tenant.pk).live(at).order_by("pk")), count)

    def change(self, number: int, at: datetime) -> None:
        """What an operator may do between two sessions."""
        edited, pinned, archived, source, target = self.some(5, at)
        with tenant_scope(self.tenant.pk):
            update_memory(memory=edited, changes={"content": f"{edited.content} (noted {number})"}, by=SYSTEM, now=at)
            update_memory(memory=pinned, changes={"pinned": not pinned.pinned}, by=SYSTEM, now=at)
            archive_memory(memory=archived, by=SYSTEM, now=at)
            link_memories(source=source, target=target, kind="about", by=SYSTEM, now=at)
            set_tenant_memo(tenant=self.tenant, content=f"Memo of session {number}.", by=SYSTEM, now=at)
            save_summary(
                tenant=self.tenant,
                partition=parse_partition(PLACE),
                style="compact",
                content=f"So far {number + 1} sessions.",
                origin="rollup",
                by=SYSTEM,
                now=at,
            )
            gone = Memory.objects.for_tenant(self.tenant.pk).archived().order_by("pk").first()
            if number % 3 == 2 and gone is not None and gone.pk != archived.pk:
                restore_memory(memory=gone, by=SYSTEM, now=at)
            if number % 4 == 3:
                version = current_budget_profile(self.tenant.pk).version
                changes = {"minimum_score": number / 100, "ordering": "u_curve" if number % 8 == 3 else "top_down"}
                save_budget_profile(tenant_id=self.tenant.pk, changes=changes, edited_from=version, by=SYSTEM, now=at)
        index_memories(self.tenant.pk, [edited.pk])
        fold_tenant_retrievals(self.tenant.pk)


def _sessions() -> Iterator[tuple[datetime, list]]:
    """Yield the time of each session, and its turns as memories, in the order of time."""
    turns = sorted(read_locomo_conversation(CONVERSATION), key=lambda turn: turn.said_at)
    for at, group in groupby(turns, key=lambda turn: turn.said_at):
        yield at, [turn.as_memory("26") for turn in group]


@pytest.fixture
def history() -> TenantHistory:
    return TenantHistory(make_empty_tenant())


def test_every_earlier_moment_is_read_back(history: TenantHistory) -> None:
    end = history.play_sessions()
    assert len(history.given) == 5 * 19
    check_replays(history, end)
    moments = list(history.live_versions)  # two of each session: before and after the changes
    check_versions_at_recorded_times(history, [*moments[0::4], *moments[3::4]], end)
    check_contexts_at_recorded_times(history, end)
    check_contexts_as_of(history, [*moments[1::4], *moments[2::4]], end)


def check_replays(history: TenantHistory, end: datetime) -> None:
    for one in history.given:
        assert one.context.id is not None
        assert recounted(one.context) == one.context.budget.used <= one.context.budget.max_tokens
        again = replay_context(one.context.id, "recorded", ContextCaller(history.tenant.pk, SYSTEM, end))
        assert again.is_verified
        assert again.context.text == one.context.text
        assert again.context.blocks == one.context.blocks
    assert any(block.truncated for one in history.given for block in one.context.blocks)
    with tenant_scope(history.tenant.pk):
        assert Receipt.objects.for_tenant(history.tenant.pk).row_count() == len(history.given)


def check_versions_at_recorded_times(history: TenantHistory, moments: Sequence[datetime], end: datetime) -> None:
    """Without a query and with the largest budget, a recorded time shows exactly what was live then."""
    for at in moments:
        live_versions = history.live_versions[at]
        request = ContextRequest(
            partition=PLACE,
            include_memories_top_k=200,
            max_tokens=120_000,
            moment=PointInTime.recorded(at),
            preview=True,
        )
        context = history.assemble(request, end)
        shown = {(UUID(one.anchor.id), one.anchor.version) for one in context.candidates}
        assert shown <= live_versions
        assert len(shown) == min(len(live_versions), 200)


def check_contexts_at_recorded_times(history: TenantHistory, end: datetime) -> None:
    """A query at the recorded time finds what it found then, apart from counters."""
    for one in history.given[::7]:
        if one.request.stable_with is not None:
            continue
        request = ContextRequest(**vars(one.request) | {"moment": PointInTime.recorded(one.at), "preview": True})
        context = history.assemble(request, end)
        then = {candidate.anchor for candidate in one.context.candidates}
        now = {candidate.anchor for candidate in context.candidates}
        assert len(then & now) >= 0.8 * len(then)
        memo = [text for text in block_texts(one.context) if text.startswith(("Memo of", "So far"))]
        assert [text for text in block_texts(context) if text.startswith(("Memo of", "So far"))] == memo


def check_contexts_as_of(history: TenantHistory, moments: Sequence[datetime], end: datetime) -> None:
    """Turns are imported at the time of the conversation, so valid time and recorded time agree here."""
    for at in moments:
        live_versions = history.live_versions[at]
        request = ContextRequest(
            partition=PLACE, include_memories_top_k=200, max_tokens=120_000, as_of=at, preview=True
        )
        context = history.assemble(request, end)
        assert recounted(context) == context.budget.used
        shown = {(UUID(one.anchor.id), one.anchor.version) for one in context.candidates}
        assert shown <= live_versions
        assert len(shown) == min(len(live_versions), 200)
        ages = [one.score_breakdown["recency"] for one in context.candidates]
        assert max(ages) > 0.95
