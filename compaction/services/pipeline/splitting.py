"""Cutting a long text into pieces that can be stored."""

from __future__ import annotations


def split_text_by_bytes(text: str, bytes_max: int) -> list[str]:
    """The text in order as pieces of at most `bytes_max` of UTF-8, cut behind a line or a word; none of blanks."""
    pieces: list[str] = []
    rest = text.strip()
    while len(rest.encode("utf-8", "surrogatepass")) > bytes_max:
        head = rest.encode("utf-8", "surrogatepass")[:bytes_max].decode("utf-8", "ignore")
        end = max(head.rfind("\n"), head.rfind(" "))
        head = head[:end] if end > 0 else head
        pieces.append(head.strip())
        rest = rest[len(head) :].strip()
    return [piece for piece in [*pieces, rest] if piece]
