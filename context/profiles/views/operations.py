"""Code shared by the pages that change profiles: the confirmation before a change, and the selected version."""

from collections.abc import Sequence

from django.http import Http404, HttpResponse
from django.urls import reverse

from context.models import BudgetProfile, ScoringProfileVersion
from context.profiles.kinds import ProfileKind
from context.profiles.versions import ProfileFieldComparison, ProfileVersion
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.rendering import render_page


def ask_to_confirm(
    request: HtmxRequest,
    kind: ProfileKind,
    row: ProfileVersion,
    question: str,
    verb: str,
    explanation: list[str],
    changes: Sequence[tuple[str, ProfileFieldComparison]] = (),
) -> HttpResponse:
    """Return the page or the dialog that asks for confirmation before a version changes."""
    page = {
        "section": kind.section,
        "question": question,
        "verb": verb,
        "explanation": explanation,
        "changes": changes,
        "back": version_url(request, row),
        "back_title": row.name,
    }
    return render_page(request, "context/profiles/profile_action.html", page)


def version_url(request: HtmxRequest, row: ProfileVersion) -> str:
    """Return the URL of the page of a version."""
    if isinstance(row, BudgetProfile):
        return reverse("budget", args=[request.tenant.id, row.name])
    return f"{reverse('scoring-profile', args=[request.tenant.id, row.name])}?version={row.version}"


def selected_version(versions: list[ScoringProfileVersion], version: str | None) -> ScoringProfileVersion:
    """Return the version in the URL; without one, the active version, else the newest."""
    if version is None:
        return active_version(versions) or versions[0]
    found = next((row for row in versions if row.version == whole_number(version)), None)
    if found is None:
        raise Http404
    return found


def active_version(versions: list[ScoringProfileVersion]) -> ScoringProfileVersion | None:
    return next((row for row in versions if row.is_active), None)


def whole_number(text: str | None) -> int:
    """Return the number that `text` spells, -1 for any other text."""
    return int(text) if text and text.isdecimal() and len(text) < 10 else -1
