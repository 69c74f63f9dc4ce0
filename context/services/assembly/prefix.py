"""How much of an earlier text a later one begins with: what a provider's prompt cache can use again."""

from __future__ import annotations


def shared_prefix(earlier: str, later: str) -> str:
    """The characters that both texts begin with."""
    for place, (before, after) in enumerate(zip(earlier, later, strict=False)):
        if before != after:
            return later[:place]
    return later[: len(earlier)]
