"""The signature of webhooks, and which addresses they may be sent to."""

import hashlib
import hmac

import pytest

from compaction.services.alerts.webhooks import is_public_address, signature_header, webhook_address, webhook_secret


def test_signature_is_the_hmac_of_timestamp_dot_and_body() -> None:
    expected = hmac.new(b"whsec_a", b'1700000000.{"a":1}', hashlib.sha256).hexdigest()
    assert signature_header(["whsec_a"], 1_700_000_000, b'{"a":1}') == f"sha256={expected}"


def test_former_keys_give_further_signatures() -> None:
    both = signature_header(["whsec_new", "whsec_old"], 5, b"{}")
    assert both.split(",") == [signature_header([each], 5, b"{}") for each in ("whsec_new", "whsec_old")]


def test_secret_depends_on_destination_and_key_alone() -> None:
    secrets = {webhook_secret(number, key) for number in (1, 2) for key in (b"k", b"l")}
    assert len(secrets) == 4
    assert webhook_secret(1, b"k") in secrets
    assert all(len(each) == len("whsec_") + 43 for each in secrets)


@pytest.mark.parametrize(
    ("url", "host", "port", "target"),
    [
        ("https://example.com", "example.com", 443, "/"),
        ("https://example.com:8443/a/b?c=d", "example.com", 8443, "/a/b?c=d"),
        ("https://[2606:4700::1111]/x", "2606:4700::1111", 443, "/x"),
    ],
)
def test_https_url_is_taken_apart(url: str, host: str, port: int, target: str) -> None:
    address = webhook_address(url, allows_private=False)
    assert (address.host, address.port, address.target, address.is_encrypted) == (host, port, target, True)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "http://localhost/",
        "ftp://example.com/",
        "example.com/alerts",
        "https://",
        "https://user:password@example.com/",
        "https://example.com/#part",
        "https://example.com:99999/",
        "https://exämple.com/",
        "https://example.com/a b",
        "https://example.com/\r\nX-Evil: 1",
        "https://[::1",
        "https://a..example.com/",
        f"https://{'a' * 64}.example.com/",
    ],
)
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"URL"):
        webhook_address(url, allows_private=False)


def test_http_is_for_this_machine_where_private_addresses_are_allowed() -> None:
    assert not webhook_address("http://127.0.0.1:9000/a", allows_private=True).is_encrypted
    with pytest.raises(ValueError, match="https"):
        webhook_address("http://10.0.0.1/", allows_private=True)


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1"])
def test_public_address(address: str) -> None:
    assert is_public_address(address)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"),
        *("224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1"),
        *("::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::", "2001:0:a00:1::", "no address"),
        *("::10.0.0.1", "64:ff9b:1::a00:1", "::ffff:0:a00:1", "fec0::1"),
    ],
)
def test_private_address_is_not_public(address: str) -> None:
    assert not is_public_address(address)
