"""Every URL under /api/: the endpoints of the apps, the schema, the docs, and an error for any other URL."""

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.exceptions import NotFound
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView


class NotFoundEndpoint(APIView):
    """The endpoint for URLs that do not exist, with every method."""

    authentication_classes = []
    permission_classes = []
    renderer_classes = [JSONRenderer]
    schema = None

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """Raise the error before content negotiation does."""
        raise NotFound


# Page and script separately: no script is inline, as the Content-Security-Policy requires.
_DOCS = SpectacularSwaggerSplitView.as_view(url_name="api-schema", template_name="memory_platform/rest/api_docs.html")
urlpatterns = [
    path("v1/", include("context.api_urls")),
    path("v1/", include("memories.api_urls")),
    path("v1/", include("compaction.api_urls")),
    path("schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("docs/", _DOCS, name="api-docs"),
    path("", NotFoundEndpoint.as_view()),
    path("<path:rest>", NotFoundEndpoint.as_view()),
]
