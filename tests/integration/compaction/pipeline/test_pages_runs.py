"""Runs, roll-ups and prompts on the console: progress, retries and new versions."""

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from compaction.models import CompactionPrompt, Run
from compaction.pipeline.actions import request_compaction
from compaction.rollups.rollups import run_roll_up
from compaction.services.pipeline.prompts import PROMPT
from memories.models import Tenant
from memories.tenancy.scopes import tenant_scope
from tests.integration.page_helpers import HTMX, TESTER, client_of, page, store_memories_for_pages, text_of
from tests.integration.session_scripts import compacted, make_long_session
from tests.users import new_operator


@pytest.fixture
def client(operator: User) -> Client:
    return client_of(operator)


@pytest.fixture
def admin(tenant: Tenant) -> Client:
    return client_of(new_operator("anna", "admin", tenant))


def queued(tenant: Tenant) -> Run:
    session = make_long_session(tenant)
    with tenant_scope(tenant.pk):
        return request_compaction(session=session, is_enqueued=False, by=TESTER, now=timezone.now())


def failed(tenant: Tenant) -> Run:
    run = queued(tenant)
    with tenant_scope(tenant.pk):
        Run.objects.for_tenant(tenant.pk).with_id(run.pk).finish(
            "failed", timezone.now(), code="provider_away", detail="No answer."
        )
        run.compaction.state = "failed"
        run.compaction.save(update_fields=["state"])
    return run


def stored(run: Run) -> Run:
    with tenant_scope(run.tenant_id):
        row: Run = Run.objects.for_tenant(run.tenant_id).get(pk=run.pk)
        return row


def test_list_without_runs_explains_when_they_start(client: Client, tenant: Tenant) -> None:
    assert "No jobs yet" in text_of(client.get(page("jobs", tenant)))


def test_page_polls_only_while_something_is_unfinished(client: Client, tenant: Tenant) -> None:
    compacted(make_long_session(tenant))
    assert "every 2s" not in text_of(client.get(page("jobs", tenant)))
    queued(tenant)
    for headers in ({}, HTMX):
        text = text_of(client.get(page("jobs", tenant), headers=headers))
        assert "every 2s" in text
        assert ("<html" in text) == (not headers)


def test_failed_run_shows_the_reason_and_can_be_retried_once(client: Client, tenant: Tenant) -> None:
    run = failed(tenant)
    text = text_of(client.get(page("jobs", tenant) + "?state=failed"))
    assert "provider away" in text
    assert "No answer." in text
    address = page("run-retry", tenant, run.pk)
    assert "queued again" in text_of(client.post(address, follow=True))
    assert stored(run).state == "queued"
    assert "Only failed runs can be retried" in text_of(client.post(address, follow=True))


def test_runs_are_filtered(client: Client, tenant: Tenant) -> None:
    failed(tenant)
    assert len(client.get(page("jobs", tenant) + "?kind=compaction").context["table"].rows) == 1
    assert "No results" in text_of(client.get(page("jobs", tenant) + "?kind=roll_up"))
    assert client.get(page("jobs", tenant) + "?state=nonsense").status_code == 422


def test_runs_have_pages_without_more_queries(
    client: Client, tenant: Tenant, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    monkeypatch.setattr("memory_platform.web.tables.TABLE_PAGE_SIZE", 1)
    runs = [failed(tenant), failed(tenant)]
    first = client.get(page("jobs", tenant))
    assert [row.pk for row in first.context["table"].rows] == [runs[1].pk]
    rest = client.get(f"{page('jobs', tenant)}?{first.context['table'].next_query}")
    assert [row.pk for row in rest.context["table"].rows] == [runs[0].pk]
    with django_assert_max_num_queries(40) as few:
        client.get(page("jobs", tenant))
    monkeypatch.setattr("memory_platform.web.tables.TABLE_PAGE_SIZE", 50)
    with django_assert_max_num_queries(len(few)):
        client.get(page("jobs", tenant))


def test_viewer_sees_runs_and_retries_none(tenant: Tenant) -> None:
    run = failed(tenant)
    viewer = client_of(new_operator("vera", "viewer", tenant))
    assert "Retry</button>" not in text_of(viewer.get(page("jobs", tenant)))
    assert viewer.post(page("run-retry", tenant, run.pk)).status_code == 403
    assert viewer.post(page("roll-ups", tenant), {"partition": "user=alex", "style": "compact"}).status_code == 403


def test_run_of_another_tenant_is_absent(client: Client, tenant: Tenant, other_tenant: Tenant) -> None:
    for key in (failed(other_tenant).pk, uuid4()):
        assert client.post(page("run-retry", tenant, key)).status_code == 404


def test_partition_is_rolled_up_with_a_button(client: Client, tenant: Tenant) -> None:
    rows = [(f"Bike {number} of Frau Brodersen costs {number}00 EUR.", "agent=shop", "fact") for number in range(1, 8)]
    store_memories_for_pages(tenant, *rows)
    summary_page = text_of(client.get(page("partitions", tenant) + "?partition=agent%3Dshop"))
    address = page("roll-ups", tenant)
    assert f'action="{address}"' in summary_page
    text = text_of(client.post(address, {"partition": "agent=shop", "style": "compact"}, follow=True))
    assert "Regenerating the" in text
    assert "every 2s" in text
    again = client.post(address, {"partition": "agent=shop", "style": "compact"}, follow=True)
    assert "already running" in text_of(again)
    with tenant_scope(tenant.pk):
        run = Run.objects.for_tenant(tenant.pk).open().get()
    run_roll_up(tenant.pk, run.pk, now=timezone.now())
    assert client.get(f"{address}?partition=agent%3Dshop")["Location"].endswith("?partition=agent%3Dshop#roll-ups")
    part = text_of(client.get(f"{address}?partition=agent%3Dshop", headers=HTMX))
    assert "rolled up" in part
    assert "every 2s" not in part
    assert "<html" not in part


@pytest.mark.parametrize("path", ["agent=nobody", "nonsense"])
def test_roll_up_of_a_partition_that_is_not_there_is_absent(path: str, client: Client, tenant: Tenant) -> None:
    assert client.get(page("roll-ups", tenant) + f"?partition={path}").status_code == 404
    assert client.post(page("roll-ups", tenant), {"partition": path, "style": "compact"}).status_code == 404


def test_unknown_style_is_reported(client: Client, tenant: Tenant) -> None:
    store_memories_for_pages(tenant, ("A bike.", "agent=shop", "fact"))
    response = client.post(page("roll-ups", tenant), {"partition": "agent=shop", "style": "loud"}, follow=True)
    assert "Known values" in text_of(response)


def typed(text: str, **more: str) -> dict[str, str]:
    return {"text": text, "edited_from": "1", **more}


def test_prompt_is_read_saved_and_rolled_back(admin: Client, tenant: Tenant) -> None:
    for headers in ({}, HTMX):
        text = text_of(admin.get(page("prompts", tenant), headers=headers))
        assert "Version 1, active" in text
        assert "Decisions and actions" in text
        assert ("<html" in text) == (not headers)
    assert "Version 2 is active." in text_of(admin.post(page("prompts", tenant), typed("Be brief."), follow=True))
    stale = admin.post(page("prompts", tenant), typed("Be long."))
    assert stale.status_code == 422
    assert "Someone else saved the prompt in the meantime" in text_of(stale)
    assert 'name="edited_from" value="2"' in text_of(stale), "saving again is allowed"
    back = admin.post(page("prompt-rollback", tenant, 1), follow=True)
    assert "Version 1 restored as version" in text_of(back)
    assert "version 1 restored by" in text_of(back)
    with tenant_scope(tenant.pk):
        assert CompactionPrompt.objects.for_tenant(tenant.pk).current().get().text == PROMPT
    assert admin.post(page("prompt-rollback", tenant, 77)).status_code == 404


@pytest.mark.parametrize("fields", [typed(""), typed("x" * 16_001), {"text": "x"}, typed("x", session="y")])
def test_prompt_that_is_none_is_answered_422(fields: dict[str, str], admin: Client, tenant: Tenant) -> None:
    assert admin.post(page("prompts", tenant), fields).status_code == 422


def test_prompt_is_tried_on_a_session_and_nothing_is_kept(admin: Client, tenant: Tenant) -> None:
    session, short = make_long_session(tenant), make_long_session(tenant, turns=1)
    address = page("prompts", tenant)
    response = admin.post(address, typed("Be brief.", session=str(session.pk), **{"try": "1"}))
    assert "Test result" in text_of(response)
    assert response.context["trial"].draft.summary.text
    assert "Be brief." in text_of(response)
    nothing = admin.post(address, typed("Be brief.", session=str(short.pk), **{"try": "1"}))
    assert nothing.status_code == 422
    assert admin.post(address, typed("Be brief.", **{"try": "1"})).status_code == 422
    assert admin.post(address, typed("x", session=str(uuid4()), **{"try": "1"})).status_code == 422
    with tenant_scope(tenant.pk):
        assert not CompactionPrompt.objects.for_tenant(tenant.pk).exists()
        assert not Run.objects.for_tenant(tenant.pk).exists()


def test_prompts_are_for_admins(client: Client, tenant: Tenant) -> None:
    assert client.get(page("prompts", tenant)).status_code == 403
    assert client.post(page("prompts", tenant), typed("x")).status_code == 403
    assert client.post(page("prompt-rollback", tenant, 1)).status_code == 403
