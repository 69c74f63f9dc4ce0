"""Messages that the next page shows once, with their links and undo buttons."""

import secrets
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest

from memory_platform.web.htmx import HtmxRequest


@dataclass(frozen=True)
class FlashLink:
    """The link of a message; with `needs_confirmation`, to a page that asks for confirmation before the undo."""

    url: str
    label: str
    needs_confirmation: bool = False


def add_flash(request: HttpRequest, text: str, *, undo_url: str = "", link: FlashLink | None = None) -> None:
    """Add a success message, with a button that POSTs to `undo_url` or with a link."""
    tag = f"{ASK_TAG if link.needs_confirmation else LINK_TAG} {link.url} {link.label}" if link else ""
    messages.success(request, text, extra_tags=undo_url or tag)


def read_flash_link(extra_tags: str) -> FlashLink | None:
    """Return the link that `add_flash` stored in a message."""
    tag, _, rest = extra_tags.partition(" ")
    url, _, label = rest.partition(" ")
    return FlashLink(url, label, needs_confirmation=tag == ASK_TAG) if tag in (ASK_TAG, LINK_TAG) and label else None


def flash_error(request: HttpRequest, text: str) -> None:
    """Add a message with the reason why something was not done."""
    messages.error(request, text)


#: The first word of a message's tag: it has a link, its undo asks first, or it is not shown and names a job to watch.
LINK_TAG, ASK_TAG, WATCH_TAG = "link", "ask", "watch"


def watch_job(request: HtmxRequest, kind: str, row_id: object) -> None:
    """Notify the operator when this background work of the tenant ends (ADR-0085).

    `kind` is one of `console.jobs`, `row_id` that of the run or model, of the tenant for `embeddings`.
    """
    once = secrets.token_hex(4)  # so that a retry of the same run is watched again
    messages.info(request, f"{kind}:{request.tenant.id}:{row_id}:{once}", extra_tags=WATCH_TAG)
