"""How numbers below zero are written for people."""

MINUS = "\N{MINUS SIGN}"


def counted(number: int, one: str, many: str) -> str:
    """Return the number with its noun: "1 memory", "1,200 memories"."""
    return with_minus_sign(f"{number:,} {one if number == 1 else many}")


def with_minus_sign(text: str) -> str:
    """-72 tokens -> −72 tokens: as wide as a plus, kept on its number's line, and read aloud as minus."""
    return text.replace("-", MINUS, 1) if text.startswith("-") else text
