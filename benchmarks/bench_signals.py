"""Measure the value of each signal: `python -m benchmarks.bench_signals FOLDER [--late] [--summaries]`.

FOLDER contains conversations in the format of the LoCoMo data set (which is not part of this project). The production
search finds the candidates of each question once. Weights are then learned on all conversations but one and measured
on that one, for each conversation: with all signals, without each of them, and with the shipped weights. Candidates
are packed by the greedy packer, and the fence and markers of the default rendering count towards the budget. `--late`
asks long after the end of the conversations instead of at the questions' own times. The updated facts follow, with and
without `supersession`.

`--summaries` measures instead whether the similarity to a summary of each session is worth a component as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import process_time
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from benchmarks.bench_evidence import UPDATED_FACTS
from benchmarks.database import benchmark_scope, stage_corpus, throwaway_database
from benchmarks.session_summaries import SUMMARY_PARTS, SessionSummaries
from benchmarks.timing import argument_parser
from context.services.evaluation.corpus import Corpus, CorpusQuestion, read_corpus
from context.services.evaluation.evidence import estimate_means

BUDGETS_TOKENS = (250, 1000)
_MAX_CONSECUTIVE_SKIPS = 3
LATE = datetime(2026, 11, 22, tzinfo=UTC)
#: Learning: steps, their size, the penalty on weights, and the number of most likely candidates used.
_STEPS, STEP, RIDGE, LIKELIEST = 120, 0.1, 3e-4, 120
PARTS = (
    "relevance",
    "lexical_overlap",
    "adjacent_turns",
    "entity_match",
    "temporal_match",
    "answer_type",
    "informativeness",
)

SignalMatrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SignalCase:
    """A question's candidates: components (candidates x components), tokens with markers, evidence and stale ones."""

    group: str
    category: str
    parts: dict[str, SignalMatrix]
    tokens: npt.NDArray[np.int_]
    evidence: npt.NDArray[np.bool_]
    stale: npt.NDArray[np.bool_]
    evidence_count: int
    milliseconds: float

    def score(self, weights: dict[str, float]) -> SignalMatrix:
        """Return the score of each candidate."""
        return np.clip(sum((weight * self.parts[name] for name, weight in weights.items()), np.array(0.0)), 0.0, 1.0)

    def likeliest(self) -> npt.NDArray[np.intp]:
        """Return the positions of all evidence and of the most similar candidates, which are enough to learn from."""
        rough = (
            self.parts["relevance"]
            + self.parts["lexical_overlap"]
            + self.parts["adjacent_turns"]
            + self.evidence * 10.0
        )
        return np.argsort(-rough, kind="stable")[:LIKELIEST]


def build_signal_case(
    tenant_id: UUID, question: CorpusQuestion, at: datetime, names: dict[str, str], summaries: SessionSummaries | None
) -> SignalCase:
    """Return the candidates of the production search and all their score components, including those of `summaries`."""
    from context.services.assembly.profiled_scorer import ProfiledScorer
    from context.services.assembly.signals.columns import ScoringQuestion
    from context.services.profiles.scoring_profiles import CONVERSATION_RECALL
    from memories.search.retrieval import CandidateGate, RetrievalRequest, retrieve

    scope = benchmark_scope(tenant_id, question.partition, at)
    gate = CandidateGate(max(BUDGETS_TOKENS), pool_size=CONVERSATION_RECALL.pool_size)
    reach = CONVERSATION_RECALL.adjacent_turn_reach
    found = retrieve(RetrievalRequest(scope, question.text, gate, adjacent_turn_reach=reach, with_vectors=True))
    scoring_question = ScoringQuestion(question.text, at, found.query.lexemes)
    began = process_time()
    scored = ProfiledScorer(CONVERSATION_RECALL, scoring_question, found.vectors).score(found.candidates)
    took = process_time() - began
    sources = [names[str(one.memory["id"])] for one in scored]
    parts = {name: np.array([one.breakdown()[name] for one in scored]) for name in CONVERSATION_RECALL.weights}
    if summaries:
        parts |= summaries.parts(question.text, [one.memory for one in scored])
    return SignalCase(
        group=question.partition,
        category=question.category,
        parts=parts,
        tokens=np.array([_packed_tokens(one.memory) for one in scored]),
        evidence=np.array([source in question.evidence for source in sources], dtype=bool),
        stale=np.array([source in question.stale for source in sources], dtype=bool),
        evidence_count=len(question.evidence),
        milliseconds=took * 1000,
    )


def _packed_tokens(memory: Any) -> int:
    from context.services.rendering import EXPECTED_OVERHEAD_TOKENS
    from memories.services.tokens import ENCODINGS

    return int(memory["token_counts"][ENCODINGS[0]]) + EXPECTED_OVERHEAD_TOKENS["markdown"][1]


def evidence_share(case: SignalCase, scores: SignalMatrix, budget: int) -> float:
    """Return the share of the question's evidence that greedy packing includes."""
    from context.services.rendering import EXPECTED_OVERHEAD_TOKENS

    available, missed, found = budget - EXPECTED_OVERHEAD_TOKENS["markdown"][0], 0, 0
    for place in np.argsort(-scores, kind="stable").tolist():
        if case.tokens[place] <= available:
            available -= case.tokens[place]
            found += int(case.evidence[place])
            missed = 0
        elif (missed := missed + 1) >= _MAX_CONSECUTIVE_SKIPS:
            break
    return found / case.evidence_count


def fit_signal_weights(cases: Sequence[SignalCase], names: Sequence[str]) -> dict[str, float]:
    """Return weights >= 0 that make evidence the most likely choice of a question's candidates (conditional logit)."""
    likeliest = [case.likeliest() for case in cases]
    pairs = zip(cases, likeliest, strict=True)
    columns = [np.column_stack([case.parts[name][places] for name in names]) for case, places in pairs]
    spread = np.vstack(columns).std(axis=0)
    spread[spread == 0.0] = 1.0
    size = max(len(column) for column in columns)
    parts = np.zeros((len(cases), size, len(names)), dtype=np.float32)
    is_there, is_evidence = np.zeros((2, len(cases), size), dtype=bool)
    for number, (case, column) in enumerate(zip(cases, columns, strict=True)):
        parts[number, : len(column)] = column / spread
        is_there[number, : len(column)] = True
        is_evidence[number, : len(column)] = case.evidence[likeliest[number]]
    share = 1.0 / np.maximum(is_evidence.sum(axis=1), 1)[:, None]
    weights, mean, square = np.zeros((3, len(names)), dtype=np.float32)
    for step in range(1, _STEPS + 1):
        odds = np.where(is_there, parts @ weights, -np.inf)
        odds = np.exp(odds - odds.max(axis=1, keepdims=True))
        others = (odds * ~is_evidence).sum(axis=1, keepdims=True) + 1e-12
        gain = np.where(is_evidence, (1.0 - odds / (odds + others)) * share, 0.0)
        rival = np.where(is_evidence, share / (odds + others), 0.0).sum(axis=1, keepdims=True)
        cost = np.where(is_evidence, 0.0, odds) * rival
        slope = RIDGE * weights - np.einsum("qc,qcp->p", (gain - cost).astype(np.float32), parts) / len(cases)
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        weights = weights - STEP * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
        weights = np.maximum(weights, 0.0)
    plain = weights / spread
    return dict(zip(names, (plain / plain.sum()).tolist(), strict=True))


def cross_validate_weights(
    cases: Sequence[SignalCase], names: Sequence[str]
) -> tuple[dict[str, list[float]], SignalMatrix]:
    """Return the share of evidence at each budget, by held-out conversation and by question (a column)."""
    folds: dict[str, list[float]] = {}
    results = np.zeros((len(BUDGETS_TOKENS), len(cases)))
    for group in sorted({case.group for case in cases}):
        weights = fit_signal_weights([case for case in cases if case.group != group], names)
        places = [place for place, case in enumerate(cases) if case.group == group]
        for place in places:
            scores = cases[place].score(weights)
            results[:, place] = [evidence_share(cases[place], scores, budget) for budget in BUDGETS_TOKENS]
        named = " ".join(f"{name} {weight:.3f}" for name, weight in weights.items())
        folds[f"{group} {named}"] = results[:, places].mean(axis=1).tolist()
    return folds, results


def _line(name: str, values: Sequence[float] | SignalMatrix) -> None:
    print("  ".join(f"{value:.3f}" for value in values) + f"  {name}", flush=True)


def _print_folds(name: str, folds: dict[str, list[float]], results: SignalMatrix) -> None:
    _line(name, results.mean(axis=1))
    for fold, values in folds.items():
        _line(f"  {fold}", values)


def gather_signal_cases(corpus: Corpus, *, is_late: bool = False, with_summaries: bool = False) -> list[SignalCase]:
    """Return all questions of a corpus, searched in a hidden tenant."""
    from memories.embeddings.embedders import embedder_of

    tenant_id, ids = stage_corpus(corpus, LATE)
    names = {str(memory_id): name for name, memory_id in ids.items()}
    summaries = SessionSummaries(corpus.memories, embedder_of(tenant_id)) if with_summaries else None
    return [
        build_signal_case(tenant_id, one, LATE if is_late else one.asked_at, names, summaries)
        for one in corpus.questions
    ]


def on_conversations(cases: list[SignalCase]) -> None:
    """Print folds, ablation and the shipped weights, which were learned from all of these conversations."""
    from context.services.profiles.scoring_profiles import CONVERSATION_RECALL

    print("held in 250 and 1,000 tokens")
    _print_folds("all signals, learnt on the other conversations", *cross_validate_weights(cases, PARTS))
    subsets = {f"without {part}": [name for name in PARTS if name != part] for part in PARTS}
    subsets |= {
        f"only {', '.join(names)}": names
        for names in (["relevance"], ["lexical_overlap"], ["relevance", "lexical_overlap"])
    }
    for title, names in subsets.items():
        _line(title, cross_validate_weights(cases, names)[1].mean(axis=1))
    _line("as shipped", _mean_shares(cases, dict(CONVERSATION_RECALL.weights)))


def on_summaries(cases: list[SignalCase]) -> None:
    """Print all signals, learned without summaries and with each similarity to them, by fold, and the gains."""
    print("held in 250 and 1,000 tokens")
    folds, without = cross_validate_weights(cases, PARTS)
    _print_folds("without summaries", folds, without)
    for added in SUMMARY_PARTS:
        folds, results = cross_validate_weights(cases, (*PARTS, added))
        gains = [estimate for estimate in estimate_means((results - without).T) if estimate]
        intervals = ", ".join(f"{gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]" for gain in gains)
        _print_folds(f"with {added}: {intervals}", folds, results)


def _mean_shares(cases: Sequence[SignalCase], weights: dict[str, float]) -> list[float]:
    pairs = [(case, case.score(weights)) for case in cases]
    return [float(np.mean([evidence_share(*pair, budget) for pair in pairs])) for budget in BUDGETS_TOKENS]


def on_updated_facts(cases: list[SignalCase]) -> None:
    """Print how often the current version precedes every stale one, and whether old ones are still found."""
    from context.services.profiles.scoring_profiles import CONVERSATION_RECALL

    shipped = dict(CONVERSATION_RECALL.weights)
    print("now: current first, held in 250 and 1,000 tokens; then: meant first, held in 250 and 1,000")
    for name, weights in (("as shipped", shipped), ("without currency", shipped | {"supersession": 0.0})):
        values: list[float] = []
        for category in ("now", "then"):
            selected = [case for case in cases if case.category == category]
            values.append(float(np.mean([_is_first(case, case.score(weights)) for case in selected])))
            values += _mean_shares(selected, weights)
        _line(name, values)


def _is_first(case: SignalCase, scores: SignalMatrix) -> bool:
    best_stale = scores[case.stale].max() if case.stale.any() else -1.0
    return bool(case.evidence.any() and scores[case.evidence].max() > best_stale)


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="conversations as .json files")
    parser.add_argument("--late", action="store_true", help="ask long after the conversations have ended")
    parser.add_argument("--summaries", action="store_true", help="measure likeness to summaries of the sessions")
    options = parser.parse_args()
    if options.summaries and options.folder is None:
        parser.error("--summaries needs conversations")
    with throwaway_database():
        if options.folder is None:
            print("bench_signals: no conversations given (see --help)")
        else:
            corpus = read_corpus(options.folder)
            cases = gather_signal_cases(corpus, is_late=options.late, with_summaries=options.summaries)
            sizes, took = [len(case.tokens) for case in cases], [case.milliseconds for case in cases]
            print(f"{len(cases):,} questions, {np.mean(sizes):.0f} candidates, {np.median(took):.1f} ms to score")
            (on_summaries if options.summaries else on_conversations)(cases)
        if not options.summaries:
            on_updated_facts(gather_signal_cases(read_corpus(UPDATED_FACTS)))


if __name__ == "__main__":
    main()
