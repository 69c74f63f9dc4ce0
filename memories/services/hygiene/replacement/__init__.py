"""Whether a statement replaces an earlier one: the same attribute of the same thing with another value."""

from memories.services.hygiene.replacement.comparison import replaces

__all__ = ["replaces"]
