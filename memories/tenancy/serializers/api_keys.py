"""Input and output serializers of API keys."""

from typing import Any

from rest_framework import serializers

from memories.models import ApiKey
from memories.tenancy.serializers.partitions import path_field
from memory_platform.rest.fields import StrictBooleanField, StrictChoiceField, StrictListField, StrictTextField
from memory_platform.rest.serializers import StrictSerializer

_SCOPES = tuple(ApiKey.Scope.values)
KEY_ID_CHARACTERS_MAX = 16


def name_field(max_length: int) -> StrictTextField:
    """Return the field of a name on one line."""
    detail = "The name is empty, contains a line break, or begins or ends with whitespace."
    return StrictTextField(max_length=max_length, pattern=r"\S(.*\S)?", pattern_code="bad_name", pattern_detail=detail)


class ApiKeyInput(StrictSerializer):
    """A new key."""

    name = name_field(50)
    scopes = StrictListField(child=StrictChoiceField(choices=_SCOPES), min_length=1, max_length=len(_SCOPES))
    partition = path_field(help_text="The only partition that the key can access; default: the whole tenant.")
    refuses_recalled_text = StrictBooleanField(
        default=True, help_text="Return the existing memory for a new one that repeats a recently rendered text."
    )


class ApiKeyOutput(serializers.Serializer[Any]):
    """A key without its secret."""

    id = serializers.CharField(source="prefix", help_text="The visible part of the key, before the dot.")
    name = serializers.CharField()
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=_SCOPES))
    partition = serializers.CharField(
        source="partition_prefix", help_text='The partition it reaches; "" is the whole tenant.'
    )
    refuses_recalled_text = serializers.BooleanField()
    created_at = serializers.DateTimeField(source="created")
    expires_at = serializers.DateTimeField(source="expiry_date", allow_null=True)
    is_revoked = serializers.BooleanField(source="revoked")


class NewApiKeyOutput(ApiKeyOutput):
    """A new key with its text, which is shown only here."""

    key = serializers.CharField(
        allow_null=True, help_text="Shown only once; null if an Idempotency-Key repeats the request."
    )
