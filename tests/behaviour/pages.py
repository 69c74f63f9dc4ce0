"""Part three: the visible text of every page that links of the console lead to."""

import re
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

from tests.behaviour.client import Answer, Client
from tests.behaviour.labels import UUID, Labels
from tests.behaviour.visible import read_page

#: The maximum number of pages of one shape, that is with paths that differ only in ids and numbers.
PAGES_PER_PATH = 6
#: The maximum number of pages of one path with the same names in its query.
PAGES_PER_QUERY = 2
#: The maximum number of pages of one path.
PAGES_PER_SHAPE = 12
PAGES_MAX = 800
_NOT_PAGES = ("/static/", "/api/", "/sign-out", "/media/", "/metrics", "/healthz", "/readyz")
#: In Django admin, only the index, the apps and the forms for adding: the order of its lists depends on random ids.
_ADMIN_PAGE = re.compile(r"/admin/(?:\w+/)?(?:\w+/add/)?$")
#: Rows with equal sort keys are in the order of random ids.
_SORTED = "sort"
_NUMBER = re.compile(r"^\d+$")


@dataclass
class Console:
    """The browser of a person who is signed in, without scripts."""

    client: Client
    labels: Labels
    cookies: dict[str, str] = field(default_factory=dict)

    def sign_in(self, username: str, password: str) -> None:
        """Submit the sign-in form of the console. Raises `RuntimeError` if the sign-in is refused."""
        page = self.get("/")
        while page.status in {301, 302}:
            path = page.headers["Location"]
            page = self.get(path)
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
        action = re.search(r'<form[^>]*method="post"[^>]*action="([^"]+)"', page.text)
        if token is None or action is None:
            raise RuntimeError("no form for signing in")
        form = {"csrfmiddlewaretoken": token[1], "username": username, "password": password, "next": "/"}
        answer = self.send("POST", action[1], urlencode(form).encode())
        if answer.status != 302:
            raise RuntimeError(f"signing in answers {answer.status}")

    def get(self, path: str, *, is_fragment: bool = False) -> Answer:
        """Return the response to one GET."""
        return self.send("GET", path, None, {"HX-Request": "true"} if is_fragment else {})

    def send(self, method: str, path: str, body: bytes | None, headers: dict[str, str] | None = None) -> Answer:
        """Send one request with the current cookies."""
        sent = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()), **(headers or {})}
        if body is not None:
            sent |= {"Content-Type": "application/x-www-form-urlencoded", "Referer": f"{path}"}
        answer = self.client.send(method, path, body, sent)
        for cookie in answer.headers.get_all("Set-Cookie") or ():
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return answer


class Crawl:
    """Reads pages in the order in which links name them, a limited number of each shape."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._labels = console.labels
        self._queue: deque[tuple[str, bool]] = deque()
        self._seen: set[tuple[str, bool]] = set()
        self._queries: Counter[tuple[str, str, bool]] = Counter()
        self._shapes: Counter[tuple[str, bool]] = Counter()
        self._named: Counter[str] = Counter()
        self.pages: dict[str, Any] = {}

    def run(self, start: str) -> dict[str, Any]:
        """Return all pages by their labelled address."""
        self._add(start, start, is_fragment=False)
        while self._queue and len(self.pages) < PAGES_MAX:
            path, is_fragment = self._queue.popleft()
            self._read(path, is_fragment)
        return self.pages

    def _read(self, path: str, is_fragment: bool) -> None:
        answer = self._console.get(path, is_fragment=is_fragment)
        name = f"GET {self._labels.text(path)}" + (" (fragment)" if is_fragment else "")
        recorded: dict[str, Any] = {"status": answer.status, "type": answer.headers["Content-Type"]}
        if answer.headers["Location"]:
            recorded["location"] = self._labels.text(answer.headers["Location"])
            self._add(path, answer.headers["Location"], is_fragment=False)
        if "html" in (answer.headers["Content-Type"] or ""):
            page = read_page(answer.text)
            for link in page.links:
                self._add(path, link, is_fragment=False)
            for fragment in page.fragments:
                self._add(path, fragment, is_fragment=True)
            recorded["text"] = [self._labels.page_text(line) for line in page.lines]
        else:
            recorded["text"] = [self._labels.page_text(line) for line in answer.text.splitlines()]
        self.pages[name] = recorded

    def _add(self, base: str, link: str, *, is_fragment: bool) -> None:
        address = urlsplit(urljoin(base, link.strip()))
        own = not address.netloc or address.netloc in self._labels.origin
        if not own or address.scheme not in {"", "http"} or address.path.startswith(_NOT_PAGES):
            return
        if address.path.startswith("/admin/") and not _ADMIN_PAGE.match(address.path):
            return
        path = address.path + (f"?{address.query}" if address.query else "")
        shape = self._shape(address.path)
        names = ",".join(sorted({name for name, _ in parse_qsl(address.query, keep_blank_values=True)}))
        if (path, is_fragment) in self._seen or _SORTED in names.split(","):
            return
        self._seen.add((path, is_fragment))
        most = PAGES_PER_QUERY if names else PAGES_PER_PATH
        if self._queries[shape, names, is_fragment] >= most or self._shapes[shape, is_fragment] >= PAGES_PER_SHAPE:
            return
        self._shapes[shape, is_fragment] += 1
        self._queries[shape, names, is_fragment] += 1
        self._name_ids(path, shape)
        self._queue.append((path, is_fragment))

    def _shape(self, path: str) -> str:
        return "/".join(
            "{id}" if UUID.fullmatch(each) else "{number}" if _NUMBER.match(each) else each for each in path.split("/")
        )

    def _name_ids(self, path: str, shape: str) -> None:
        """Label ids that the recording did not create by the order in which links name them."""
        for identifier in UUID.findall(path):
            if not self._labels.knows(identifier):
                self._named[shape] += 1
                self._labels.name(identifier, f"linked-{self._named[shape]}")
