"""All pages of the console with something on each: none is forgotten, none is heavy."""

import gzip
import re
from functools import cache
from typing import Any

from django.test import Client

from memories.models import Tenant
from memory_platform.assets import STYLESHEET, spelled_names, trim
from tests.architecture import ROOT
from tests.console_pages import NO_PAGES, PAGES, Place, address_of, operator_patterns, places
from tests.furnished import furnished_tenant, ids_of
from tests.integration.pages import client_of, text_of
from tests.people import new_operator, new_tenant

BYTES_MAX = 150_000
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


def test_no_page_weighs_more_than_150_kilobytes_on_the_wire(db: None) -> None:
    tenant = furnished_tenant()
    client = Client(headers={"accept-encoding": "gzip"})
    client.force_login(new_operator("ada", "admin", tenant, new_tenant("Globex")))
    answers = {told(place): client.get(place.address) for place in places(ids_of(tenant, "ada"))}
    weights = {name: weight(answer) for name, answer in answers.items() if answer.status_code in (200, 422)}
    assert len(weights) > len(PAGES) / 2
    assert {name: each for name, each in weights.items() if each > BYTES_MAX} == {}


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
