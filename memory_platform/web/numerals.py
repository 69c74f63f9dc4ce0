"""Counted nouns and minus signs."""

MINUS = "\N{MINUS SIGN}"


def counted(number: int, one: str, many: str) -> str:
    """Return the number with its noun: "1 memory", "1,200 memories"."""
    return with_minus_sign(f"{number:,} {one if number == 1 else many}")


def with_minus_sign(text: str) -> str:
    """Return the text with a minus sign, which is as wide as a plus and read aloud as minus: -72 -> −72."""
    return text.replace("-", MINUS, 1) if text.startswith("-") else text
