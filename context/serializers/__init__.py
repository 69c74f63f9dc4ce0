"""What the REST door of contexts takes and gives, field by field. Serializers translate; rules stay in services."""

from context.serializers.contexts import ContextInput, ContextShape
from context.serializers.receipts import ReceiptInput, ReceiptPageShape, ReceiptShape, ReceiptsInput
from context.serializers.search import SearchAnswerShape, SearchInput

__all__ = [
    "ContextInput",
    "ContextShape",
    "ReceiptInput",
    "ReceiptPageShape",
    "ReceiptShape",
    "ReceiptsInput",
    "SearchAnswerShape",
    "SearchInput",
]
