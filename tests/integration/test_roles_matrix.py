"""What each role is offered on every page is what it may do: no link and no form leads to a refusal."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from django.urls import Resolver404, resolve

from tests.console_pages import OPEN_TO_ALL, places
from tests.furnished import furnished_tenant, ids_of
from tests.integration.pages import client_of, text_of
from tests.people import new_operator

LINK = re.compile(r'<(?:a|form)\b[^>]*?\b(?:href|hx-get)="(/[^"]*)"')
FORM = re.compile(r'<form\b[^>]*\bmethod="post"[^>]*>')
ACTION = re.compile(r'\b(?:action|hx-post)="(/[^"]*)"')


def name_of(address: str) -> str:
    """The name of an address of the console; empty for any other."""
    path = address.partition("?")[0]
    if path.startswith(("/admin", "/api", "/static")):
        return ""
    try:
        return resolve(path).url_name or ""
    except Resolver404:
        return ""


def offered(html: str, here: str) -> Iterator[tuple[str, str]]:
    """Method and address of everything that a page lets one open or send."""
    yield from (("get", unescape(address)) for address in LINK.findall(html))
    for form in FORM.findall(html):
        yield "post", unescape((ACTION.search(form) or [here, here])[1])
    yield from (("post", unescape(address)) for address in re.findall(r'\b(?:hx-post|formaction)="(/[^"]*)"', html))


@pytest.mark.django_db
def test_no_role_is_offered_what_it_may_not_do() -> None:
    tenant = furnished_tenant()
    ids = ids_of(tenant, "ada")
    new_operator("ada", "admin", tenant)
    refused: list[str] = []
    seen: dict[str, set[tuple[str, str]]] = {}
    for role in ("viewer", "operator", "admin"):
        client = client_of(new_operator(f"one-{role}", role, tenant))
        found: dict[tuple[str, str], tuple[str, str]] = {}
        for place in places(ids):
            response = client.get(place.address)
            for method, address in offered(text_of(response), place.address) if response.status_code == 200 else ():
                found.setdefault((method, name_of(address)), (address, place.name))
        seen[role] = set(found)
        for (method, name), (address, page) in sorted(found.items(), key=lambda each: each[0]):
            if name and name not in OPEN_TO_ALL and ask(client, method, address) == 403:
                refused.append(f"{role} on {page}: {method} {name}")
    assert refused == []
    assert ("post", "memory-archive") in seen["operator"] - seen["viewer"]
    assert ("get", "api-keys") in seen["admin"] - seen["operator"]
    assert seen["viewer"] <= seen["operator"] | seen["admin"]


def ask(client: Any, method: str, address: str) -> int:
    """The status; what is sent holds nothing, so that most forms are refused for that."""
    return int(getattr(client, method)(address).status_code)
