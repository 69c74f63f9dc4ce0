"""Choose statements under a token budget: by worth and kind, then by the rare words that each adds (ADR-0118)."""

from bisect import bisect_right
from collections.abc import Callable, Sequence

from compaction.services.pipeline.statements.kinds import kind_weight
from compaction.services.pipeline.statements.model import (
    PART_DISTANCE_MAX,
    Statement,
    drop_repeated_day,
    render_statements,
)
from compaction.services.pipeline.statements.rarity import word_weights
from memories.services.time_limits import in_time

StatementTokenCounter = Callable[[str], int]
#: Tokens beyond the sum of the statements' own: a separator each, a heading for each day.
SEPARATOR_TOKENS, HEADING_TOKENS = 1, 6
#: A statement is left out when less than this share of the weight of its words is new.
NEW_SHARE_MIN = 0.4
#: Maximum rounds: after each, the text is counted as a whole, and the remaining budget is filled again.
ROUNDS_MAX = 4
#: Values that differ by less count as equal: then rarer words come first.
VALUE_STEP = 0.05


def choose_statements(
    statements: Sequence[Statement], *, token_budget: int, count_tokens: StatementTokenCounter
) -> list[Statement]:
    """Return the best statements that fit `token_budget` together, in the order given."""
    choice = _Choice(statements, count_tokens)
    spent = 0
    for _ in range(ROUNDS_MAX):
        before = len(choice.taken)
        choice.fill(token_budget - spent)
        spent = choice.undo_over_budget(token_budget, count_tokens)
        if len(choice.taken) <= before:
            break
    return choice.chosen()


class _Choice:
    """The statements chosen so far, and the words that they cover."""

    def __init__(self, statements: Sequence[Statement], count_tokens: StatementTokenCounter) -> None:
        self._statements = statements
        self._weights = [word_weights(statement.body) for statement in in_time(statements)]
        self._claims = [
            word_weights(one.claim) if one.claim else weights
            for one, weights in zip(statements, self._weights, strict=True)
        ]
        self._costs = [
            count_tokens(f" {drop_repeated_day(one.body, one.stated_on)}") + SEPARATOR_TOKENS
            for one in in_time(statements)
        ]
        self.taken: list[int] = []
        self._refused: set[int] = set()
        self._parts = [self._parts_of(number) for number in range(len(statements))]

    def chosen(self) -> list[Statement]:
        """Return the chosen statements in their order, without those that are part of another one."""
        parts = {part for number in self.taken for part in self._parts[number]}
        return [self._statements[number] for number in sorted(self.taken) if number not in parts]

    def fill(self, available: int) -> None:
        """Take the best statements that fit into `available` tokens."""
        covered = {word for number in self.taken for word in self._weights[number]}
        days = {self._statements[number].stated_on for number in self.taken}
        closed = self._refused.union(self.taken)
        for number in in_time(sorted(set(range(len(self._statements))) - closed, key=self._order)):
            statement = self._statements[number]
            cost = self._cost(number) + (0 if statement.stated_on in days else HEADING_TOKENS)
            if cost > available or (not statement.is_edited and self._new_share(number, covered) < NEW_SHARE_MIN):
                continue
            available -= cost
            self.taken.append(number)
            covered.update(self._weights[number])
            days.add(statement.stated_on)

    def _order(self, number: int) -> tuple[bool, float, float, int]:
        """Return the sort key: text of a person first, then the highest worth, then the rarest words."""
        statement = self._statements[number]
        value = round(statement.worth * kind_weight(statement.kind) / VALUE_STEP)
        return not statement.is_edited, -value, -sum(self._weights[number].values()), number

    def _parts_of(self, number: int) -> list[int]:
        """Return the statements whose runs are part of this one's; they are a few places before it."""
        before = range(max(number - PART_DISTANCE_MAX, 0), number)
        return [part for part in before if self._statements[number].contains(self._statements[part])]

    def _cost(self, number: int) -> int:
        """Return the tokens that a statement adds to those already used by its parts."""
        spent = max((self._costs[part] for part in self._parts[number] if part in self.taken), default=0)
        return self._costs[number] - spent

    def undo_over_budget(self, token_budget: int, count_tokens: StatementTokenCounter) -> int:
        """Undo the last steps until the text fits and refuse their statements from now on; return its tokens."""
        taken = self.taken

        def tokens(steps: int) -> int:
            self.taken = taken[:steps]
            return count_tokens(render_statements(self.chosen()))

        if (spent := tokens(len(taken))) > token_budget:
            steps = max(bisect_right(range(len(taken)), token_budget, key=tokens) - 1, 0)
            self._refused.update(taken[steps:])
            spent = tokens(steps)
        return spent

    def _new_share(self, number: int, covered: set[str]) -> float:
        weights = self._claims[number]
        new = sum(weight for word, weight in weights.items() if word not in covered)
        return new / (sum(weights.values()) or 1.0)
