"""Choosing statements under a token budget: each step takes what adds the most new words per token."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import replace

from compaction.services.pipeline.statements.model import Statement
from compaction.services.pipeline.statements.rendering import drop_repeated_day, render_statements

StatementTokenCounter = Callable[[str], int]
#: Weighed against a statement beyond its own tokens, so that few full clauses win over many scraps.
SEPARATOR_TOKENS = 3
#: Tokens that joined texts may need beyond the sum of their own counts, e.g. a separator.
JOINT_TOKENS = 1
#: After each round the text is counted as a whole, and what is left of the budget is filled again.
MAX_ROUNDS = 6


def choose_statements(
    statements: Sequence[Statement], *, token_budget: int, count_tokens: StatementTokenCounter
) -> list[Statement]:
    """The statements worth most whose rendering fits `token_budget`, in order; the end of one may be left off."""
    choice = _Choice(statements, count_tokens)
    spent = 0
    for _ in range(MAX_ROUNDS):
        before = dict(choice.sizes)
        choice.fill(token_budget - spent)
        while choice.sizes and (spent := count_tokens(render_statements(choice.chosen()))) > token_budget:
            choice.take_back()
        if choice.sizes == before:
            break
    return choice.chosen()


class _Choice:
    """What is chosen so far: how many parts of which statement, and the words they cover."""

    def __init__(self, statements: Sequence[Statement], count_tokens: StatementTokenCounter) -> None:
        self.statements = statements
        self.costs = [_costs(statement, count_tokens) for statement in statements]
        self.sizes: dict[int, int] = {}
        self.covered: set[str] = set()
        self._steps: list[tuple[int, int]] = []
        self._refused: set[int] = set()

    def chosen(self) -> list[Statement]:
        """The chosen statements in their order, each with the parts that were taken."""
        return [
            replace(self.statements[index], parts=self.statements[index].parts[:size])
            for index, size in sorted(self.sizes.items())
        ]

    def fill(self, room: int) -> None:
        """Take the best next piece until nothing fits `room` tokens."""
        heap = [(-value, index) for index in range(len(self.statements)) if (value := self._best(index, room)[0]) > 0]
        heapq.heapify(heap)
        while heap:
            _, index = heapq.heappop(heap)
            value, size = self._best(index, room)
            if value <= 0:
                continue
            if heap and value < -heap[0][0]:
                heapq.heappush(heap, (-value, index))
                continue
            room -= self._take(index, size)
            heapq.heappush(heap, (-value, index))

    def take_back(self) -> None:
        """Undo the last step and refuse that statement from now on."""
        index, taken = self._steps.pop()
        self._refused.add(index)
        if taken:
            self.sizes[index] = taken
        else:
            del self.sizes[index]
        self.covered = {
            word
            for index, size in self.sizes.items()
            for part in self.statements[index].parts[:size]
            for word in part.weights
        }

    def _take(self, index: int, size: int) -> int:
        taken = self.sizes.get(index, 0)
        self._steps.append((index, taken))
        self.sizes[index] = size
        for part in self.statements[index].parts[taken:size]:
            self.covered.update(part.weights)
        return self.costs[index][size] - (self.costs[index][taken] if taken else 0)

    def _best(self, index: int, room: int) -> tuple[float, int]:
        """The best value per token that taking more parts of a statement adds, and how many parts that makes."""
        taken = self.sizes.get(index, 0)
        best, size, value = 0.0, 0, 0.0
        if index in self._refused:
            return best, size
        costs, parts = self.costs[index], self.statements[index].parts
        seen: set[str] = set()
        for count in range(taken + 1, len(parts) + 1):
            for word, weight in parts[count - 1].weights.items():
                if word not in self.covered and word not in seen:
                    value += weight
                    seen.add(word)
            cost = costs[count] - (costs[taken] if taken else 0)
            if cost > room:
                break
            density = value * self.statements[index].factor / (cost + (0 if taken else SEPARATOR_TOKENS))
            if density > best:
                best, size = density, count
        return best, size


def _costs(statement: Statement, count_tokens: StatementTokenCounter) -> list[int]:
    """Tokens of the statement with 0, 1, 2 ... of its parts."""
    costs = [count_tokens(f" {statement.lead}") + JOINT_TOKENS]
    for part in statement.parts:
        costs.append(costs[-1] + count_tokens(f" {drop_repeated_day(part.text, statement.stated_on)}"))
    return costs
