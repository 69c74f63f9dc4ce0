"""Whether two runs used the same corpus."""

from dataclasses import replace
from datetime import UTC, datetime

from context.services.evaluation.corpus import Corpus, CorpusMemory, CorpusQuestion

AT = datetime(2026, 1, 1, tzinfo=UTC)
CORPUS = Corpus(
    "one",
    [CorpusMemory("m1", "Alex bakes.", AT), CorpusMemory("m2", "Sam rides.", AT)],
    [CorpusQuestion("q1", "Who bakes?", frozenset({"m1", "m2"}), AT)],
)


def test_name_of_a_corpus_does_not_count() -> None:
    assert replace(CORPUS, name="two").sha256 == CORPUS.sha256
    assert len(CORPUS.sha256) == 64


def test_every_field_and_the_order_count() -> None:
    memory, question = CORPUS.memories[0], CORPUS.questions[0]
    others = [
        replace(CORPUS, memories=[replace(memory, pinned=True), CORPUS.memories[1]]),
        replace(CORPUS, memories=[replace(memory, metadata={"a": 1}), CORPUS.memories[1]]),
        replace(CORPUS, memories=CORPUS.memories[::-1]),
        replace(CORPUS, questions=[replace(question, evidence=frozenset({"m1"}))]),
        replace(CORPUS, questions=[replace(question, asked_at=datetime(2026, 1, 2, tzinfo=UTC))]),
    ]
    assert len({other.sha256 for other in [CORPUS, *others]}) == len(others) + 1


def test_order_within_a_set_does_not_count() -> None:
    names = [f"m{number}" for number in range(50)]
    turned = [replace(CORPUS.questions[0], evidence=frozenset(each)) for each in (names, names[::-1])]
    hashes = {replace(CORPUS, questions=[each]).sha256 for each in turned}
    assert len(hashes) == 1
