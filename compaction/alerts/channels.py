"""Send one alert message by e-mail or webhook, outside of any transaction (ADR-0156)."""

import http.client
import json
import smtplib
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from threading import Timer
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.validators import validate_email

from compaction.models import AlertDestination
from compaction.services.alerts.webhooks import (
    WebhookAddress,
    is_public_address,
    signature_header,
    webhook_address,
    webhook_secret,
)

#: Connecting, sending and the status line together. The look-up of the name is limited by the system's resolver.
WEBHOOK_TIMEOUT_SECONDS = 5.0


class ChannelError(Exception):
    """A message was not accepted. `detail` is for people; it contains neither the address nor the response.

    With `is_unsent`, no connection was tried.
    """

    def __init__(self, detail: str, *, is_permanent: bool = False, is_unsent: bool = False) -> None:
        super().__init__(detail)
        self.detail = detail
        self.is_permanent = is_permanent
        self.is_unsent = is_unsent


@dataclass(frozen=True)
class AlertMessage:
    """One message: subject and text for people, the payload for programs, and the delivery that it belongs to."""

    delivery_id: str
    subject: str
    text: str
    payload: Mapping[str, Any]


def is_mail_configured() -> bool:
    """Return whether EMAIL_URL names a mail server."""
    return bool(settings.EMAIL_URL)


def address_error(kind: str, address: str) -> str:
    """Return why no message can be sent to an address, "" if one can."""
    try:
        if kind == AlertDestination.Kind.EMAIL:
            validate_email(address)
        else:
            webhook_address(address, allows_private=settings.ALERT_WEBHOOKS_PRIVATE)
    except ValidationError:
        return "Use an address such as name@example.com."
    except ValueError as error:
        return str(error)
    return ""


def send(destination: AlertDestination, message: AlertMessage, *, timestamp: int) -> str:
    """Send a message and return the response of the receiver. Raises `ChannelError`."""
    return _CHANNELS[destination.kind](destination, message, timestamp)


def webhook_secrets(destination: AlertDestination) -> list[str]:
    """Return the secret of a webhook, then those derived from former deployment keys."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return [webhook_secret(destination.pk, key.encode()) for key in keys]


def _send_email(destination: AlertDestination, message: AlertMessage, _timestamp: int) -> str:
    if not is_mail_configured():
        raise ChannelError("Mail is not configured: set EMAIL_URL.", is_unsent=True)
    email = EmailMessage(message.subject, message.text, settings.DEFAULT_FROM_EMAIL, [destination.address])
    try:
        email.send()
    except smtplib.SMTPResponseException as error:
        raise ChannelError(f"The mail server answered {error.smtp_code}.") from error
    except (smtplib.SMTPException, OSError) as error:
        raise ChannelError(f"The mail server did not accept it: {type(error).__name__}.") from error
    return "Accepted by the mail server."


def _send_webhook(destination: AlertDestination, message: AlertMessage, timestamp: int) -> str:
    body = json.dumps(message.payload, separators=(",", ":")).encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "memory-platform-alerts",
        "X-Memory-Delivery": message.delivery_id,
        "X-Memory-Timestamp": str(timestamp),
        "X-Memory-Signature": signature_header(webhook_secrets(destination), timestamp, body),
    }
    try:
        address = webhook_address(destination.address, allows_private=settings.ALERT_WEBHOOKS_PRIVATE)
    except ValueError as error:
        raise ChannelError(str(error), is_permanent=True, is_unsent=True) from error
    status = _post(address, body, headers)
    if 300 <= status < 400:
        raise ChannelError(f"HTTP {status}. Redirects are not followed.")
    if not 200 <= status < 300:
        raise ChannelError(f"HTTP {status}.")
    return f"HTTP {status}."


_CHANNELS: Mapping[str, Callable[[AlertDestination, AlertMessage, int], str]] = {
    AlertDestination.Kind.EMAIL: _send_email,
    AlertDestination.Kind.WEBHOOK: _send_webhook,
}


def _post(address: WebhookAddress, body: bytes, headers: Mapping[str, str]) -> int:
    """Return the status of a POST to the checked IP address of a host. Reads no body. Raises `ChannelError`."""
    deadline = time.monotonic() + WEBHOOK_TIMEOUT_SECONDS
    late = ChannelError(f"No answer within {WEBHOOK_TIMEOUT_SECONDS:g} seconds.")
    try:
        # A socket's timeout applies to one operation; the timer disconnects a server that sends byte by byte. TLS takes
        # over the first descriptor, so the timer has its own.
        with _connected(address, deadline) as plain, plain.dup() as same:
            ending = Timer(deadline - time.monotonic(), _shut_down, [same])
            ending.daemon = True
            ending.start()
            try:
                status = _status_of(plain, address, body, headers)
            finally:
                ending.cancel()
        if time.monotonic() >= deadline:  # the headers ended because the timer shut the connection down
            raise late
        return status
    except TimeoutError as error:
        raise late from error
    except (OSError, http.client.HTTPException) as error:
        if time.monotonic() >= deadline:
            raise late from error
        raise ChannelError(f"The connection failed: {type(error).__name__}.") from error


def _status_of(plain: socket.socket, address: WebhookAddress, body: bytes, headers: Mapping[str, str]) -> int:
    connection = http.client.HTTPConnection(address.host, address.port)
    connection.sock = plain
    if address.is_encrypted:
        trusted = ssl.create_default_context()
        connection = http.client.HTTPSConnection(address.host, address.port, context=trusted)
        connection.sock = trusted.wrap_socket(plain, server_hostname=address.host)
    try:
        connection.request("POST", address.target, body, dict(headers))
        return connection.getresponse().status
    finally:
        connection.close()


def _connected(address: WebhookAddress, deadline: float) -> socket.socket:
    """Return a socket to an address that was checked, so that a second look-up cannot lead elsewhere."""
    hosts = _checked_hosts(address)
    for host in hosts[:-1]:  # a name often has an IPv6 address first, to which this network may have no route
        with suppress(OSError):
            return _socket_to(host, address.port, deadline)
    return _socket_to(hosts[-1], address.port, deadline)


def _socket_to(host: str, port: int, deadline: float) -> socket.socket:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return socket.create_connection((host, port), timeout=left)


def _checked_hosts(address: WebhookAddress) -> list[str]:
    """Return the IP addresses of a host in the order of the resolver. Raises `ChannelError` for a private one."""
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ChannelError("The host name was not found.") from error
    hosts = [str(each[4][0]) for each in found]
    if not settings.ALERT_WEBHOOKS_PRIVATE and not all(map(is_public_address, hosts)):
        raise ChannelError("The host has a private address. ALERT_WEBHOOKS_PRIVATE allows it.", is_permanent=True)
    return hosts


def _shut_down(plain: socket.socket) -> None:
    with suppress(OSError):
        plain.shutdown(socket.SHUT_RDWR)
