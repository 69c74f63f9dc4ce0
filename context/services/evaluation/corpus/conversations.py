"""Conversations of the LoCoMo data set as a corpus: what was said, and the questions that turns answer.

Observations, summaries and events, which a model wrote, are not read.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from context.services.evaluation.corpus.model import Corpus, CorpusError, CorpusMemory, CorpusProblem, CorpusQuestion
from memories.services.store.content import content_hash
from memories.services.store.locomo import LocomoError, LocomoQuestion, LocomoTurn, parse_conversation, parse_questions

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}


_Conversation = tuple[list[CorpusMemory], list[CorpusQuestion]]


def read_conversations(name: str, paths: Sequence[Path]) -> Corpus:
    """Return the corpus of conversations, each in the partition `conversation=<file name>`. Raises `CorpusError`.

    Questions whose evidence is no turn that exists are omitted.
    """
    conversations = [_read_file(path) for path in paths]
    questions = [question for _, own in conversations for question in own]
    if not questions:
        raise CorpusError(CorpusProblem("no_questions", "No conversation has a question that its turns answer."))
    memories = [memory for own, _ in conversations for memory in own]
    return Corpus(name, tuple(memories), tuple(questions))


def _read_file(path: Path) -> _Conversation:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return _conversation(path.stem, parse_conversation(data), parse_questions(data))
    except OSError as error:
        problem = CorpusProblem("unreadable", f"The file cannot be read: {error.strerror}.", path.name)
    except LocomoError as error:
        problem = CorpusProblem("not_a_conversation", f"The file is not a LoCoMo conversation: {error}.", path.name)
    except UnicodeDecodeError:
        problem = CorpusProblem("not_utf8", "The file is not UTF-8 text.", path.name)
    except json.JSONDecodeError as error:
        problem = CorpusProblem("malformed_json", f"The file is not JSON: {error.msg}.", path.name, error.lineno)
    except (ValueError, RecursionError):
        problem = CorpusProblem("malformed_json", "The file is not JSON.", path.name)
    raise CorpusError(problem)


def _conversation(stem: str, turns: Sequence[LocomoTurn], stored_questions: Sequence[LocomoQuestion]) -> _Conversation:
    if not turns:
        raise LocomoError("nobody says anything")
    first_with_text: dict[str, LocomoTurn] = {}
    # Turns with the same text are one memory; evidence names the first of them.
    kept = {turn.dia_id: first_with_text.setdefault(content_hash(turn.content), turn) for turn in turns}
    end = max(turn.said_at for turn in turns)
    questions = []
    for question in stored_questions:
        evidence = frozenset(f"{stem}/{kept[turn].dia_id}" for turn in question.evidence if turn in kept)
        if evidence:
            questions.append(
                CorpusQuestion(
                    id=f"{stem}/q{question.number}",
                    text=question.text,
                    evidence=evidence,
                    asked_at=end,
                    partition=f"conversation={stem}",
                    category=CATEGORIES.get(question.category, str(question.category)),
                    answer=question.answer,
                )
            )
    drafts = {turn.dia_id: turn.as_memory(stem) for turn in first_with_text.values()}
    memories = [
        CorpusMemory.of(draft, id=f"{stem}/{name}", partition=draft.partition.path) for name, draft in drafts.items()
    ]
    return memories, questions
