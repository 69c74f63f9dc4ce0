"""Warnings of a draft about instructions to the assistant in the messages (ADR-0351)."""

from collections.abc import Iterable
from dataclasses import dataclass

from compaction.services.pipeline.retention.stated import instruction_paragraphs
from compaction.services.sessions.turns import SessionTurn
from context.receipts.results import ContextWarning
from memories.services.time_limits import in_time
from memory_platform.web.numerals import counted

POSSIBLE_INSTRUCTIONS = "possible_instructions"
#: Maximum messages that a warning names.
MESSAGES_NAMED_MAX = 50


@dataclass(frozen=True)
class MessagesWarning(ContextWarning):
    """A warning with the numbers (`sequence`) of the messages that it is about."""

    messages: tuple[int, ...] = ()


def left_out_warnings(turns: Iterable[SessionTurn]) -> list[ContextWarning]:
    """Return a warning if paragraphs are left out because they instruct the assistant."""
    counts = [(turn.sequence or 0, instruction_paragraphs(turn)) for turn in in_time(turns)]
    paragraphs = sum(count for _, count in counts)
    if not paragraphs:
        return []
    why = "was left out because it contains" if paragraphs == 1 else "were left out because they contain"
    detail = f"{counted(paragraphs, 'paragraph', 'paragraphs')} {why} instructions to the assistant."
    numbers = sorted(number for number, count in counts if count)[:MESSAGES_NAMED_MAX]
    return [MessagesWarning("instructions_left_out", detail, tuple(numbers))]


def possible_warnings(count: int) -> list[ContextWarning]:
    """Return a warning if `count` texts of a compaction may instruct the assistant."""
    if not count:
        return []
    what = counted(count, "statement may be an instruction", "statements may be instructions")
    detail = f"{what} to the assistant. A person should check the marked text."
    return [ContextWarning(POSSIBLE_INSTRUCTIONS, detail)]
