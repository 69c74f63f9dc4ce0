"""Scheduled work on search languages and common words, tenant by tenant, each in its own scope."""

from datetime import datetime

from memories.models import Tenant
from memories.search import languages
from memories.tenancy.scopes import maintenance_scope


def drop_former_languages_of_tenants(*, now: datetime) -> int:
    """Finish changes of language, tenant by tenant; how many tenants are done with it."""
    with maintenance_scope():
        tenant_ids = list(Tenant.objects.leaving_a_language().values_list("pk", flat=True))
    return sum(languages.drop_former_languages(tenant_id, now=now) for tenant_id in tenant_ids)


def count_common_lexemes_of_tenants() -> int:
    """Count anew which words are common, tenant by tenant; how many are."""
    with maintenance_scope():
        tenant_ids = list(Tenant.objects.values_list("pk", flat=True))
    return sum(languages.recount_common_lexemes(tenant_id) for tenant_id in tenant_ids)
