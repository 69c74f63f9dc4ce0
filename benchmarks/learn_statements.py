"""Learn from annotated sessions what a summary keeps: `python -m benchmarks.learn_statements [--check]`.

Writes the weights of sentences, the trees that judge them among their neighbours and the trees of pairs beside the
rules that use them. With `--check`, nothing is written: each session is judged by what was learned of the others, and
the quality is printed. Needs scikit-learn (benchmarks/requirements.in).
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GroupKFold

from benchmarks.annotated_sessions import AnnotatedSession, read_sessions
from compaction.services.pipeline.statements.features import Conversation
from compaction.services.pipeline.statements.forests import log_odds
from compaction.services.pipeline.statements.judgement import (
    FORESTS_FILE,
    JUDGED_TWICE,
    OUTPUTS,
    WEIGHTS_FILE,
    WEIGHTS_MAX,
    Form,
    Judgement,
    Target,
    hashed,
    judgement_of,
    neighbour_rows,
)
from compaction.services.pipeline.statements.succession import FOREST_FILE, Claim, compared_pairs

#: Inverse strength of regularisation and steps of the regressions, and folds of sessions in cross-validation.
STRENGTH, STEPS, FOLDS = 0.2, 50, 4
TREES = {
    "max_iter": 100,
    "learning_rate": 0.06,
    "max_leaf_nodes": 12,
    "l2_regularization": 10.0,
    "min_samples_leaf": 20,
    "max_features": 0.3,
    "random_state": 0,
}
PAIR_TREES = TREES | {"max_iter": 120, "max_leaf_nodes": 15}
#: Of the pairs of which neither replaces the other, so many are learned from.
PAIRS_SHARE = 0.2
#: At which numbers of best sentences per session the quality is printed.
KEPT_PER_SESSION = (8, 15, 25)

Labels = NDArray[np.int8]
Shares = NDArray[np.float64]
#: Learns from features and labels, and returns what tells probabilities of other features.
Learner = Callable[[Any, Labels], Callable[[Any], Shares]]


@dataclass(frozen=True)
class Sentences:
    """The sentences of all sessions: features in rows, a column of labels for each of `OUTPUTS`, and their session.

    `is_judged`: somebody noted all of `OUTPUTS`; `is_among_others`: in a conversation, not in a list of sentences.
    `rows` are the rows of the annotations of each session.
    """

    sessions: Sequence[AnnotatedSession]
    conversations: Sequence[Conversation]
    features: csr_matrix
    labels: Labels
    is_judged: NDArray[np.bool_]
    is_among_others: NDArray[np.bool_]
    groups: NDArray[np.int64]
    rows: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Pairs:
    """Features of each compared pair, whether the older is outdated by the newer, their session, the older's row."""

    features: NDArray[np.float32]
    labels: Labels
    groups: NDArray[np.int64]
    older: NDArray[np.int64]


@dataclass(frozen=True)
class Learned:
    """What each step says of sentences that it was not learned from."""

    first: Shares
    neighbours: NDArray[np.float32]
    shares: Shares
    pairs: Pairs
    odds: Shares
    outdated: Shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="print the quality on sessions that were not learned from")
    is_check = parser.parse_args().check
    sentences = gather(list(read_sessions()))
    learned = cross_validate(sentences)
    (_report if is_check else _store)(sentences, learned)


def gather(sessions: Sequence[AnnotatedSession]) -> Sentences:
    """Return the sentences of the sessions with their features and properties."""
    conversations = [Conversation(session.reads) for session in sessions]
    starts = np.cumsum([0, *(len(one.places) for one in conversations)])
    labels = np.zeros((starts[-1], len(OUTPUTS)), np.int8)
    is_judged = np.zeros(starts[-1], bool)
    rows = []
    for start, session, conversation in zip(starts, sessions, conversations, strict=False):
        of_place = {place: int(start) + number for number, place in enumerate(conversation.places)}
        rows.append([of_place[place] for place in session.annotations])
        replaced = frozenset(one for annotation in session.annotations.values() for one in annotation.replaces)
        for index, annotation in enumerate(session.annotations.values()):
            labels[rows[-1][index]] = [annotation.has(output, index, replaced) for output in OUTPUTS]
            is_judged[rows[-1][index]] = bool(annotation.kind)
    features = [row for conversation in conversations for row in conversation.rows()]
    slots, values = hashed(feature for row in features for feature in row)
    ends = np.cumsum([0, *(len(row) for row in features)])
    matrix = csr_matrix((values.astype(float), slots, ends), shape=(len(features), WEIGHTS_MAX))
    sizes = np.diff(starts)
    is_among_others = np.repeat([session.is_conversation for session in sessions], sizes)
    groups = np.repeat(np.arange(len(sessions)), sizes)
    return Sentences(sessions, conversations, matrix, labels, is_judged, is_among_others, groups, rows)


def cross_validate(sentences: Sentences) -> Learned:
    """Return the judgements of each sentence by what was learned from other sessions."""
    groups, labels, judged = sentences.groups, sentences.labels, sentences.is_judged
    first = _unseen(_learn_regressions, sentences.features, labels, groups, judged)
    neighbours = _neighbours(sentences, first)
    shares = first.copy()
    for output in JUDGED_TWICE:
        column = OUTPUTS.index(output)
        known = judged & sentences.is_among_others
        shares[:, column] = _unseen(_learn_trees, neighbours, labels[:, column], groups, known)
    pairs = _pairs(sentences, shares)
    by_pair = _unseen(_learn_pair_trees, pairs.features, pairs.labels, pairs.groups)
    best = np.zeros(len(groups))
    np.maximum.at(best, pairs.older, by_pair)
    odds = np.stack([log_odds(shares[:, OUTPUTS.index(Target.REPLACED)]), log_odds(best)], axis=1)
    is_replaced = labels[:, OUTPUTS.index(Target.REPLACED)]
    outdated = _unseen(_learn_together, odds, is_replaced, groups)
    return Learned(first, neighbours, shares, pairs, odds, outdated)


def _unseen(
    learn: Learner, features: Any, labels: Labels, groups: NDArray[np.int64], known: NDArray[np.bool_] | None = None
) -> Shares:
    """The probabilities of each row by what was learned from the known rows of other sessions."""
    shares = np.zeros(labels.shape)
    for others, left_out in GroupKFold(FOLDS).split(labels, groups=groups):
        rows = others if known is None else others[known[others]]
        shares[left_out] = learn(features[rows], labels[rows])(features[left_out])
    return shares


def _learn_regressions(features: csr_matrix, labels: Labels) -> Callable[[csr_matrix], Shares]:
    weights, bias = _regressions(features, labels)
    return lambda others: 1.0 / (1.0 + np.exp(-(others @ weights + bias)))


def _regressions(features: csr_matrix, labels: Labels) -> tuple[Shares, Shares]:
    """Weights and bias of a logistic regression for each column of labels, learned together."""
    used = np.flatnonzero(features.getnnz(axis=0))
    rows, known = features[:, used], labels.astype(float)
    columns = rows.T.tocsr()
    shape = (len(used) + 1, known.shape[1])

    def loss(flat: Shares) -> tuple[float, Shares]:
        weights = flat.reshape(shape)
        sums = rows @ weights[:-1] + weights[-1]
        errors = 1.0 / (1.0 + np.exp(-sums)) - known
        slopes = np.vstack([columns @ errors + weights[:-1] / STRENGTH, errors.sum(axis=0)])
        value = (np.logaddexp(0, sums) - known * sums).sum() + (weights[:-1] ** 2).sum() / (2 * STRENGTH)
        return float(value), slopes.ravel()

    options = {"maxiter": STEPS, "maxcor": 6}
    found = minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options=options).x.reshape(shape)
    weights = np.zeros((features.shape[1], shape[1]))
    weights[used] = found[:-1]
    return weights, found[-1]


def _learn_trees(features: NDArray[np.float32], labels: Labels) -> Callable[[Any], Shares]:
    return _told(HistGradientBoostingClassifier(**TREES).fit(features, labels))


def _learn_pair_trees(features: NDArray[np.float32], labels: Labels) -> Callable[[Any], Shares]:
    return _told(_pair_trees(features, labels))


def _pair_trees(features: NDArray[np.float32], labels: Labels) -> HistGradientBoostingClassifier:
    learned = (labels == 1) | (np.random.default_rng(0).random(len(labels)) < PAIRS_SHARE)
    return HistGradientBoostingClassifier(**PAIR_TREES).fit(features[learned], labels[learned])


def _learn_together(odds: Shares, labels: Labels) -> Callable[[Any], Shares]:
    return _told(LogisticRegression().fit(odds, labels))


def _told(model: HistGradientBoostingClassifier | LogisticRegression) -> Callable[[Any], Shares]:
    return lambda others: model.predict_proba(others)[:, 1]


def judgements(shares: Shares) -> list[Judgement]:
    """Return the rows of probabilities as judgements."""
    return [judgement_of(dict(zip(OUTPUTS, map(float, row), strict=True))) for row in shares]


def _neighbours(sentences: Sentences, first: Shares) -> NDArray[np.float32]:
    """The rows for the second step, session by session."""
    ends = np.cumsum([len(one.places) for one in sentences.conversations])
    parts = zip(sentences.conversations, np.split(first, ends[:-1]), strict=True)
    return np.vstack([neighbour_rows(conversation, part) for conversation, part in parts])


def _pairs(sentences: Sentences, shares: Shares) -> Pairs:
    features, labels, groups, older = [], [], [], []
    judged = judgements(shares)
    for group, (session, rows) in enumerate(zip(sentences.sessions, sentences.rows, strict=True)):
        annotations = list(session.annotations.values())
        pairs, found = compared_pairs(list(_claims(session, [judged[row] for row in rows])))
        features += found
        labels += [old in annotations[new].replaces for old, new in pairs]
        older += [rows[old] for old, _ in pairs]
        groups += [group] * len(pairs)
    return Pairs(np.array(features, np.float32), np.array(labels, np.int8), np.array(groups), np.array(older))


def _claims(session: AnnotatedSession, judged: Sequence[Judgement]) -> Iterator[Claim]:
    for (number, place), judgement in zip(session.annotations, judged, strict=True):
        read = session.reads[number]
        text = read.sentences[place].text
        yield Claim(text, read.message.speaker, read.message.role, number, read.language, judgement)


def _store(sentences: Sentences, learned: Learned) -> None:
    judged, labels = sentences.is_judged, sentences.labels
    weights, bias = _regressions(sentences.features[judged], labels[judged])
    np.savez_compressed(WEIGHTS_FILE, weights=weights.astype(np.float16), bias=bias.astype(np.float32))
    known = judged & sentences.is_among_others
    arrays: dict[str, Any] = {}
    for output in JUDGED_TWICE:
        column = labels[known, OUTPUTS.index(output)]
        arrays |= _forest_arrays(output, HistGradientBoostingClassifier(**TREES).fit(learned.neighbours[known], column))
    np.savez_compressed(FORESTS_FILE, **arrays)
    pairs = _pair_trees(learned.pairs.features, learned.pairs.labels)
    together = LogisticRegression().fit(learned.odds, labels[:, OUTPUTS.index(Target.REPLACED)])
    both = _forest_arrays("pairs", pairs)
    both["together"] = np.array([*together.coef_[0], together.intercept_[0]])
    np.savez_compressed(FOREST_FILE, **both)
    sys.stdout.write(f"{len(labels)} sentences of {len(sentences.sessions)} sessions\n")


def _forest_arrays(name: str, forest: HistGradientBoostingClassifier) -> dict[str, Any]:
    """The nodes of all trees one after the other; a leaf leads to itself."""
    trees = [tree[0].nodes for tree in forest._predictors]
    roots = np.cumsum([0, *(len(nodes) for nodes in trees[:-1])])
    nodes = np.concatenate(trees)
    starts = np.repeat(roots, [len(one) for one in trees])
    own = np.arange(len(nodes))
    is_leaf = nodes["is_leaf"].astype(bool)
    arrays = {
        "feature": np.where(is_leaf, 0, nodes["feature_idx"]).astype(np.int16),
        "threshold": nodes["num_threshold"].astype(np.float32),
        "left": np.where(is_leaf, own, starts + nodes["left"]).astype(np.int32),
        "right": np.where(is_leaf, own, starts + nodes["right"]).astype(np.int32),
        "value": np.where(is_leaf, nodes["value"], 0.0).astype(np.float32),
        "roots": roots.astype(np.int32),
        "depth": np.array(max(int(one["depth"].max()) for one in trees)),
        "base": np.array(float(forest._baseline_prediction.ravel()[0])),
    }
    return {f"{name}.{key}": value for key, value in arrays.items()}


def _report(sentences: Sentences, learned: Learned) -> None:
    rows = sentences.is_judged & sentences.is_among_others
    labels = {output: sentences.labels[rows, column] for column, output in enumerate(OUTPUTS)}
    for column, output in enumerate(OUTPUTS):
        if labels[output].any():
            steps = (
                average_precision_score(labels[output], step[rows, column]) for step in (learned.first, learned.shares)
            )
            sys.stdout.write(
                f"{output:14} {labels[output].mean():.3f} of sentences, average precision {next(steps):.3f}, "
                f"with neighbours {next(steps):.3f}\n"
            )
    precision = average_precision_score(labels[Target.REPLACED], learned.outdated[rows])
    sys.stdout.write(f"outdated       average precision {precision:.3f} with pairs\n")
    alone = np.array([one.forms[Form.ALONE] for one in judgements(learned.shares[rows])])
    worth = learned.shares[rows, OUTPUTS.index(Target.WORTH)] * alone * (1.0 - learned.outdated[rows])
    is_good = labels[Target.WORTH] * labels[Form.ALONE] * (1 - labels[Target.REPLACED])
    sessions = sum(session.is_conversation for session in sentences.sessions)
    for kept in KEPT_PER_SESSION:
        best = np.argsort(-worth)[: kept * sessions]
        parts = [labels[name][best].mean() for name in (Target.WORTH, Form.ALONE, Target.REPLACED)]
        sys.stdout.write(
            f"best {kept} a session: worth {parts[0]:.2f}, alone {parts[1]:.2f}, outdated {parts[2]:.2f}, "
            f"all {is_good[best].mean():.2f}\n"
        )


if __name__ == "__main__":
    main()
