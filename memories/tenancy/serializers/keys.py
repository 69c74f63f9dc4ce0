"""API keys: what admins send about them and what they get."""

from typing import Any

from rest_framework import serializers

from memories.models import ApiKey
from memories.tenancy.serializers.partitions import path_field
from memory_platform.rest.fields import StrictBooleanField, StrictChoiceField, StrictTextField, format_utc
from memory_platform.rest.pages import PageInput
from memory_platform.rest.serializers import StrictSerializer

_SCOPES = tuple(ApiKey.Scope.values)
_NAME_CHARACTERS_MAX = 50
KEY_ID_CHARACTERS_MAX = 16
_NAME_PATTERN = r"\S(.*\S)?"


class ApiKeyInput(StrictSerializer):
    """A key to make."""

    name = StrictTextField(
        max_length=_NAME_CHARACTERS_MAX,
        pattern=_NAME_PATTERN,
        pattern_code="bad_name",
        pattern_detail="The name is empty, holds a line break or has white space at one of its ends.",
    )
    scopes = serializers.ListField(child=StrictChoiceField(choices=_SCOPES), min_length=1, max_length=len(_SCOPES))
    partition = path_field(help_text="The only partition the key reaches; absent: the whole tenant.")
    refuses_recalled_text = StrictBooleanField(
        required=False,
        default=True,
        help_text="Answer a new memory that repeats a recently rendered one with the existing memory.",
    )


class ApiKeyListInput(PageInput):
    """The query parameters of the list of keys."""


def serialize_api_key(row: ApiKey) -> dict[str, Any]:
    """A key without its secret; `id` is the part before the dot."""
    return {
        "id": row.prefix,
        "name": row.name,
        "scopes": row.scopes,
        "partition": row.partition_prefix,
        "refuses_recalled_text": row.refuses_recalled_text,
        "created_at": format_utc(row.created),
        "expires_at": format_utc(row.expiry_date),
        "is_revoked": row.revoked,
    }


class ApiKeyOutput(serializers.Serializer[Any]):
    """A key without its secret."""

    id = serializers.CharField(help_text="The visible part of the key, before the dot.")
    name = serializers.CharField()
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=_SCOPES))
    partition = serializers.CharField(help_text='The partition it reaches; "" is the whole tenant.')
    refuses_recalled_text = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    is_revoked = serializers.BooleanField()


class NewApiKeyOutput(ApiKeyOutput):
    """A new key, with its text this once."""

    key = serializers.CharField(
        allow_null=True, help_text="The only time it is shown; null where an Idempotency-Key repeats the request."
    )


class ApiKeyPageOutput(serializers.Serializer[Any]):
    """A page of keys, newest first."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = ApiKeyOutput(many=True)
