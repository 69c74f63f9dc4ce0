"""Sessions and messages on the console: listed by pressure, paged, pinned, expanded, simulated."""

from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from compaction.models import Message
from compaction.sessions.actions import close_session
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.page_helpers import HTMX, TESTER, client_of, page, text_of
from tests.integration.session_scripts import applied_at_once, compacted, make_long_session, messages_of, reread
from tests.users import new_operator


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


@pytest.fixture
def viewer(tenant: Tenant) -> Client:
    return client_of(new_operator("vera", "viewer", tenant))


def listed(client: Client, tenant: Tenant, **query: Any) -> list[Any]:
    rows = client.get(f"{page('sessions', tenant)}?{urlencode(query)}").context["sessions"]
    return [row.pk for row, _ in rows]


def test_empty_session_list_explains_how_to_open_one(client: Client, tenant: Tenant) -> None:
    text = text_of(client.get(page("sessions", tenant)))
    assert "No sessions yet" in text
    assert "curl -X POST http://testserver/api/v1/sessions" in text


def test_sessions_show_how_full_they_are_as_page_and_as_fragment(client: Client, tenant: Tenant) -> None:
    session = make_long_session(tenant)
    for headers in ({}, HTMX):
        text = text_of(client.get(page("sessions", tenant), headers=headers))
        assert str(session.pk) in text
        assert f"of {session.max_context_tokens:,} tokens" in text
        assert "over the w" in text
        assert ("<html" in text) == (not headers)


def test_sessions_are_filtered_and_sorted(client: Client, tenant: Tenant) -> None:
    full = make_long_session(tenant, turns=20, path="user=ida")
    empty = make_long_session(tenant, turns=0)
    with tenant_scope(tenant.pk):
        close_session(session=make_long_session(tenant, turns=1), by=TESTER, now=timezone.now())
    assert listed(client, tenant) == [empty.pk, full.pk]
    assert listed(client, tenant, partition="user=ida") == [full.pk]
    assert listed(client, tenant, min_pressure=50) == [full.pk]
    assert listed(client, tenant, sort="-pressure") == [full.pk, empty.pk]
    assert listed(client, tenant, sort="pressure") == [empty.pk, full.pk]
    assert listed(client, tenant, sort="-messages") == [full.pk, empty.pk]
    assert len(listed(client, tenant, state="closed")) == 1
    assert len(listed(client, tenant, state="all")) == 3
    assert "No results" in text_of(client.get(page("sessions", tenant) + "?partition=user%3Dnobody"))


def test_session_is_called_by_its_title_or_how_its_user_began(client: Client, tenant: Tenant) -> None:
    make_long_session(tenant, turns=2)
    make_long_session(tenant, turns=1, metadata={"title": "Swap in Kiel"})
    rows = client.get(page("sessions", tenant)).context["sessions"]
    titles = [row.title for row, _ in rows]
    assert titles[0] == "Swap in Kiel"
    assert titles[1].startswith("Ida Brodersen asks about the frame FR-2210")
    for row, _ in rows:
        assert row.title[:30] in text_of(client.get(page("session", tenant, row.pk)))


def test_sessions_over_their_own_warning_are_those_the_overview_counts(client: Client, tenant: Tenant) -> None:
    full = make_long_session(tenant)
    make_long_session(tenant, turns=2)
    assert listed(client, tenant, state="over") == [full.pk]
    needs = client.get(page("tenant-overview", tenant)).context["needs"]
    assert [(need.name, need.backlog.count) for need in needs] == [("sessions", 1)]


def test_strip_of_a_session_bands_each_generation(client: Client, tenant: Tenant) -> None:
    session = make_long_session(tenant)
    compaction = applied_at_once(session)
    strip = client.get(page("session", tenant, session.pk)).context["timeline"].minimap
    assert [(band.compaction_id, band.generation) for band in strip.bands] == [(compaction.pk, 1)]
    assert strip.bands[0].first == 0
    assert strip.tokens == sum(row.tokens for row in messages_of(session))


@pytest.mark.parametrize("query", ["partition=nonsense", "state=x", "min_pressure=-1"])
def test_filter_that_is_none_is_answered_422(query: str, client: Client, tenant: Tenant) -> None:
    assert client.get(f"{page('sessions', tenant)}?{query}").status_code == 422


@pytest.mark.parametrize("sort", ["", "opened", "-pressure", "-tokens", "messages"])
def test_sessions_have_pages_without_more_queries(
    sort: str, client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    monkeypatch.setattr("memory_platform.web.tables.TABLE_PAGE_SIZE", 2)
    for turns in (1, 2, 3, 3, 3):
        make_long_session(tenant, turns=turns)
    address, seen = f"{page('sessions', tenant)}?sort={sort}", []
    while address:
        response = client.get(address)
        seen += [row.pk for row, _ in response.context["sessions"]]
        after = response.context["table"].next_query
        address = f"{page('sessions', tenant)}?{after}" if after else ""
    assert len(seen) == len(set(seen)) == 5
    with django_assert_max_num_queries(40) as few:
        client.get(page("sessions", tenant))
    monkeypatch.setattr("memory_platform.web.tables.TABLE_PAGE_SIZE", 50)
    with django_assert_max_num_queries(len(few)):
        client.get(page("sessions", tenant))


def test_session_shows_its_messages_in_order_with_the_preserve_window(client: Client, tenant: Tenant) -> None:
    session = make_long_session(tenant)
    for headers in ({}, HTMX):
        response = client.get(page("session", tenant, session.pk), headers=headers)
        text = text_of(response)
        assert response.context["timeline"].window_from == session.message_count - 20
        assert text.index('id="m-0"') < text.index('id="preserve-window"') < text.index('id="m-50"')
        assert "No summary yet" in text
        assert ("<html" in text) == (not headers)


def test_empty_session_explains_how_to_add_messages(client: Client, tenant: Tenant) -> None:
    session = make_long_session(tenant, turns=0)
    assert "No messages yet" in text_of(client.get(page("session", tenant, session.pk)))


def test_long_session_begins_with_its_newest_page(
    client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("compaction.sessions.timeline._PAGE_SIZE", 10)
    session = make_long_session(tenant, turns=12)
    address = page("session", tenant, session.pk)

    def sequences(query: str = "") -> list[int]:
        stretches = client.get(address + query).context["timeline"].stretches
        return [message.sequence for stretch in stretches for message in stretch.messages]

    newest = sequences()
    assert newest == list(range(session.message_count - 10, session.message_count))
    assert sequences(f"?before={newest[0]}")[-1] == newest[0] - 1
    assert 3 in sequences("?at=3")
    assert sequences("?before=999999") == newest


@pytest.mark.parametrize("query", ["before=x", "at=-1", "q=" + "x" * 201])
def test_part_of_a_session_that_is_none_is_answered_422(query: str, client: Client, tenant: Tenant) -> None:
    session = make_long_session(tenant, turns=1)
    assert client.get(f"{page('session', tenant, session.pk)}?{query}").status_code == 422


def test_session_is_searched_whatever_became_of_its_messages(client: Client, tenant: Tenant) -> None:
    session = make_long_session(tenant)
    applied_at_once(session)
    response = client.get(page("session", tenant, session.pk) + "?q=invoice+111")
    assert [row.state for row in response.context["found"]] == ["compacted"]
    nothing = client.get(page("session", tenant, session.pk) + "?q=zeppelin")
    assert "No message contains all these words" in text_of(nothing)


def test_compacted_messages_are_folded_under_their_compaction(client: Client, tenant: Tenant) -> None:
    session = make_long_session(tenant)
    compaction = applied_at_once(session)
    response = client.get(page("session", tenant, session.pk))
    folded = [stretch for stretch in response.context["timeline"].stretches if stretch.is_collapsed]
    assert {stretch.compaction.pk for stretch in folded} == {compaction.pk}
    assert "[CONTEXT SUMMARY]" in text_of(response)
    assert page("compaction", tenant, compaction.pk) in text_of(response)
    assert page("compaction-rollback", tenant, compaction.pk) in text_of(response)


def test_message_is_pinned_and_let_go(client: Client, tenant: Tenant) -> None:
    session = make_long_session(tenant, turns=3)
    message = messages_of(session)[0]
    response = client.post(page("message-pin", tenant, message.pk), {"before": "6"})
    assert response["Location"] == f"{page('session', tenant, session.pk)}?before=6#m-0"
    assert messages_of(session)[0].pinned
    part = client.post(page("message-unpin", tenant, message.pk), headers=HTMX)
    assert "Unpinned" in text_of(part)
    assert "<html" not in text_of(part)
    assert not messages_of(session)[0].pinned


def test_masked_output_is_read_in_place_and_put_back(client: Client, tenant: Tenant) -> None:
    session = make_long_session(tenant, turns=30, window=9_000)
    compacted(session)
    masked = next(row for row in messages_of(session) if row.state == Message.State.MASKED)
    text = text_of(client.get(f"{page('session', tenant, session.pk)}?at={masked.sequence}"))
    assert "[TOOL OUTPUT ARCHIVED]" in text
    assert "frame FR-1005" in text
    before = reread(session).context_tokens
    client.post(page("message-expand", tenant, masked.pk))
    assert reread(session).context_tokens > before


def test_viewer_reads_sessions_and_changes_nothing(viewer: Client, tenant: Tenant) -> None:
    session = make_long_session(tenant, turns=2)
    message = messages_of(session)[0]
    text = text_of(viewer.get(page("session", tenant, session.pk)))
    assert "Expand" not in text
    assert page("message-pin", tenant, message.pk) not in text
    for name in ("message-pin", "message-unpin", "message-expand"):
        assert viewer.post(page(name, tenant, message.pk)).status_code == 403
    assert viewer.get(page("session-compact", tenant, session.pk)).status_code == 200
    assert viewer.post(page("session-compact", tenant, session.pk)).status_code == 403
    assert viewer.get(page("session-simulate", tenant, session.pk)).status_code == 200


def test_session_or_message_of_another_tenant_is_absent(client: Client, tenant: Tenant, other_tenant: Tenant) -> None:
    foreign = make_long_session(other_tenant, turns=1)
    for name in ("session", "session-compact", "session-simulate"):
        assert client.get(page(name, tenant, foreign.pk)).status_code == 404
        assert client.get(page(name, tenant, uuid4())).status_code == 404
    assert client.post(page("session-compact", tenant, foreign.pk)).status_code == 404
    assert client.post(page("message-pin", tenant, messages_of(foreign)[0].pk)).status_code == 404


def test_query_count_of_a_session_does_not_grow(
    client: Client, tenant: Tenant, django_assert_max_num_queries: Any
) -> None:
    short, long = make_long_session(tenant, turns=25, window=2_000), make_long_session(tenant, turns=60, window=5_000)
    compacted(short)
    compacted(long)
    with django_assert_max_num_queries(40) as few:
        client.get(page("session", tenant, short.pk))
    with django_assert_max_num_queries(len(few)):
        client.get(page("session", tenant, long.pk))


def test_dry_run_reports_what_would_leave_and_changes_nothing(client: Client, tenant: Tenant) -> None:
    session = make_long_session(tenant)
    shown = client.get(page("session-compact", tenant, session.pk))
    text = text_of(shown)
    assert "at most" in text
    assert "Messages to compact" in text
    leaving = shown.context["planned"].span
    assert f"{len(leaving)} messages, {sum(turn.tokens for turn in leaving):,} tokens" in text
    assert reread(session).context_tokens == session.context_tokens
    assert {row.state for row in messages_of(session)} == {"live"}


def test_compaction_is_requested_once(client: Client, tenant: Tenant) -> None:
    session = make_long_session(tenant)
    address = page("session-compact", tenant, session.pk)
    assert client.post(address)["Location"] == page("session", tenant, session.pk)
    text = text_of(client.get(page("session", tenant, session.pk)))
    assert "is being compacted" in text
    assert 'hx-trigger="every 2s"' in text
    again = client.post(address)
    assert again.status_code == 422
    assert "already being compacted" in text_of(again)


def test_session_with_nothing_to_compact_shows_the_reason(client: Client, tenant: Tenant) -> None:
    session = make_long_session(tenant, turns=2)
    address = page("session-compact", tenant, session.pk)
    assert "Nothing to compact" in text_of(client.get(address))
    assert client.post(address).status_code == 422


def test_simulation_draws_the_session_under_other_numbers_and_writes_nothing(client: Client, tenant: Tenant) -> None:
    session = make_long_session(tenant)
    address = page("session-simulate", tenant, session.pk)
    for headers in ({}, HTMX):
        response = client.get(f"{address}?window=1500&target=30&price=3", headers=headers)
        text = text_of(response)
        assert 'data-chart="number"' in text
        assert "As a table" in text
        assert response.context["simulation"].compactions > 0
        assert ("<html" in text) == (not headers)
    assert client.get(f"{address}?has_scheduled=off&has_emergency=off").context["simulation"].compactions == 0
    assert {row.state for row in messages_of(session)} == {"live"}


@pytest.mark.parametrize("query", ["window=1", "target=90", "preserve_messages=0", "price=x", "has_masking=maybe"])
def test_simulation_of_impossible_numbers_is_answered_422(query: str, client: Client, tenant: Tenant) -> None:
    session = make_long_session(tenant, turns=1)
    assert client.get(f"{page('session-simulate', tenant, session.pk)}?{query}").status_code == 422
