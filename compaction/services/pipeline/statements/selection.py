"""Choosing statements under a token budget: each step takes what adds the most new words per token."""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate, islice

from compaction.services.pipeline.statements.model import Statement, drop_repeated_day, render_statements

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
    """Return the most valuable statements that fit `token_budget`, in order; some without their last parts."""
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
        """Return the chosen statements in their order, each with the parts that were taken."""
        taken = [(self.statements[index], size) for index, size in sorted(self.sizes.items())]
        return [replace(statement, parts=statement.parts[:size]) for statement, size in taken]

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
        self.sizes[index] = taken
        if not taken:
            del self.sizes[index]
        self.covered = {word for made in self.chosen() for part in made.parts for word in part.weights}

    def _take(self, index: int, size: int) -> int:
        taken = self.sizes.get(index, 0)
        self._steps.append((index, taken))
        self.sizes[index] = size
        for part in self.statements[index].parts[taken:size]:
            self.covered.update(part.weights)
        return self.costs[index][size] - self.costs[index][taken]

    def _best(self, index: int, room: int) -> tuple[float, int]:
        """The best value per token that taking more parts of a statement adds, and how many parts that makes."""
        taken = self.sizes.get(index, 0)
        best, size, value = 0.0, 0, 0.0
        if index in self._refused:
            return best, size
        statement = self.statements[index]
        seen: set[str] = set()
        for count, part in enumerate(statement.parts[taken:], taken + 1):
            for word in part.weights:
                if word not in self.covered and word not in seen:
                    value += part.weights[word]
            seen.update(part.weights)
            cost = self.costs[index][count] - self.costs[index][taken]
            if cost > room:
                break
            density = value * statement.factor / (cost + (0 if taken else SEPARATOR_TOKENS))
            if density > best:
                best, size = density, count
        return best, size


def _costs(statement: Statement, count_tokens: StatementTokenCounter) -> list[int]:
    """Tokens of the statement with 0, 1, 2 ... of its parts; the first includes the lead."""
    lead = count_tokens(f" {statement.lead}") + JOINT_TOKENS
    texts = (drop_repeated_day(part.text, statement.stated_on) for part in statement.parts)
    return [0, *islice(accumulate((count_tokens(f" {text}") for text in texts), initial=lead), 1, None)]
