"""What contexts hold of the evidence: `python -m benchmarks.bench_evidence [CORPUS] [--profile NAME] [--today]`.

CORPUS is a folder as docs/corpus.md describes it, or conversations in the format of the LoCoMo data set (which is not
part of this project); without one it is the corpus of updated facts. Each question is asked through the real retrieval
and assembly, as a preview, at several budgets and at its own time: ages are reckoned as they are for an agent in the
middle of its work. With `--today` all are asked now, as somebody asks who reads an old conversation.
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.database import analyse, new_benchmark_tenant, throwaway_database
from context.services.evaluation.corpus import Corpus, CorpusError, CorpusQuestion, read_corpus
from context.services.evaluation.evidence import (
    MeasuredAnswer,
    MeasuresSummary,
    QuestionMeasures,
    build_evaluation_report,
    measure_retrieved_evidence,
)

UPDATED_FACTS = Path(__file__).parent.parent / "context" / "services" / "evaluation" / "updated_facts"
_ROWS_PER_BATCH = 500
_COLUMNS = ("recall", "full", "containment", "mrr", "current_first")


def load_evidence_corpus(tenant: Any, corpus: Corpus) -> dict[str, str]:
    """Store the memories with their vectors; the corpus's own id by the memory's id."""
    from memories.embeddings.indexer import index_memories
    from memories.store.actions.store import store_memories
    from memories.tenancy.audit import Actor
    from memories.tenancy.scopes import tenant_scope

    newest = max(memory.created_at for memory in corpus.memories)
    source_of: dict[str, str] = {}
    for start in range(0, len(corpus.memories), _ROWS_PER_BATCH):
        batch = corpus.memories[start : start + _ROWS_PER_BATCH]
        rows = [memory.as_new_memory() for memory in batch]
        with tenant_scope(tenant.pk):
            results = store_memories(tenant=tenant, rows=rows, by=Actor.system("benchmark"), now=newest)
        stored = [result.memory for result in results if result.memory]
        index_memories(tenant.pk, [memory.pk for memory in stored])
        source_of |= {str(memory.pk): row.id for memory, row in zip(stored, batch, strict=True)}
    if len(source_of) != len(corpus.memories):
        raise RuntimeError(f"{len(source_of):,} of {len(corpus.memories):,} memories were stored")
    analyse()
    return source_of


def measure_evidence(
    tenant: Any, question: CorpusQuestion, max_tokens: int, source_of: dict[str, str], *, profile: str, now: datetime
) -> QuestionMeasures:
    """What the context of a question holds at one budget, asked at `now`."""
    from context.assembly.orchestrator import assemble_context
    from context.receipts.results import ContextRequest
    from memories.tenancy.audit import Actor

    request = ContextRequest(
        query=question.text, partition=question.partition, max_tokens=max_tokens, profile=profile, preview=True
    )
    began = perf_counter()
    actor = Actor.system("benchmark")
    context = assemble_context(request, tenant_id=tenant.pk, reach="", actor=actor, now=now)
    took = perf_counter() - began
    if context.budget.used > max_tokens:
        raise RuntimeError(f"{context.budget.used} tokens in a budget of {max_tokens}")
    shown = [block for block in context.blocks if block.anchor.type == "memory"]
    ranked = sorted(shown, key=lambda block: -(block.score or 0.0))
    return measure_retrieved_evidence(
        [source_of[block.anchor.id] for block in ranked],
        evidence=question.evidence,
        stale=question.stale,
        answer=question.answer,
        text=context.text,
        tokens=context.budget.used,
        milliseconds=took * 1000,
    )


def line_of(name: str, summary: MeasuresSummary) -> str:
    """One line of the table; a dash where a measure applies to no question."""
    found = [summary.measures.get(column) for column in _COLUMNS]
    cells = [f"{each.value:.3f} [{each.low:.2f} {each.high:.2f}]" if each else "-" for each in found]
    latency = f"{summary.milliseconds_p50:.0f} / {summary.milliseconds_p95:.0f} ms"
    return f"{name:>24} {summary.questions:>6,}" + "".join(f"{cell:>20}" for cell in cells) + f"{latency:>16}"


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, nargs="?", default=UPDATED_FACTS, help="a folder, or a .json file")
    parser.add_argument("--sample", type=int, default=0, help="ask only so many questions, drawn at random (0: all)")
    parser.add_argument("--profile", default="adr-0040", help="a shipped scoring profile (adr-0040)")
    parser.add_argument("--budgets", default="250,500,1000,2000,4000", help="tokens, with commas between")
    parser.add_argument("--today", action="store_true", help="ask every question now instead of at its own time")
    wanted = parser.parse_args()
    now = datetime.now(UTC) if wanted.today else None
    try:
        corpus = read_corpus(wanted.corpus)
    except CorpusError as error:
        parser.error("\n".join(map(str, error.problems[:20])))
    questions = list(corpus.questions)
    if 0 < wanted.sample < len(questions):
        drawn = np.random.default_rng(7).choice(len(questions), wanted.sample, replace=False)
        questions = [questions[place] for place in sorted(drawn)]
    with throwaway_database():
        tenant = new_benchmark_tenant("benchmark")
        source_of = load_evidence_corpus(tenant, corpus)
        print(f"{corpus.name}: {len(corpus.memories):,} memories, {len(questions):,} questions")
        print(f"{'':>24} {'asked':>6}" + "".join(f"{column:>20}" for column in _COLUMNS) + f"{'p50 / p95':>16}")
        for budget in map(int, wanted.budgets.split(",")):
            answers = [
                MeasuredAnswer(
                    question.id,
                    question.category,
                    measure_evidence(
                        tenant, question, budget, source_of, profile=wanted.profile, now=now or question.asked_at
                    ),
                )
                for question in questions
            ]
            report = build_evaluation_report(answers)
            for name, summary in {"all": report.total, **report.categories}.items():
                print(line_of(f"{budget:,} tokens, {name}", summary))


if __name__ == "__main__":
    main()
