"""All pages of the console with something on each: none is forgotten, none heavy, none asks more for more rows."""

import gzip
import re
from functools import cache
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from memories.models import Tenant
from memory_platform.assets import STYLESHEET, spelled_names, trim
from tests.architecture import ROOT
from tests.console_pages import NO_PAGES, PAGES, Place, address_of, operator_patterns, places
from tests.crowd import Crowd, crowd
from tests.furnished import furnished_tenant, ids_of
from tests.integration.pages import client_of, text_of
from tests.people import new_operator, new_tenant

BYTES_MAX = 150_000
MANY = Crowd(memories=400, receipts=80, sessions=80, audit=120, votes=60, partitions=40, others=400)
# What the frame of a page loads beside what its HTML names: the sprite of icons.
SPRITE = "vendor/icons/icons.svg"


def test_every_address_is_a_page_of_the_list_or_takes_posts_alone(tenant: Tenant) -> None:
    """A new page goes into `console_pages.PAGES`, where all checks of all pages find it."""
    client = client_of(new_operator("ada", "admin", tenant))
    patterns = operator_patterns()
    listed = PAGES.keys() | NO_PAGES
    assert not PAGES.keys() & NO_PAGES
    assert listed <= {pattern.name for pattern in patterns}, "the list names what is no address"
    rest = [pattern for pattern in patterns if pattern.name not in listed]
    ids = {"tenant_id": tenant.pk, "version": 1}
    assert [pattern.name for pattern in rest if client.get(address_of(pattern, ids)).status_code != 405] == []


def test_every_page_is_light_and_asks_the_database_no_more_often_where_there_are_more_rows(db: None) -> None:
    tenant = furnished_tenant()
    client = Client(headers={"accept-encoding": "gzip"})
    client.force_login(new_operator("ada", "admin", tenant, new_tenant("Globex")))
    ids = ids_of(tenant, "ada")
    few = {told(place): opened(client, place) for place in places(ids) if place.name != "design"}
    statuses = {name: response.status_code for name, (response, _) in few.items()}
    assert {name: status for name, status in statuses.items() if status not in (200, 422)} == {}
    weights = {name: weight(response) for name, (response, _) in few.items()}
    assert {name: each for name, each in weights.items() if each > BYTES_MAX} == {}
    crowd(tenant, MANY)
    many = {told(place): opened(client, place) for place in places(ids) if place.name != "design"}
    more = {name: [sql[:250] for sql in asked if sql not in few[name][1]] for name, (_, asked) in many.items()}
    grown = {name: more[name][:3] for name, (_, asked) in many.items() if len(asked) > len(few[name][1])}
    assert not grown, {name: (len(few[name][1]), len(many[name][1]), new) for name, new in grown.items()}


def opened(client: Client, place: Place) -> tuple[Any, list[str]]:
    """The answer and what it asked the database, once what a process keeps was read."""
    client.get(place.address)
    with CaptureQueriesContext(connection) as captured:
        response = client.get(place.address)
    return response, [query["sql"] for query in captured]


def weight(response: Any) -> int:
    """Bytes on the wire of a page that is opened for the first time."""
    assert response["Content-Encoding"] == "gzip"
    names = set(re.findall(r'(?:href|src)="/static/([^"#]+)', gzip.decompress(response.content).decode()))
    return len(response.content) + sum(map(weight_of_static_file, names | {SPRITE}))


@cache
def weight_of_static_file(name: str) -> int:
    """As it is served."""
    content = (ROOT / "static" / name).read_bytes()
    if name == STYLESHEET:
        content = trim(content.decode(), spelled_names(ROOT)).encode()
    return len(gzip.compress(content, mtime=0))


def told(place: Place) -> str:
    """For the messages of a test, without ids."""
    return f"{place.name} {place.address.partition('?')[2]}"


def test_answers_to_agents_are_sent_as_they_are(client: Client, db: None) -> None:
    response = client.get("/api/schema/", headers={"accept-encoding": "gzip"})
    assert "Content-Encoding" not in response
    assert "openapi" in text_of(response)
