"""Corpora: what an evaluation is run on, read, checked and written."""

from context.services.evaluation.corpus.jsonl import write_folder as write_corpus
from context.services.evaluation.corpus.model import Corpus, CorpusError, CorpusMemory, CorpusProblem, CorpusQuestion
from context.services.evaluation.corpus.reading import read_corpus

__all__ = ["Corpus", "CorpusError", "CorpusMemory", "CorpusProblem", "CorpusQuestion", "read_corpus", "write_corpus"]
