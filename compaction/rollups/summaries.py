"""The summaries of one partition: each style with its text, form and versions. Called inside a scope."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from memories.models import AuditEntry, PartitionSummary
from memories.partitions.forms import SummaryForm
from memories.partitions.text_versions import TextVersion, build_text_versions

_VERSIONS_MAX = 30


@dataclass(frozen=True)
class SummaryStyleView:
    """One style: the active summary (None without one), the latest version, the form that opens the next one."""

    style: str
    current: PartitionSummary | None
    latest: PartitionSummary | None
    form: SummaryForm
    history: Sequence[TextVersion]


def read_summaries(tenant_id: UUID, path: str, form_values: SummaryForm | None) -> list[SummaryStyleView]:
    """Return both styles; `form_values` is a refused form of one of them. Two queries."""
    rows = list(PartitionSummary.objects.for_tenant(tenant_id).of_partition(path).newest_first())
    entries = AuditEntry.objects.for_tenant(tenant_id).about_any("partition_summary", {row.summary_id for row in rows})
    saved = entries.of_verbs(["save_summary"]).at_any(row.recorded_from for row in rows)
    labels = {(entry.target_ids[0], entry.at): entry.actor_label for entry in saved}
    saved_by = {row.pk: labels.get((str(row.summary_id), row.recorded_from), "") for row in rows}
    styles = []
    for style in PartitionSummary.Style.values:
        versions = [row for row in rows if row.style == style][:_VERSIONS_MAX]
        latest = versions[0] if versions else None
        current = latest if latest is not None and latest.recorded_to is None else None
        is_refused = form_values is not None and form_values["style"].value() == style
        form = form_values if form_values is not None and is_refused else _form(style, current)
        styles.append(SummaryStyleView(style, current, latest, form, build_text_versions(versions, saved_by)))
    return styles


def _form(style: str, current: PartitionSummary | None) -> SummaryForm:
    seen_version, content = (current.version, current.content) if current else (0, "")
    initial = {"style": style, "seen_version": seen_version, "content": content}
    return SummaryForm(initial=initial, label_suffix="", auto_id=f"id_{style}_%s")
