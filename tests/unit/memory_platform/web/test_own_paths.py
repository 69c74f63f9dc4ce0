"""Addresses sent by a browser lead back into this site, whatever they contain."""

from typing import cast

import pytest
from django.test import RequestFactory
from django_htmx.middleware import HtmxDetails

from memory_platform.web.htmx import HtmxRequest, current_page_path, safe_local_path


@pytest.mark.parametrize(
    ("referer", "expected"),
    [
        ("http://testserver/t/1?q=a#b", "/t/1?q=a"),
        ("http://testserver", "/"),
        ("http://testserver?q=a", "/?q=a"),
        ("http://testserver//evil.com/x", "/evil.com/x"),
        ("http://testserver/\\evil.com/x", "/evil.com/x"),
        ("http://evil.com/x", "/"),
        ("http://[", "/"),
        ("", "/"),
    ],
)
def test_own_path_never_leads_to_another_host(referer: str, expected: str) -> None:
    assert safe_local_path(RequestFactory().get("/"), referer) == expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://testserver/t/1?q=a", "/t/1?q=a"),
        ("http://testserver//[x", "/[x"),
        ("http://evil.com/x", ""),
        ("http://[", ""),
        ("", ""),
    ],
)
def test_address_that_cannot_be_read_is_none(address: str, expected: str) -> None:
    request = cast("HtmxRequest", RequestFactory().get("/", headers={"HX-Request": "true", "HX-Current-URL": address}))
    request.htmx = HtmxDetails(request)
    assert current_page_path(request) == expected
