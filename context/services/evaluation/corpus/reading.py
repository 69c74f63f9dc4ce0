"""Reading a corpus from a path: JSONL files, or conversations of the LoCoMo data set."""

from __future__ import annotations

from pathlib import Path

from context.services.evaluation.corpus.checks import MEMORIES_FILE, QUESTIONS_FILE
from context.services.evaluation.corpus.conversations import read_conversations
from context.services.evaluation.corpus.jsonl import read_folder
from context.services.evaluation.corpus.model import Corpus, CorpusError, CorpusProblem


def read_corpus(path: Path) -> Corpus:
    """Return the corpus at `path`, with the name of the folder or file. Raises `CorpusError` with all problems.

    `path` is a folder with `memories.jsonl` and `questions.jsonl`, a folder of LoCoMo `.json` files, or one such file.
    """
    if path.is_file():
        if path.suffix == ".json":
            return read_conversations(path.stem, [path])
        raise _unknown(path, f"A corpus is a folder with {MEMORIES_FILE} and {QUESTIONS_FILE}, or a .json file.")
    if not path.is_dir():
        raise _unknown(path, "There is no such file or folder.")
    if (path / MEMORIES_FILE).exists() or (path / QUESTIONS_FILE).exists():
        return read_folder(path)
    conversations = sorted(path.glob("*.json"))
    if not conversations:
        raise _unknown(path, f"The folder holds neither {MEMORIES_FILE} with {QUESTIONS_FILE} nor a .json file.")
    return read_conversations(path.resolve().name, conversations)


def _unknown(path: Path, detail: str) -> CorpusError:
    return CorpusError([CorpusProblem("not_a_corpus", detail, path.name)])
