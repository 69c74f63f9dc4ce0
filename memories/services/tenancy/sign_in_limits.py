"""The delay of sign-ins after failed attempts (ADR-0110)."""

import hashlib
import hmac
import ipaddress
import unicodedata
from dataclasses import dataclass
from datetime import timedelta

#: Failed attempts without a wait: of one account from one address, of an account from anywhere, from an address.
PAIR_ATTEMPTS = 5
ACCOUNT_ATTEMPTS = 50
ADDRESS_ATTEMPTS = 50
FIRST_WAIT = timedelta(seconds=30)
WAIT_MAX = timedelta(minutes=15)
#: Long enough that waiting for it gives fewer guesses than the longest wait does.
FORGOTTEN_AFTER = timedelta(hours=2)
#: Providers give a customer at least this prefix, so an attacker can use any number of single IPv6 addresses.
IPV6_PREFIX_BITS = 64


@dataclass(frozen=True)
class SignInKeys:
    """The keys by which attempts are counted: keyed hashes, because people may enter a password as the account name."""

    pair: str
    account: str
    address: str

    def free_attempts(self) -> dict[str, int]:
        """Return the number of attempts without a delay, by key."""
        return {self.pair: PAIR_ATTEMPTS, self.account: ACCOUNT_ATTEMPTS, self.address: ADDRESS_ATTEMPTS}


def sign_in_keys(account: str, address: str, *, secret: bytes) -> SignInKeys:
    """Return the keys of an attempt; `account` need not exist."""
    name, place = unicodedata.normalize("NFKC", account).casefold().strip(), _network(address)

    def key(*parts: str) -> str:
        message = "\0".join(("sign-in", *parts)).encode("utf-8", "backslashreplace")
        return hmac.new(secret, message, hashlib.sha256).hexdigest()

    return SignInKeys(key("pair", name, place), key("account", name), key("address", place))


def wait_after(failures: int, free_attempts: int) -> timedelta:
    """Return the delay after the last of `failures`: none at first, then 30 seconds, doubled up to 15 minutes."""
    if failures < free_attempts:
        return timedelta()
    doublings = min(failures - free_attempts, WAIT_MAX // FIRST_WAIT)
    return min(FIRST_WAIT * (1 << doublings), WAIT_MAX)


def _network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, IPV6_PREFIX_BITS), strict=False))
    return str(parsed)
