"""The lexemes that a query asks for, as Postgres and our own rules cut it, and how common each is (ADR-0076)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.search import SearchQuery, SearchQueryField
from django.db import connection, models
from django.db.models import F, Func, Value

from memories.services.search.lexemes import query_terms, search_terms
from memories.services.search.text_query import significant_lexemes
from memories.tenancy.queries.languages import DEFAULT_TEXT_SEARCH_CONFIG
from memories.tenancy.queries.rows import TenantRows

#: Rows that a tenant's word counts are taken from; ids are random, so the first are a fair sample.
SAMPLED_ROWS = 5_000
#: Lexemes in fewer rows than this are not worth counting.
COMMON_ROWS_MIN = 500

_IN_LANGUAGE = """
SELECT lexeme FROM unnest(tsvector_to_array(memories_search_vector(%s, %s, %s, %s))) AS lexeme ORDER BY lexeme
"""
_IN_REACH = """
SELECT DISTINCT lexeme
FROM memories_tenant AS tenant,
    unnest(tenant.former_text_search_configs || tenant.text_search_config) AS config,
    unnest(tsvector_to_array(memories_search_vector(config, %s, %s, %s))) AS lexeme
ORDER BY lexeme
"""
_OF_TENANT = """
WITH asked AS (
    SELECT DISTINCT lexeme
    FROM memories_tenant AS tenant,
        unnest(tenant.former_text_search_configs || tenant.text_search_config) AS config,
        unnest(tsvector_to_array(memories_search_vector(config, %s, %s, %s))) AS lexeme
    WHERE tenant.id = %s
)
SELECT asked.lexeme, coalesce(common.rows, 0)
FROM asked LEFT JOIN memories_commonlexeme AS common ON common.tenant_id = %s AND common.lexeme = asked.lexeme
ORDER BY asked.lexeme
"""
_OF_WORDS = """
SELECT asked.word, tsvector_to_array(memories_search_vector(config, asked.word, asked.words, asked.lexemes))
FROM memories_tenant AS tenant,
    unnest(tenant.former_text_search_configs || tenant.text_search_config) AS config,
    json_to_recordset(%s::json) AS asked (word text, words text, lexemes text[])
WHERE tenant.id = %s
"""
# `ts_stat` runs the text of a query of its own.
_COUNT = """
WITH live AS (SELECT count(*) AS rows FROM memories_memory WHERE tenant_id = %(tenant)s AND archived_at IS NULL),
counted AS (
    SELECT word, ndoc::bigint * live.rows / least(live.rows, %(sample)s) AS rows
    FROM live, ts_stat(format(
        'SELECT search_vector FROM memories_memory WHERE tenant_id = %%L AND archived_at IS NULL ORDER BY id LIMIT %%s',
        %(tenant)s::text, %(sample)s::int
    ))
    WHERE live.rows >= %(common)s
)
INSERT INTO memories_commonlexeme (tenant_id, lexeme, rows)
SELECT %(tenant)s, word, rows FROM counted WHERE rows >= %(common)s
"""


class AnyLexeme(SearchQuery):
    """An OR of ready lexemes, cast as it stands: a second pass through the stemmer would change some of them."""

    template = "(%(expressions)s)::tsquery"

    def __init__(self, lexemes: Sequence[str]) -> None:
        quoted = ("'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'" for lexeme in lexemes)
        self.invert = False
        Func.__init__(self, Value(" | ".join(quoted)), output_field=SearchQueryField())


class MatchedLexemes(Func):
    """Those of the asked lexemes that a row's text vector holds, as an array in the vector's order."""

    template = "ARRAY(SELECT held FROM unnest(tsvector_to_array(%(expressions)s::text[]))"
    arg_joiner = ")) AS held WHERE held = ANY ("

    def __init__(self, lexemes: Sequence[str]) -> None:
        asked = Value(list(lexemes), output_field=ArrayField(models.TextField()))
        super().__init__(F("search_vector"), asked, output_field=ArrayField(models.TextField()))


class CommonLexemeQuerySet(TenantRows):
    """Lexemes that are in many rows of a tenant, as they were counted last."""

    def recount(self, tenant_id: UUID) -> int:
        """Count anew from a sample of the live rows; how many lexemes are common. Run in the tenant's scope."""
        self.for_tenant(tenant_id).delete()
        values: dict[str, UUID | int] = {"tenant": tenant_id, "sample": SAMPLED_ROWS, "common": COMMON_ROWS_MIN}
        with connection.cursor() as cursor:
            cursor.execute(_COUNT, values)
            return int(cursor.rowcount)


def query_lexemes(text: str, config: str = DEFAULT_TEXT_SEARCH_CONFIG) -> list[str]:
    """What a query of `text` asks for in one language; its stop words only where there is nothing else."""
    return significant_lexemes(lexeme for (lexeme,) in _rows(_IN_LANGUAGE, [config, *_asked(text)]))


def query_lexemes_in_scope(text: str) -> list[str]:
    """The same in the languages of every tenant that the scope reaches."""
    return significant_lexemes(lexeme for (lexeme,) in _rows(_IN_REACH, _asked(text)))


def tenant_query_lexemes(tenant_id: UUID, text: str) -> Mapping[str, int]:
    """The same in the language of a tenant, and in those it is leaving: each with about how many rows hold it.

    0 for any that is not common. One query.
    """
    rows = dict(_rows(_OF_TENANT, [*_asked(text), tenant_id, tenant_id]))
    return {lexeme: rows[lexeme] for lexeme in significant_lexemes(rows)}


def word_lexemes(tenant_id: UUID, words: Iterable[str]) -> dict[str, set[str]]:
    """What each word of a stored text is found by, in the languages of its tenant. One query, none without a word."""
    terms = [(word, search_terms(word)) for word in sorted(words)]
    if not terms:
        return {}
    asked = [{"word": word, "words": each.words, "lexemes": list(each.lexemes)} for word, each in terms]
    found: dict[str, set[str]] = {}
    for word, lexemes in _rows(_OF_WORDS, [json.dumps(asked), tenant_id]):
        found.setdefault(word, set()).update(lexemes)
    return found


def _asked(text: str) -> list[Any]:
    terms = query_terms(text)
    return [text, terms.words, list(terms.lexemes)]


def _rows(statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())
