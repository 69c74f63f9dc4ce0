"""The command palette: actions and pages by name, and a few memories, sessions and API keys by text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.urls import reverse

from memory_platform.console.global_search import (
    SEARCH_CHARACTERS_MIN,
    GlobalSearchResult,
    SearchGroup,
    address_in,
    key_group,
    memory_group,
    session_group,
)
from memory_platform.web.navigation import NAVIGATION
from memory_platform.web.roles import Role


@dataclass(frozen=True)
class Command:
    """An action of a page: its label, the URL name of the page, and the lowest role that may perform it."""

    label: str
    name: str
    role: Role = Role.OPERATOR
    anchor: str = ""


COMMANDS: Sequence[Command] = (
    Command("Add memory", "memory-new"),
    Command("Import memories", "memory-import-export"),
    Command("Preview a context", "context-preview", Role.VIEWER),
    Command("Explain a memory", "context-explain", Role.VIEWER),
    Command("Compare versions", "context-compare", Role.VIEWER),
    Command("New golden question", "golden-new"),
    Command("New snapshot", "snapshots"),
    Command("Edit the memo", "memo"),
    Command("New API key", "api-keys", Role.ADMIN, anchor="#id_name"),
    Command("Invite a member", "members", Role.ADMIN, anchor="#invite-title"),
    Command("Erase data", "erase", Role.ADMIN),
)
#: Pages outside of a tenant.
_OTHER_PAGES = {
    "All tenants": "overview",
    "Account": "account",
    "Change password": "password-change",
    "Two-factor sign-in": "second-factor",
    "Health": "health",
    "API documentation": "api-docs",
}


def find_commands(tenant_id: UUID, role: Role, text: str, *, now: datetime) -> list[SearchGroup]:
    """Return the actions and pages in which each word of the text begins a word, and the rows that it finds.

    Without a text, return all actions and pages. Call inside a row scope.
    """
    words = text.casefold().split()
    groups = [
        SearchGroup("actions", "Actions", _matching(_actions(tenant_id, role), words)),
        SearchGroup("pages", "Pages", _matching(_pages(tenant_id, role), words)),
    ]
    if len(text) >= SEARCH_CHARACTERS_MIN:
        groups += [memory_group(tenant_id, text, now=now), session_group(tenant_id, text)]
        groups += [key_group(tenant_id, text)] if role.includes(Role.ADMIN) else []
    return [group for group in groups if group.hits]


def _matching(results: Iterator[GlobalSearchResult], words: Sequence[str]) -> list[GlobalSearchResult]:
    """Return the results in whose name or group each word begins a word: "review" does not match "Preview"."""
    begins = [re.compile(rf"(?<!\w){re.escape(word)}") for word in words]  # \b finds no word that begins with a sign
    return [row for row in results if all(each.search(f"{row.text} {row.detail}".casefold()) for each in begins)]


def _actions(tenant_id: UUID, role: Role) -> Iterator[GlobalSearchResult]:
    for command in COMMANDS:
        if role.includes(command.role):
            yield GlobalSearchResult(address_in(tenant_id, command.name) + command.anchor, command.label)


def _pages(tenant_id: UUID, role: Role) -> Iterator[GlobalSearchResult]:
    for group in NAVIGATION:
        for entry in group.entries:
            if not entry.admins_only or role.includes(Role.ADMIN):
                yield GlobalSearchResult(address_in(tenant_id, entry.name), entry.label, group.title)
    for label, name in _OTHER_PAGES.items():
        yield GlobalSearchResult(reverse(name), label)
