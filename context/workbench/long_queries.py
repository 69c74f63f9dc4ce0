"""Queries that are too long for a URL, which contains an id instead (ADR-0140)."""

from urllib.parse import quote, urlencode
from uuid import UUID

from django.http import QueryDict

from context.models import GoldenQuestion, LongQuery, Receipt
from context.receipts.request_body import workbench_inputs
from memories.tenancy.scopes import tenant_scope

#: The URL parameter that names a stored query instead of `query`.
QUERY_ID = "query_id"
#: Maximum percent-encoded characters of a query in a URL, which may contain it twice, encoded again.
ADDRESS_CHARACTERS_MAX = 1_000


def is_long_query(text: str) -> bool:
    """Return whether URLs name this query by an id."""
    return len(text) > ADDRESS_CHARACTERS_MAX or len(quote(text)) > ADDRESS_CHARACTERS_MAX


def query_parameters(text: str, query_id: UUID | None) -> dict[str, str]:
    """Return the URL parameters of a query; a long one is named by the id of its row."""
    if query_id is not None and is_long_query(text):
        return {QUERY_ID: str(query_id)}
    return {"query": text}


def workbench_query(row: Receipt) -> str:
    """Return the recorded inputs of a receipt as a query string of the workbench."""
    inputs = workbench_inputs(row.request)
    inputs.pop("query", None)
    return urlencode((query_parameters(row.query, row.pk) if row.query else {}) | inputs)


def read_query_text(tenant_id: UUID, query_id: UUID) -> str | None:
    """Return the text that an id refers to: of a long query, a receipt or a golden question. Inside a scope."""
    text = LongQuery.objects.for_tenant(tenant_id).text_of(query_id)
    if text is None:
        receipt = Receipt.objects.for_tenant(tenant_id).with_id(query_id).only("query").first()
        text = receipt.query if receipt else None
    if text is None:
        question = GoldenQuestion.objects.for_tenant(tenant_id).with_id(query_id).only("text").first()
        text = question.text if question else None
    return text


def typed_inputs(tenant_id: UUID, address: QueryDict) -> QueryDict:
    """Return the inputs of a URL with the text of the query that it names; an unknown id means an empty text.

    Call it with no scope open.
    """
    try:
        query_id = UUID(address.get(QUERY_ID, ""))
    except ValueError:
        return address
    with tenant_scope(tenant_id):
        text = read_query_text(tenant_id, query_id)
    inputs = address.copy()
    inputs["query"] = text or ""
    return inputs
