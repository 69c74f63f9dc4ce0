"""Conditions that several querysets share: live rows, paths, filters and segments."""

import operator
from collections.abc import Mapping
from datetime import datetime
from functools import reduce

from django.db import models
from django.db.models import Exists, OuterRef, Q

from memories.services.partitions.paths import PartitionPath, subtree_bounds
from memories.services.search.filters import FilterCondition
from memories.services.store.moments import PointInTime, TimeAxis
from memories.services.store.session_summaries import SESSION_SUMMARY_TYPE


def live_condition(now: datetime) -> Q:
    return Q(archived_at__isnull=True) & _unexpired(now)


def session_summary_condition() -> Q:
    """Memories that are the stored summary of a session; without a type, the first condition decides."""
    return Q(metadata__has_key="type") & Q(metadata__type=SESSION_SUMMARY_TYPE)


def current_condition(moment: PointInTime) -> Q:
    """Current rows of `moment`. Archiving ends both intervals of a row; a replaced one was not true from `valid_to`."""
    if not moment.reads_history:
        return live_condition(moment.at)
    has_begun = Q(**{f"{moment.kind}_from__lte": moment.at})
    is_not_archived_yet = Q(archived_at__isnull=True) | Q(archived_at__gt=moment.at)
    if moment.kind is TimeAxis.VALID:
        is_not_replaced_yet = Q(valid_to__isnull=True) | Q(valid_to__gt=moment.at)
        return has_begun & is_not_archived_yet & is_not_replaced_yet & _unexpired(moment.at)
    return has_begun & is_not_archived_yet & _unexpired(moment.at)


def version_condition(moment: PointInTime) -> Q:
    """Superseded rows of `moment`, which is in the past."""
    is_within = Q(**{f"{moment.kind}_from__lte": moment.at, f"{moment.kind}_to__gt": moment.at})
    return is_within & _unexpired(moment.at)


def _unexpired(at: datetime) -> Q:
    return Q(expires_at__isnull=True) | Q(expires_at__gt=at)


def path_condition(column: str, path: str, *, exact: bool) -> Q:
    is_there = Q(**{column: path})
    if exact:
        return is_there
    if not path:
        return Q()
    low, high = subtree_bounds(path)
    return is_there | Q(**{f"{column}__gte": low, f"{column}__lt": high})


def filter_condition(condition: FilterCondition) -> Q:
    if condition.metadata_key is None:
        suffix = {"eq": "", "gte": "__gte", "lte": "__lte", "in": "__in"}[condition.operator]
        return Q(**{condition.field + suffix: condition.value})
    values = condition.value if condition.operator == "in" else [condition.value]
    alternatives = [Q(metadata__contains={condition.metadata_key: value}) for value in values]
    return reduce(operator.or_, alternatives, Q(pk__in=[]))


def segment_paths(segments: Mapping[str, str]) -> list[str]:
    """Return `key=value` of each segment, as partitions store them."""
    return [PartitionPath(((key, value),)).path for key, value in segments.items()]


def segments_condition(model: type[models.Model], segments: Mapping[str, str]) -> Q:
    """The partition of a row contains every given segment at any depth."""
    if not segments:
        return Q()
    partitions = model._meta.apps.get_model("memories", "Partition").objects
    own = partitions.filter(tenant_id=OuterRef("tenant_id"), path=OuterRef("partition_path"))
    return Q(Exists(own.filter(segments__contains=segment_paths(segments))))
