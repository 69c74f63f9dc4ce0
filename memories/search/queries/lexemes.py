"""The lexemes of a query, by Postgres and our own rules, and how common each is (ADR-0076)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.search import SearchQuery, SearchQueryField
from django.db import connection, models
from django.db.models import F, Func, Value

from memories.search.queries.shared_results import send_shared
from memories.services.search.lexemes import search_terms
from memories.services.search.planner import significant_lexemes
from memories.tenancy.queries.insertions import execute
from memories.tenancy.queries.prepared import SentStatement
from memories.tenancy.queries.rows import TenantRows

#: Rows from which a tenant's words are counted; ids are random, so the first rows are a fair sample.
SAMPLED_ROWS = 5_000
#: Lexemes in fewer rows than this are not counted.
COMMON_ROWS_MIN = 500

_LEXEMES = """
SELECT DISTINCT lexeme
FROM memories_tenant AS tenant,
    unnest(tenant.former_text_search_configs || tenant.text_search_config) AS config,
    unnest(tsvector_to_array(memories_search_vector(config, %(text)s, %(words)s, %(lexemes)s))) AS lexeme
"""
_OF_TENANT = f"""
WITH query AS ({_LEXEMES} WHERE tenant.id = %(tenant)s)
SELECT query.lexeme, coalesce(common.rows, 0)
FROM query LEFT JOIN memories_commonlexeme AS common ON common.tenant_id = %(tenant)s AND common.lexeme = query.lexeme
ORDER BY query.lexeme
"""  # noqa: S608 - parts of the statement itself
_OF_WORDS = """
SELECT term.word, tsvector_to_array(memories_search_vector(config, term.word, term.words, term.lexemes))
FROM memories_tenant AS tenant,
    unnest(tenant.former_text_search_configs || tenant.text_search_config) AS config,
    json_to_recordset(%s::json) AS term (word text, words text, lexemes text[])
WHERE tenant.id = %s
"""
# `ts_stat` takes the text of an SQL query and runs it.
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
-- a word that was counted at the same time
ON CONFLICT (tenant_id, lexeme) DO UPDATE SET rows = excluded.rows
"""


def any_lexeme(lexemes: Sequence[str]) -> str:
    """Return an OR of ready lexemes as the text of a `tsquery`."""
    return " | ".join("'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'" for lexeme in lexemes)


def matched_bits(vector: str, lexemes: Sequence[str]) -> str:
    """Return SQL for the lexemes (placeholders) that a text vector contains, as the bits of a `bigint`."""
    held = (f"(({vector} @@ {lexeme}::tsquery)::int::bigint << {place})" for place, lexeme in enumerate(lexemes))
    return " | ".join(held)


class AnyLexeme(SearchQuery):
    """An OR of ready lexemes, cast without stemming, which would change some of them."""

    template = "(%(expressions)s)::tsquery"

    def __init__(self, lexemes: Sequence[str]) -> None:
        self.invert = False
        Func.__init__(self, Value(any_lexeme(lexemes)), output_field=SearchQueryField())


class MatchedLexemes(Func):
    """The given lexemes that a row's text vector contains, as an array in the vector's order."""

    template = "ARRAY(SELECT held FROM unnest(tsvector_to_array(%(expressions)s::text[]))"
    arg_joiner = ")) AS held WHERE held = ANY ("

    def __init__(self, lexemes: Sequence[str]) -> None:
        given = Value(list(lexemes), output_field=ArrayField(models.TextField()))
        super().__init__(F("search_vector"), given, output_field=ArrayField(models.TextField()))


class MatchedBits(Func):
    """Which of the given lexemes a row's text vector contains, as the bits of an integer."""

    def __init__(self, lexemes: Sequence[str]) -> None:
        super().__init__(F("search_vector"), output_field=models.BigIntegerField())
        self.lexemes = [any_lexeme([lexeme]) for lexeme in lexemes]

    def as_sql(self, compiler: Any, *_: Any, **__: Any) -> tuple[str, list[Any]]:  # type: ignore[override]
        vector, _none = compiler.compile(self.source_expressions[0])
        return f"({matched_bits(vector, ['%s'] * len(self.lexemes))})", list(self.lexemes)


class CommonLexemeQuerySet(TenantRows):
    """Lexemes that were in many rows of a tenant when they were last counted."""

    def recount(self, tenant_id: UUID) -> int:
        """Count again from a sample of the live rows; return how many are common. Runs in the tenant's scope."""
        self.for_tenant(tenant_id).delete()
        values: dict[str, UUID | int] = {"tenant": tenant_id, "sample": SAMPLED_ROWS, "common": COMMON_ROWS_MIN}
        with connection.cursor() as cursor:
            cursor.execute(_COUNT, values)
            return int(cursor.rowcount)


def query_lexemes_in_scope(text: str) -> list[str]:
    """Return the lexemes of a query in the languages of every tenant in scope; stop words only without others."""
    return significant_lexemes(lexeme for (lexeme,) in execute(f"{_LEXEMES} ORDER BY lexeme", _terms(text)))


def send_query_lexemes(tenant_id: UUID, text: str) -> SentStatement:
    """Send the query of `read_query_lexemes`."""
    return send_shared(_OF_TENANT, {**_terms(text), "tenant": tenant_id})


def read_query_lexemes(sent: SentStatement) -> Mapping[str, int]:
    """Return the lexemes of a query in one tenant, each with the approximate number of rows; 0 if not common."""
    rows = dict(sent.rows())
    return {lexeme: rows[lexeme] for lexeme in significant_lexemes(rows)}


def tenant_query_lexemes(tenant_id: UUID, text: str) -> Mapping[str, int]:
    """Return the result of `read_query_lexemes` in one query."""
    return read_query_lexemes(send_query_lexemes(tenant_id, text))


def word_lexemes(tenant_id: UUID, words: Iterable[str]) -> dict[str, set[str]]:
    """Return the lexemes of words of stored texts in the languages of the tenant; one query, none without a word."""
    terms = [(word, search_terms(word)) for word in sorted(words)]
    if not terms:
        return {}
    rows = [{"word": word, "words": each.words, "lexemes": list(each.lexemes)} for word, each in terms]
    found: dict[str, set[str]] = {}
    for word, lexemes in execute(_OF_WORDS, [json.dumps(rows), tenant_id]):
        found.setdefault(word, set()).update(lexemes)
    return found


def _terms(text: str) -> dict[str, Any]:
    terms = search_terms(text, is_query=True)
    return {"text": text, "words": terms.words, "lexemes": list(terms.lexemes)}
