"""What every summariser offers, and how one fails (ADR-0072)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from compaction.services.pipeline.stored_statements import CitedStatement
from compaction.services.sessions.turns import SessionTurn

SummaryTokenCounter = Callable[[str], int]


@dataclass(frozen=True)
class SummaryTask:
    """What is to be summarised: messages in order, behind the statements of the summary before.

    `prompt` is for summarisers that take one, `model` too; `time_limit_seconds` bounds all of it, None means each
    summariser's own. Tokens are those of the session's model.
    """

    messages: Sequence[SessionTurn]
    earlier: Sequence[CitedStatement]
    budget_tokens: int
    count_tokens: SummaryTokenCounter
    prompt: str = ""
    model: str = ""
    time_limit_seconds: float | None = None


@dataclass(frozen=True)
class SummaryResult:
    """The text that takes the place of the messages, and the statements it consists of."""

    text: str
    statements: tuple[CitedStatement, ...]


class Summariser(Protocol):
    """Messages in, statements with their sources out; safe to share between threads."""

    #: Stored with every compaction: `extractive` or `openai`.
    name: str
    #: Whether it works without the network, so that it cannot be away.
    is_local: bool

    def summarise(self, task: SummaryTask) -> SummaryResult:
        """A summary of at most the budget. Raises `SummariserError`."""

    def journal(self, task: SummaryTask) -> list[CitedStatement]:
        """Lasting facts of the messages, each once, within the budget. Raises `SummariserError`."""


class SummariserError(Exception):
    """No summary was made. `is_permanent` when the same task would fail again whenever it were tried.

    `detail` never quotes a message; `retry_after_seconds` is what the provider asked for, 0 where it did not.
    `blames_task`: the provider is well, but will not take this task.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        is_permanent: bool,
        retry_after_seconds: float = 0.0,
        blames_task: bool = False,
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.is_permanent = is_permanent
        self.retry_after_seconds = retry_after_seconds
        self.blames_task = blames_task
