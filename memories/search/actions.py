"""Set the full-text search language of a tenant's memories."""

from datetime import datetime
from typing import Any

from django.db import transaction

from memories import tasks
from memories.models import Tenant
from memories.tenancy.audit import Actor, ChangedValue, record_audit
from memories.tenancy.exceptions import StaleVersion
from memories.tenancy.languages import check_language


@transaction.atomic
def set_tenant_language(*, tenant: Tenant, language: str, replaces: str = "", by: Actor, now: datetime) -> Tenant:
    """Set the language; the worker recomputes the stored rows, and until then, queries search in both languages.

    Raises `StaleVersion` unless it `replaces` the present language, "" for any.
    """
    check_language(language)
    current: Tenant = Tenant.objects.select_for_update(no_key=True).get(pk=tenant.pk)
    if current.text_search_config == language:
        return current
    if replaces and replaces != current.text_search_config:
        detail = f"The language has changed since to {current.text_search_config}. Repeat to replace it."
        raise StaleVersion("stale_version", detail, "language")
    change = ChangedValue(tenant.pk, "language", current.text_search_config, language)
    left = {*current.former_text_search_configs, current.text_search_config} - {language}
    current.former_text_search_configs = sorted(left)
    current.text_search_config = language
    current.text_search_changed_at = now
    current.save(update_fields=["former_text_search_configs", "text_search_config", "text_search_changed_at"])
    who: dict[str, Any] = {"tenant_id": tenant.pk, "by": by, "now": now}
    fields = ["text_search_config"]
    record_audit("set_language", "tenant", [tenant.pk], fields=fields, changes=[change], **who)
    tasks.enqueue_language_change(tenant.pk)
    return current
