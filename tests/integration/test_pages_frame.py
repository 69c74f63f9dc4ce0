"""What every page has around it: the way back up."""

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import resolve

from memories.models import Tenant
from tests.architecture import ROOT
from tests.integration.pages import client_of, named_moment, page, text_of, workshop

#: Where the navigation leads, and what has no tenant around it.
FIRST_LEVEL = {
    "overview.html",
    "parts.html",
    "tenant_overview.html",
    "memories.html",
    "hygiene.html",
    "memo.html",
    "snapshots.html",
    "embeddings.html",
    "sessions.html",
    "reviews.html",
    "runs.html",
    "prompts.html",
    "context_preview.html",
    "receipts.html",
    "scoring_profiles.html",
    "evaluations.html",
    "golden_questions.html",
}


def _pages() -> list[Path]:
    templates = sorted((ROOT / "templates").glob("*.html"))
    return [path for path in templates if '{% extends "base.html" %}' in path.read_text() and "base" not in path.stem]


@pytest.mark.parametrize("path", _pages(), ids=lambda path: path.name)
def test_page_below_the_first_level_says_what_it_lies_under(path: Path) -> None:
    has_crumbs = bool(re.search(r"{% block breadcrumbs %}.*<nav aria-label=\"Breadcrumb\"", path.read_text()))
    assert has_crumbs == (path.name not in FIRST_LEVEL)


def _crumbs(client: Client, address: str) -> list[str]:
    """The addresses of the breadcrumbs of a page, each of which opens."""
    found = re.search(r'<nav aria-label="Breadcrumb">(.*?)</nav>', text_of(client.get(address)), re.DOTALL)
    links = re.findall(r'href="([^"]+)"', found[1]) if found else []
    assert [client.get(link).status_code for link in links] == [200] * len(links)
    return [resolve(link.partition("?")[0]).view_name for link in links]


def test_breadcrumbs_lead_up(operator: User, tenant: Tenant) -> None:
    memory = workshop(tenant)[0]
    snapshot = named_moment(tenant, "before the import")
    client = client_of(operator)
    assert _crumbs(client, page("memory", tenant, memory.pk)) == ["memories", "memories"]
    assert _crumbs(client, page("memory-votes", tenant, memory.pk)) == ["memories", "memory"]
    assert _crumbs(client, page("snapshot-delete", tenant, snapshot.pk)) == ["snapshots", "snapshot"]
    assert _crumbs(client, page("summaries", tenant) + "?partition=agent%3Dservice") == ["summaries"]
    assert _crumbs(client, page("memories", tenant)) == []
