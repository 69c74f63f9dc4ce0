"""The project's corpus of changed facts: its size, its order in time, and its difficulty."""

import re
from calendar import month_name
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from context.services.evaluation.answer_words import answer_word_share, significant_words
from context.services.evaluation.corpus import Corpus, CorpusMemory, read_corpus
from memories.embeddings.providers.wordllama_embedder import WordLlamaEmbedder

FOLDER = Path(__file__).resolve().parents[4] / "context" / "services" / "evaluation" / "updated_facts"


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return read_corpus(FOLDER)


def versions_of(corpus: Corpus) -> dict[str, list[CorpusMemory]]:
    """The memories of each fact in the order of their numbers."""
    facts: dict[str, dict[int, CorpusMemory]] = defaultdict(dict)
    named = {question.id.rsplit("-now", 1)[0] for question in corpus.questions if question.category == "now"}
    for memory in corpus.memories:
        fact, _, number = memory.id.rpartition("-")
        if fact in named:
            facts[fact][int(number)] = memory
    return {fact: [numbered[number] for number in sorted(numbered)] for fact, numbered in facts.items()}


def test_corpus_is_as_large_as_its_readme_states(corpus: Corpus) -> None:
    facts = versions_of(corpus)
    versions = sum(map(len, facts.values()))
    categories = [question.category for question in corpus.questions]
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert f"| facts | {len(facts)}, in two to four versions each ({versions} memories)" in readme
    assert f"| other memories | {len(corpus.memories) - versions}:" in readme
    assert f"category `now` | {categories.count('now')}:" in readme
    assert f"category `then` | {categories.count('then')}," in readme
    assert (len(facts) >= 60, len(corpus.memories) - versions >= 500) == (True, True)
    assert set(categories) == {"now", "then"}


def test_each_fact_has_two_to_four_versions_in_order_weeks_apart(corpus: Corpus) -> None:
    for fact, versions in versions_of(corpus).items():
        assert 2 <= len(versions) <= 4, fact
        moments = [version.created_at for version in versions]
        assert all((later - earlier).days >= 30 for earlier, later in pairwise(moments)), fact
        assert len({version.kind for version in versions}) == 1, fact


def test_a_question_names_one_version_and_calls_all_it_rules_out_stale(corpus: Corpus) -> None:
    facts = versions_of(corpus)
    for question in corpus.questions:
        fact = re.split(r"-(?:now|then-\d)$", question.id)[0]
        ids = [version.id for version in facts[fact]]
        assert question.evidence | question.stale == set(ids), question.id
        assert len(question.evidence) == 1
        is_current = question.evidence == {ids[-1]}
        assert is_current == (question.category == "now"), question.id


def test_every_answer_is_in_its_evidence_and_seldom_in_what_is_stale(corpus: Corpus) -> None:
    texts = {memory.id: memory.content for memory in corpus.memories}
    answered_by_stale = 0
    for question in corpus.questions:
        words = significant_words(question.answer)
        assert words, question.id
        assert all(answer_word_share(words, texts[memory_id]) == 1 for memory_id in question.evidence), question.id
        answered_by_stale += any(answer_word_share(words, texts[memory_id]) == 1 for memory_id in question.stale)
    assert answered_by_stale <= 0.1 * len(corpus.questions)


def test_a_question_about_a_dated_month_means_the_version_of_that_month(corpus: Corpus) -> None:
    """A version is valid from its `created_at` to that of the next. "Before the move in July" names no month."""
    months = list(month_name)
    facts = versions_of(corpus)
    dated = 0
    for question in corpus.questions:
        found = re.search(rf"\b(?<!move )in ({'|'.join(months[1:])}) (20\d\d)\b", question.text)
        if question.category != "then" or not found:
            continue
        dated += 1
        last_day = (int(found[2]), months.index(found[1]), 28)
        versions = facts[question.id.rsplit("-then-", 1)[0]]
        held = [version.id for version in versions if version.created_at.timetuple()[:3] <= last_day]
        assert question.evidence == {held[-1]}, question.id
    assert dated >= 40


def test_every_text_reads_as_a_sentence_of_its_own(corpus: Corpus) -> None:
    texts = [memory.content for memory in corpus.memories] + [question.text for question in corpus.questions]
    assert len(set(texts)) == len(texts)
    assert not [text for text in texts if not re.fullmatch(r"[A-Zc].{10,180}[.?!]", text)]
    assert all(question.text.endswith("?") for question in corpus.questions)


def test_a_stale_version_is_nearer_than_the_current_one_in_about_half(corpus: Corpus) -> None:
    embedder = WordLlamaEmbedder()
    vectors = dict(
        zip(
            (memory.id for memory in corpus.memories),
            embedder.embed([memory.content for memory in corpus.memories]),
            strict=True,
        )
    )
    now = [question for question in corpus.questions if question.category == "now"]
    nearer = 0
    for question, asked in zip(now, embedder.embed([question.text for question in now]), strict=True):
        current = max(float(asked @ vectors[memory_id]) for memory_id in question.evidence)
        nearer += max(float(asked @ vectors[memory_id]) for memory_id in question.stale) > current
    assert 0.48 <= nearer / len(now) <= 0.55
    assert f"in {nearer} of the {len(now)} questions" in (FOLDER / "README.md").read_text(encoding="utf-8")
