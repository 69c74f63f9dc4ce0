"""A change that a page makes and may be refused."""

from collections.abc import Iterator
from contextlib import contextmanager

from memories.tenancy.exceptions import PlatformError
from memories.tenancy.scopes import tenant_scope
from memory_platform.web.flash_messages import flash_error
from memory_platform.web.htmx import HtmxRequest


@contextmanager
def tenant_change(request: HtmxRequest) -> Iterator[None]:
    """Run the block in the tenant's scope; on a `PlatformError`, roll back and show the reason on the next page."""
    try:
        with tenant_scope(request.tenant.id):
            yield
    except PlatformError as error:
        flash_error(request, error.detail)
