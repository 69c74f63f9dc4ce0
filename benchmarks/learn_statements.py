"""Learn from annotated sessions what a summary keeps: `python -m benchmarks.learn_statements [--check]`.

Writes the weights of sentences and the forest of pairs into the folder of the rules that use them. With `--check`,
nothing is written: each session is predicted by what was learned from the others, and the quality is printed. Needs
scikit-learn (benchmarks/requirements.in).
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GroupKFold, cross_val_predict

from benchmarks.annotated_sessions import AnnotatedSession, Annotation, read_sessions
from compaction.services.pipeline.statements.features import Conversation
from compaction.services.pipeline.statements.prediction import (
    OUTPUTS,
    WEIGHTS_FILE,
    WEIGHTS_MAX,
    Form,
    Prediction,
    Target,
    hashed,
    prediction_of,
)
from compaction.services.pipeline.statements.succession import FOREST_FILE, Claim, compared_pairs, log_odds

#: Inverse strength of regularisation of the regressions, and folds of sessions in cross-validation.
STRENGTH, FOLDS = 0.2, 8
FOREST = {
    "max_iter": 200,
    "learning_rate": 0.05,
    "max_leaf_nodes": 15,
    "l2_regularization": 10.0,
    "min_samples_leaf": 20,
    "random_state": 0,
}
#: The numbers of best sentences per session at which the quality is printed.
KEPT_PER_SESSION = (8, 15, 25)

Labels = NDArray[np.int8]


@dataclass(frozen=True)
class Sentences:
    """The annotated sentences of all sessions: features in rows, properties by output, the session of each."""

    sessions: Sequence[AnnotatedSession]
    places: Sequence[tuple[AnnotatedSession, int, int, Annotation]]
    features: csr_matrix
    labels: dict[str, Labels]
    is_annotated: NDArray[np.bool_]
    groups: NDArray[np.int64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="print the quality on sessions that were not learned from")
    is_check = parser.parse_args().check
    sentences = gather(list(read_sessions()))
    shares = {output: _unseen(sentences, _regression(), sentences.labels[output]) for output in OUTPUTS}
    predicted = [
        prediction_of({name: float(share[row]) for name, share in shares.items()})
        for row in range(len(sentences.places))
    ]
    rows, is_replaced, groups, older = _pairs(sentences, predicted)
    by_pair = _unseen_dense(rows, is_replaced, groups, HistGradientBoostingClassifier(**FOREST))
    best = np.zeros(len(predicted))
    np.maximum.at(best, older, by_pair)
    odds = np.array([[log_odds(one.replaced), log_odds(share)] for one, share in zip(predicted, best, strict=True)])
    together = LogisticRegression()
    outdated = _unseen_dense(odds, sentences.labels[Target.REPLACED], sentences.groups, together)
    if is_check:
        _report(sentences, shares, predicted, outdated)
        return
    _store(sentences, rows, is_replaced, together.fit(odds, sentences.labels[Target.REPLACED]))


def gather(sessions: Sequence[AnnotatedSession]) -> Sentences:
    """Return the sentences of the sessions with their features and properties."""
    places, rows, groups = [], [], []
    labels: dict[str, list[bool]] = {output: [] for output in OUTPUTS}
    for group, session in enumerate(sessions):
        conversation = Conversation(session.parsed)
        features = dict(zip(conversation.places, conversation.rows(), strict=True))
        replaced = frozenset(one for annotation in session.annotations.values() for one in annotation.replaces)
        for index, ((number, place), annotation) in enumerate(session.annotations.items()):
            places.append((session, number, place, annotation))
            rows.append(features[number, place])
            groups.append(group)
            for output, known in labels.items():
                known.append(annotation.has(output, index, replaced))
    slots, values = hashed(feature for row in rows for feature in row)
    ends = np.cumsum([0, *(len(row) for row in rows)])
    matrix = csr_matrix((values.astype(float), slots, ends), shape=(len(rows), WEIGHTS_MAX))
    arrays = {output: np.array(known, np.int8) for output, known in labels.items()}
    is_annotated = np.array([bool(annotation.kind) for *_, annotation in places])
    return Sentences(sessions, places, matrix, arrays, is_annotated, np.array(groups))


def _regression() -> LogisticRegression:
    return LogisticRegression(C=STRENGTH, max_iter=2000, solver="liblinear")


def _unseen(sentences: Sentences, model: LogisticRegression, labels: Labels) -> NDArray[np.float64]:
    """The probability of each sentence by what was learned from other sessions."""
    annotated, features = sentences.is_annotated, sentences.features
    shares: NDArray[np.float64] = model.fit(features[annotated], labels[annotated]).predict_proba(features)[:, 1]
    shares[annotated] = _unseen_dense(features[annotated], labels[annotated], sentences.groups[annotated], model)
    return shares


def _unseen_dense(features: object, labels: Labels, groups: NDArray[np.int64], model: object) -> NDArray[np.float64]:
    folds = GroupKFold(FOLDS)
    shares: NDArray[np.float64] = cross_val_predict(
        model, features, labels, groups=groups, cv=folds, method="predict_proba"
    )[:, 1]
    return shares


def _pairs(
    sentences: Sentences, predicted: Sequence[Prediction]
) -> tuple[NDArray[np.float32], Labels, NDArray[np.int64], NDArray[np.int64]]:
    """For each compared pair: features, whether the newer sentence replaces the older one, session, older row."""
    rows, labels, groups, older = [], [], [], []
    first = 0
    for group, session in enumerate(sentences.sessions):
        annotations = list(session.annotations.values())
        claims = list(_claims(session, predicted[first : first + len(annotations)]))
        pairs, features = compared_pairs(claims)
        rows += features
        labels += [old in annotations[new].replaces for old, new in pairs]
        older += [first + old for old, _ in pairs]
        groups += [group] * len(pairs)
        first += len(annotations)
    return np.array(rows, np.float32), np.array(labels, np.int8), np.array(groups), np.array(older)


def _claims(session: AnnotatedSession, predicted: Sequence[Prediction]) -> Iterator[Claim]:
    for (number, place), prediction in zip(session.annotations, predicted, strict=True):
        read = session.parsed[number]
        text = read.sentences[place].text
        yield Claim(text, read.message.speaker, read.message.role, number, read.language, prediction)


def _store(sentences: Sentences, rows: NDArray[np.float32], is_replaced: Labels, together: LogisticRegression) -> None:
    annotated = sentences.is_annotated
    models = [
        _regression().fit(sentences.features[annotated], sentences.labels[output][annotated]) for output in OUTPUTS
    ]
    weights = np.stack([model.coef_[0] for model in models], axis=1).astype(np.float16)
    bias = np.array([model.intercept_[0] for model in models], np.float32)
    np.savez_compressed(WEIGHTS_FILE, weights=weights, bias=bias)
    forest = HistGradientBoostingClassifier(**FOREST).fit(rows, is_replaced)
    arrays: dict[str, Any] = _forest_arrays(forest)
    np.savez_compressed(FOREST_FILE, **arrays, together=np.array([*together.coef_[0], together.intercept_[0]]))
    sys.stdout.write(f"{len(sentences.places)} sentences of {len(sentences.sessions)} sessions\n")


def _forest_arrays(forest: HistGradientBoostingClassifier) -> dict[str, NDArray[np.float64]]:
    """The nodes of all trees one after the other; a leaf leads to itself."""
    trees = [tree[0].nodes for tree in forest._predictors]
    roots = np.cumsum([0, *(len(nodes) for nodes in trees[:-1])])
    nodes = np.concatenate(trees)
    starts = np.repeat(roots, [len(one) for one in trees])
    own = np.arange(len(nodes))
    is_leaf = nodes["is_leaf"].astype(bool)
    return {
        "feature": np.where(is_leaf, 0, nodes["feature_idx"]).astype(np.int16),
        "threshold": nodes["num_threshold"].astype(np.float32),
        "left": np.where(is_leaf, own, starts + nodes["left"]).astype(np.int32),
        "right": np.where(is_leaf, own, starts + nodes["right"]).astype(np.int32),
        "value": np.where(is_leaf, nodes["value"], 0.0).astype(np.float32),
        "roots": roots.astype(np.int32),
        "depth": np.array(max(int(one["depth"].max()) for one in trees)),
        "base": np.array(float(forest._baseline_prediction.ravel()[0])),
    }


def _report(
    sentences: Sentences,
    shares: dict[str, NDArray[np.float64]],
    predicted: Sequence[Prediction],
    outdated: NDArray[np.float64],
) -> None:
    labels = sentences.labels
    labels = {output: known * sentences.is_annotated for output, known in labels.items()}
    for output in OUTPUTS:
        if labels[output].any():
            precision = average_precision_score(labels[output], shares[output])
            sys.stdout.write(
                f"{output:14} {labels[output].mean():.3f} of sentences, average precision {precision:.3f}\n"
            )
    alone = np.array([one.forms[Form.ALONE] for one in predicted])
    worth = shares[Target.WORTH] * alone * (1.0 - outdated) * sentences.is_annotated
    is_good = labels[Target.WORTH] * labels[Form.ALONE] * (1 - labels[Target.REPLACED])
    for kept in KEPT_PER_SESSION:
        best = np.argsort(-worth)[: kept * len(sentences.sessions)]
        parts = [labels[name][best].mean() for name in (Target.WORTH, Form.ALONE, Target.REPLACED)]
        sys.stdout.write(
            f"best {kept} a session: worth {parts[0]:.2f}, alone {parts[1]:.2f}, outdated {parts[2]:.2f}, "
            f"all {is_good[best].mean():.2f}\n"
        )


if __name__ == "__main__":
    main()
