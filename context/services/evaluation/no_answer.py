"""Precision and recall of the warning that nothing stored answers a question."""

from collections.abc import Iterable
from typing import NamedTuple, Self


class NoAnswerCounts(NamedTuple):
    """How many questions of a corpus have no answer, how many were warned about, and how many of both kinds."""

    lacking: int
    warned: int
    right: int

    @classmethod
    def of(cls, answered: Iterable[bool], lacking: Iterable[bool]) -> Self:
        """Count the warnings about questions that have an answer, and about those that lack one."""
        wrong, right = sum(answered), list(lacking)
        return cls(len(right), wrong + sum(right), sum(right))

    @property
    def precision(self) -> float | None:
        """The share of the warnings that are right; None without any."""
        return self.right / self.warned if self.warned else None

    @property
    def recall(self) -> float:
        """The share of the questions without an answer that were warned about."""
        return self.right / self.lacking
