"""Guessed passwords on the sign-in page: who waits, for how long, and what the responses reveal."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from memories.models import SignInFailures
from memories.services.tenancy.sign_in_limits import ADDRESS_ATTEMPTS, FORGOTTEN_AFTER, PAIR_ATTEMPTS
from memories.tasks import delete_expired_records_task
from memory_platform.web.addresses import client_address
from tests.integration.page_helpers import text_of
from tests.users import PASSWORD

WAITS = "Too many failed attempts. Try again in "


def sign_in(username: str, password: str, address: str = "192.0.2.1") -> HttpResponse:
    fields = {"username": username, "password": password}
    return Client(REMOTE_ADDR=address).post(reverse("sign-in"), fields)


def fail(username: str, times: int, address: str = "192.0.2.1") -> list[int]:
    return [sign_in(username, f"guess {number}", address).status_code for number in range(times)]


def move_back(age: timedelta) -> None:
    SignInFailures.objects.update(last_at=timezone.now() - age)


def test_right_password_waits_as_a_wrong_one_after_five_failures(operator: User) -> None:
    assert fail(operator.username, PAIR_ATTEMPTS) == [422] * PAIR_ATTEMPTS
    for password in ("wrong", PASSWORD):
        response = sign_in(operator.username, password)
        assert response.status_code == 429
        assert 25 <= int(response["Retry-After"]) <= 30
        assert f"{WAITS}{response['Retry-After']} seconds." in text_of(response)
        assert "sessionid" not in response.cookies


def test_wait_ends_by_itself_and_grows_with_the_next_failure(operator: User) -> None:
    fail(operator.username, PAIR_ATTEMPTS)
    move_back(timedelta(seconds=31))
    assert fail(operator.username, 2) == [422, 429]
    assert 55 <= int(sign_in(operator.username, PASSWORD)["Retry-After"]) <= 60
    move_back(timedelta(seconds=61))
    assert sign_in(operator.username, PASSWORD).status_code == 302


def test_wait_is_no_longer_after_the_clock_was_set_back(operator: User) -> None:
    fail(operator.username, PAIR_ATTEMPTS)
    move_back(-timedelta(hours=1))
    assert 25 <= int(sign_in(operator.username, PASSWORD)["Retry-After"]) <= 30


def test_sign_in_deletes_earlier_failures(operator: User) -> None:
    fail(operator.username, PAIR_ATTEMPTS - 1)
    assert sign_in(operator.username, PASSWORD).status_code == 302
    assert fail(operator.username, PAIR_ATTEMPTS) == [422] * PAIR_ATTEMPTS


@pytest.mark.django_db
def test_responses_do_not_reveal_whether_an_account_exists(operator: User) -> None:
    def answers(username: str, address: str) -> list[tuple[int, str]]:
        responses = [sign_in(username, "wrong", address) for _ in range(PAIR_ATTEMPTS + 1)]
        # A page contains its CSRF token more than once, with letters and digits of this length.
        pages = [re.sub(r"\b\w{64}\b", "TOKEN", text_of(each)) for each in responses]
        shown = [re.sub(r"in \d+ seconds", "in N seconds", page.replace(username, "NAME")) for page in pages]
        return [(each.status_code, page) for each, page in zip(responses, shown, strict=True)]

    assert answers(operator.username, "192.0.2.1") == answers("nobody", "192.0.2.2")


def test_other_address_signs_in_while_a_guesser_waits(operator: User) -> None:
    fail(operator.username, PAIR_ATTEMPTS + 1)
    assert sign_in(operator.username, PASSWORD, "198.51.100.7").status_code == 302


def test_address_that_tries_many_accounts_waits_for_each_of_them(operator: User) -> None:
    statuses = [sign_in(f"guess-{number}", "wrong").status_code for number in range(ADDRESS_ATTEMPTS + 1)]
    assert statuses == [422] * ADDRESS_ATTEMPTS + [429]
    assert sign_in(operator.username, PASSWORD).status_code == 429
    assert sign_in(operator.username, PASSWORD, "198.51.100.7").status_code == 302


def test_account_that_many_addresses_guess_waits_everywhere(operator: User) -> None:
    for number in range(10):
        assert fail(operator.username, PAIR_ATTEMPTS, f"198.51.100.{number}") == [422] * PAIR_ATTEMPTS
    assert sign_in(operator.username, PASSWORD, "192.0.2.9").status_code == 429


def test_own_account_of_an_attacker_does_not_clear_the_address(operator: User) -> None:
    for number in range(ADDRESS_ATTEMPTS - 1):
        sign_in(f"guess-{number}", "wrong")
    assert sign_in(operator.username, PASSWORD).status_code == 302
    assert fail("last", 2) == [422, 429]


@pytest.mark.django_db(transaction=True)
def test_simultaneous_guesses_see_each_other(operator: User) -> None:
    def guess(number: int) -> int:
        try:
            return sign_in(operator.username, f"guess {number}").status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(guess, range(24)))
    assert sorted(statuses) == [422] * PAIR_ATTEMPTS + [429] * (24 - PAIR_ATTEMPTS)


@pytest.mark.django_db
def test_admin_has_no_sign_in_of_its_own(operator: User) -> None:
    response = Client().post("/admin/login/", {"username": operator.username, "password": PASSWORD})
    assert response["Location"] == "/admin/"
    assert "sessionid" not in response.cookies


def test_old_failures_are_forgotten_and_deleted_with_expired_sessions(operator: User) -> None:
    fail(operator.username, PAIR_ATTEMPTS + 1)
    move_back(FORGOTTEN_AFTER + timedelta(minutes=1))
    assert sign_in(operator.username, PASSWORD).status_code == 302
    fail("nobody", 1)
    move_back(FORGOTTEN_AFTER + timedelta(minutes=1))
    Session.objects.update(expire_date=timezone.now() - timedelta(minutes=1))
    delete_expired_records_task()
    assert not SignInFailures.objects.exists()
    assert not Session.objects.exists()


def test_sign_in_ends_after_the_hours_of_the_setting(operator: User, settings: Any) -> None:
    response = sign_in(operator.username, PASSWORD)
    assert response.cookies["sessionid"]["max-age"] == settings.SESSION_HOURS * 3600
    assert response.cookies["sessionid"]["httponly"]


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "203.0.113.5", "192.0.2.1"),
        (1, "203.0.113.5", "203.0.113.5"),
        (1, "10.0.0.1, 203.0.113.5", "203.0.113.5"),
        (2, "10.0.0.1, 203.0.113.5, 198.51.100.1", "203.0.113.5"),
        (2, "203.0.113.5", "192.0.2.1"),
        (1, "", "192.0.2.1"),
    ],
)
def test_address_is_what_the_trusted_proxies_saw(proxies: int, forwarded: str, address: str, settings: Any) -> None:
    settings.TRUSTED_PROXIES = proxies
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    request = RequestFactory().get("/", REMOTE_ADDR="192.0.2.1", headers=headers)
    assert client_address(request) == address
