"""Corpora of an evaluation: golden questions, the shipped updated facts, an upload, a path."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from context.evaluation.measurement import EvaluationQuestion
from context.evaluation.staging import EVALUATION_STAGE, EvaluationProgress, load_staged_corpus
from context.models import EvaluationRun, GoldenQuestion
from context.services.evaluation.corpus import Corpus, CorpusError, CorpusMemory, CorpusQuestion, read_corpus
from context.services.evaluation.corpus.folders import MEMORIES_FILE, QUESTIONS_FILE, reference_problems
from context.services.evaluation.corpus.model import rows_sha256
from memories.models import Memory
from memories.services.partitions.paths import is_within
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.scopes import tenant_scope

#: Maximum problems of a corpus in one message.
PROBLEMS_REPORTED_MAX = 20
UPDATED_FACTS_NAME = "updated facts"
UPDATED_FACTS_CORPUS = Path(__file__).resolve().parents[1] / "services" / "evaluation" / "updated_facts"
GOLDEN_NAME = "golden questions"
#: Maximum memories that a comparison of embedding models copies: half a minute with a slow model on two cores.
COPIED_MEMORIES_MAX = 5_000


@dataclass(frozen=True)
class EvaluationCorpus:
    """The questions of a run: of a `corpus`, or `golden` ones, whose memories are rows of the tenant."""

    name: str
    sha256: str
    corpus: Corpus | None = None
    golden: Sequence[EvaluationQuestion] = ()

    @property
    def all_questions(self) -> Sequence[CorpusQuestion]:
        return self.golden if self.corpus is None else self.corpus.questions

    def questions(self, ids: Mapping[str, UUID]) -> Sequence[EvaluationQuestion]:
        """Return the questions with their memories as rows; `ids` are the rows by their ids in the corpus."""
        if self.corpus is None:
            return self.golden
        newest = _newest_by_partition(self.corpus)
        return [
            EvaluationQuestion(
                **vars(question)
                | {
                    name: frozenset(str(ids[each]) for each in getattr(question, name))
                    for name in ("evidence", "stale")
                },
                # A question that is older than some memories is about what was true at its time.
                as_of=question.asked_at if newest[question.partition] > question.asked_at else None,
            )
            for question in self.corpus.questions
        ]


def load_evaluation_corpus(run: EvaluationRun, *, now: datetime) -> EvaluationCorpus:
    """Return the corpus of a run; with no scope open. Raises `InvalidInput`, also for a run of a file."""
    if run.corpus_kind == EvaluationRun.Corpus.GOLDEN:
        with tenant_scope(run.tenant_id):
            return evaluation_corpus_from_golden_questions(run.tenant_id, now=now)
    if run.corpus_kind == EvaluationRun.Corpus.GOLDEN_COPY:
        with tenant_scope(run.tenant_id):
            # all models use the same time, so that their runs have the same corpus
            copy = copy_golden_questions(run.tenant_id, now=run.created_at, most=COPIED_MEMORIES_MAX)
        return evaluation_corpus_from_corpus(copy)
    if run.corpus_kind == EvaluationRun.Corpus.UPDATED_FACTS:
        corpus = read_corpus_path(UPDATED_FACTS_CORPUS)
        return EvaluationCorpus(UPDATED_FACTS_NAME, corpus.sha256, corpus)
    if run.corpus_kind == EvaluationRun.Corpus.UPLOAD:
        return evaluation_corpus_from_corpus(read_corpus_upload(run.corpus_name, run.corpus_text))
    raise InvalidInput("needs_its_file", "Only the command that reads its file can resume it.", "corpus")


def evaluation_corpus_from_corpus(corpus: Corpus) -> EvaluationCorpus:
    return EvaluationCorpus(corpus.name, corpus.sha256, corpus)


def evaluation_corpus_from_golden_questions(tenant_id: UUID, *, now: datetime) -> EvaluationCorpus:
    """Return the tenant's golden questions that have live evidence; inside a scope.

    Raises `InvalidInput` `no_questions`.
    """
    rows = GoldenQuestion.objects.for_tenant(tenant_id).not_removed().with_evidence(now)
    questions = [
        EvaluationQuestion(
            str(row.pk),
            row.text,
            frozenset(map(str, row.live_memory_ids)),
            asked_at=now,
            partition=row.partition_path,
            category=row.category,
            answer=row.answer,
            as_of=row.as_of,
        )
        for row in rows.oldest_first()
        if row.live_memory_ids
    ]
    if not questions:
        detail = "There are no golden questions with existing memories yet. Add some in the context workbench."
        raise InvalidInput("no_questions", detail, "corpus")
    same = ("id", "text", "partition", "as_of")
    identities = (
        {name: getattr(each, name) for name in same} | {"wanted": sorted(each.evidence)} for each in questions
    )
    return EvaluationCorpus(GOLDEN_NAME, rows_sha256(identities), golden=questions)


def copy_golden_questions(tenant_id: UUID, *, now: datetime, most: int) -> Corpus:
    """Return the golden questions with the live memories of their partitions: the evidence and the newest others.

    Inside a scope. Raises `InvalidInput` without a question whose evidence exists.
    """
    golden = evaluation_corpus_from_golden_questions(tenant_id, now=now).golden
    live = Memory.objects.for_tenant(tenant_id).live(now)
    evidence = list(live.with_ids({memory_id for question in golden for memory_id in question.evidence}))
    newest = live.within_any({question.partition for question in golden}).order_by("-created_at", "id")[:most]
    found = {row.pk: row for row in (*evidence, *newest)}
    rows = sorted(list(found.values())[:most], key=lambda row: (row.created_at, row.pk))
    last = max((row.created_at for row in rows), default=now)
    memories = {str(row.pk): CorpusMemory.of(row, id=str(row.pk), partition=row.partition_path) for row in rows}
    questions = [_copied_question(question, memories, question.as_of or max(now, last)) for question in golden]
    answerable = [question for question in questions if question.evidence]
    if not answerable:
        raise InvalidInput("no_questions", "There is no golden question whose memories exist.", "corpus")
    return Corpus(GOLDEN_NAME, list(memories.values()), answerable)


def _copied_question(
    question: EvaluationQuestion, memories: Mapping[str, CorpusMemory], asked_at: datetime
) -> CorpusQuestion:
    """Return the question with the evidence that it can find: memories may have moved since."""
    evidence = frozenset(
        memory_id
        for memory_id in question.evidence & memories.keys()
        if not any(reference_problems(memories[memory_id], question.partition, asked_at))
    )
    same = {name: getattr(question, name) for name in ("id", "text", "partition", "category", "answer")}
    return CorpusQuestion(**same, evidence=evidence, asked_at=asked_at)


def stage_questions(
    run_id: UUID,
    tenant_id: UUID,
    corpus: EvaluationCorpus,
    *,
    now: datetime,
    progress: EvaluationProgress,
    stage: str = EVALUATION_STAGE,
    model: str = "",
) -> tuple[UUID, Sequence[EvaluationQuestion]]:
    """Return the tenant to query and the questions with its rows: `tenant_id` itself for golden questions.

    The rows of a corpus are embedded by `model`, if given.

    Raises as `load_staged_corpus` does.
    """
    if corpus.corpus is None:
        return tenant_id, corpus.golden
    total = len(corpus.corpus.memories)
    progress("loading", 0, total)
    hidden_id, ids = load_staged_corpus(
        run_id, corpus.corpus, now=now, loaded=lambda done: progress("loading", done, total), stage=stage, model=model
    )
    return hidden_id, corpus.questions(ids)


def read_corpus_path(path: Path) -> Corpus:
    """Return the corpus at a path. Raises `InvalidInput` with a line for each of the first 20 problems."""
    try:
        return read_corpus(path)
    except CorpusError as error:
        lines = [str(problem) for problem in error.problems[:PROBLEMS_REPORTED_MAX]]
        if more := len(error.problems) - len(lines):
            lines.append(f"... and {more:,} more.")
        raise InvalidInput(error.code, "\n".join(lines), "corpus") from error


def read_corpus_upload(name: str, text: str) -> Corpus:
    """Return the corpus of an upload as `corpus_upload_text` stores it. Raises `InvalidInput`."""
    with TemporaryDirectory() as folder:
        for file_name, lines in json.loads(text).items():
            Path(folder, file_name).write_text(lines, encoding="utf-8", newline="")
        return replace(read_corpus_path(Path(folder)), name=name)


def corpus_upload_text(memories: str, questions: str) -> str:
    """Return both files of an upload as the one text that a run stores."""
    return json.dumps({MEMORIES_FILE: memories, QUESTIONS_FILE: questions}, ensure_ascii=False)


_within = cache(is_within)


def _newest_by_partition(corpus: Corpus) -> Mapping[str, datetime]:
    return {
        path: max(memory.created_at for memory in corpus.memories if _within(memory.partition, path))
        for path in {question.partition for question in corpus.questions}
    }
