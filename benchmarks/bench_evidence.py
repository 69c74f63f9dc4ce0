"""Measure the evidence in contexts: `python -m benchmarks.bench_evidence [CORPUS] [--profile NAME] [--today]`.

CORPUS is a folder as docs/corpus.md describes it, or conversations in the format of the LoCoMo data set (which is not
part of this project); without one it is the corpus of updated facts. Each question is asked through the real retrieval
and assembly, as a preview, at several budgets and at its own time, as an agent asks in the middle of its work. With
`--today` all are asked now, as for an old conversation.
"""

from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.database import benchmark_actor, new_benchmark_tenant, store_in_batches, throwaway_database
from benchmarks.timing import argument_parser
from context.services.evaluation.corpus import Corpus, CorpusError, CorpusQuestion, read_corpus
from context.services.evaluation.evidence import (
    MeasuredAnswer,
    MeasuresSummary,
    QuestionMeasures,
    build_evaluation_report,
    measure_retrieved_evidence,
)

UPDATED_FACTS = Path(__file__).parent.parent / "context" / "services" / "evaluation" / "updated_facts"
_COLUMNS = ("recall", "full", "containment", "mrr", "current_first")


def load_evidence_corpus(tenant: Any, corpus: Corpus) -> dict[str, str]:
    """Store the memories with their vectors; return the ids of the corpus by the ids of the memories."""
    newest = max(memory.created_at for memory in corpus.memories)
    stored = store_in_batches(tenant, (memory.as_new_memory() for memory in corpus.memories), now=newest)
    if len(stored) != len(corpus.memories):
        raise RuntimeError(f"{len(stored):,} of {len(corpus.memories):,} memories were stored")
    return {str(memory.pk): row.id for memory, row in zip(stored, corpus.memories, strict=True)}


def measure_evidence(
    tenant: Any, question: CorpusQuestion, max_tokens: int, source_of: dict[str, str], *, profile: str, now: datetime
) -> QuestionMeasures:
    """Measure the context of a question at one budget, requested at `now`."""
    from context.assembly.orchestrator import assemble_context
    from context.receipts.results import ContextRequest

    request = ContextRequest(
        query=question.text, partition=question.partition, max_tokens=max_tokens, profile=profile, preview=True
    )
    began = perf_counter()
    context = assemble_context(request, tenant_id=tenant.pk, reach="", actor=benchmark_actor(), now=now)
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
    """Return one line of the table; a dash where a measure applies to no question."""
    found = [summary.measures.get(column) for column in _COLUMNS]
    cells = [f"{each.value:.3f} [{each.low:.2f} {each.high:.2f}]" if each else "-" for each in found]
    latency = f"{summary.milliseconds_p50:.0f} / {summary.milliseconds_p95:.0f} ms"
    return f"{name:>24} {summary.questions:>6,}" + "".join(f"{cell:>20}" for cell in cells) + f"{latency:>16}"


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("corpus", type=Path, nargs="?", default=UPDATED_FACTS, help="a folder, or a .json file")
    parser.add_argument("--sample", type=int, default=0, help="ask only so many questions, drawn at random (0: all)")
    parser.add_argument("--profile", default="adr-0040", help="a shipped scoring profile (adr-0040)")
    parser.add_argument("--budgets", default="250,500,1000,2000,4000", help="tokens, with commas between")
    parser.add_argument("--today", action="store_true", help="ask every question now instead of at its own time")
    options = parser.parse_args()
    now = datetime.now(UTC) if options.today else None
    try:
        corpus = read_corpus(options.corpus)
    except CorpusError as error:
        parser.error("\n".join(map(str, error.problems[:20])))
    questions = list(corpus.questions)
    if 0 < options.sample < len(questions):
        drawn = np.random.default_rng(7).choice(len(questions), options.sample, replace=False)
        questions = [questions[place] for place in sorted(drawn)]
    with throwaway_database():
        tenant = new_benchmark_tenant("benchmark")
        source_of = load_evidence_corpus(tenant, corpus)
        print(f"{corpus.name}: {len(corpus.memories):,} memories, {len(questions):,} questions")
        print(f"{'':>24} {'asked':>6}" + "".join(f"{column:>20}" for column in _COLUMNS) + f"{'p50 / p95':>16}")
        for budget in map(int, options.budgets.split(",")):
            answers = [
                MeasuredAnswer(
                    question.id,
                    question.category,
                    measure_evidence(
                        tenant, question, budget, source_of, profile=options.profile, now=now or question.asked_at
                    ),
                )
                for question in questions
            ]
            report = build_evaluation_report(answers)
            for name, summary in {"all": report.total, **report.categories}.items():
                print(line_of(f"{budget:,} tokens, {name}", summary))


if __name__ == "__main__":
    main()
