"""The share of the window that a session's next context needs, by part (ADR-0100)."""

from typing import NamedTuple

from compaction.services.sessions.transcript import MARKER_TOKENS
from compaction.services.windowing import window_share_tokens

# ADR-0100. The reply, the share for inexact counts and the memories' own share are together this share of any window.
RESERVED_SHARE = 0.25


class PressureParts(NamedTuple):
    """Tokens by part. `messages` include the lines that mark each message, `reply` the share for inexact counts."""

    messages: int
    directive: int
    summary: int
    memories: int
    reply: int

    @property
    def tokens(self) -> int:
        """The total of all parts."""
        return sum(self)


def reserved_tokens(window: int) -> int:
    """Return the tokens of a window that reply and memories need, regardless of the messages."""
    return window_share_tokens(window, RESERVED_SHARE)


def planning_reserve(window: int) -> int:
    """Return the reserved tokens with the markers of directive and summary: what a compaction cannot use."""
    return reserved_tokens(window) + 2 * MARKER_TOKENS


def window_pressure(needed_tokens: int, window: int) -> float:
    """Return the share of the window that the next context needs; only above 1.0 messages are left out."""
    return round(needed_tokens / window, 4)
