"""How long sign-ins wait, and by what attempts are counted."""

from datetime import timedelta

import pytest

from memories.services.tenancy.sign_in_limits import (
    FIRST_WAIT,
    FORGOTTEN_AFTER,
    PAIR_ATTEMPTS,
    WAIT_MAX,
    sign_in_keys,
    wait_after,
)

SECRET = b"a secret"


def test_wait_begins_after_the_free_attempts_and_doubles_up_to_a_quarter_of_an_hour() -> None:
    waits = [wait_after(failures, PAIR_ATTEMPTS).total_seconds() for failures in range(4, 13)]
    assert waits == [0, 30, 60, 120, 240, 480, 900, 900, 900]
    assert wait_after(10**9, PAIR_ATTEMPTS) == WAIT_MAX


def test_guessing_at_the_longest_wait_gives_more_guesses_than_waiting_to_be_forgotten() -> None:
    assert FORGOTTEN_AFTER / PAIR_ATTEMPTS > WAIT_MAX > FIRST_WAIT


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("Ada", "192.0.2.1"), ("ada ", "192.0.2.1")),
        (("ada", "2001:db8::1"), ("ada", "2001:db8::ffff:2")),
        (("ada", "::ffff:192.0.2.1"), ("ada", "192.0.2.1")),
        (("ada", "fe80::1%eth0"), ("ada", "fe80::1")),
    ],
)
def test_spellings_of_one_account_and_addresses_of_one_network_are_counted_together(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    assert sign_in_keys(*one, secret=SECRET) == sign_in_keys(*other, secret=SECRET)


def test_each_account_address_and_secret_has_keys_of_its_own_that_do_not_name_it() -> None:
    keys = sign_in_keys("ada", "192.0.2.1", secret=SECRET)
    assert len({keys.pair, keys.account, keys.address}) == 3
    assert sign_in_keys("ada", "2001:db8:0:1::1", secret=SECRET).account == keys.account
    assert sign_in_keys("bob", "192.0.2.1", secret=SECRET).address == keys.address
    assert sign_in_keys("ada", "192.0.2.1", secret=b"another").account != keys.account
    assert "ada" not in f"{keys}"


@pytest.mark.parametrize("account", ["", "\x00", "\ud800", "a" * 10_000])
def test_any_text_can_be_counted(account: str) -> None:
    assert sign_in_keys(account, "no address", secret=SECRET).free_attempts()


def test_no_wait_is_negative() -> None:
    assert wait_after(0, PAIR_ATTEMPTS) == timedelta()
