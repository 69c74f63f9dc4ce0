"""`manage.py load_demo`: the demo tenant, loaded as if it had happened over six months."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from rich.console import Console
from rich.progress import track

from compaction.models import Session
from compaction.pipeline.orchestrator import run_compaction
from compaction.pipeline.plans import open_compaction, proposed_compaction
from compaction.pipeline.policies import session_policy
from compaction.review.actions import approve_compaction
from compaction.services.sessions.drafts import NewMessage
from compaction.sessions.actions import append_messages, create_session
from context.assembly.orchestrator import assemble_context
from context.assembly.sources import ContextCaller
from context.evaluation.actions.evaluations import request_evaluation
from context.evaluation.actions.golden_questions import collect_golden_question
from context.evaluation.runs import run_evaluation
from context.feedback.actions import record_feedback, withdraw_feedback
from context.models import EvaluationRun
from context.profiles.actions.assignments import assign_budget_profile
from context.profiles.actions.budget_profiles import create_budget_profile, save_budget_profile
from context.profiles.actions.scoring_profiles import create_scoring_profile, edit_scoring_profile
from context.receipts.results import ContextRequest
from context.receipts.storing import build_receipt
from memories.embeddings.embedders import is_local_for
from memories.embeddings.indexer import index_memories
from memories.embeddings.providers import EmbeddingError
from memories.management.command import PlatformCommand
from memories.models import Memory, PartitionSummary, Tenant
from memories.partitions.actions import create_snapshot, link_memories, save_summary, set_tenant_memo
from memories.services.store.demo import read_demo
from memories.services.store.drafts import NewMemory
from memories.services.store.moments import PointInTime
from memories.store.actions.edit import MemoryCounters, archive_memory, import_counters, update_memory
from memories.store.actions.store import store_memories
from memories.tenancy.actions.tenants import create_tenant
from memories.tenancy.audit import Actor
from memories.tenancy.scopes import admin_write_scope, tenant_scope
from memory_platform.web.numerals import counted

#: The counters of memories for which the demo data has none.
UNUSED = {"usefulness_score": 0.5, "retrieval_count": 0, "last_retrieved_at": None}


class DemoLoader:
    """Loads the demo into `tenant`, with dates relative to `now`.

    Rows of the demo name a memory or a vote by its `ref`.
    """

    def __init__(self, tenant: Tenant, *, by: Actor, now: datetime) -> None:
        self.tenant, self.by, self.now = tenant, by, now
        self.memories: dict[str, Memory] = {}
        self._counters: dict[UUID, MemoryCounters] = {}
        self._votes: dict[tuple[str, str], UUID] = {}
        self._versions: dict[tuple[str, str], int] = {}

    def load_memories(self) -> None:
        """Store, change, link and summarise the memories; load profiles, votes and golden questions."""
        with tenant_scope(self.tenant.pk):
            console, steps = Console(stderr=True), read_demo("history", self.now)
            quiet = not console.is_terminal
            for row in track(steps, "Loading the demo", console=console, transient=True, disable=quiet):
                self.take_step(**row)
            # as old as the history, so that the newest changes on the Activity page are those of people
            began = min(step["at"] for step in steps)
            import_counters(tenant_id=self.tenant.pk, counters=self._counters, by=self.by, now=began)
            for row in read_demo("steering", self.now):
                self._steer(**row)

    def load_usage(self) -> None:
        """Assemble the contexts and run the evaluations. Call it outside any scope, once memories can be searched."""
        for row in read_demo("usage", self.now):
            (self._assemble if row.pop("do") == "assemble_context" else self._evaluate)(**row)

    def load_sessions(self) -> None:
        """Append to the sessions and compact them; some compactions wait for review."""
        for row in read_demo("sessions", self.now):
            self._hold_session(**row)

    def take_step(self, do: str, at: datetime, ref: str = "", **row: Any) -> None:
        """Repeat one recorded step on memories."""
        who: dict[str, Any] = {"by": self.by, "now": at}
        match do:
            case "store_memory":
                counters = MemoryCounters(**UNUSED | row.pop("counters", {}))
                new = NewMemory(created_at=at, **row)
                memory = store_memories(tenant=self.tenant, rows=[new], **who)[0].memory
                if memory is None:
                    raise CommandError(f"The demo memory {ref} was not stored.")
                self.memories[ref], self._counters[memory.pk] = memory, counters
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
                ref = row.pop("ref")
                given = record_feedback(memory_id=self.memories[ref].pk, **row, **who)
                self._votes[ref, row["feedback"]] = given.votes[0].pk
            case "withdraw_feedback":
                withdraw_feedback(feedback_id=self._votes[row["ref"], row["feedback"]], **who)
            case "collect_golden_question":
                memory_ids = [self.memories[ref].pk for ref in row.pop("wants")]
                collect_golden_question(memory_ids=memory_ids, **row, **who)

    def _save_profile(self, create: Any, edit: Any, row: dict[str, Any]) -> None:
        """Create the profile, or save a new version of it."""
        known = create.__name__, row["name"]
        edited_from = self._versions.get(known)
        saved = create(**row) if edited_from is None else edit(edited_from=edited_from, **row)
        self._versions[known] = saved.version

    def _assemble(self, at: datetime, **row: Any) -> None:
        """Assemble the data of that time as a preview, because the demo's counters are already those of today."""
        row["partition"] = row["partition"].path
        request = ContextRequest(**row, moment=PointInTime.recorded(at), preview=True)
        context = assemble_context(request, ContextCaller(self.tenant.pk, self.by, at))
        with tenant_scope(self.tenant.pk):
            build_receipt(context, moment=PointInTime.now(at), tenant_id=self.tenant.pk, api_key_id=None).save()

    def _evaluate(self, at: datetime, **row: Any) -> None:
        row |= {"tenant_id": self.tenant.pk, "corpus_kind": EvaluationRun.Corpus.GOLDEN, "by": self.by, "now": at}
        with tenant_scope(self.tenant.pk):
            run = request_evaluation(**row, is_enqueued=False)
        run_evaluation(self.tenant.pk, run.pk, now=at)

    def _hold_session(self, at: datetime, messages: Sequence[dict[str, Any]], **row: Any) -> None:
        compacted_at, trigger = row.pop("compacted_at", None), row.pop("trigger", "manual")
        is_approved = row.pop("is_approved", False)
        rows = messages_of(at, messages)
        with tenant_scope(self.tenant.pk):
            session = create_session(tenant=self.tenant, **row, by=self.by, now=at)
            append_messages(
                tenant_id=session.tenant_id, session_id=session.pk, rows=rows, by=self.by, now=rows[-1].created_at or at
            )
            if compacted_at is None:
                return
            run = open_compaction(session, session_policy(session), trigger=trigger, by=self.by, now=compacted_at)
        run_compaction(self.tenant.pk, run.pk, now=compacted_at)
        if is_approved:
            self._approve(session, compacted_at)

    def _approve(self, session: Session, at: datetime) -> None:
        """Approve the proposal of the session, if its summary waits for review."""
        with tenant_scope(self.tenant.pk):
            if (proposal := proposed_compaction(session)) is not None:
                approve_compaction(compaction=proposal, by=self.by, now=at)


def messages_of(at: datetime, rows: Iterable[Mapping[str, Any]]) -> list[NewMessage]:
    """Return the messages of a session that began `at`; each row has the `seconds` since then."""
    return [NewMessage(created_at=at + timedelta(seconds=row.pop("seconds")), **row) for row in map(dict, rows)]


class Command(PlatformCommand):
    help = (
        "Load the demo tenant: what four agents of a small company remember of the last six months.\n"
        "If the tenant already exists, nothing is changed.\n\n"
        "Example: manage.py load_demo --tenant Fennrad"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tenant", metavar="NAME", default="", help="name of the tenant (default: the demo's own)")

    def handle(self, **options: Any) -> None:
        now = timezone.now()
        demo = read_demo("tenant", now)
        name = options["tenant"].strip() or demo["name"]
        with admin_write_scope():
            if Tenant.objects.named(name).exists():
                self.stdout.write(f"The tenant {name} already exists; nothing was changed.")
                return
            # One transaction, because nothing would complete partly loaded demo data.
            tenant = create_tenant(name=name, by=self.actor, now=demo["at"])
            loader = DemoLoader(tenant, by=self.actor, now=now)
            loader.load_memories()
        self.stdout.write(f"The tenant {name} has {counted(len(loader.memories), 'memory', 'memories')}.")
        if is_local_for(tenant.pk):
            try:  # embed now, so that the first page that is opened can search
                index_memories(tenant.pk, [memory.pk for memory in loader.memories.values()])
            except EmbeddingError as error:
                self.stderr.write(f"Embedding stopped; the worker continues it: {error.detail}")
            else:
                loader.load_usage()
        loader.load_sessions()
