"""The interface of summarisers and their error (ADR-0072)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from compaction.services.pipeline.stored_statements import CitedStatement
from compaction.services.sessions.turns import SessionTurn

SummaryTokenCounter = Callable[[str], int]


@dataclass(frozen=True)
class SummaryTask:
    """Messages to summarise in order, after the statements of the preceding summary.

    A summary with more statements of sufficient worth than fit `budget_tokens` may have `longest_tokens`, if that is
    more. Only models use `prompt` and `model`. `time_limit_seconds` bounds the whole task, None means each summariser's
    own limit. Tokens are those of the session's model.
    """

    messages: Sequence[SessionTurn]
    earlier: Sequence[CitedStatement]
    budget_tokens: int
    count_tokens: SummaryTokenCounter
    prompt: str = ""
    model: str = ""
    time_limit_seconds: float | None = None
    longest_tokens: int = 0


@dataclass(frozen=True)
class SummaryResult:
    """The text that replaces the messages, and its statements.

    `candidates` are the statements that did not fit, best first; `dropped` counts the unusable statements of a model's
    response.
    """

    text: str
    statements: tuple[CitedStatement, ...]
    candidates: tuple[CitedStatement, ...] = ()
    dropped: int = 0


class Summariser(Protocol):
    """Turns messages into statements with their sources. Instances are thread-safe."""

    #: Stored with every compaction: `extractive` or `openai`.
    name: str
    #: Whether it works without a network.
    is_local: bool

    def summarise(self, task: SummaryTask) -> SummaryResult:
        """Return a summary of at most the budget. Raises `SummariserError`."""

    def journal(self, task: SummaryTask) -> list[CitedStatement]:
        """Return lasting facts of the messages, each once, within the budget. Raises `SummariserError`."""


class SummariserError(Exception):
    """No summary was made. `is_permanent`: the same task would fail again at any time.

    `detail` never quotes a message; `retry_after_seconds` is the wait that the provider requests, 0 without one.
    `blames_task`: the provider works, but does not accept this task.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        is_permanent: bool = False,
        retry_after_seconds: float = 0.0,
        blames_task: bool = False,
    ) -> None:
        super().__init__(detail)
        self.code, self.detail, self.is_permanent = code, detail, is_permanent
        self.retry_after_seconds, self.blames_task = retry_after_seconds, blames_task
