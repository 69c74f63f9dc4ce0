"""Every page of the console with the query strings with which tests and the benchmark of pages open it.

Imports no model, so that `benchmarks/` may import it before Django is set up.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.urls.converters import IntConverter

_QUESTION = quote("A customer sees ERR_4012 on the display. What do we tell them?")
_ASKED = f"query={_QUESTION}&partition=agent%3Dsupport"

#: The name of each page's address, and the query strings with which it is opened ("" is none).
PAGES: dict[str, tuple[str, ...]] = {
    "overview": ("",),
    "health": ("",),
    "jobs": ("",),
    "search": ("q=support", "q=zeppelin"),
    "design": ("",),
    # what is stored
    "memories": ("", "q=battery+warranty+invoice", "partition=nonsense", "state=archived"),
    "memory": ("",),
    "memory-import-export": ("",),
    "memory-new": ("", "partition=agent%3Dsupport"),
    "memory-merge": ("",),
    "memo": ("",),
    "snapshots": ("",),
    "snapshot": ("", "with=today"),
    "snapshot-delete": ("",),
    "embeddings": ("",),
    "embedding-switch": ("",),
    "embedding-retire": ("",),
    "embedding-comparison": ("",),
    "hygiene": ("",),
    "hygiene-list": ("",),
    "hygiene-bulk": ("action=merge&id={finding_id}",),
    "api-keys": ("",),
    "api-key-revoke": ("",),
    "activity": ("", "group=profiles&by=key"),
    "audit-log": ("", "actor=nobody"),
    "tenant-settings": ("",),
    "members": ("",),
    "member-remove": ("",),
    "account": ("",),
    "second-factor": ("",),
    "password-change": ("",),
    # what an agent receives
    "tenant-overview": ("",),
    "context-compare": ("", f"left=adr-0040&right=conversation-recall&{_ASKED}"),
    "context-preview": ("", f"{_ASKED}&max_tokens=600", "query=x&max_tokens=0"),
    "context-explain": ("", f"{_ASKED}&max_tokens=300&memory={{memory_id}}", "memory={memory_id}"),
    "budget-curve": ("", _ASKED),
    "agents": ("", "by=partition&range=30d&agent=agent%3Dsupport"),
    "context-log": ("", "range=7d&state=full", "range=x"),
    "receipt": ("", "with=today"),
    "memory-votes": ("",),
    "budgets": ("", f"default_tokens=700&minimum_score=0.4&{_ASKED}"),
    "budget": ("",),
    "budget-rename": ("",),
    "budget-keep": ("", f"{_ASKED}&max_tokens=669"),
    "budget-rollback": ("",),
    "budget-compare": ("left=workshop+1&right=workshop+2",),
    "budget-assignments": ("",),
    "evaluations": ("",),
    "evaluation": ("",),
    "evaluation-delete": ("",),
    "golden-questions": ("",),
    "golden-question": ("",),
    "golden-new": ("",),
    "scoring-profiles": ("",),
    "scoring-profile": ("",),
    "scoring-publish": ("",),
    "scoring-rollback": ("",),
    "scoring-retire": ("",),
    "scoring-compare": ("left=adr-0040+1&right=conversation-recall+1",),
    "scoring-assignments": ("",),
    # how conversations are compacted
    "partitions": ("", "partition=agent%3Dsupport"),
    "sessions": ("", "min_pressure=200"),
    "session": ("", "q=sensor"),
    "session-compact": ("",),
    "session-simulate": ("window=1200&target=40", "window=1"),
    "reviews": ("",),
    "compaction": ("",),
    "compaction-compare": ("",),
    "compaction-rollback": ("",),
    "prompts": ("",),
    "alerts": ("",),
    "erasures": ("",),
    "erase": ("", "partition=agent%3Dsupport", "memory={memory_id}"),
    "erasure": ("",),
}
#: Fragments that pages load into themselves, and others that no page above shows, with the query strings that the
#: benchmark loads them with.
FRAGMENTS: dict[str, tuple[str, ...]] = {
    "memories": ("sort=-tokens&kind=fact",),
    "activity": ("sort=when",),
    "audit-log": ("sort=when",),
    "context-compare": (f"left=adr-0040&right=conversation-recall&{_ASKED}&table=1",),
    "context-suggest": ("focus_memory=sensor", "partition=agent"),
    "inclusion-budget": (f"{_ASKED}&max_tokens=300&item={{memory_id}}",),
    "palette": ("q=sensor",),
    "memory-findings": ("",),
    "hygiene-progress": ("",),
    "partition-children": ("partition=agent%3Dsupport",),
    "roll-ups": ("partition=agent%3Dsupport",),
    "health-summary": ("",),
    "job-notifications": ("",),
}
#: Addresses whose GET returns a part of a page, a file or a redirect.
NO_PAGES = {
    *(
        "member-second-factor",
        "budget-effect",
        "inclusion-budget",
        "context-suggest",
        "hygiene-progress",
        "scoring-effect",
    ),
    *(
        "audit-export",
        "context-export",
        "golden-export",
        "memory-export",
        "memory-findings",
        "memories-bulk",
        "health-summary",
        "partition-children",
        "roll-ups",
    ),
    *("summaries", "text-tokens", "job-notifications", "palette"),
}
OPEN_TO_ALL = {"sign-in", "sign-in-code", "sign-out", "theme", "invitation"}
PROBES = {"healthz", "readyz", "metrics"}
#: The beginnings of addresses that are not pages of the console.
ELSEWHERE = {"admin/", "api/"}


def with_result_address(address: str) -> str:
    """Return the address of a page together with the result that it otherwise loads after it is open."""
    return f"{address}{'&' if '?' in address else '?'}whole=1"


@dataclass(frozen=True)
class ConsolePage:
    """One page to open."""

    name: str
    address: str

    @property
    def whole(self) -> str:
        return with_result_address(self.address)


def operator_patterns() -> list[URLPattern]:
    """Return the addresses that an operator may open or post to: all except those of REST, admin and probes."""
    found: list[URLPattern | URLResolver] = []
    for entry in get_resolver().url_patterns:
        is_elsewhere = str(entry.pattern) in ELSEWHERE
        found += [entry] if isinstance(entry, URLPattern) else [] if is_elsewhere else entry.url_patterns
    return [each for each in found if isinstance(each, URLPattern) and each.name not in OPEN_TO_ALL | PROBES]


def converters_of(pattern: URLPattern) -> Mapping[str, Any]:
    """Return the converters of an address; of several with its name, those of the page, which include the tenant."""
    named = get_resolver().reverse_dict.getlist(pattern.name)
    return max((converters for *_, converters in named), key=len)


def address_of(pattern: URLPattern, ids: Mapping[str, Any]) -> str:
    """Return an address for the rows in `ids`: "budget.name" applies only to that page, "memory_id" to all."""
    wanted = {
        word: ids.get(f"{pattern.name}.{word}") or ids.get(word) or (1 if isinstance(each, IntConverter) else uuid4())
        for word, each in converters_of(pattern).items()
    }
    return reverse(pattern.name, kwargs=wanted)


def show_design_page(settings: Any, place: ConsolePage) -> None:
    """Set `DEBUG` only for the design page, which needs it; each change makes Django forget all compiled templates."""
    is_design = place.name == "design"
    if is_design != settings.DEBUG:
        settings.DEBUG = is_design


def console_pages(ids: Mapping[str, Any], queries: Mapping[str, tuple[str, ...]] = PAGES) -> Iterator[ConsolePage]:
    """Yield every page of `queries` with each of its query strings."""
    for pattern in operator_patterns():
        name = str(pattern.name)
        for query in queries.get(name, ()):
            address = address_of(pattern, ids)
            yield ConsolePage(name, f"{address}?{query.format(**ids)}" if query else address)
