"""Corpora of evaluations: read, checked and written."""

from context.services.evaluation.corpus.folders import read_corpus, write_corpus
from context.services.evaluation.corpus.model import Corpus, CorpusError, CorpusMemory, CorpusProblem, CorpusQuestion

__all__ = ["Corpus", "CorpusError", "CorpusMemory", "CorpusProblem", "CorpusQuestion", "read_corpus", "write_corpus"]
