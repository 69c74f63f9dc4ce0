"""Pages that only screenshots show, besides those of every check: other addresses, and states after a click.

No test depends on them. A state that changes data also restores it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from playwright.sync_api import BrowserContext, Page, Route

_QUESTION = "A customer sees ERR_4012 on the display. What do we tell them, and what does it cost?"
_ASKED = f"query={quote(_QUESTION)}&partition=agent%3Dsupport"
_RUN = f"{_ASKED}&max_tokens=400"
_DRAFT = "default_tokens=700&overfetch_ratio=2&packer=greedy&ordering=u_curve"


@dataclass(frozen=True)
class PageState:
    """A page at another address; `ids` replaces ids of the usual rows, by name or by value."""

    page: str
    name: str
    query: str = ""
    ids: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class PageStage:
    """A page of a signed-in admin, the browser of a second reviewer, and the addresses of all pages."""

    page: Page
    other: BrowserContext
    address: Callable[[PageState], str]
    is_narrow: bool

    def open(self, page: str, query: str = "", **ids: object) -> Page:
        self.page.goto(self.address(PageState(page, "", query, ids)), wait_until="load")
        return self.page


LOOKS = (
    PageState("tenant-overview", "90-days", "range=90d"),
    PageState("memories", "nothing", "partition=agent%3Dnobody"),
    PageState("memories-bulk", "archive", "action=archive&scope=page&back=partition%3Dagent%253Dsupport"),
    PageState("memories-bulk", "kind", "action=kind&scope=page&back=partition%3Dagent%253Dsupport"),
    PageState("context-preview", "nothing-fits", f"{_ASKED}&max_tokens=20"),
    PageState("context-preview", "xml", "partition=agent%3Dcoder&max_tokens=400&style=xml&ordering=u_curve"),
    PageState("context-preview", "elastic", f"{_RUN}&packer=elastic&before={quote(_RUN)}"),
    PageState("context-preview", "window", f"{_RUN}&packer=optimal&model=gpt-4&directive=3000&against=nothing"),
    PageState("context-preview", "focus", f"{_ASKED}&focus_memory=torque+sensor"),
    PageState("context-preview", "as-of", f"{_RUN}&packer=optimal&as_of=2026-10-01T00:00"),
    PageState("context-preview", "recall", f"{_ASKED}&max_tokens=600&profile=conversation-recall"),
    PageState("context-compare", "invalid", f"{_RUN}&left=nobody"),
    PageState("budget-curve", "recall", f"{_RUN}&profile=conversation-recall"),
    PageState("budgets", "invalid", f"{_DRAFT}&include_memories_top_k=0"),
    PageState("budget-effect", "typed", "default_tokens=400", {"name": "workshop"}),
    PageState("scoring-profile", "draft", "", {"scoring-profile.name": "support-recall"}),
    PageState("scoring-publish", "met", "", {"version": 2}),
    PageState("scoring-effect", "typed", "version=2", {"name": "support-recall"}),
    PageState("golden-new", "asked", f"text={quote(_QUESTION)}&partition=agent%3Dsupport"),
    PageState("evaluation", "compared", "with={first_run_id}", {"run_id": "second_run_id"}),
    PageState("hygiene-list", "contradictions", "", {"name": "contradiction"}),
    PageState("hygiene-list", "replaced", "", {"name": "replaced"}),
    PageState("hygiene-list", "never-retrieved", "", {"name": "never_retrieved"}),
    PageState("partitions", "found", "q=user"),
    PageState("partitions", "none", "q=zeppelin"),
    PageState("partitions", "root", "partition="),
    PageState("memory", "linked", "", {"memory_id": "linked_memory_id"}),
    PageState("session", "proposed", "", {"session_id": "proposed_session_id"}),
    PageState("session-compact", "proposed", "", {"session_id": "proposed_session_id"}),
    PageState("compaction", "applied", "", {"compaction_id": "compaction-rollback.compaction_id"}),
    PageState("jobs", "nothing", "kind=evaluation&state=failed"),
)


def search_open(stage: PageStage) -> None:
    page = stage.open("sessions")
    page.keyboard.press("/")
    page.keyboard.type("sensor", delay=20)
    page.locator(".search-list [role=option]").first.wait_for()


def palette_open(stage: PageStage) -> None:
    page = stage.open("sessions")
    page.keyboard.press("Control+k")
    page.keyboard.type("memo", delay=20)
    page.locator("#palette-list:not(:has-text('Compare versions')) [role=option]").first.wait_for()


def view_form_open(stage: PageStage) -> None:
    stage.open("memories", "kind=fact").locator(".saved-view-edit summary").first.click()
    stage.page.locator("#view-new").wait_for()


def import_previewed(stage: PageStage) -> None:
    """The preview of an import; nothing is stored."""
    page = stage.open("memory-import-export")
    page.get_by_text("Paste text instead").click()
    page.fill("#id_pasted", "content,pinned\nThe shop in Bremen opens at nine.,true\nx,maybe\n")
    page.get_by_role("button", name="Preview").click()
    page.locator("#preview-title").wait_for()


def link_looked_up(stage: PageStage) -> None:
    page = stage.open("memory", memory_id="linked_memory_id")
    page.locator("#id_memory").press_sequentially("sensor", delay=20)
    page.locator("#link-targets [role=option]").first.wait_for()


def menu_open(stage: PageStage) -> None:
    page = stage.open("memories")
    if stage.is_narrow:
        page.locator("button[popovertarget=nav]").first.click()
    else:
        page.locator(".switcher summary").first.click()


def confirm_open(stage: PageStage) -> None:
    stage.open("api-keys").locator(".key-actions [data-confirm]").first.click()
    stage.page.locator("#confirm[open] button").first.wait_for()


def toast_shown(stage: PageStage) -> None:
    """After a memory was archived; `toast_undone` undoes it."""
    page = stage.open("memory", memory_id="linked_memory_id")
    page.locator("button:has-text('Archive')").click()
    page.locator(".flash").first.wait_for()
    page.wait_for_timeout(300)


def toast_undone(stage: PageStage) -> None:
    """After `toast_shown`, on the page on which it ended."""
    stage.page.locator(".flash button:has-text('Undo')").click()
    stage.page.locator(".flash:has-text('Restored')").wait_for()
    stage.page.wait_for_timeout(300)


def form_refused(stage: PageStage) -> None:
    page = stage.open("memory", memory_id="linked_memory_id")
    page.locator("#edit summary").click()
    page.fill("#id_kind", "Not A Word")
    page.locator("#edit button:has-text('Save')").click()
    page.locator(".errorlist").first.wait_for()


def edit_in_conflict(stage: PageStage) -> None:
    """Another reviewer has saved the text of the summary since the page was opened, so its edit version is outdated."""
    page = stage.open("compaction")
    page.locator("#edit summary").click()
    page.fill("#id_text", "Maren has the call with Osaka.")
    page.evaluate("() => document.querySelectorAll('[name=edit_version]').forEach((one) => { one.value = '99'; })")
    page.get_by_role("button", name="Save text").click()
    page.locator(".review-refusal, .alert-danger").first.scroll_into_view_if_needed()


def second_reviewer(stage: PageStage) -> None:
    theirs = stage.other.new_page()
    theirs.goto(stage.address(PageState("compaction", "")))
    theirs.wait_for_timeout(1_500)
    stage.open("compaction").locator("#presence:not(:empty)").wait_for()
    theirs.close()


def answer_missing(stage: PageStage) -> None:
    """The server is unavailable when a filter sends a request."""
    page = stage.open("memories")
    page.route("**/memories?*", lambda route: route.abort())
    page.fill("#id_q", "battery")
    page.keyboard.press("Enter")
    page.locator("#errors .alert").first.wait_for()
    page.unroute_all(behavior="ignoreErrors")


def busy(stage: PageStage) -> None:
    """A response that is slow."""
    page = stage.open("memories")
    pending_routes: list[Route] = []
    page.route("**/memories?*", lambda route: pending_routes.append(route))
    page.fill("#id_q", "battery")
    page.keyboard.press("Enter")
    page.wait_for_timeout(700)


def score_table_open(stage: PageStage) -> None:
    page = stage.open("context-preview", f"{_ASKED}&max_tokens=300")
    page.locator(".block:has(.score-table) summary").first.click()
    page.locator(".entry a").first.click()
    page.locator(".entry strong").first.wait_for()
    page.locator(".block:has(.score-table)").first.scroll_into_view_if_needed()


def missing_found(stage: PageStage) -> None:
    page = stage.open("context-preview", f"{_ASKED}&max_tokens=300")
    page.locator("#id_memory").scroll_into_view_if_needed()
    page.locator("#id_memory").press_sequentially("sensor", delay=20)
    page.locator("#missing [role=option]").first.wait_for()


def not_found(stage: PageStage) -> None:
    stage.page.unroute_all(behavior="ignoreErrors")
    stage.page.goto("/t/00000000-0000-0000-0000-000000000000")


def sign_in_page(stage: PageStage) -> None:
    """The last state: it signs the operator out."""
    stage.page.context.clear_cookies()
    stage.page.goto("/sign-in")


STATES: Mapping[str, Callable[[PageStage], None]] = {
    "search-open": search_open,
    "palette-open": palette_open,
    "view-form": view_form_open,
    "import-previewed": import_previewed,
    "link-looked-up": link_looked_up,
    "menu-open": menu_open,
    "confirm-open": confirm_open,
    "toast-shown": toast_shown,
    "toast-undone": toast_undone,
    "form-refused": form_refused,
    "edit-in-conflict": edit_in_conflict,
    "second-reviewer": second_reviewer,
    "answer-missing": answer_missing,
    "score-table": score_table_open,
    "missing-found": missing_found,
    "busy": busy,
    "not-found": not_found,
    "sign-in": sign_in_page,
}


def _first(page: Page, address: str, words: str) -> None:
    """Open the first row that contains these words."""
    page.goto(address)
    page.goto(page.locator("a.memory-link", has_text=words).first.get_attribute("href") or "")


def _compare(page: Page, at: str) -> None:
    """Scroll to the figures, because the picture is about the lines."""
    page.goto(f"{at}/context/compare?{_ASKED}&max_tokens=600&right=support-recall")
    page.locator(".slope-card").evaluate("card => window.scrollTo(0, card.getBoundingClientRect().top - 16)")


#: The pictures of docs/console.md: how each is found in the tenant of the demo, and how much of it is shown, in pixels.
DOCS: Mapping[str, tuple[Callable[[Page, str], object], int]] = {
    "overview": (lambda page, at: page.goto(at), 1000),
    "context-preview": (lambda page, at: page.goto(f"{at}/context?{_ASKED}&max_tokens=600&before={quote(_RUN)}"), 900),
    "compare": (_compare, 900),
    "memory": (lambda page, at: _first(page, f"{at}/memories?q=return+policy", "Return policy"), 900),
    "session": (lambda page, at: _first(page, f"{at}/sessions", "Greta Brodersen"), 900),
    "review": (lambda page, at: _first(page, f"{at}/compactions", "call with Osaka"), 900),
}
