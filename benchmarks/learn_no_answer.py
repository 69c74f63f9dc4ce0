"""Learn when nothing stored answers a query (ADR-0155): `python -m benchmarks.learn_no_answer`.

The questions of the corpora have evidence; those of their `unanswerable.jsonl` have none, though each corpus contains
similar subjects. The features come from the candidates of the real search. The weights are learned from
`benchmarks/learning`; each of its corpora is judged by weights learned from the other three, and the corpora of
`benchmarks/corpora` by weights learned from all four.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from benchmarks.bench_recall import CORPORA, LEARNING
from benchmarks.bench_signals import LATE
from benchmarks.database import throwaway_database
from benchmarks.timing import argument_parser
from context.services.assembly.no_answer.probability import WARNING_MIN
from context.services.evaluation.corpus import read_corpus
from context.services.evaluation.logistic import LogisticModel, fit_logistic
from context.services.evaluation.no_answer import NoAnswerCounts

Rows = npt.NDArray[np.float64]
#: The features of a question, None if it gets no warning, and whether nothing answers it.
Asked = tuple[Mapping[str, float] | None, bool]


def asked_questions(path: Path) -> Iterator[Asked]:
    """Yield the features of each question of a corpus."""
    from context.assembly.no_answer import CALIBRATED_MODEL, query_features
    from context.evaluation.corpora import EvaluationCorpus
    from context.evaluation.staging import load_staged_corpus
    from context.services.profiles.scoring_profiles import RECALL
    from memories.embeddings.providers import get_embedder
    from memories.search.retrieval import CandidateGate, RetrievalRequest, retrieve
    from memories.services.store.moments import PointInTime
    from memories.store.readings import SearchScope

    corpus = read_corpus(path)
    tenant_id, ids = load_staged_corpus(uuid4(), corpus, now=LATE, loaded=lambda _: None)
    staged = EvaluationCorpus(corpus.name, "", corpus)
    embedder = get_embedder(CALIBRATED_MODEL)
    gate = CandidateGate(pool_size=RECALL.pool_size)
    for question in (*staged.questions(ids), *staged.unanswerable()):
        moment = PointInTime.valid(question.as_of) if question.as_of else PointInTime.now(question.asked_at)
        scope = SearchScope(tenant_id, question.partition, moment)
        found = retrieve(RetrievalRequest(scope, question.text, gate, with_pinned=True, with_vectors=True))
        yield query_features(question.text, found, embedder), not question.evidence


def learn(corpora: Sequence[Sequence[Asked]]) -> LogisticModel:
    rows = [(features, lacks) for asked in corpora for features, lacks in asked if features is not None]
    names = list(rows[0][0])
    features = np.array([[each[name] for name in names] for each, _ in rows])
    return fit_logistic(features, np.array([lacks for _, lacks in rows], dtype=np.float64), names)


def predict(model: LogisticModel, asked: Sequence[Asked]) -> Rows:
    """Return the probability of each question, 0 if it gets no warning."""
    columns = [[0.0] * len(model.names) if each is None else [each[name] for name in model.names] for each, _ in asked]
    is_judged = np.array([each is not None for each, _ in asked])
    return np.where(is_judged, model.probabilities(np.array(columns)), 0.0)


def print_counts(name: str, predicted: Rows, asked: Sequence[Asked]) -> None:
    """Print precision and recall of the warnings, with their counts."""
    is_warned = predicted >= WARNING_MIN
    lacking = np.array([lacks for _, lacks in asked])
    counts = NoAnswerCounts.of(is_warned[~lacking].tolist(), is_warned[lacking].tolist())
    precision = "-" if counts.precision is None else f"{counts.precision:.2f}"
    recall = f"{counts.recall:.2f} ({counts.right} of {counts.lacking})"
    print(f"{name:<14} precision {precision} ({counts.right} of {counts.warned}), recall {recall}, {len(asked)} asked")


def main() -> None:
    argument_parser(__doc__).parse_args()
    with throwaway_database():
        data = {path.name: list(asked_questions(path)) for path in CORPORA}
    learning = {path.name for path in LEARNING}
    predicted = {
        name: predict(learn([data[other] for other in learning if other != name]), asked)
        for name, asked in data.items()
    }
    for name, asked in data.items():
        print_counts(name, predicted[name], asked)
    print_counts("all", np.concatenate(list(predicted.values())), [row for asked in data.values() for row in asked])
    model = learn([data[name] for name in sorted(learning)])
    print(f"INTERCEPT = {model.intercept:.3f}")
    for feature, weight in zip(model.names, model.coefficients, strict=True):
        print(f'        "{feature}": {weight:.3f},')


if __name__ == "__main__":
    main()
