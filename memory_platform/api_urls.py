"""Every address under /api/: the rooms' own, the schema, the docs, and a problem for whatever else is asked for."""

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.exceptions import NotFound
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memory_platform.rest.docs import ApiDocs


class NotFoundEndpoint(APIView):
    """An address that does not exist, for every method."""

    authentication_classes = []
    permission_classes = []
    renderer_classes = [JSONRenderer]
    schema = None

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """Refuse before content negotiation does."""
        raise NotFound

    def get(self, request: Request, rest: str = "") -> Response:
        """Never reached."""
        raise NotFound


urlpatterns = [
    path("v1/", include("memories.api_urls")),
    path("v1/", include("context.api_urls")),
    path("v1/", include("compaction.api_urls")),
    path("schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("docs/", ApiDocs.as_view(), name="api-docs"),
    path("", NotFoundEndpoint.as_view()),
    path("<path:rest>", NotFoundEndpoint.as_view()),
]
