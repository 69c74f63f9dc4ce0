"""The conductor of a tenant's language: derives its rows anew when the language changes, and counts common words.

While rows of both languages stand side by side, queries ask in both (ADR-0076).
"""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from memories.models import CommonLexeme, Memory, MemoryVersion, Tenant
from memories.tenancy.scopes import tenant_scope

#: Rows derived in one transaction.
DERIVED_AT_ONCE = 500
#: Writers that saw the former language have ended by then.
FORMER_ASKED_FOR = timedelta(minutes=15)


def rederive_search_columns(tenant_id: UUID) -> int:
    """Bring every row of the tenant into its language, batch by batch; how many were not.

    Called with no scope open. It may be stopped at any time and run again, also twice at once.
    """
    return sum(_derive_rows(tenant_id, model) for model in (Memory, MemoryVersion))


def drop_former_languages(tenant_id: UUID, *, now: datetime) -> bool:
    """Stop asking in the languages that the tenant left, once no row can be in them any more; whether it did."""
    rederive_search_columns(tenant_id)
    with tenant_scope(tenant_id):
        settled = Tenant.objects.with_language_older_than(now - FORMER_ASKED_FOR).filter(pk=tenant_id)
        return bool(settled.update(former_text_search_configs=[]))


def recount_common_lexemes(tenant_id: UUID) -> int:
    """Count anew which words are in many memories of the tenant; how many are."""
    with tenant_scope(tenant_id):
        return CommonLexeme.objects.recount(tenant_id)


def _derive_rows(tenant_id: UUID, model: type[Memory] | type[MemoryVersion]) -> int:
    derived, last = 0, None
    while True:
        with tenant_scope(tenant_id):
            language = Tenant.objects.values_list("text_search_config", flat=True).get(pk=tenant_id)
            page: list[tuple[Any, str]] = model.objects.for_tenant(tenant_id).languages_from(last, DERIVED_AT_ONCE)
            if not page:
                return derived
            foreign = [row_id for row_id, config in page if config != language]
            derived += model.objects.for_tenant(tenant_id).speak(foreign, language) if foreign else 0
        last = page[-1][0]
