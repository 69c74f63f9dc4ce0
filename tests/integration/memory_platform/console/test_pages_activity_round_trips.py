"""Acts performed on their own pages and undone on the Activity page restore the former state."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from compaction.models import Message
from compaction.pipeline.prompt_versions import current_prompt
from compaction.sessions.actions import close_session, restore_session
from context.models import GoldenQuestion, ScoringProfileVersion
from context.profiles.scoring_fields import scoring_profile_form_values
from context.services.profiles.scoring_profiles import ADR_0040
from memories.models import Memory, SavedView, Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.page_helpers import TESTER, client_of, make_bakery_memories, page, text_of
from tests.integration.scoring_helpers import ARGUMENT, new_version, prove, published
from tests.integration.session_scripts import (
    as_decided,
    compacted,
    make_long_session,
    messages_of,
    reread,
    under_review,
)
from tests.users import new_operator


@pytest.fixture
def admin(tenant: Tenant) -> Client:
    return client_of(new_operator("ada", "admin", tenant))


class Console:
    """An admin who performs an act on its page and undoes it on the Activity page."""

    def __init__(self, client: Client, tenant: Tenant) -> None:
        self.client, self.tenant = client, tenant

    def act(self, view: str, *more: object, **fields: Any) -> None:
        response = self.client.post(page(view, self.tenant, *more), fields)
        errors = re.findall(r"(?:invalid-feedback|flash-text)[^>]*>([^<]+)", text_of(response))
        assert response.status_code == 302, (view, response.status_code, errors)

    def newest(self, verb: str) -> Any:
        row = self.client.get(page("activity", self.tenant)).context["rows"][0]
        assert row.entry.verb == verb, "the page did nothing"
        return row

    def undo(self, verb: str) -> None:
        row = self.newest(verb)
        assert row.undo == "possible", verb
        text = text_of(self.client.post(page("activity-undo", self.tenant, row.entry.pk), follow=True))
        (notice,) = re.findall('flash-text">([^<]+)', text)
        assert notice.startswith("Undone:"), notice

    def check(self, state: Callable[[], object], verb: str, view: str, *more: object, **fields: Any) -> None:
        """Perform an act and undo it."""
        with tenant_scope(self.tenant.pk):
            before = state()
        self.act(view, *more, **fields)
        with tenant_scope(self.tenant.pk):
            assert state() != before, verb
        self.undo(verb)
        with tenant_scope(self.tenant.pk):
            assert state() == before, verb


@pytest.fixture
def console(admin: Client, tenant: Tenant) -> Console:
    return Console(admin, tenant)


def test_sessions_and_pins_of_messages(console: Console, tenant: Tenant) -> None:
    session = make_long_session(tenant, turns=1)
    message = messages_of(session)[0]

    def is_pinned() -> bool:
        return bool(Message.objects.for_tenant(tenant.pk).get(pk=message.pk).pinned)

    console.check(is_pinned, "pin_message", "message-pin", message.pk)
    console.act("message-pin", message.pk)
    console.check(is_pinned, "unpin_message", "message-unpin", message.pk)


@pytest.mark.parametrize(("change", "opposite"), [(close_session, None), (restore_session, close_session)])
def test_closed_and_reopened_sessions(console: Console, tenant: Tenant, change: Any, opposite: Any) -> None:
    session = make_long_session(tenant, turns=0)
    for action in filter(None, (opposite, change)):  # no page does this, but rules may
        with tenant_scope(tenant.pk):
            action(session=session, by=TESTER, now=timezone.now())
    console.undo(change.__name__)
    assert (reread(session).closed_at is None) == (change is close_session)


def test_decisions_on_compactions(console: Console, tenant: Tenant) -> None:
    under_review(tenant)
    proposal = compacted(make_long_session(tenant))

    def state() -> Any:
        messages = Message.objects.for_tenant(tenant.pk).of_session(proposal.session_id).originals()
        facts = Memory.objects.for_tenant(tenant.pk).filter(archived_at=None).count()
        return as_decided(proposal).state, list(messages.order_by("sequence").values_list("state", flat=True)), facts

    console.check(state, "reject_compaction", "compaction-reject", proposal.pk, reason="Too short")
    console.check(state, "approve_compaction", "compaction-approve", proposal.pk)
    console.act("compaction-approve", proposal.pk)
    console.act("compaction-rollback", proposal.pk)
    console.undo("roll_back_compaction")
    assert as_decided(proposal).state == "proposed"


def test_the_prompt(console: Console, tenant: Tenant) -> None:
    def text() -> str:
        return current_prompt(tenant.pk)[1]

    console.check(text, "save_prompt", "prompts", text="Be brief.", edited_from="1")
    console.act("prompts", text="Be exact.", edited_from="3")
    console.check(text, "save_prompt", "prompt-rollback", 1)


def test_a_stored_memory_and_an_edited_one(console: Console, tenant: Tenant) -> None:
    fields = {"kind": "fact", "confidence": "0.8", "metadata": "{}"}
    place = {"partition": "agent=oven", "source_id": "oven-1"}

    def live() -> list[Any]:
        rows = Memory.objects.for_tenant(tenant.pk).filter(archived_at=None)
        return list(rows.values_list("content", "confidence", "pinned"))

    console.check(live, "store_memory", "memory-new", content="Rye needs 50 minutes.", **fields, **place)
    console.act("memory-new", content="Rye needs 40 minutes.", **fields, **place | {"source_id": "oven-2"})
    with tenant_scope(tenant.pk):
        memory = Memory.objects.for_tenant(tenant.pk).get(archived_at=None)
    changed = fields | {"confidence": "0.5", "seen_version": "1"}
    console.check(live, "update_memory", "memory", memory.pk, content="Rye needs 45 minutes.", **changed)


def test_golden_questions(console: Console, tenant: Tenant) -> None:
    one, *_ = make_bakery_memories(tenant)

    def questions() -> list[Any]:
        rows = GoldenQuestion.objects.for_tenant(tenant.pk).not_removed()
        return list(rows.values_list("text", "evidence__memory_id"))

    text = "What does ERR_4012 mean?"
    collected = {"text": text, "partition": "", "memory": str(one.pk), "back": f"query={text}"}
    console.check(questions, "collect_golden_question", "golden-collect", **collected)
    console.act("golden-collect", **collected)
    with tenant_scope(tenant.pk):
        question = GoldenQuestion.objects.for_tenant(tenant.pk).not_removed().get()
    console.check(questions, "remove_golden_question", "golden-remove", question.pk)
    console.act("golden-remove", question.pk)
    console.check(questions, "restore_golden_question", "golden-restore", question.pk)


def test_scoring_profiles(console: Console, tenant: Tenant) -> None:
    def states() -> list[Any]:
        rows = ScoringProfileVersion.objects.for_tenant(tenant.pk).exclude(state="retired").order_by("name", "version")
        return list(rows.values_list("name", "version", "state", "recorded_to"))

    def typed(edited_from: int, **changes: Any) -> dict[str, Any]:
        values = scoring_profile_form_values(ADR_0040.to_numbers()).items()
        fields = {name: value for name, value in values if value is not None and value is not False}
        return fields | {"edited_from": str(edited_from)} | changes

    console.check(states, "create_scoring_profile", "scoring-create", name="idea", based_on="adr-0040")
    console.act("scoring-create", name="own", based_on="adr-0040")
    console.check(states, "edit_scoring_profile", "scoring-profile", "own", **typed(1, pool_size="60"))
    console.check(states, "retire_scoring_profile", "scoring-retire", "own", 1)
    console.act("scoring-retire", "own", 1)
    console.undo("retire_scoring_profile")
    console.check(states, "retire_scoring_profile", "scoring-retire", "own", 1)


def test_publishing_a_scoring_profile(console: Console, tenant: Tenant) -> None:
    def active() -> list[Any]:
        rows = ScoringProfileVersion.objects.for_tenant(tenant.pk).active()
        return list(rows.values_list("name", "version"))

    own = new_version(tenant, "own")
    prove(tenant, own.numbers)
    console.check(active, "publish_scoring_profile", "scoring-publish", "own", 1, **ARGUMENT, replaces="0")
    published(tenant, "other")
    other = new_version(tenant, "other", 2)
    reason = {"reason": "It loses some evidence and halves the time of a request."}
    console.check(active, "publish_scoring_profile", "scoring-publish", "other", 2, **ARGUMENT, **reason, replaces="1")
    console.check(active, "roll_back_scoring_profile", "scoring-rollback", "other", other.version)
    console.check(active, "retire_scoring_profile", "scoring-retire", "other", 1)


def test_deleted_shared_views(console: Console, tenant: Tenant) -> None:
    def views() -> list[str]:
        return list(SavedView.objects.for_tenant(tenant.pk).kept().values_list("name", flat=True))

    console.act("saved-view-create", list="memories", name="Pinned facts", query="kind=fact", is_shared="on")
    with tenant_scope(tenant.pk):
        view = SavedView.objects.for_tenant(tenant.pk).get()
    console.check(views, "delete_view", "saved-view-delete", view.pk)


def test_edits_show_the_former_and_the_new_values(console: Console, tenant: Tenant) -> None:
    one, *_ = make_bakery_memories(tenant)
    fields = {"content": "New text.", "kind": "fact", "confidence": "0.5", "metadata": "{}", "seen_version": "1"}
    console.act("memory", one.pk, **fields)
    changes = console.newest("update_memory").changes
    assert {"content", "confidence"} <= {change.partition(":")[0] for change in changes}
    assert any(change.endswith("→ New text.") for change in changes)
