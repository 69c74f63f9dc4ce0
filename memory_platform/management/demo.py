"""The demo, loaded as it would have happened over six months: every step at its moment, by the action it names."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError
from rich.console import Console
from rich.progress import track

from compaction.pipeline.opening import open_compaction
from compaction.pipeline.orchestrator import run_compaction
from compaction.pipeline.policies import session_policy
from compaction.services.sessions.drafts import NewMessage
from compaction.sessions.actions.messages import append_messages
from compaction.sessions.actions.sessions import create_session
from context.assembly.orchestrator import assemble_context
from context.evaluation.actions.evaluations import request_evaluation
from context.evaluation.actions.golden_questions import collect_golden_question
from context.evaluation.runs import run_evaluation
from context.feedback.actions import record_feedback, withdraw_feedback
from context.models import EvaluationRun
from context.profiles.actions.assignments import assign_budget_profile
from context.profiles.actions.budget_profiles import create_budget_profile, save_budget_profile
from context.profiles.actions.scoring_profiles import create_scoring_profile, edit_scoring_profile
from context.receipts.results import ContextRequest
from context.receipts.storing import write_receipt
from memories.models import Memory, PartitionSummary, Tenant
from memories.partitions.actions.links import link_memories
from memories.partitions.actions.memo import set_tenant_memo
from memories.partitions.actions.snapshots import create_snapshot
from memories.partitions.actions.summaries import save_summary
from memories.services.store.demo import read_demo
from memories.services.store.drafts import NewMemory
from memories.services.store.moments import PointInTime
from memories.store.actions.edit import MemoryCounters, archive_memory, import_counters, update_memory
from memories.store.actions.store import store_memories
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import tenant_scope

#: Of a memory whose counters the demo does not give.
UNUSED = {"usefulness_score": 0.5, "retrieval_count": 0, "last_retrieved_at": None}


class DemoLoader:
    """Loads the demo into `tenant` as seen from `now`. Rows of the demo name a memory or a vote by its `ref`."""

    def __init__(self, tenant: Tenant, *, by: Actor, now: datetime) -> None:
        self.tenant, self.by, self.now = tenant, by, now
        self.memories: dict[str, Memory] = {}
        self._counters: dict[UUID, MemoryCounters] = {}
        self._votes: dict[tuple[str, str], UUID] = {}
        self._versions: dict[tuple[str, str], int] = {}

    def load_memories(self) -> None:
        """Store, change, link and summarise the memories; profiles, votes and golden questions are about them."""
        with tenant_scope(self.tenant.pk):
            for row in _with_progress(read_demo("history", self.now)):
                self.take_step(**row)
            import_counters(tenant_id=self.tenant.pk, counters=self._counters, by=self.by, now=self.now)
            for row in read_demo("steering", self.now):
                self._steer(**row)

    def load_usage(self) -> None:
        """Assemble the contexts and run the evaluations. Call it outside any scope, once memories can be searched."""
        for row in read_demo("usage", self.now):
            (self._assemble if row.pop("do") == "assemble_context" else self._evaluate)(**row)

    def load_sessions(self) -> None:
        """Append to the sessions and compact them; what a policy leaves to people waits for a review."""
        for row in read_demo("sessions", self.now):
            self._hold_session(**row)

    def take_step(self, do: str, at: datetime, ref: str = "", **row: Any) -> None:
        """Do one thing that happened to memories."""
        who: dict[str, Any] = {"by": self.by, "now": at}
        match do:
            case "store_memory":
                self._store(ref, at, **row)
            case "update_memory":
                self.memories[ref] = update_memory(memory=self.memories[ref], changes=row, **who)
            case "archive_memory":
                self.memories[ref] = archive_memory(memory=self.memories[ref], **who)
            case "link_memories":
                source, target = self.memories[row["source"]], self.memories[row["target"]]
                link_memories(source=source, target=target, kind=row["kind"], **who)
            case "set_memo":
                set_tenant_memo(tenant=self.tenant, **row, **who)
            case "save_summary":
                save_summary(tenant=self.tenant, origin=PartitionSummary.Origin.OPERATOR, **row, **who)
            case "create_snapshot":
                create_snapshot(tenant=self.tenant, **row, **who)

    def _store(self, ref: str, at: datetime, counters: Mapping[str, Any] | None = None, **row: Any) -> None:
        new = NewMemory(created_at=at, **row)
        memory = store_memories(tenant=self.tenant, rows=[new], by=self.by, now=at)[0].memory
        if memory is None:
            raise CommandError(f"The demo memory {ref} was not stored.")
        self.memories[ref] = memory
        self._counters[memory.pk] = MemoryCounters(**UNUSED | dict(counters or {}))

    def _steer(self, do: str, at: datetime, **row: Any) -> None:
        who: dict[str, Any] = {"tenant_id": self.tenant.pk, "by": self.by, "now": at}
        match do:
            case "save_budget_profile":
                self._save_profile(create_budget_profile, save_budget_profile, row | who)
            case "save_scoring_profile":
                self._save_profile(create_scoring_profile, edit_scoring_profile, row | who)
            case "assign_budget_profile":
                assign_budget_profile(**row, **who)
            case "give_feedback":
                vote = row["ref"], row["feedback"]
                given = record_feedback(memory_id=self.memories[row.pop("ref")].pk, **row, **who)
                self._votes[vote] = given.votes[0].pk
            case "withdraw_feedback":
                withdraw_feedback(feedback_id=self._votes[row["ref"], row["feedback"]], **who)
            case "collect_golden_question":
                memory_ids = [self.memories[ref].pk for ref in row.pop("wants")]
                collect_golden_question(memory_ids=memory_ids, **row, **who)

    def _save_profile(self, create: Any, edit: Any, row: dict[str, Any]) -> None:
        """The first time the profile is created, after that it gets a new version."""
        known = create.__name__, row["name"]
        if known in self._versions:
            self._versions[known] = edit(edited_from=self._versions[known], **row).version
        else:
            self._versions[known] = create(**row).version

    def _assemble(self, at: datetime, **row: Any) -> None:
        """From what was stored at that moment. Nothing is counted: the demo's counters are those of today already."""
        request = ContextRequest(
            **row | {"partition": row["partition"].path}, moment=PointInTime.recorded(at), preview=True
        )
        context = assemble_context(request, tenant_id=self.tenant.pk, reach="", actor=self.by, now=at)
        with tenant_scope(self.tenant.pk):
            write_receipt(context, moment=PointInTime.now(at), tenant_id=self.tenant.pk, api_key_id=None)

    def _evaluate(self, at: datetime, **row: Any) -> None:
        golden, by = EvaluationRun.Corpus.GOLDEN, self.by
        with tenant_scope(self.tenant.pk):
            run = request_evaluation(
                tenant_id=self.tenant.pk, corpus_kind=golden, is_enqueued=False, **row, by=by, now=at
            )
        run_evaluation(self.tenant.pk, run.pk, now=at)

    def _hold_session(
        self,
        at: datetime,
        messages: Sequence[dict[str, Any]],
        compacted_at: datetime | None = None,
        trigger: str = "manual",
        **row: Any,
    ) -> None:
        rows = messages_of(at, messages)
        with tenant_scope(self.tenant.pk):
            session = create_session(tenant=self.tenant, **row, by=self.by, now=at)
            append_messages(session_id=session.pk, rows=rows, by=self.by, now=rows[-1].created_at or at)
            if compacted_at is None:
                return
            run = open_compaction(session, session_policy(session), trigger=trigger, by=self.by, now=compacted_at)
        run_compaction(self.tenant.pk, run.pk, now=compacted_at)


def messages_of(at: datetime, rows: Iterable[Mapping[str, Any]]) -> list[NewMessage]:
    """The messages of a session that began `at`; each row gives the `seconds` that had passed."""
    return [
        NewMessage(
            **{key: value for key, value in row.items() if key != "seconds"},
            created_at=at + timedelta(seconds=row["seconds"]),
        )
        for row in rows
    ]


def _with_progress(steps: Sequence[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    console = Console(stderr=True)
    return track(steps, "Loading the demo", console=console, transient=True, disable=not console.is_terminal)
