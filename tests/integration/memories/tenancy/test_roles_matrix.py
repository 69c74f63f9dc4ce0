"""Permissions: every address of the console requested with every role, and the links that its pages show."""

import logging
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import URLPattern

from memories.models import Tenant
from tests.console_pages import (
    OPEN_TO_ALL,
    address_of,
    console_pages,
    converters_of,
    operator_patterns,
    show_design_page,
)
from tests.console_roles import ADMIN, RULES, TABLE, Role, RoleRule
from tests.demo_fixture import console_page_ids
from tests.integration.page_helpers import client_of, text_of
from tests.page_links import page_links
from tests.users import PASSWORD, new_operator, new_shared_tenant

METHODS = ("get", "post")
#: Parts of an address that name no row of a tenant.
NO_ROWS = {"tenant_id", "name", "version"}


@dataclass(frozen=True)
class Somebody:
    """A person who sends requests, and their role."""

    name: str
    role: Role | None
    client: Client

    def may(self, least: Role | None) -> bool:
        return least is not None and self.role is not None and self.role.includes(least)


@dataclass
class People:
    """The people: members of the tenant, and others."""

    tenant: Tenant
    other: Tenant
    viewer: Somebody = field(init=False)
    operator: Somebody = field(init=False)
    admin: Somebody = field(init=False)

    def __post_init__(self) -> None:
        self.viewer, self.operator, self.admin = (self._member(role, self.tenant) for role in Role)
        self.stranger = self._member(ADMIN, self.other)
        self.root = Somebody("root", ADMIN, client_of(User.objects.create_superuser("root", password=PASSWORD)))
        self.customer = Somebody("customer", None, client_of(User.objects.create_user("customer", password=PASSWORD)))
        self.nobody = Somebody("nobody", None, Client())

    @staticmethod
    def _member(role: Role, tenant: Tenant) -> Somebody:
        name = f"{role} of {tenant.name}".replace(" ", "-")
        return Somebody(name, role, client_of(new_operator(name, role, tenant)))


def rows_written() -> int:
    """Return the number of writes in this transaction; the audit log, which records readers (ADR-0142), is excluded."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(pg_stat_get_xact_tuples_inserted(oid) + pg_stat_get_xact_tuples_updated(oid)"
            " + pg_stat_get_xact_tuples_deleted(oid)) FROM pg_class"
            " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
            " AND relname NOT IN ('memories_auditentry', 'memories_unsealedauditentry')"
        )
        return int(cursor.fetchone()[0])


@dataclass
class Walk:
    """Requests addresses and records wrong responses."""

    faults: list[str] = field(default_factory=list)
    written: int = field(default_factory=rows_written)
    offered: set[tuple[str, str]] = field(default_factory=set)

    def ask(self, who: Somebody, method: str, name: str, address: str, *expected: int) -> Any:
        """Request addresses whose responses must not change any row."""
        response = getattr(who.client, method)(address)
        if response.status_code not in expected:
            self.faults.append(f"{who.name}: {method} {name} answers {response.status_code}, not {expected}")
        before, self.written = self.written, rows_written()
        if self.written != before:
            self.faults.append(f"{who.name}: {method} {name} changes something")
        return response

    def look(self, who: Somebody, name: str, address: str) -> None:
        """Open a page: none of its links may be refused to this person, and no browser may cache it."""
        response = self.ask(who, "get", name, address, 200, 302, 422)
        if "no-store" not in response.get("Cache-Control", ""):
            self.faults.append(f"{who.name}: {name} may be kept by the browser")
        for method, offered in page_links(address.partition("?")[0], text_of(response)):
            self.offered.add((method, offered))
            rule = RoleRule(ADMIN, ADMIN) if offered.startswith("admin:") else RULES.get(offered)
            if rule and offered not in OPEN_TO_ALL and not who.may(rule.least(method)):
                self.faults.append(f"{who.name}: {name} offers {method} {offered}")


def test_table_of_roles_contains_every_url_once() -> None:
    """A new address is missing there until its permissions are decided."""
    assert sorted({str(pattern.name) for pattern in operator_patterns()}) == sorted(RULES)
    assert sum(map(len, TABLE.values())) == len(RULES)


@pytest.fixture
def people(demo_tenant: Tenant, db: None, caplog: pytest.LogCaptureFixture) -> People:
    caplog.set_level(logging.ERROR, logger="django.request")  # which writes a trace for each refusal
    return People(demo_tenant, new_shared_tenant("Globex"))


@pytest.mark.long
def test_each_role_gets_the_status_in_the_table(people: People, settings: Any) -> None:
    walk, ids = Walk(), console_page_ids(people.tenant, people.viewer.name)
    for pattern in operator_patterns():
        for method in METHODS:
            if RULES[str(pattern.name)].least(method):
                request_with_each_role(walk, people, pattern, method, ids)
            else:
                walk.ask(people.admin, method, str(pattern.name), address_of(pattern, ids), 405)
    seen = set()
    for place in console_pages(ids):
        show_design_page(settings, place)
        readers = [people.viewer] if place.name in seen else [people.viewer, people.operator, people.admin, people.root]
        least = RULES[place.name].read
        for who in [who for who in readers if who.may(least)][:2]:
            walk.look(who, place.name, place.whole)
        seen.add(place.name)
    assert {("post", name) for name in ("memory-archive", "compaction-approve", "scoring-publish")} <= walk.offered
    assert not walk.faults, "\n" + "\n".join(walk.faults)


def request_with_each_role(walk: Walk, people: People, pattern: URLPattern, method: str, ids: dict[str, Any]) -> None:
    """Request an address with each role. A permitted role gets 404 in a foreign tenant, after the check of the role."""
    name = str(pattern.name)
    own, foreign = (address_of(pattern, ids | {"tenant_id": each.pk}) for each in (people.tenant, people.other))
    walk.ask(people.nobody, method, name, own, 302)
    walk.ask(people.customer, method, name, own, 403)
    for who in (people.viewer, people.operator):
        if not who.may(RULES[name].least(method)):
            walk.ask(who, method, name, own, 403)
        elif own != foreign:
            walk.ask(who, method, name, foreign, 404)
    if own != foreign:
        walk.ask(people.stranger, method, name, own, 404)
    if converters_of(pattern).keys() - NO_ROWS:
        walk.ask(people.stranger, method, name, foreign, 404)
