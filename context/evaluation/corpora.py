"""Where the questions of an evaluation come from: the tenant's own, what comes with the program, an upload, a path."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from context.evaluation.measurement import EvaluationQuestion
from context.models import EvaluationRun, GoldenQuestion
from context.services.evaluation.corpus import Corpus, CorpusError, CorpusQuestion, read_corpus
from context.services.evaluation.corpus.checks import MEMORIES_FILE, QUESTIONS_FILE
from context.services.evaluation.fingerprint import corpus_sha256, rows_sha256
from memories.services.partitions.paths import is_within
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.scopes import tenant_scope

#: So many problems of a corpus are told at once.
PROBLEMS_TOLD_MAX = 20
UPDATED_FACTS_CORPUS = Path(__file__).resolve().parents[1] / "services" / "evaluation" / "updated_facts"
GOLDEN_NAME = "golden questions"


@dataclass(frozen=True)
class EvaluationCorpus:
    """The questions of a run. `corpus` is None where its memories are rows of the tenant already."""

    name: str
    sha256: str
    corpus: Corpus | None = None
    golden: Sequence[EvaluationQuestion] = ()

    @property
    def size(self) -> int:
        """How many questions there are."""
        return len(self.golden) if self.corpus is None else len(self.corpus.questions)

    def asked(self, ids: Mapping[str, UUID]) -> Sequence[EvaluationQuestion]:
        """The questions with their memories as rows; `ids` are those of the rows by their names in the corpus."""
        if self.corpus is None:
            return self.golden
        newest = _newest_by_partition(self.corpus)
        return [_asked(question, ids, newest[question.partition]) for question in self.corpus.questions]


def load_evaluation_corpus(run: EvaluationRun, *, now: datetime) -> EvaluationCorpus:
    """What a run asks, read anew; with no scope open. Raises `InvalidInput`; a file is read by who knows its path."""
    if run.corpus_kind == EvaluationRun.Corpus.GOLDEN:
        with tenant_scope(run.tenant_id):
            return evaluation_corpus_from_golden_questions(run.tenant_id, now=now)
    if run.corpus_kind == EvaluationRun.Corpus.UPDATED_FACTS:
        return evaluation_corpus_from_corpus(read_corpus_path(UPDATED_FACTS_CORPUS))
    if run.corpus_kind == EvaluationRun.Corpus.UPLOAD:
        return evaluation_corpus_from_corpus(read_corpus_upload(run.corpus_name, run.corpus_text))
    raise InvalidInput("needs_its_file", "Only the command that reads its file can go on with it.", "corpus")


def evaluation_corpus_from_corpus(corpus: Corpus) -> EvaluationCorpus:
    return EvaluationCorpus(corpus.name, corpus_sha256(corpus), corpus)


def evaluation_corpus_from_golden_questions(tenant_id: UUID, *, now: datetime) -> EvaluationCorpus:
    """The tenant's own questions that want a memory which is still there; inside a scope.

    Raises `InvalidInput` `no_questions`.
    """
    rows = GoldenQuestion.objects.for_tenant(tenant_id).standing()
    wanted = rows.wanted_ids()
    questions = [_golden(row, wanted[row.pk], now) for row in rows.oldest_first() if row.pk in wanted]
    if not questions:
        detail = "There are no golden questions yet whose memories are there: collect them on the context preview."
        raise InvalidInput("no_questions", detail, "corpus")
    return EvaluationCorpus(GOLDEN_NAME, rows_sha256(map(_golden_row, questions)), golden=questions)


def read_corpus_path(path: Path) -> Corpus:
    """The corpus at a path. Raises `InvalidInput` with what is wrong, a line for each of the first 20 problems."""
    try:
        return read_corpus(path)
    except CorpusError as error:
        told = [str(problem) for problem in error.problems[:PROBLEMS_TOLD_MAX]]
        if more := len(error.problems) - len(told):
            told.append(f"... and {more:,} more.")
        raise InvalidInput(error.code, "\n".join(told), "corpus") from error


def read_corpus_upload(name: str, text: str) -> Corpus:
    """The corpus of an upload as `corpus_upload_text` keeps it. Raises `InvalidInput`."""
    with TemporaryDirectory() as folder:
        place = Path(folder) / "corpus"
        place.mkdir()
        for file_name, lines in json.loads(text).items():
            (place / file_name).write_text(lines, encoding="utf-8", newline="")
        corpus = read_corpus_path(place)
    return Corpus(name, corpus.memories, corpus.questions, corpus.notes)


def corpus_upload_text(memories: str, questions: str) -> str:
    """Both files of an upload as the one text that a run keeps."""
    return json.dumps({MEMORIES_FILE: memories, QUESTIONS_FILE: questions}, ensure_ascii=False)


def _golden(row: GoldenQuestion, wanted: Sequence[UUID], now: datetime) -> EvaluationQuestion:
    return EvaluationQuestion(
        id=str(row.pk),
        text=row.text,
        now=now,
        wanted=frozenset(wanted),
        partition=row.partition_path,
        category=row.category,
        answer=row.answer,
        as_of=row.asked_at,
    )


def _golden_row(asked: EvaluationQuestion) -> dict[str, object]:
    """What makes a golden question the same one in two runs."""
    wanted = sorted(str(memory_id) for memory_id in asked.wanted)
    return {"id": asked.id, "text": asked.text, "partition": asked.partition, "as_of": asked.as_of, "wanted": wanted}


def _newest_by_partition(corpus: Corpus) -> Mapping[str, datetime]:
    """For each partition that is asked: when its newest memory is from."""
    partitions = {question.partition for question in corpus.questions}
    return {
        asked: max(memory.created_at for memory in corpus.memories if _within(memory.partition, asked))
        for asked in partitions
    }


@cache
def _within(path: str, prefix: str) -> bool:
    return is_within(path, prefix)


def _asked(question: CorpusQuestion, ids: Mapping[str, UUID], newest: datetime) -> EvaluationQuestion:
    """A question is asked at its own time; where memories are younger, of what was true then."""
    return EvaluationQuestion(
        id=question.id,
        text=question.text,
        now=question.asked_at,
        wanted=frozenset(ids[name] for name in question.evidence),
        stale=frozenset(ids[name] for name in question.stale),
        partition=question.partition,
        category=question.category,
        answer=question.answer,
        as_of=question.asked_at if newest > question.asked_at else None,
    )
