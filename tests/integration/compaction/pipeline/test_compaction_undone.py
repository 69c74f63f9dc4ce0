"""After any changes to a session, each compaction can be rolled back, the latest first, to identical bytes."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from compaction.models import Compaction, Message, Session
from compaction.pipeline import orchestrator
from compaction.pipeline.actions import request_compaction
from compaction.review.actions import edit_compaction_summary, roll_back_compaction
from compaction.sessions.actions import expand_message, pin_message
from memories.models import Tenant
from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import tenant_scope
from tests.integration.compaction_helpers import live_memories, message_pair, set_policy, shown, tool_lookup_pair
from tests.integration.session_helpers import append, assert_recounted, open_session, stored_messages
from tests.users import BY, api_client

pytestmark = pytest.mark.django_db

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(3, 9)),
        st.tuples(st.just("look_up"), st.integers(1, 3)),
        st.tuples(st.just("pin"), st.integers(0, 40)),
        st.tuples(st.just("unpin"), st.integers(0, 40)),
        st.tuples(st.just("expand"), st.integers(0, 40)),
        st.tuples(st.just("compact"), st.just(0)),
        st.tuples(st.just("edit"), st.integers(0, 3)),
        st.tuples(st.just("roll_back"), st.just(0)),
    ),
    min_size=4,
    max_size=14,
)
#: Every kind of event, with compactions that change something: few generated sequences contain all of them.
ALL_EVENTS = [
    *(("look_up", 3), ("say", 9), ("compact", 0), ("expand", 0), ("pin", 1), ("edit", 1), ("say", 9), ("compact", 0)),
    *(("roll_back", 0), ("unpin", 1), ("say", 5), ("compact", 0)),
]


class Played:
    """A session, its content before each applied compaction, and the messages that people have expanded since."""

    def __init__(self, client: Any, tenant: Tenant) -> None:
        self.client, self.tenant = client, tenant
        self.session = open_session(client, max_context_tokens=1_500, directive="You help Alex.")
        self.clock = timezone.now()
        self.number = 0
        self.before: list[tuple[UUID, dict[int | None, Any]]] = []
        self.expanded: set[int] = set()

    def tick(self) -> Any:
        self.clock += timedelta(seconds=1)
        return self.clock

    def shown(self) -> dict[int | None, Any]:
        """Return by sequence (None: the summary) the bytes that a context contains."""
        rows = shown(self.tenant, self.session["id"])
        return {row[0]: row[1:6] for row in rows if row[0] != "tokens"}

    def say(self, count: int) -> None:
        for _ in range(count):
            self.number += 1
            append(self.client, self.session, *message_pair(self.number))

    def look_up(self, count: int) -> None:
        for _ in range(count):
            self.number += 1
            append(self.client, self.session, *tool_lookup_pair(self.number, size=900))

    def _message(self, place: int) -> Message | None:
        rows = stored_messages(self.tenant, self.session["id"])
        return rows[place % len(rows)] if rows else None

    def pin(self, place: int, *, pinned: bool = True) -> None:
        if message := self._message(place):
            try:
                pin_message(message=message, pinned=pinned, by=BY, now=self.tick())
            except PlatformError as error:
                if error.code != "compacted":
                    raise

    def unpin(self, place: int) -> None:
        self.pin(place, pinned=False)

    def expand(self, place: int) -> None:
        masked = [row for row in stored_messages(self.tenant, self.session["id"]) if row.state == "masked"]
        if masked:
            message = masked[place % len(masked)]
            expand_message(message=message, by=BY, now=self.tick())
            self.expanded.add(int(message.sequence or 0))

    def compact(self, _: int) -> None:
        before = self.shown()
        with tenant_scope(self.tenant.pk):
            session = Session.objects.get(pk=self.session["id"])
            try:
                run = request_compaction(session=session, is_enqueued=False, by=BY, now=self.tick())
            except PlatformError as error:
                if error.code != "nothing_to_compact":
                    raise
                return
        outcome = orchestrator.run_compaction(self.tenant.pk, run.pk, now=self.tick())
        assert outcome.state == "applied", outcome
        assert run.compaction_id is not None
        self.before.append((run.compaction_id, before))
        # a message expanded before may be masked again; the roll-back restores it expanded
        self.expanded.clear()

    def edit(self, place: int) -> None:
        with tenant_scope(self.tenant.pk):
            session = Session.objects.select_related("current").get(pk=self.session["id"])
            if session.current is not None:
                text = f"Alex sold things, edit {place}."
                edit_compaction_summary(compaction=session.current, text=text, by=BY, now=self.tick())
                edited = session.current_id
                self.before = [
                    (pk, self._with_summary(before, text) if self._previous(pk) == edited else before)
                    for pk, before in self.before
                ]

    def _previous(self, compaction_id: UUID) -> UUID | None:
        return Compaction.objects.get(pk=compaction_id).previous_id

    @staticmethod
    def _with_summary(before: dict[int | None, Any], text: str) -> dict[int | None, Any]:
        summary = before[None]
        return before | {None: (summary[0], f"[CONTEXT SUMMARY]\n{text}", *summary[2:])}

    def roll_back(self, _: int) -> None:
        if not self.before:
            return
        compaction_id, before = self.before.pop()
        with tenant_scope(self.tenant.pk):
            roll_back_compaction(compaction=Compaction.objects.get(pk=compaction_id), by=BY, now=self.tick())
        after = self.shown()
        for sequence, seen in before.items():
            if sequence not in self.expanded:
                assert after[sequence] == seen, f"message {sequence} is not as it was"
        assert (None in after) == (None in before)

    def check(self) -> None:
        """Assert that the counters agree with the rows, and that nothing is lost."""
        with tenant_scope(self.tenant.pk):
            session = Session.objects.get(pk=self.session["id"])
            assert_recounted(session)
            for message in Message.objects.filter(session=session, sequence__isnull=False):
                assert (message.shown_tokens == 0) == (message.state == "compacted")


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=STEPS)
@example(steps=ALL_EVENTS)
def test_any_course_of_events_is_undone_to_the_original_bytes(
    admin_key: str, tenant: Tenant, steps: list[tuple[str, int]]
) -> None:
    set_policy(tenant, retention_floor=0.0)
    played = Played(api_client(admin_key), tenant)
    memories_before = len(live_memories(tenant))
    played.say(8)
    for step, number in [*steps, ("compact", 0)]:
        act = getattr(played, step)
        if step in {"pin", "unpin", "expand"}:
            with tenant_scope(tenant.pk):
                act(number)
        else:
            act(number)
        played.check()
    assert len(played.before) >= 2 or steps is not ALL_EVENTS
    while played.before:
        played.roll_back(0)
        played.check()
    rows = stored_messages(tenant, played.session["id"])
    assert {row.state for row in rows} == {"live"}
    assert [row[2] for row in shown(tenant, played.session["id"])[1:]] == [row.content for row in rows]
    assert len(live_memories(tenant)) == memories_before


def test_played_session_is_reached_over_rest(admin_key: str, tenant: Tenant) -> None:
    client: APIClient = api_client(admin_key)
    played = Played(client, tenant)
    played.say(20)
    played.compact(0)
    assert played.before
