"""Owners are notified of failed sign-ins: in the audit log, by e-mail and at the next sign-in."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.db import DatabaseError
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from memories.models import AuditEntry, SignInFailures, SignInNotice, Tenant
from memories.services.tenancy.sign_in_limits import FORGOTTEN_AFTER, PAIR_ATTEMPTS
from memories.tasks import report_lock_outs_task
from memories.tenancy.queries.accounts import SignInNoticeQuerySet
from memories.tenancy.scopes import tenant_scope
from memory_platform.console.views.sign_in import SignIn
from tests.integration.page_helpers import client_of, text_of
from tests.users import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def mail_server(settings: Any) -> None:
    settings.EMAIL_URL = "smtp://mail.example"


@pytest.fixture
def owner(operator: User) -> User:
    operator.email = "olga@example.com"
    operator.save()
    return operator


def attempt(username: str, password: str = "guess") -> Any:
    return Client().post(reverse("sign-in"), {"username": username, "password": password}, follow=True)


def lock_out(username: str) -> None:
    assert [attempt(username).status_code for _ in range(PAIR_ATTEMPTS + 2)] == [422] * PAIR_ATTEMPTS + [429] * 2


def entries(tenant: Tenant) -> list[AuditEntry]:
    with tenant_scope(tenant.pk):
        return list(AuditEntry.objects.for_tenant(tenant.pk).filter(verb="lock_out"))


def test_lock_out_is_recorded_and_sent_once(owner: User, tenant: Tenant) -> None:
    for _ in range(PAIR_ATTEMPTS - 1):
        attempt(owner.username)
    assert report_lock_outs_task() == 0
    lock_out_begins = attempt(owner.username)
    assert lock_out_begins.status_code == 422
    assert [report_lock_outs_task() for _ in range(3)] == [1, 0, 0]
    (entry,) = entries(tenant)
    assert (entry.actor_kind, entry.actor_label, entry.target_ids) == ("system", "sign-in page", [str(owner.pk)])
    (message,) = mail.outbox
    assert message.to == ["olga@example.com"]
    assert f"{PAIR_ATTEMPTS} failed sign-ins to the account {owner.username} since" in message.body
    assert "/account" in message.body
    # It continues: one lock-out until the counts expire.
    SignInFailures.objects.update(last_at=timezone.now() - timedelta(minutes=16))
    assert attempt(owner.username).status_code == 422
    assert report_lock_outs_task() == 0
    SignInNotice.objects.update(locked_at=timezone.now() - FORGOTTEN_AFTER - timedelta(minutes=1))
    SignInFailures.objects.update(last_at=timezone.now() - timedelta(minutes=16))
    attempt(owner.username)
    assert report_lock_outs_task() == 1


def test_next_sign_in_shows_the_failures_once(owner: User) -> None:
    for _ in range(3):
        attempt(owner.username)
    assert "3 failed sign-ins of this account since" in text_of(attempt(owner.username, PASSWORD))
    assert "failed sign-in" not in text_of(attempt(owner.username, PASSWORD))


def test_wrong_password_of_a_signed_in_person_counts_too(owner: User) -> None:
    client_of(owner).post("/account/password", {"old_password": "wrong"})
    assert SignInNotice.objects.get().failures == 1


def test_response_does_not_reveal_that_an_account_does_not_exist(db: None) -> None:
    lock_out("nobody")
    assert report_lock_outs_task() == 0
    assert not SignInNotice.objects.exists()


def test_mail_that_fails_is_no_failure_of_the_report(
    owner: User, tenant: Tenant, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise ConnectionRefusedError(owner.email)

    monkeypatch.setattr("django.core.mail.EmailMessage.send", refuse)
    lock_out(owner.username)
    assert report_lock_outs_task() == 1
    assert len(entries(tenant)) == 1
    assert "was not sent: ConnectionRefusedError" in caplog.text
    assert owner.email not in caplog.text


def test_one_report_that_fails_does_not_keep_others_from_their_owners(owner: User, tenant: Tenant) -> None:
    other = User.objects.create_user("other", email="other@example.com")
    User.objects.filter(pk=owner.pk).update(email="olga@example.com\nBcc: all@example.com")  # a header that is refused
    for user in (owner, other):
        SignInNotice.objects.create(user=user, failures=9, first_at=timezone.now(), locked_at=timezone.now())
    assert report_lock_outs_task() == 2
    assert [message.to for message in mail.outbox] == [["other@example.com"]]


def test_sign_in_does_not_depend_on_its_notice(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise DatabaseError

    attempt(owner.username)
    monkeypatch.setattr(SignInNoticeQuerySet, "of_user", fail)
    assert attempt(owner.username).status_code == 422
    assert attempt(owner.username, PASSWORD).redirect_chain


def test_failed_attempt_is_noted_after_its_page_is_sent(owner: User, rf: RequestFactory) -> None:
    request = rf.post(reverse("sign-in"), {"username": owner.username, "password": "guess"})
    request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]
    page: Any = SignIn.as_view()(request)
    assert not SignInNotice.objects.exists()
    page.note()
    assert SignInNotice.objects.get().failures == 1


@pytest.mark.parametrize(("url", "address"), [("", "olga@example.com"), ("smtp://mail.example", "")])
def test_without_mail_or_address_only_the_audit_log_has_it(
    url: str, address: str, operator: User, tenant: Tenant, settings: Any
) -> None:
    settings.EMAIL_URL, operator.email = url, address
    operator.save()
    lock_out(operator.username)
    assert report_lock_outs_task() == 1
    assert len(entries(tenant)) == 1
    assert mail.outbox == []


def test_person_stores_the_address_for_notices(operator: User, tenant: Tenant) -> None:
    client = client_of(operator)
    assert client.post("/account", {"email": "no address"}).status_code == 422
    assert client.post("/account", {"email": "olga@example.com"}).status_code == 302
    assert User.objects.get(pk=operator.pk).email == "olga@example.com"
    assert 'value="olga@example.com"' in text_of(client.get("/account"))
    client.post("/account", {"email": "olga@example.com"})
    with tenant_scope(tenant.pk):
        (entry,) = AuditEntry.objects.for_tenant(tenant.pk).filter(verb="change_email")
    assert entry.fields == ["email"]
