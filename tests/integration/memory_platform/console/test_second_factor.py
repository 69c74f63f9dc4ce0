"""Two-factor sign-in: set up, used, guessed, lost, required and reset."""

import re
from datetime import timedelta
from typing import Any

import pyotp
import pytest
import time_machine
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.models import AuditEntry, SecondFactor, SignInFailures, Tenant
from memories.services.tenancy.sign_in_limits import PAIR_ATTEMPTS
from memories.tenancy.actions.second_factor import enable_second_factor
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import Conflict
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.second_factor import new_second_factor_secret
from tests.integration.page_helpers import HTMX, client_of, page, text_of
from tests.users import PASSWORD, new_operator, new_shared_tenant

pytestmark = pytest.mark.django_db
URL, CODE_URL = "/account/second-factor", "/sign-in/code"


def code_of(secret: str, *, steps_on: int = 0) -> str:
    return pyotp.TOTP(secret).at(timezone.now(), counter_offset=steps_on)


def with_second_factor(user: User) -> tuple[str, list[str]]:
    """Turn it on as of two minutes ago, so that the current code is still unused."""
    secret, ago = new_second_factor_secret(), timezone.now() - timedelta(minutes=2)
    code = pyotp.TOTP(secret).at(ago)
    return secret, enable_second_factor(
        user=user, secret=secret, code=code, by=Actor.operator(user.pk, user.username), now=ago
    )


def sign_in(user: User, **more: Any) -> tuple[Client, Any]:
    client = Client(REMOTE_ADDR="192.0.2.1")
    return client, client.post(reverse("sign-in"), {"username": user.username, "password": PASSWORD, **more})


def verbs(tenant: Tenant) -> list[str]:
    with tenant_scope(tenant.pk):
        rows = AuditEntry.objects.for_tenant(tenant.pk).filter(target_kind="user").order_by("at", "pk")
        return [row.verb for row in rows if row.verb != "add_member"]


def test_person_sets_it_up_with_password_and_code(operator: User, tenant: Tenant) -> None:
    client = client_of(operator)
    shown = client.get(URL)
    setup, secret = shown.context["setup"], shown.context["secret"]
    assert secret in text_of(shown)
    assert 'aria-label="QR code of the key"' in text_of(shown)
    refused = client.post(URL, {"setup": setup, "password": PASSWORD, "code": "000000"})
    assert refused.status_code == 422
    assert refused.context["secret"] == secret
    assert "wrong, already used or expired" in text_of(refused)
    typed = {"setup": setup, "code": code_of(secret)}
    assert client.post(URL, {**typed, "password": "wrong"}).status_code == 422
    assert not SecondFactor.objects.exists()
    done = client.post(URL, {**typed, "password": PASSWORD})
    codes = re.findall(r"[a-z2-7]{4}(?:-[a-z2-7]{4}){3}", text_of(done))
    assert len(set(codes)) == 10
    stored = SecondFactor.objects.get()
    assert secret not in stored.secret
    assert not any(code.replace("-", "") in str(stored.recovery_hashes) for code in codes)
    assert codes[0] not in text_of(client.get(URL))
    assert verbs(tenant) == ["enable_second_factor"]
    # The same code is not accepted twice.
    signing_in, _ = sign_in(operator)
    assert signing_in.post(CODE_URL, {"code": typed["code"]}).status_code == 422


def test_secret_of_another_account_is_not_taken(operator: User, tenant: Tenant) -> None:
    other = client_of(new_operator("maren", "viewer", tenant)).get(URL).context
    typed = {"setup": other["setup"], "password": PASSWORD, "code": code_of(other["secret"])}
    assert client_of(operator).post(URL, typed).status_code == 422
    assert not SecondFactor.objects.exists()


def test_sign_in_needs_the_code_after_the_password(operator: User, tenant: Tenant) -> None:
    secret, _ = with_second_factor(operator)
    target = page("memories", tenant)
    client, response = sign_in(operator, next=target)
    assert response["Location"] == CODE_URL
    for protected in (target, "/admin/", "/account"):
        assert client.get(protected)["Location"].startswith("/sign-in?")
    assert client.get(CODE_URL).status_code == 200
    done = client.post(CODE_URL, {"code": code_of(secret)})
    assert done["Location"] == target
    assert client.get(target).status_code == 200
    again, _ = sign_in(operator)
    assert again.post(CODE_URL, {"code": code_of(secret)}).status_code == 422


def test_recovery_code_works_once(operator: User) -> None:
    _, codes = with_second_factor(operator)
    typed = {"code": f" {codes[3].upper()} "}
    client, _ = sign_in(operator)
    signed_in = client.post(CODE_URL, typed, follow=True)
    assert signed_in.redirect_chain
    assert "9 recovery codes are left." in text_of(signed_in)
    client, _ = sign_in(operator)
    assert client.post(CODE_URL, typed).status_code == 422


def test_guesses_of_codes_wait_as_those_of_passwords(operator: User) -> None:
    secret, _ = with_second_factor(operator)
    client, _ = sign_in(operator)
    statuses = [client.post(CODE_URL, {"code": f"{number:06}"}).status_code for number in range(PAIR_ATTEMPTS - 1)]
    assert statuses == [422] * (PAIR_ATTEMPTS - 1)
    refused = client.post(CODE_URL, {"code": code_of(secret)})
    assert (refused.status_code, 25 <= int(refused["Retry-After"]) <= 30) == (429, True)
    # The right password does not reset the count.
    assert sign_in(operator)[1].status_code == 429
    SignInFailures.objects.update(last_at=timezone.now() - timedelta(seconds=31))
    assert client.post(CODE_URL, {"code": code_of(secret)}).status_code == 302
    assert not SignInFailures.objects.filter(failures__gt=0).exists()


def test_code_comes_within_minutes_for_the_same_password(operator: User) -> None:
    secret, _ = with_second_factor(operator)
    client, _ = sign_in(operator)
    with time_machine.travel(timezone.now() + timedelta(minutes=6), tick=False):
        assert client.post(CODE_URL, {"code": code_of(secret)})["Location"] == "/sign-in"
    client, _ = sign_in(operator)
    operator.set_password("another long password")
    operator.save()
    assert client.post(CODE_URL, {"code": code_of(secret)})["Location"] == "/sign-in"
    assert Client().get(CODE_URL)["Location"] == "/sign-in"


def test_codes_are_renewed_and_it_is_turned_off_with_password_and_code(operator: User, tenant: Tenant) -> None:
    secret, codes = with_second_factor(operator)
    client = client_of(operator)
    renewed = client.post(URL, {"password": PASSWORD, "code": code_of(secret)})
    assert codes[0] not in text_of(renewed)
    assert "Recovery codes" in text_of(renewed)
    assert client.post(URL, {"off": "1", "password": PASSWORD, "code": codes[0]}).status_code == 422
    assert client.post(URL, {"off": "1", "password": PASSWORD, "code": code_of(secret, steps_on=1)}).status_code == 302
    assert not SecondFactor.objects.exists()
    assert sign_in(operator)[1].status_code == 302
    assert verbs(tenant) == ["enable_second_factor", "renew_recovery_codes", "remove_second_factor"]


def test_admins_set_it_up_first_where_it_is_required(operator: User, tenant: Tenant, settings: Any) -> None:
    settings.ADMIN_TWO_FACTOR_REQUIRED = True
    anna = new_operator("anna", "admin", tenant)
    client = client_of(anna)
    for protected in (page("members", tenant), "/admin/", "/account"):
        assert client.get(protected)["Location"] == URL
    assert client.get(page("members", tenant), headers=HTMX)["HX-Redirect"] == URL
    assert client.post(page("member-add", tenant), {"username": "x"})["Location"] == URL
    assert "Admins need two-factor sign-in here" in text_of(client.get(URL))
    assert client_of(operator).get(page("members", tenant)).status_code == 200
    secret, _ = with_second_factor(anna)
    assert client.get(page("members", tenant)).status_code == 200
    client.post(URL, {"off": "1", "password": PASSWORD, "code": code_of(secret)})
    assert SecondFactor.objects.exists()


def test_admin_resets_only_people_of_their_own_tenants(operator: User, tenant: Tenant) -> None:
    client = client_of(new_operator("anna", "admin", tenant))
    elsewhere = new_operator("mara", "viewer", tenant, new_shared_tenant("Other"))
    root = User.objects.create_superuser("root", password=PASSWORD)
    for user in (operator, elsewhere, root):
        with_second_factor(user)
    own, *others = (page("member-second-factor", tenant, user.username) for user in (operator, elsewhere, root))
    for address in others:
        assert client.get(address).status_code == client.post(address).status_code == 404
    assert client_of(operator).post(own).status_code == 403
    assert own in text_of(client.get(page("members", tenant)))
    assert "Reset two-factor sign-in of" in text_of(client.get(own))
    assert "signs in with the password alone" in text_of(client.post(own, follow=True))
    assert sorted(SecondFactor.objects.values_list("user__username", flat=True)) == ["mara", "root"]
    assert verbs(tenant)[-1] == "remove_second_factor"
    assert client_of(root).post(others[0]).status_code == 302
    assert client.get(page("member-second-factor", tenant, "anna"))["Location"] == URL


def test_command_helps_the_last_admin(tenant: Tenant, capsys: pytest.CaptureFixture[str]) -> None:
    anna = new_operator("anna", "admin", tenant)
    with_second_factor(anna)
    call_command("reset_second_factor", "anna")
    assert "anna signs in with the password alone." in capsys.readouterr().out
    assert not SecondFactor.objects.exists()
    assert verbs(tenant)[-1] == "remove_second_factor"
    for name, reason in (("anna", "has no second factor"), ("nobody", "no operator named")):
        with pytest.raises(CommandError, match=reason):
            call_command("reset_second_factor", name)


def test_former_secret_key_still_reads_the_secret_and_recovery_codes_need_none(operator: User, settings: Any) -> None:
    secret, codes = with_second_factor(operator)
    former, settings.SECRET_KEY = settings.SECRET_KEY, "x" * 50
    settings.SECRET_KEY_FALLBACKS = [former]
    client, _ = sign_in(operator)
    assert client.post(CODE_URL, {"code": code_of(secret)}).status_code == 302
    settings.SECRET_KEY_FALLBACKS = []
    client, _ = sign_in(operator)
    assert client.post(CODE_URL, {"code": code_of(secret, steps_on=1)}).status_code == 422
    assert client.post(CODE_URL, {"code": codes[0]}).status_code == 302


def test_second_set_up_at_the_same_moment_is_refused(operator: User) -> None:
    with_second_factor(operator)
    with pytest.raises(Conflict, match="already has a second factor"):
        with_second_factor(operator)
