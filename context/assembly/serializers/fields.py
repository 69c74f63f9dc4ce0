"""Rules of fields that several inputs share."""

from collections.abc import Mapping, Sequence
from typing import Any

from rest_framework import serializers

from memories.services.store.content import check_content, normalise_content
from memory_platform.rest.fields import StrictTextField


def validate_query_text(value: Any) -> str:
    """A text to search for."""
    check_content(value)
    return normalise_content(value)


def validate_optional_query(value: Any) -> str:
    """The same, or "" for a blank one."""
    return "" if isinstance(value, str) and not value.strip() else validate_query_text(value)


def profile_field() -> StrictTextField:
    """The name of a scoring profile that is published; null: the one assigned, else the default."""
    return StrictTextField(
        max_length=64,
        required=False,
        allow_null=True,
        default=None,
        help_text="A published scoring profile; default: the one assigned to the key or the partition, else adr-0040.",
    )


def require_exactly_one(attrs: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse a body that gives none of `names`, or several of them."""
    if sum(attrs.get(name) is not None for name in names) != 1:
        raise serializers.ValidationError(f"Give one of {', '.join(names)}.", "one_of")
