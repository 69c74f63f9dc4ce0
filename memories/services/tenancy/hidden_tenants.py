"""Names of tenants that nobody looks after: a corpus that is being measured, and what is kept of such measurements.

They begin with a character that no other tenant's name may begin with. Operators never see them, and regular work that
makes something new (roll-ups) passes them over.
"""

HIDDEN_PREFIX = "~"


def hidden_name(words: str) -> str:
    """The name of a hidden tenant."""
    return f"{HIDDEN_PREFIX}{words}"


def is_hidden(name: str) -> bool:
    """Whether a tenant of this name is one that nobody looks after."""
    return name.startswith(HIDDEN_PREFIX)
