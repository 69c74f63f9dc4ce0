"""The docs page: Swagger UI from this server, under the same strict Content-Security-Policy as every page."""

from drf_spectacular.views import SpectacularSwaggerSplitView


class ApiDocs(SpectacularSwaggerSplitView):
    """Page and start script apart, so that no script stands inline."""

    url_name = "api-schema"
    template_name = "api_docs.html"
