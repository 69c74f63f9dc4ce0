"""Conditions that several querysets share: what is live, what lies within a path, what a filter or a text asks for."""

import operator
from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.search import SearchQuery, SearchQueryField
from django.db import connection, models
from django.db.models import F, Func, Q, Value
from django.db.models.functions import Coalesce

from memories.services.filters import Condition
from memories.services.moments import Moment
from memories.services.partitions import subtree_bounds

#: The text-search configuration of the stored tsvector; queries must use the same.
TEXT_SEARCH_CONFIG = "english"


class AnyLexeme(SearchQuery):
    """An OR of ready lexemes, cast as it stands: a second pass through the stemmer would change some of them."""

    template = "(%(expressions)s)::tsquery"

    def __init__(self, lexemes: Sequence[str]) -> None:
        quoted = ("'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'" for lexeme in lexemes)
        self.invert = False
        Func.__init__(self, Value(" | ".join(quoted)), output_field=SearchQueryField())


class LexemesHeld(Func):
    """Those of the asked lexemes that a row's text vector holds, as an array in the vector's order."""

    template = "ARRAY(SELECT held FROM unnest(tsvector_to_array(%(expressions)s::text[]))"
    arg_joiner = ")) AS held WHERE held = ANY ("

    def __init__(self, lexemes: Sequence[str]) -> None:
        asked = Value(list(lexemes), output_field=ArrayField(models.TextField()))
        super().__init__(F("search_vector"), asked, output_field=ArrayField(models.TextField()))


def lexemes_of(text: str) -> list[str]:
    """The lexemes of `text` as the stored tsvector would hold them, without stop words."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tsvector_to_array(to_tsvector(%s::regconfig, %s))", [TEXT_SEARCH_CONFIG, text])
        return list(cursor.fetchone()[0])


def live_condition(now: datetime) -> Q:
    return Q(archived_at__isnull=True) & _unexpired(now)


def head_condition(moment: Moment) -> Q:
    """Current rows that held at `moment`. Archiving ends both intervals of a row, so one column ends both."""
    if not moment.reads_history:
        return live_condition(moment.at)
    has_begun = Q(**{f"{moment.kind}_from__lte": moment.at})
    is_not_archived_yet = Q(archived_at__isnull=True) | Q(archived_at__gt=moment.at)
    return has_begun & is_not_archived_yet & _unexpired(moment.at)


def version_condition(moment: Moment) -> Q:
    """Superseded rows that held at `moment`, which is not the present."""
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


def filter_condition(condition: Condition) -> Q:
    if condition.metadata_key is None:
        suffix = {"eq": "", "gte": "__gte", "lte": "__lte", "in": "__in"}[condition.operator]
        return Q(**{condition.field + suffix: condition.value})
    values = condition.value if condition.operator == "in" else [condition.value]
    alternatives = [Q(metadata__contains={condition.metadata_key: value}) for value in values]
    return reduce(operator.or_, alternatives, Q(pk__in=[]))


def tallies(now: datetime) -> dict[str, Any]:
    live = live_condition(now)
    return {
        "live": models.Count("pk", filter=live),
        "pinned": models.Count("pk", filter=live & Q(pinned=True)),
        "pending": models.Count("pk", filter=live & Q(embedding_state="pending")),
        "failed": models.Count("pk", filter=live & Q(embedding_state="failed")),
        "tokens": Coalesce(models.Sum("tokens_o200k_base", filter=live), 0),
        "archived": models.Count("pk", filter=Q(archived_at__isnull=False)),
        "expired": models.Count("pk", filter=Q(archived_at__isnull=True, expires_at__lte=now)),
    }
