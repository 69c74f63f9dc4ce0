"""The partition tree with the contents of each node, and the summaries of one partition. Called inside a scope."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from compaction.models import Session
from memories.models import AuditEntry, PartitionSummary
from memories.partitions import tree
from memories.partitions.forms import SummaryForm
from memories.partitions.queries.tree import SubtreeSums, subtree_sums
from memories.partitions.text_versions import TextVersion, build_text_versions
from memories.services.partitions.paths import PartitionPath
from memories.services.partitions.tree import (
    PartitionBranch,
    PartitionNode,
    build_partition_nodes,
    path_depth,
    truncated_siblings,
)

#: Up to this many partitions, every node of the tree is open.
OPEN_MAX = 40
_VERSIONS_MAX = 30


@dataclass(frozen=True)
class PartitionFacts:
    """The contents of a partition: memories, summaries, sessions."""

    standing: tree.PartitionContents
    sessions: SubtreeSums


@dataclass(frozen=True)
class PartitionTree:
    """The nodes below `top`, the facts of `top` and of the opened partition, and the total number of partitions."""

    top: PartitionFacts
    nodes: Sequence[PartitionNode[PartitionFacts]]
    total: int
    rest_after: str = ""
    opened: PartitionFacts | None = None


def read_partition_tree(tenant_id: UUID, place: PartitionPath, *, after: str, now: datetime) -> PartitionTree:
    """Return the tenant's tree with `place` opened. Six queries for any number of partitions."""
    listing = tree.list_partition_tree(tenant_id, place, after=after)
    facts = _facts(tenant_id, listing.branches, "", place.path, within="", now=now)
    is_small = listing.is_whole and listing.total <= OPEN_MAX
    open_paths = None if is_small else {step.path for step in (*place.ancestors(), place)}
    below = tree.count_descendants(tenant_id, facts, within="")
    nodes = build_partition_nodes(listing.branches, facts, below, top="", open_paths=open_paths)
    rest_after = truncated_siblings(branch for branch in listing.branches if path_depth(branch.path) == 1)
    return PartitionTree(facts[""], nodes, listing.total, rest_after, opened=facts[place.path])


def read_partition_branch(tenant_id: UUID, place: PartitionPath, *, after: str, now: datetime) -> PartitionTree:
    """Return one page of the children of `place`. Five queries."""
    branches = tree.list_child_partitions(tenant_id, place, after=after)
    facts = _facts(tenant_id, branches, place.path, within=place.path, now=now)
    below = tree.count_descendants(tenant_id, facts, within=place.path)
    nodes = build_partition_nodes(branches, facts, below, top=place.path, open_paths=())
    return PartitionTree(facts[place.path], nodes, len(branches), truncated_siblings(branches))


def find_partitions(tenant_id: UUID, text: str, *, after: str, now: datetime) -> PartitionTree:
    """Return one page of the partitions whose path contains `text`, as a flat list. Four queries."""
    branches = tree.search_partition_list(tenant_id, text, after=after)
    facts = _facts(tenant_id, branches, "", within="", now=now)
    nodes = [PartitionNode(one.path, one.path, 1, 0, facts[one.path], (), is_open=False) for one in branches]
    return PartitionTree(facts[""], nodes, len(branches), truncated_siblings(branches))


def read_partition_facts(tenant_id: UUID, path: str, *, now: datetime) -> PartitionFacts:
    """Return the figures shown for one partition. Runs three queries."""
    return _facts(tenant_id, (), path, within=path, now=now)[path]


def _facts(
    tenant_id: UUID, branches: Sequence[PartitionBranch], *others: str, within: str, now: datetime
) -> dict[str, PartitionFacts]:
    paths = {*others, *(branch.path for branch in branches)}
    known = tree.partition_contents(tenant_id, paths, within=within, now=now)
    rows = Session.objects.for_tenant(tenant_id).within(within).counted_by_partition()
    sessions = subtree_sums(rows, paths, {"sessions": "sum", "open_sessions": "sum"})
    return {path: PartitionFacts(known[path], sessions[path]) for path in paths}


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
    return SummaryForm(initial=initial, auto_id=f"id_{style}_%s")
