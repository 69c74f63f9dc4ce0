"""Recompute a tenant's rows when its language changes, and count common words (ADR-0076).

Until all rows are recomputed, queries search in both languages. Call everything here with no scope open.
"""

from datetime import datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

from memories.models import CommonLexeme, Memory, MemoryVersion, Tenant
from memories.services.time_limits import in_time
from memories.tenancy.scopes import maintenance_scope, tenant_scope
from memories.tenancy.sweep_locks import tenants_in_turn

#: Maximum rows recomputed in one transaction.
DERIVED_BATCH = 500
#: After this time, no writer that saw the former language is still running.
FORMER_LANGUAGE_QUERIED_FOR = timedelta(minutes=15)


def rederive_search_columns(tenant_id: UUID) -> int:
    """Recompute every row of another language, batch by batch; return how many. Can be interrupted and repeated."""
    return sum(_derive_rows(tenant_id, model) for model in (Memory, MemoryVersion))


def drop_former_languages_of_tenants(*, now: datetime) -> int:
    """Stop searching in former languages that no row can still have; return the number of tenants."""
    with maintenance_scope():
        tenant_ids = list(Tenant.objects.changing_language().values_list("pk", flat=True))
    dropped = 0
    for tenant_id in tenants_in_turn("languages", tenant_ids):
        rederive_search_columns(tenant_id)
        with tenant_scope(tenant_id):
            settled = Tenant.objects.with_language_older_than(now - FORMER_LANGUAGE_QUERIED_FOR).filter(pk=tenant_id)
            dropped += settled.update(former_text_search_configs=[])
    return dropped


def count_common_lexemes_of_tenants() -> int:
    """Recount which words are common in each tenant; return how many are."""
    with maintenance_scope():
        tenant_ids = list(Tenant.objects.values_list("pk", flat=True))
    return sum(recount_common_lexemes(tenant_id) for tenant_id in tenants_in_turn("common-words", tenant_ids))


def recount_common_lexemes(tenant_id: UUID) -> int:
    with tenant_scope(tenant_id):
        return CommonLexeme.objects.recount(tenant_id)


def _derive_rows(tenant_id: UUID, model: type[Memory] | type[MemoryVersion]) -> int:
    derived, last = 0, None
    for _ in in_time(count()):
        with tenant_scope(tenant_id):
            language = Tenant.objects.values_list("text_search_config", flat=True).get(pk=tenant_id)
            page: list[tuple[Any, str]] = model.objects.for_tenant(tenant_id).languages_from(last, DERIVED_BATCH)
            if not page:
                break
            foreign = [row_id for row_id, config in page if config != language]
            derived += model.objects.for_tenant(tenant_id).set_text_language(foreign, language) if foreign else 0
        last = page[-1][0]
    return derived
