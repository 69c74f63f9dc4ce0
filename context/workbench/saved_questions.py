"""The effect of a draft profile on saved questions, before the draft is stored (ADR-0088).

Saved questions are the tenant's golden questions, newest first, then recent queries of agents. Every context is a
preview through the real assembly, so nothing is stored or counted.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode
from uuid import UUID

from context.assembly.diff import ContextDiff
from context.assembly.orchestrator import assemble_context
from context.assembly.sources import ContextCaller
from context.models import GoldenQuestion, Receipt
from context.receipts.results import AssembledContext, Block, ContextRequest
from context.workbench.long_queries import query_parameters
from memories.search.queries.shared_results import shared_results
from memories.services.store.demo import demo_questions_for_tenant

#: Two contexts of each are assembled while the page loads.
SAVED_QUESTIONS_MAX = 8
#: No further question is assembled after this time; the first always is.
SECONDS_MAX = 2.0
_RECENT_MAX = 6


@dataclass(frozen=True)
class SavedQuestion:
    """A query and its partition; a golden question may be about an earlier time.

    A golden question also has live `evidence`, and `evidence_total` counts all of its evidence.

    `max_tokens` is the budget that it was asked with, None for that of the profile. If the query is too long for a URL,
    the golden question or a receipt (`receipt_id`) is named instead.
    """

    query: str
    partition: str
    evidence: Collection[UUID] = ()
    as_of: datetime | None = None
    golden_id: UUID | None = None
    max_tokens: int | None = None
    receipt_id: UUID | None = None
    evidence_total: int = 0

    @classmethod
    def of_golden(cls, row: Any) -> Self:
        """Return the saved question of a golden question that was read `with_evidence`."""
        return cls(
            row.text,
            row.partition_path,
            row.live_memory_ids,
            row.as_of,
            row.pk,
            row.max_tokens,
            evidence_total=len(row.memory_ids),
        )

    @property
    def query_string(self) -> str:
        """The query string of the pages that assemble it."""
        params = query_parameters(self.query, self.golden_id or self.receipt_id) | {"partition": self.partition}
        if self.as_of:
            params["as_of"] = self.as_of.replace(tzinfo=None).isoformat(timespec="seconds")
        return urlencode(params | ({"max_tokens": str(self.max_tokens)} if self.max_tokens else {}))


class SavedQuestionEffect(NamedTuple):
    """The contexts of one question before and after, the evidence that they include, and the blocks that differ."""

    question: SavedQuestion
    before: AssembledContext
    after: AssembledContext
    included_before: int
    included_after: int
    entering: Sequence[Block]
    leaving: Sequence[Block]

    @property
    def gain(self) -> int:
        return self.included_after - self.included_before

    @classmethod
    def between(cls, question: SavedQuestion, before: AssembledContext, after: AssembledContext) -> Self:
        block_ids = [{block.anchor.id for block in context.blocks} for context in (before, after)]
        included_before, included_after = (
            sum(str(memory_id) in ids for memory_id in question.evidence) for ids in block_ids
        )
        entering = ContextDiff.between((block.anchor for block in before.blocks), after).added
        leaving = ContextDiff.between((block.anchor for block in after.blocks), before).added
        return cls(question, before, after, included_before, included_after, entering, leaving)


class SavedQuestionEffects(NamedTuple):
    """The effects on all questions: evidence, how many include more or less of it, and how many have other blocks.

    `not_assembled` questions were skipped for lack of time.
    """

    rows: Sequence[SavedQuestionEffect]
    milliseconds: float
    not_assembled: int
    evidence: int
    included_before: int
    included_after: int
    better: int
    worse: int
    moved: int


def recent_questions(tenant_id: UUID) -> list[SavedQuestion]:
    """Return the latest distinct queries of agents, newest first; inside a scope."""
    return [SavedQuestion(**row) for row in Receipt.objects.for_tenant(tenant_id).recent_questions(_RECENT_MAX)]


def demo_questions(tenant_name: str) -> list[SavedQuestion]:
    """Return suggested queries of the demo tenant; nothing for any other tenant."""
    return [SavedQuestion(*row) for row in demo_questions_for_tenant(tenant_name)]


def saved_questions(tenant_id: UUID, tenant_name: str, *, now: datetime) -> tuple[list[SavedQuestion], int]:
    """Return at most `SAVED_QUESTIONS_MAX` questions, and the number of golden ones; inside a scope."""
    questions = GoldenQuestion.objects.for_tenant(tenant_id).not_removed()
    golden = questions.with_evidence(now).newest_first()[:SAVED_QUESTIONS_MAX]
    found = [SavedQuestion.of_golden(row) for row in golden]
    known = {(each.query, each.partition) for each in found}
    others = recent_questions(tenant_id) or demo_questions(tenant_name)
    found += [each for each in others if (each.query, each.partition) not in known]
    return found[:SAVED_QUESTIONS_MAX], questions.count()


def saved_question_effects(
    questions: Sequence[SavedQuestion],
    before: ContextRequest,
    after: ContextRequest,
    caller: ContextCaller,
    *,
    clock: Callable[[], float],
) -> SavedQuestionEffects:
    """Return the contexts of each question for `before` and `after`. Call it with no scope open.

    A question that was asked with a budget keeps it. If both are equal, each is assembled once. `clock` returns
    seconds: none is assembled after `SECONDS_MAX`. Raises as `assemble_context` does.
    """
    started = clock()

    def answer(settings: ContextRequest, question: SavedQuestion) -> AssembledContext:
        request = replace(
            settings,
            query=question.query,
            partition=question.partition,
            as_of=question.as_of,
            max_tokens=question.max_tokens or settings.max_tokens,
            preview=True,
        )
        return assemble_context(request, caller)

    rows: list[SavedQuestionEffect] = []
    for question in questions:
        if rows and clock() - started >= SECONDS_MAX:
            break
        if after == before:
            first = second = answer(before, question)
        else:
            with shared_results():
                first, second = answer(before, question), answer(after, question)
        rows.append(SavedQuestionEffect.between(question, first, second))
    return SavedQuestionEffects(
        rows,
        milliseconds=round((clock() - started) * 1000, 1),
        not_assembled=len(questions) - len(rows),
        evidence=sum(len(row.question.evidence) for row in rows),
        included_before=sum(row.included_before for row in rows),
        included_after=sum(row.included_after for row in rows),
        better=sum(row.gain > 0 for row in rows),
        worse=sum(row.gain < 0 for row in rows),
        moved=sum(bool(row.entering or row.leaving) for row in rows),
    )
