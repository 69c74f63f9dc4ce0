"""Names of hidden tenants, which evaluations create. Operators never see them, and roll-ups skip them."""

HIDDEN_PREFIX = "~"


def hidden_name(words: str) -> str:
    """Return the name of a hidden tenant."""
    return f"{HIDDEN_PREFIX}{words}"


def is_hidden(name: str) -> bool:
    """Whether this is the name of a hidden tenant."""
    return name.startswith(HIDDEN_PREFIX)
