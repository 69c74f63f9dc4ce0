"""API keys: what admins send about them and what they get."""

from typing import Any

from rest_framework import serializers

from memories.models import ApiKey
from memories.store.serializers.answers import moment
from memories.tenancy.serializers.partitions import path_field
from memory_platform.rest.fields import ChosenField, TextField, TruthField
from memory_platform.rest.pages import PageInput
from memory_platform.rest.serializers import StrictSerializer

SCOPES = tuple(ApiKey.Scope.values)
NAME_CHARACTERS_MAX = 50
KEY_ID_CHARACTERS_MAX = 16
NAME_PATTERN = r"\S(.*\S)?"


class KeyInput(StrictSerializer):
    """A key to make."""

    name = TextField(
        max_length=NAME_CHARACTERS_MAX,
        pattern=NAME_PATTERN,
        pattern_code="bad_name",
        pattern_detail="The name is empty, holds a line break or has white space at one of its ends.",
    )
    scopes = serializers.ListField(child=ChosenField(choices=SCOPES), min_length=1, max_length=len(SCOPES))
    partition = path_field(help_text="The only partition the key reaches; absent: the whole tenant.")
    refuses_recalled_text = TruthField(
        required=False,
        default=True,
        help_text="Answer a new memory that repeats a recently rendered one with the existing memory.",
    )


class KeysInput(PageInput):
    """The query parameters of the list of keys."""


def key_answer(row: ApiKey) -> dict[str, Any]:
    """A key without its secret; `id` is the part before the dot."""
    return {
        "id": row.prefix,
        "name": row.name,
        "scopes": row.scopes,
        "partition": row.partition_prefix,
        "refuses_recalled_text": row.refuses_recalled_text,
        "created_at": moment(row.created),
        "expires_at": moment(row.expiry_date),
        "is_revoked": row.revoked,
    }


class KeyShape(serializers.Serializer[Any]):
    """A key without its secret."""

    id = serializers.CharField(help_text="The visible part of the key, before the dot.")
    name = serializers.CharField()
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=SCOPES))
    partition = serializers.CharField(help_text='The partition it reaches; "" is the whole tenant.')
    refuses_recalled_text = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    is_revoked = serializers.BooleanField()


class NewKeyShape(KeyShape):
    """A new key, with its text this once."""

    key = serializers.CharField(
        allow_null=True, help_text="The only time it is shown; null where an Idempotency-Key repeats the request."
    )


class KeyPageShape(serializers.Serializer[Any]):
    """A page of keys, newest first."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = KeyShape(many=True)
