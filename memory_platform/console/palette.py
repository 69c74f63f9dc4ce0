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
    """An action of a page: its label, the URL name of the page, and the lowest role that may perform it.

    `words` find it too, but are not shown.
    """

    label: str
    name: str
    role: Role = Role.OPERATOR
    anchor: str = ""
    words: str = ""


COMMANDS: Sequence[Command] = (
    Command("Add memory", "memory-new", words="new create store"),
    Command("Import memories", "memory-import-export", words="upload csv json lines file"),
    Command("Export memories", "memory-import-export", anchor="#id_export_partition", words="download csv json lines"),
    Command("Preview a context", "context-preview", Role.VIEWER, words="query budget"),
    Command("Explain a memory", "context-explain", Role.VIEWER, words="why missing excluded"),
    Command("Compare versions", "context-compare", Role.VIEWER, words="difference profiles"),
    Command("Compact a session", "sessions", words="compaction summarise conversation"),
    Command("Start an evaluation", "evaluations", anchor="#start", words="run measure corpus"),
    Command("New golden question", "golden-new", words="add create expected"),
    Command("New scoring profile", "scoring-profiles", anchor="#new-title", words="add create weights"),
    Command("Assign a budget profile", "budget-assignments", words="assignment"),
    Command("Assign a scoring profile", "scoring-assignments", words="assignment"),
    Command("New snapshot", "snapshots", words="add create"),
    Command("Edit the memo", "memo", words="change"),
    Command("New API key", "api-keys", Role.ADMIN, anchor="#id_name", words="add create agent"),
    Command("Invite a member", "members", Role.ADMIN, anchor="#invite-title", words="add user person"),
    Command("Erase data", "erase", Role.ADMIN, words="delete"),
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
        SearchGroup("actions", "Actions", list(_actions(tenant_id, role, words))),
        SearchGroup("pages", "Pages", [row for row in _pages(tenant_id, role) if _begins(row.text, row.detail, words)]),
    ]
    if len(text) >= SEARCH_CHARACTERS_MIN:
        groups += [memory_group(tenant_id, text, now=now), session_group(tenant_id, text)]
        groups += [key_group(tenant_id, text)] if role.includes(Role.ADMIN) else []
    return [group for group in groups if group.hits]


def _begins(text: str, more: str, words: Sequence[str]) -> bool:
    """Whether each word begins a word of the texts: "review" does not match "Preview"."""
    searched = f"{text} {more}".casefold()
    # \b finds no word that begins with a sign
    return all(re.search(rf"(?<!\w){re.escape(word)}", searched) for word in words)


def _actions(tenant_id: UUID, role: Role, words: Sequence[str]) -> Iterator[GlobalSearchResult]:
    for command in COMMANDS:
        if role.includes(command.role) and _begins(command.label, command.words, words):
            yield GlobalSearchResult(address_in(tenant_id, command.name) + command.anchor, command.label)


def _pages(tenant_id: UUID, role: Role) -> Iterator[GlobalSearchResult]:
    for group in NAVIGATION:
        for entry in group.entries:
            if not entry.admins_only or role.includes(Role.ADMIN):
                yield GlobalSearchResult(address_in(tenant_id, entry.name), entry.label, group.title)
    for label, name in _OTHER_PAGES.items():
        yield GlobalSearchResult(reverse(name), label)
