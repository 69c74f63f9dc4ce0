"""Summaries of summaries: each condensing loses something, and from the third on readers are told."""

from __future__ import annotations

DEGRADES_FROM_GENERATION = 3


def generation_warning(generation: int) -> str:
    """What to say about a summary that was condensed that often; "" where nothing need be said."""
    if generation < DEGRADES_FROM_GENERATION:
        return ""
    return (
        f"Condensed {generation} times, so details may have been lost or blurred: search the history before relying on "
        "them."
    )
