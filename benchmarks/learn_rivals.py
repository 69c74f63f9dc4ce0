"""Learn when two memories are rivals (ADR-0119): `python -m benchmarks.learn_rivals [CONVERSATION...]`.

The questions of `benchmarks/learning` name evidence and stale memories, and the production search finds both among its
candidates. Evidence and a stale memory are rivals; evidence and any other candidate are not. CONVERSATIONs in the
format of the LoCoMo data set (which is not part of this project) add messages, which never replace each other. Prints,
for each corpus, the average precision of pairs with weights learned from the others; then the weights learned from all.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.bench_recall import LEARNING
from benchmarks.bench_signals import LATE
from benchmarks.database import stage_corpus, throwaway_database
from benchmarks.timing import argument_parser
from context.services.evaluation.corpus import read_corpus
from context.services.evaluation.logistic import fit_logistic

Rows = npt.NDArray[np.float64]


def pair_rows(path: Path) -> Iterator[tuple[dict[str, float], bool]]:
    """Yield the features of pairs (evidence and another candidate) of a corpus, and whether they are rivals."""
    from context.evaluation.corpora import EvaluationCorpus
    from context.services.assembly.signals.columns import CandidatePool, ScoringQuestion
    from context.services.assembly.superseded.rivals import compared_places, pair_features, read_statements
    from context.services.profiles.scoring_profiles import RECALL
    from memories.search.retrieval import CandidateGate, RetrievalRequest, retrieve
    from memories.services.store.moments import PointInTime
    from memories.store.search_scope import SearchScope

    corpus = read_corpus(path)
    tenant_id, ids = stage_corpus(corpus, LATE)
    gate, reach = CandidateGate(pool_size=RECALL.pool_size), RECALL.adjacent_turn_reach
    for question in EvaluationCorpus(corpus.name, "", corpus).questions(ids):
        moment = PointInTime.valid(question.as_of) if question.as_of else PointInTime.now(question.asked_at)
        scope = SearchScope(tenant_id, question.partition, moment)
        request = RetrievalRequest(scope, question.text, gate, adjacent_turn_reach=reach, with_vectors=True)
        found = retrieve(request)
        scoring_question = ScoringQuestion(question.text, moment.at, found.query.lexemes)
        pool = CandidatePool(found.candidates, scoring_question, found.vectors)
        places = compared_places(pool)
        features = pair_features(pool, places, read_statements(pool, places))
        names = [str(pool.rows[place]["id"]) for place in places.tolist()]
        created = pool.created[places]
        for one in [number for number, name in enumerate(names) if name in question.evidence]:
            for other, name in enumerate(names):
                if name not in question.evidence:
                    pair = (one, other) if created[one] < created[other] else (other, one)
                    row = {feature: float(values[pair]) for feature, values in features.items()}
                    yield row, name in question.stale


def average_precision(probabilities: Rows, are_rivals: Rows) -> float:
    """Return the mean precision at each pair of rivals, the likeliest pairs first."""
    ordered = are_rivals[np.argsort(-probabilities, kind="stable")] > 0
    precision = np.cumsum(ordered) / np.arange(1, len(ordered) + 1)
    return float(precision[ordered].mean())


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("conversations", type=Path, nargs="*", metavar="CONVERSATION")
    options = parser.parse_args()
    with throwaway_database():
        data = {path: list(pair_rows(path)) for path in (*LEARNING, *options.conversations)}
    names = list(next(iter(data.values()))[0][0])

    def rows_of(*paths: Path) -> tuple[Rows, Rows]:
        rows = [row for path in paths for row in data[path]]
        features = np.array([[row[name] for name in names] for row, _ in rows])
        return features, np.array([is_rival for _, is_rival in rows], dtype=np.float64)

    for path in LEARNING:
        model = fit_logistic(*rows_of(*(other for other in data if other != path)), names)
        features, are_rivals = rows_of(path)
        precision = average_precision(model.probabilities(features), are_rivals)
        print(f"{path.name}: {int(are_rivals.sum())} of {len(are_rivals):,} pairs, average precision {precision:.3f}")
    model = fit_logistic(*rows_of(*data), names)
    print(f"INTERCEPT = {model.intercept:.3f}")
    for name, weight in zip(names, model.coefficients, strict=True):
        print(f'        "{name}": {weight:.3f},')


if __name__ == "__main__":
    main()
