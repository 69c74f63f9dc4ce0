"""The tenant memo: one short text with versions."""

from datetime import datetime

from django.db import transaction

from memories.models import Tenant, TenantMemo
from memories.services.store.content import ContentError, check_content, normalise_content
from memories.services.tokens import token_counts
from memories.tenancy.audit import Actor, audit_rows
from memories.tenancy.exceptions import InvalidInput, StaleVersion


@transaction.atomic
def set_tenant_memo(
    *, tenant: Tenant, content: str, if_version: int | None = None, by: Actor, now: datetime
) -> TenantMemo:
    """Make `content` the active memo; an empty one removes it from contexts. The same text adds no version.

    Raises `StaleVersion` if the current version is not `if_version`; 0 means no memo yet.
    """
    if content.strip():
        _check(content)
    # Lock the tenant's row, so that version numbers stay consecutive.
    Tenant.objects.select_for_update(no_key=True).get(pk=tenant.pk)
    current: TenantMemo | None = TenantMemo.objects.for_tenant(tenant.pk).current().first()
    if if_version is not None and if_version != (current.version if current else 0):
        raise StaleVersion("stale_version", "The memo has changed since; read it again.")
    text = normalise_content(content)
    if current is not None and current.content == text:
        return current
    at = max(now, current.recorded_from) if current else now
    if current is not None:
        TenantMemo.objects.filter(pk=current.pk).update(recorded_to=at)
    tokens = token_counts(text)
    memo: TenantMemo = TenantMemo.objects.create(
        tenant_id=tenant.pk,
        version=current.version + 1 if current else 1,
        content=text,
        tokens_o200k_base=tokens["o200k_base"],
        tokens_cl100k_base=tokens["cl100k_base"],
        recorded_from=at,
    )
    audit_rows("set_memo", [memo], fields=["content"], by=by, now=now)
    return memo


def _check(content: str) -> None:
    try:
        check_content(content)
    except ContentError as error:
        raise InvalidInput(error.code, error.detail, "content") from error
