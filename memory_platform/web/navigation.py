"""The pages of a tenant in the order of the navigation, for the page layout and the command palette."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.urls import reverse


@dataclass(frozen=True)
class NavigationEntry:
    """A page of a tenant: its URL name, which is also its section, its label and its icon."""

    name: str
    label: str
    icon: str
    admins_only: bool = False


@dataclass(frozen=True)
class NavigationGroup:
    """Pages under one title; the first group has none."""

    title: str
    entries: Sequence[NavigationEntry]


NAVIGATION: Sequence[NavigationGroup] = (
    NavigationGroup("", (NavigationEntry("tenant-overview", "Overview", "layout-dashboard"),)),
    NavigationGroup(
        "Memory",
        (
            NavigationEntry("memories", "Memories", "database"),
            NavigationEntry("hygiene", "Hygiene", "spray"),
            NavigationEntry("partitions", "Partitions", "folder"),
            NavigationEntry("memo", "Memo", "bulb"),
            NavigationEntry("snapshots", "Snapshots", "camera"),
            NavigationEntry("embeddings", "Embeddings", "brain"),
        ),
    ),
    NavigationGroup(
        "Sessions",
        (
            NavigationEntry("sessions", "Sessions", "stack-2"),
            NavigationEntry("reviews", "Reviews", "checklist"),
            NavigationEntry("prompts", "Prompt", "pencil", admins_only=True),
        ),
    ),
    NavigationGroup(
        "Context",
        (
            NavigationEntry("context-preview", "Context workbench", "eye"),
            NavigationEntry("context-log", "Context log", "file-text"),
            NavigationEntry("agents", "Agents", "user"),
            NavigationEntry("budgets", "Budget profiles", "adjustments-horizontal"),
            NavigationEntry("scoring-profiles", "Scoring profiles", "scale"),
        ),
    ),
    NavigationGroup(
        "Quality",
        (
            NavigationEntry("evaluations", "Evaluations", "gauge"),
            NavigationEntry("golden-questions", "Golden questions", "award"),
        ),
    ),
    NavigationGroup(
        "Administration",
        (
            NavigationEntry("jobs", "Jobs", "activity"),
            NavigationEntry("activity", "Activity", "arrow-back-up"),
            NavigationEntry("alerts", "Alerts", "bell"),
            NavigationEntry("api-keys", "API keys", "key", admins_only=True),
            NavigationEntry("members", "Members", "user"),
            NavigationEntry("audit-log", "Audit log", "history"),
            NavigationEntry("erasures", "Erasures", "x", admins_only=True),
            NavigationEntry("tenant-settings", "Settings", "settings"),
        ),
    ),
)


def tenant_page_url(tenant_id: UUID | None, page: str) -> str:
    """Return the URL of a page: its name, then further arguments after slashes and a query ("jobs?state=failed")."""
    path, mark, query = page.partition("?")
    name, *more = path.split("/")
    return f"{reverse(name, args=[tenant_id, *more])}{mark}{query}"
