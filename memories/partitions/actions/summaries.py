"""The summary of a partition in one style, with versions of which at most one is active."""

from datetime import datetime
from uuid import uuid4

from django.db import transaction

from memories.models import Partition, PartitionSummary, Tenant
from memories.services.partitions.paths import PartitionPath
from memories.services.store.content import ContentError, check_content, normalise_content
from memories.services.tokens import token_counts
from memories.store.live_rows import ensure_partitions
from memories.tenancy.audit import Actor, record_audit
from memories.tenancy.exceptions import InvalidInput, StaleVersion


@transaction.atomic
def save_summary(
    *,
    tenant: Tenant,
    partition: PartitionPath,
    style: str,
    content: str,
    origin: str,
    if_version: int | None = None,
    by: Actor,
    now: datetime,
) -> PartitionSummary:
    """Make `content` the active summary of the partition in that style; the same text adds no version.

    Creates an absent partition. A withdrawn summary keeps its id. Raises `InvalidInput`, or `StaleVersion` if the
    current version is not `if_version` (0 for none).
    """
    _check(style, content, origin)
    place = ensure_partitions(tenant.pk, [partition])[partition.path]
    latest = _latest(place, style)
    current = latest if latest is not None and latest.recorded_to is None else None
    _check_version(current, if_version)
    text = normalise_content(content)
    if current is not None and current.content == text:
        return current
    at = _moment(latest, now)
    if current is not None:
        PartitionSummary.objects.filter(pk=current.pk).update(recorded_to=at)
    summary = _open_version(place, style, text, origin, latest, at)
    _audit(summary, "save_summary", by, now)
    return summary


@transaction.atomic
def withdraw_summary(*, summary: PartitionSummary, by: Actor, now: datetime) -> PartitionSummary:
    """Withdraw the summary from contexts; one that is not active stays as it is."""
    at = _moment(summary, now)
    ended = PartitionSummary.objects.for_tenant(summary.tenant_id).current().filter(pk=summary.pk)
    if ended.update(recorded_to=at):
        summary.recorded_to = at
        _audit(summary, "withdraw_summary", by, now)
    return summary


def _check(style: str, content: str, origin: str) -> None:
    try:
        check_content(content)
    except ContentError as error:
        raise InvalidInput(error.code, error.detail, "content") from error
    for field, value, known in (
        ("style", style, PartitionSummary.Style.values),
        ("origin", origin, PartitionSummary.Origin.values),
    ):
        if value not in known:
            raise InvalidInput("unknown_choice", f"Known are: {', '.join(known)}.", field)


def _latest(place: Partition, style: str) -> PartitionSummary | None:
    """Return the last version; lock the partition, so that version numbers stay consecutive."""
    Partition.objects.select_for_update(no_key=True).get(pk=place.pk)
    rows = PartitionSummary.objects.for_tenant(place.tenant_id).filter(partition=place)
    latest: PartitionSummary | None = rows.of_style(style).newest_first().first()
    return latest


def _check_version(current: PartitionSummary | None, if_version: int | None) -> None:
    version = current.version if current else 0
    if if_version is not None and if_version != version:
        raise StaleVersion("stale_version", f"The summary is at version {version}, not {if_version}.")


def _moment(latest: PartitionSummary | None, now: datetime) -> datetime:
    """Return when the change takes effect: `now`, but never before the start or end of the latest version."""
    if latest is None:
        return now
    return max(now, latest.recorded_to or latest.recorded_from)


def _open_version(
    place: Partition, style: str, text: str, origin: str, latest: PartitionSummary | None, at: datetime
) -> PartitionSummary:
    tokens = token_counts(text)
    summary: PartitionSummary = PartitionSummary.objects.create(
        tenant_id=place.tenant_id,
        partition=place,
        summary_id=latest.summary_id if latest else uuid4(),
        style=style,
        version=latest.version + 1 if latest else 1,
        content=text,
        tokens_o200k_base=tokens["o200k_base"],
        tokens_cl100k_base=tokens["cl100k_base"],
        origin=origin,
        recorded_from=at,
    )
    return summary


def _audit(summary: PartitionSummary, verb: str, by: Actor, now: datetime) -> None:
    record_audit(
        tenant_id=summary.tenant_id,
        by=by,
        verb=verb,
        target_kind="partition_summary",
        target_ids=[summary.summary_id],
        fields=["content"],
        now=now,
    )
