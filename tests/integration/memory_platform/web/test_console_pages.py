"""All pages of the console with data: each is listed, small, and free of queries per row."""

import gzip
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from math import inf
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from context.workbench import saved_questions
from memories.models import Tenant
from tests.architecture import ROOT
from tests.bulk_data import BulkRowCounts, fill_with_bulk_rows
from tests.console_pages import NO_PAGES, PAGES, ConsolePage, address_of, console_pages, operator_patterns
from tests.demo_fixture import console_page_ids
from tests.integration.page_helpers import client_of, text_of
from tests.users import new_operator, new_shared_tenant

BYTES_MAX = 150_000
#: More rows than one page shows, for lists with pages.
MANY = BulkRowCounts(memories=300, receipts=150, sessions=60, audit=300, votes=100, partitions=40, others=100)
#: How often a page may repeat a query with other values.
REPEATS_MAX = 3
#: Statements around the queries of each scope: the tenant that they are confined to, how an index is read.
SCOPES = re.compile(r"SAVEPOINT|RELEASE|SELECT (coalesce\(current_setting|set_config)\(")
PARAMETERS = re.compile(r"%s(, %s)+")
# Files that the frame of a page loads in addition to those its HTML names: the sprite of icons.
SPRITE = "vendor/icons/icons.svg"


def test_every_address_is_a_page_of_the_list_or_takes_posts_alone(tenant: Tenant) -> None:
    """A new page must be added to `console_pages.PAGES`, so that all checks of pages cover it."""
    client = client_of(new_operator("ada", "admin", tenant))
    patterns = operator_patterns()
    listed = PAGES.keys() | NO_PAGES
    assert not PAGES.keys() & NO_PAGES
    assert listed <= {pattern.name for pattern in patterns}, "the list names what is no address"
    rest = [pattern for pattern in patterns if pattern.name not in listed]
    ids = {"tenant_id": tenant.pk, "version": 1}
    assert [pattern.name for pattern in rest if client.get(address_of(pattern, ids)).status_code != 405] == []


@pytest.mark.long
def test_every_page_is_small_and_runs_no_more_queries_for_more_rows(
    demo_tenant: Tenant, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_questions, "SECONDS_MAX", inf)  # a slow machine would otherwise run fewer questions
    client = Client(headers={"accept-encoding": "gzip"})
    client.force_login(new_operator("ada", "admin", demo_tenant, new_shared_tenant("Globex")))
    ids = console_page_ids(demo_tenant, "ada")
    few = {page_label(place): visit(client, place) for place in console_pages(ids)}
    fill_with_bulk_rows(demo_tenant, MANY)
    many = {page_label(place): visit(client, place) for place in console_pages(ids)}
    weights = [(name, weight(seen.answer)) for name, seen in [*few.items(), *many.items()] if seen.is_shown]
    assert len(weights) > len(PAGES)
    assert [(name, each) for name, each in weights if each > BYTES_MAX] == []
    counts = {name: (few[name].queries.total(), many[name].queries.total()) for name in few}
    assert {name: each for name, each in counts.items() if each[1] > each[0]} == {}
    repeated = [(name, *seen.queries.most_common(1)[0]) for name, seen in many.items() if seen.queries]
    assert [each for each in repeated if each[2] > REPEATS_MAX] == []


@dataclass(frozen=True)
class Visit:
    """A page that was opened, and how often it sent each query to the database; lists of parameters count as one."""

    answer: Any
    queries: Counter[str]

    @property
    def is_shown(self) -> bool:
        return self.answer.status_code in (200, 422)


def visit(client: Client, place: ConsolePage) -> Visit:
    queries: Counter[str] = Counter()

    def count(execute: Any, sql: str, *rest: Any) -> Any:
        if not SCOPES.match(sql):
            queries[PARAMETERS.sub("%s", sql)] += 1
        return execute(sql, *rest)

    with connection.execute_wrapper(count):
        return Visit(client.get(place.whole), queries)


def weight(response: Any) -> int:
    """Return the bytes on the wire of a page that is opened for the first time."""
    assert response["Content-Encoding"] == "gzip"
    names = set(re.findall(r'(?:href|src)="/static/([^"#]+)', gzip.decompress(response.content).decode()))
    return len(response.content) + sum(map(weight_of_static_file, names | {SPRITE}))


@cache
def weight_of_static_file(name: str) -> int:
    """Return the size as it is served."""
    return len(gzip.compress((ROOT / "static" / name).read_bytes(), mtime=0))


def page_label(place: ConsolePage) -> str:
    """Return the address without ids, for messages of a test."""
    return f"{place.name} {place.address.partition('?')[2]}"


def test_answers_to_agents_are_sent_as_they_are(client: Client, db: None) -> None:
    response = client.get("/api/schema/", headers={"accept-encoding": "gzip"})
    assert "Content-Encoding" not in response
    assert "openapi" in text_of(response)
