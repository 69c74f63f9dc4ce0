"""Where the links, forms and buttons of a page lead, by the names of the addresses."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from html.parser import HTMLParser
from urllib.parse import urlsplit

from django.urls import Resolver404, resolve


@dataclass
class OfferedForm:
    """A form of a page; without a button, it cannot be submitted."""

    method: str = "get"
    addresses: set[str] = field(default_factory=set)


class _Reader(HTMLParser):
    """Collects (method, address) while it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[tuple[str, str]] = set()
        self.forms: defaultdict[str, OfferedForm] = defaultdict(OfferedForm)
        self.buttons: list[tuple[str, str | None]] = []
        self.open_form = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.open_form = has.get("id") or f"form {len(self.forms)}"
            form = self.forms[self.open_form]
            form.method = has.get("method", "get")
            form.addresses = {has.get("action", ""), has.get("hx-post", has.get("action", ""))}
            return
        self.found |= {("get", has[name]) for name in ("href", "hx-get") if name in has}
        self.found |= {("post", has[name]) for name in ("hx-post",) if name in has}
        if tag == "button" and has.get("type", "submit") == "submit":
            self.buttons.append((has.get("form", self.open_form), has.get("formaction")))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.open_form = ""

    def offers(self) -> set[tuple[str, str]]:
        sent = set()
        for name, own_address in self.buttons:
            if name in self.forms:
                form = self.forms[name]
                sent |= {(form.method, each) for each in ({own_address} if own_address else form.addresses)}
        return self.found | sent


def page_links(path: str, html: str) -> Iterator[tuple[str, str]]:
    """Return each method and name of an address that the page at `path` leads to, except other sites and files."""
    reader = _Reader()
    reader.feed(html)
    for method, address in sorted(reader.offers()):
        if name := _name_of(urlsplit(address).path or path):
            yield method, name


@lru_cache(maxsize=1000)
def _name_of(path: str) -> str:
    try:
        return resolve(path).view_name
    except Resolver404:
        return ""
