"""What agents send to read receipts, and how they look."""

from typing import Any

from rest_framework import serializers

from context.serializers.contexts import ContextShape
from context.serializers.shapes import BudgetShape, NamedVersionShape, WarningShape
from memory_platform.rest.fields import TruthField
from memory_platform.rest.pages import PageInput
from memory_platform.rest.strict import StrictSerializer


class ReceiptInput(StrictSerializer):
    """The query parameters of one receipt."""

    explain = TruthField(required=False, default=False, takes_text=True)


class ReceiptsInput(PageInput):
    """The query parameters of the list of receipts."""


class ReceiptShape(ContextShape):
    """A context read back."""

    created_at = serializers.DateTimeField()
    request = serializers.DictField()
    is_verified = serializers.BooleanField(help_text="The text is byte for byte the one that was given.")


class ReceiptRowShape(serializers.Serializer[Any]):
    """A receipt in a list."""

    id = serializers.UUIDField()
    created_at = serializers.DateTimeField()
    query = serializers.CharField()
    partition = serializers.CharField()
    budget = BudgetShape()
    profile = NamedVersionShape()
    budget_profile = NamedVersionShape()
    block_count = serializers.IntegerField()
    warnings = WarningShape(many=True)


class ReceiptPageShape(serializers.Serializer[Any]):
    """A page of receipts, newest first."""

    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = ReceiptRowShape(many=True)
