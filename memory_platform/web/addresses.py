"""The network address of a client."""

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """Return the address that the outermost trusted proxy saw; without such proxies, that of the connection.

    Only the last entries of X-Forwarded-For come from proxies of the deployment; a client can write the others.
    """
    count: int = settings.TRUSTED_PROXIES
    if count:
        addresses = [part.strip() for part in request.headers.get("X-Forwarded-For", "").split(",")]
        if len(addresses) >= count and addresses[-count]:
            return addresses[-count]
    return str(request.META.get("REMOTE_ADDR", ""))
