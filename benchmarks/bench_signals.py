"""What each signal is worth: `python -m benchmarks.bench_signals FOLDER [--late] [--summaries]`.

FOLDER holds conversations in the format of the LoCoMo data set (which is not part of this project). For every question
the candidates come from the real search once; weights are then learnt on all conversations but one and measured on that
one, in turn: with all signals, without each of them, and as the profile is shipped. Packing is the greedy packer's, the
fence and markers of the default rendering inside the budget. `--late` asks long after the conversations' end instead of
at the questions' own times. The facts that were updated follow: what `currency` is worth there, as it is shipped.
`--summaries` measures something else instead: whether likeness to a summary of each session is worth a part as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.bench_evidence import UPDATED_FACTS, load_evidence_corpus
from benchmarks.database import new_benchmark_tenant, throwaway_database
from benchmarks.session_summaries import SUMMARY_PARTS, SessionSummaries
from benchmarks.timing import argument_parser
from context.services.evaluation.corpus import Corpus, CorpusQuestion, read_corpus
from context.services.evaluation.evidence import estimate_means

BUDGETS_TOKENS = (250, 1000)
_MAX_CONSECUTIVE_SKIPS = 3
LATE = datetime(2026, 11, 22, tzinfo=UTC)
#: Learning: steps, their size, what a weight costs, and among how many of the likeliest candidates.
_STEPS, STEP, RIDGE, LIKELIEST = 120, 0.1, 3e-4, 120
PARTS = ("relevance", "words", "neighbours", "person", "time", "answer", "statement")

SignalMatrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SignalCase:
    """A question's candidates: parts (candidates x parts), tokens with marker, which are evidence, which are stale."""

    group: str
    category: str
    parts: dict[str, SignalMatrix]
    tokens: npt.NDArray[np.int_]
    evidence: npt.NDArray[np.bool_]
    stale: npt.NDArray[np.bool_]
    wanted: int
    milliseconds: float

    def score(self, weights: dict[str, float]) -> SignalMatrix:
        """The composite of each candidate."""
        return np.clip(sum((weight * self.parts[name] for name, weight in weights.items()), np.array(0.0)), 0.0, 1.0)

    def likeliest(self) -> npt.NDArray[np.intp]:
        """The places of all evidence and of what is most like it: enough to learn from."""
        rough = self.parts["relevance"] + self.parts["words"] + self.parts["neighbours"] + self.evidence * 10.0
        return np.argsort(-rough, kind="stable")[:LIKELIEST]


def build_signal_case(
    tenant: Any,
    question: CorpusQuestion,
    at: datetime,
    source_of: dict[str, str],
    summaries: SessionSummaries | None,
) -> SignalCase:
    """What the real search finds, and all parts of its scores; with `summaries` the parts they make as well."""
    from context.services.assembly.profiled_scorer import ProfiledScorer
    from context.services.assembly.signals.columns import ScoringQuestion
    from context.services.profiles.scoring_profiles import CONVERSATION_RECALL
    from memories.search.retrieval import CandidateGate, RetrievalRequest, retrieve
    from memories.services.store.moments import PointInTime
    from memories.store.readings import SearchScope

    scope = SearchScope(tenant.pk, str(question.partition), PointInTime.now(at))
    gate = CandidateGate(max(BUDGETS_TOKENS), pool_size=CONVERSATION_RECALL.pool_size)
    reach = CONVERSATION_RECALL.neighbour_reach
    found = retrieve(RetrievalRequest(scope, question.text, gate, neighbour_reach=reach, with_vectors=True))
    rows = found.candidates
    began = process_time()
    asked = ScoringQuestion(question.text, at, found.query.lexemes)
    scored = ProfiledScorer(CONVERSATION_RECALL, asked, found.vectors).score(rows)
    took = process_time() - began
    sources = [source_of[str(one.memory["id"])] for one in scored]
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
        wanted=len(question.evidence),
        milliseconds=took * 1000,
    )


def _packed_tokens(memory: Any) -> int:
    from context.services.rendering import EXPECTED_OVERHEAD_TOKENS
    from memories.services.tokens import ENCODINGS

    return int(memory["token_counts"][ENCODINGS[0]]) + EXPECTED_OVERHEAD_TOKENS["markdown"][1]


def evidence_share(case: SignalCase, scores: SignalMatrix, budget: int) -> float:
    """The share of the question's evidence that greedy packing holds."""
    from context.services.rendering import EXPECTED_OVERHEAD_TOKENS

    room, missed, found = budget - EXPECTED_OVERHEAD_TOKENS["markdown"][0], 0, 0
    for place in np.argsort(-scores, kind="stable").tolist():
        if case.tokens[place] <= room:
            room -= case.tokens[place]
            found += int(case.evidence[place])
            missed = 0
        elif (missed := missed + 1) >= _MAX_CONSECUTIVE_SKIPS:
            break
    return found / case.wanted


def fit_signal_weights(cases: Sequence[SignalCase], names: Sequence[str]) -> dict[str, float]:
    """Weights >= 0 under which evidence is the likeliest choice among a question's candidates (conditional logit)."""
    likeliest = [case.likeliest() for case in cases]
    columns = [
        np.column_stack([case.parts[name][places] for name in names])
        for case, places in zip(cases, likeliest, strict=True)
    ]
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
        cost = np.where(is_evidence, 0.0, odds) * np.where(is_evidence, share / (odds + others), 0.0).sum(
            axis=1, keepdims=True
        )
        slope = RIDGE * weights - np.einsum("qc,qcp->p", (gain - cost).astype(np.float32), parts) / len(cases)
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        weights = weights - STEP * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
        weights = np.maximum(weights, 0.0)
    plain = weights / spread
    return dict(zip(names, (plain / plain.sum()).tolist(), strict=True))


def cross_validate_weights(
    cases: Sequence[SignalCase], names: Sequence[str]
) -> tuple[dict[str, list[float]], SignalMatrix]:
    """By conversation held out: what 250 and 1,000 tokens hold of it; and the same for each question (a column)."""
    folds: dict[str, list[float]] = {}
    results = np.zeros((len(BUDGETS_TOKENS), len(cases)))
    for group in sorted({case.group for case in cases}):
        weights = fit_signal_weights([case for case in cases if case.group != group], names)
        places = [place for place, case in enumerate(cases) if case.group == group]
        for place in places:
            scores = cases[place].score(weights)
            results[:, place] = [evidence_share(cases[place], scores, budget) for budget in BUDGETS_TOKENS]
        folds[f"{group} {_told(weights)}"] = results[:, places].mean(axis=1).tolist()
    return folds, results


def _told(weights: dict[str, float]) -> str:
    return " ".join(f"{name} {weight:.3f}" for name, weight in weights.items())


def _line(name: str, values: Sequence[float] | SignalMatrix) -> None:
    print("  ".join(f"{value:.3f}" for value in values) + f"  {name}", flush=True)


def gather_signal_cases(corpus: Corpus, *, is_late: bool = False, with_summaries: bool = False) -> list[SignalCase]:
    """All questions of a corpus, asked in a tenant of its own."""
    from memories.embeddings.embedders import embedder_of

    tenant = new_benchmark_tenant(corpus.name[:40])
    source_of = load_evidence_corpus(tenant, corpus)
    summaries = SessionSummaries(corpus.memories, embedder_of(tenant.pk)) if with_summaries else None
    return [
        build_signal_case(tenant, one, LATE if is_late else one.asked_at, source_of, summaries)
        for one in corpus.questions
    ]


def on_conversations(cases: list[SignalCase]) -> None:
    """Folds, ablation, and the shipped weights, which saw all of these conversations."""
    from context.services.profiles.scoring_profiles import CONVERSATION_RECALL

    print("held in 250 and 1,000 tokens")
    folds, results = cross_validate_weights(cases, PARTS)
    _line("all signals, learnt on the other conversations", results.mean(axis=1))
    for name, values in folds.items():
        _line(f"  {name}", values)
    for left_out in PARTS:
        results = cross_validate_weights(cases, [name for name in PARTS if name != left_out])[1]
        _line(f"without {left_out}", results.mean(axis=1))
    for alone in (("relevance",), ("words",), ("relevance", "words")):
        _line(f"only {', '.join(alone)}", cross_validate_weights(cases, alone)[1].mean(axis=1))
    shipped = dict(CONVERSATION_RECALL.weights)
    _line(
        "as shipped",
        [
            float(np.mean([evidence_share(case, case.score(shipped), budget) for case in cases]))
            for budget in BUDGETS_TOKENS
        ],
    )


def on_summaries(cases: list[SignalCase]) -> None:
    """All signals learnt without summaries and with each likeness to them, fold by fold, and what each gains."""
    print("held in 250 and 1,000 tokens")
    folds, without = cross_validate_weights(cases, PARTS)
    _line("without summaries", without.mean(axis=1))
    for name, values in folds.items():
        _line(f"  {name}", values)
    for added in SUMMARY_PARTS:
        folds, results = cross_validate_weights(cases, (*PARTS, added))
        gains = [estimate for estimate in estimate_means((results - without).T) if estimate]
        told = ", ".join(f"{gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]" for gain in gains)
        _line(f"with {added}: {told}", results.mean(axis=1))
        for name, values in folds.items():
            _line(f"  {name}", values)


def on_updated_facts(cases: list[SignalCase]) -> None:
    """How often the current version comes before every stale one, and whether old ones are still found."""
    from context.services.profiles.scoring_profiles import CONVERSATION_RECALL

    shipped = dict(CONVERSATION_RECALL.weights)
    print("now: current first, held in 250 and 1,000 tokens; then: meant first, held in 250 and 1,000")
    for name, weights in (("as shipped", shipped), ("without currency", shipped | {"currency": 0.0})):
        values: list[float] = []
        for category in ("now", "then"):
            asked = [case for case in cases if case.category == category]
            scores = [case.score(weights) for case in asked]
            pairs = list(zip(asked, scores, strict=True))
            values.append(float(np.mean([_is_first(case, score) for case, score in pairs])))
            values += [
                float(np.mean([evidence_share(case, score, budget) for case, score in pairs]))
                for budget in BUDGETS_TOKENS
            ]
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
            cases = gather_signal_cases(
                read_corpus(options.folder), is_late=options.late, with_summaries=options.summaries
            )
            sizes, took = [len(case.tokens) for case in cases], [case.milliseconds for case in cases]
            print(f"{len(cases):,} questions, {np.mean(sizes):.0f} candidates, {np.median(took):.1f} ms to score")
            (on_summaries if options.summaries else on_conversations)(cases)
        if not options.summaries:
            on_updated_facts(gather_signal_cases(read_corpus(UPDATED_FACTS)))


if __name__ == "__main__":
    main()
