"""Code shared by the pages that change profiles: the confirmation before a change, and the selected version."""

from collections.abc import Sequence

from django.http import Http404, HttpResponse
from django.urls import reverse

from context.models import BudgetProfile, ScoringProfileVersion
from context.profiles.kinds import ProfileKind
from context.profiles.versions import ProfileFieldComparison, ProfileVersion
from memory_platform.web.htmx import HtmxRequest
from memory_platform.web.numerals import whole_number
from memory_platform.web.rendering import render_page


def ask_to_confirm(
    request: HtmxRequest,
    kind: ProfileKind,
    row: ProfileVersion,
    question: str,
    verb: str,
    explanation: list[str],
    changes: Sequence[tuple[str, ProfileFieldComparison]] = (),
    replaces: int | None = None,
) -> HttpResponse:
    """Return the page or the dialog that asks for confirmation before a version changes.

    `replaces` is the active version that it shows, 0 if there is none.
    """
    page = {
        "section": kind.section,
        "question": question,
        "verb": verb,
        "explanation": explanation,
        "changes": changes,
        "replaces": replaces,
        "back": version_url(request, row),
        "back_title": row.name,
    }
    return render_page(request, "context/profiles/profile_action.html", page)


def roll_back_url(request: HtmxRequest, page: str, name: str, version: int, *, replaces: int) -> str:
    """Return the URL that undoes a change: it makes `version` active again, if `replaces` is still active."""
    return reverse(page, args=[request.tenant.id, name, version], query={"replaces": replaces})


def version_url(request: HtmxRequest, row: ProfileVersion) -> str:
    """Return the URL of the page of a version."""
    if isinstance(row, BudgetProfile):
        return reverse("budget", args=[request.tenant.id, row.name])
    return reverse("scoring-profile", args=[request.tenant.id, row.name], query={"version": row.version})


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
