"""What a draft of a profile would do to the questions that are known, before it is saved (ADR-0088).

Known are the tenant's golden questions, newest first, then what agents asked lately. Every context is a preview through
the real assembly, so nothing is stored and nothing is counted.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlencode
from uuid import UUID

from context.assembly.orchestrator import assemble_context
from context.models import GoldenQuestion
from context.receipts.results import MEMORY, AssembledContext, Block, ContextRequest
from context.workbench.preview import demo_questions, recent_questions
from memories.tenancy.audit import Actor

#: Two contexts of each are assembled while somebody waits.
SAVED_QUESTIONS_MAX = 8
#: After which no further question is asked; the first always is.
SECONDS_MAX = 2.0


@dataclass(frozen=True)
class SavedQuestion:
    """A question to try a draft on; a golden one wants memories, and may be asked of an earlier time."""

    query: str
    partition: str
    wanted: Collection[UUID] = ()
    as_of: datetime | None = None
    golden_id: UUID | None = None

    @property
    def query_string(self) -> str:
        """As the pages that ask one question take it."""
        asked = {"query": self.query, "partition": self.partition}
        return urlencode(asked | ({"as_of": form_datetime(self.as_of)} if self.as_of else {}))


def form_datetime(at: datetime) -> str:
    """A time in UTC as fields of pages take and show it."""
    return at.replace(tzinfo=None).isoformat(timespec="seconds")


@dataclass(frozen=True)
class SavedQuestionEffect:
    """One question before and after: what its contexts hold."""

    question: SavedQuestion
    before: AssembledContext
    after: AssembledContext

    @property
    def held_before(self) -> int:
        return _held(self.question, self.before)

    @property
    def held_after(self) -> int:
        return _held(self.question, self.after)

    @property
    def gain(self) -> int:
        """How many more wanted memories it holds afterwards."""
        return self.held_after - self.held_before

    @property
    def entering(self) -> list[Block]:
        return _only_in(self.after, self.before)

    @property
    def leaving(self) -> list[Block]:
        return _only_in(self.before, self.after)


@dataclass(frozen=True)
class SavedQuestionEffects:
    """The same for all that were asked, how long that took, and how many were not asked since the time was over."""

    rows: Sequence[SavedQuestionEffect]
    milliseconds: float
    not_asked: int = 0

    @property
    def wanted(self) -> int:
        return sum(len(row.question.wanted) for row in self.rows)

    @property
    def held_before(self) -> int:
        return sum(row.held_before for row in self.rows)

    @property
    def held_after(self) -> int:
        return sum(row.held_after for row in self.rows)

    @property
    def better(self) -> int:
        """Questions that hold more of what they want."""
        return sum(row.gain > 0 for row in self.rows)

    @property
    def worse(self) -> int:
        return sum(row.gain < 0 for row in self.rows)

    @property
    def moved(self) -> int:
        """Questions whose blocks change."""
        return sum(bool(row.entering or row.leaving) for row in self.rows)


def saved_questions(tenant_id: UUID, tenant_name: str) -> tuple[list[SavedQuestion], int]:
    """The questions to try a draft on, at most `SAVED_QUESTIONS_MAX`, and the count of golden ones; inside a scope."""
    standing = GoldenQuestion.objects.for_tenant(tenant_id).standing()
    golden = list(standing.newest_first()[:SAVED_QUESTIONS_MAX])
    wanted = standing.with_ids(row.pk for row in golden).wanted_ids()
    found = [
        SavedQuestion(row.text, row.partition_path, wanted.get(row.pk, ()), row.asked_at, row.pk) for row in golden
    ]
    known = {(each.query, each.partition) for each in found}
    others = recent_questions(tenant_id) or demo_questions(tenant_name)
    found += [SavedQuestion(each.query, each.partition) for each in others if (each.query, each.partition) not in known]
    return found[:SAVED_QUESTIONS_MAX], standing.count()


def saved_question_effects(
    questions: Sequence[SavedQuestion],
    before: ContextRequest,
    after: ContextRequest,
    *,
    tenant_id: UUID,
    actor: Actor,
    now: datetime,
    clock: Callable[[], float],
) -> SavedQuestionEffects:
    """Each question answered as `before` and as `after` say; called with no scope open.

    Where both say the same each is answered once. `clock` tells seconds: none is asked after `SECONDS_MAX`.
    Raises what the assembly raises for a wish that cannot be granted.
    """
    if not (before.preview and after.preview):
        raise ValueError("a page only previews")
    started = clock()

    def answer(wish: ContextRequest, question: SavedQuestion) -> AssembledContext:
        asked = replace(wish, query=question.query, partition=question.partition, as_of=question.as_of)
        return assemble_context(asked, tenant_id=tenant_id, reach="", actor=actor, now=now)

    rows: list[SavedQuestionEffect] = []
    for question in questions:
        if rows and clock() - started >= SECONDS_MAX:
            break
        first = answer(before, question)
        rows.append(SavedQuestionEffect(question, first, first if after == before else answer(after, question)))
    return SavedQuestionEffects(rows, round((clock() - started) * 1000, 1), len(questions) - len(rows))


def _held(question: SavedQuestion, context: AssembledContext) -> int:
    held = {block.anchor.id for block in context.blocks if block.anchor.type == MEMORY}
    return sum(str(memory_id) in held for memory_id in question.wanted)


def _only_in(context: AssembledContext, other: AssembledContext) -> list[Block]:
    there = {block.anchor for block in other.blocks}
    return [block for block in context.blocks if block.anchor not in there]
