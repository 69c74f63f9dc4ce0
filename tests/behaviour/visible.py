"""The text of a page that a person reads, and its links."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

_HIDDEN = {"script", "style", "template", "noscript"}
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
_INLINE = {"a", "abbr", "b", "bdi", "code", "em", "i", "kbd", "mark", "s", "small", "span", "strong", "sub", "sup"}
_INLINE |= {"time", "tspan", "var", "wbr", "data", "cite", "q", "u"}
_READ_ATTRIBUTES = ("aria-label", "aria-description", "title", "placeholder", "alt", "label", "data-confirm")
_TYPED = {"text", "search", "number", "submit", "button", "email", "url", "datetime-local", "date"}


@dataclass
class Page:
    """Lines of visible text, and the addresses of links and of fragments that the page requests."""

    lines: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    fragments: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page()
        self._hidden: list[str] = []
        self._line: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes: dict[str, Any] = {name: value or "" for name, value in attrs}
        if tag in _HIDDEN:
            self._hidden.append(tag)
        if tag not in _INLINE:
            self.break_line()
        for name in _READ_ATTRIBUTES:
            if attributes.get(name):
                self._line.append(f" [{name}: {attributes[name]}] ")
        if tag == "input" and attributes.get("type", "text") in _TYPED and attributes.get("value"):
            self._line.append(f" [value: {attributes['value']}] ")
        if tag in {"input", "option"} and ("checked" in attributes or "selected" in attributes):
            self._line.append(" [chosen] ")
        if tag == "a" and attributes.get("href"):
            self.page.links.append(attributes["href"])
        if attributes.get("hx-get"):
            self.page.fragments.append(attributes["hx-get"])

    def handle_endtag(self, tag: str) -> None:
        if self._hidden and tag == self._hidden[-1]:
            self._hidden.pop()
        if tag not in _INLINE:
            self.break_line()

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._line.append(data)

    def break_line(self) -> None:
        line = " ".join("".join(self._line).split())
        self._line = []
        if line:
            self.page.lines.append(line)


def read_page(html: str) -> Page:
    """Return the visible text of `html`, a line per block, with attributes for screen readers, and its addresses."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    reader.break_line()
    return reader.page
