"""A response is freed as soon as it is sent, although view and request refer to each other."""

import gc
import weakref
from collections.abc import Iterator

import pytest
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory

from memories.tenancy.api.endpoint import Endpoint
from memory_platform.rest.request_errors import RestError


class _Open(Endpoint):
    authentication_classes = []
    permission_classes = []
    throttle_classes = []

    def get(self, request: Request) -> Response:
        return Response({"blocks": [{"text": "A text."}]})

    def post(self, request: Request) -> Response:
        raise RestError("try_again", "Try again.", status_code=503)


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize(("method", "status"), [("get", 200), ("post", 503)])
def test_a_response_is_freed_without_garbage_collection(method: str, status: int) -> None:
    response = _Open.as_view()(getattr(APIRequestFactory(), method)("/"))
    response.render()
    assert response.status_code == status
    left = weakref.ref(response)
    del response
    assert left() is None
