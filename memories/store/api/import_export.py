"""Endpoints that export memories as a file and import them."""

from collections.abc import Mapping
from functools import partial
from typing import IO, Any

from django.http import StreamingHttpResponse, UnreadablePostError
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiRequest
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from memories.models import Memory
from memories.services.store.import_export_files import CSV, JSONL
from memories.store.api.schema import operation
from memories.store.serializers.import_export import (
    FILE_CONTENT_TYPES,
    ExportInput,
    ImportFile,
    ImportOutput,
    export_lines,
)
from memories.tenancy.api.body_limits import LARGE_BODY_BYTES
from memories.tenancy.api.endpoint import Endpoint
from memories.tenancy.api.idempotency import idempotent_in_steps
from memories.tenancy.api.permissions import readable_partition, writable_partition
from memories.tenancy.audit import record_export
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.serializers.partitions import requested_segments
from memory_platform.rest.request_errors import RestError
from memory_platform.rest.serializers import EmptyInput
from memory_platform.web.downloads import download

_FILES = {
    JSONL: (
        '{"content": "Alex prefers meetings before noon.", "kind": "preference", "partition": "user=alex"}\n'
        '{"content": "Alex lives in Lisbon.", "partition": "user=alex", "pinned": true}\n'
    ),
    CSV: (
        "content,kind,partition,pinned\n"
        "Alex prefers meetings before noon.,preference,user=alex,\n"
        "Alex lives in Lisbon.,,user=alex,true\n"
    ),
}


class _FileParser(BaseParser):
    """Reads a body in UTF-8, with or without a byte-order mark."""

    file_type = JSONL

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, str]:
        try:
            return {"type": self.file_type, "text": stream.read().decode("utf-8-sig")}
        except UnreadablePostError as error:
            raise RestError("incomplete_body", "The connection closed before the whole body was received.") from error
        except UnicodeDecodeError as error:
            raise RestError("not_utf8", "The file is not UTF-8.", field="file") from error


class JsonLinesParser(_FileParser):
    """The parser of JSON Lines."""

    media_type = FILE_CONTENT_TYPES[JSONL]


class CsvParser(_FileParser):
    """The parser of CSV."""

    media_type = FILE_CONTENT_TYPES[CSV]
    file_type = CSV


class ExportEndpoint(Endpoint):
    """Export memories."""

    scopes = {"GET": "admin"}

    @operation("memories_export", {200: OpenApiTypes.STR}, parameters=[ExportInput])
    def get(self, request: Request) -> StreamingHttpResponse:
        """The live memories within reach as JSON Lines or CSV, oldest first; `POST import` reads either.

        In CSV, an apostrophe precedes a text that a spreadsheet would run as a formula; the import removes it.
        """
        values = self.query(ExportInput)
        partition = readable_partition(self.key, values["partition"])
        rows = Memory.objects.for_tenant(self.tenant_id).live(self.now).within(partition.path, exact=values["exact"])
        with tenant_scope(self.tenant_id):
            rows = rows.with_segments(requested_segments(values))
            record_export("memory", request.query_params, tenant_id=self.tenant_id, by=self.actor, now=self.now)
        lines = export_lines(self.tenant_id, rows, values["type"])
        return download(lines, f"memories.{values['type']}", FILE_CONTENT_TYPES[values["type"]])


class ImportEndpoint(Endpoint):
    """Import memories."""

    body_bytes_max = LARGE_BODY_BYTES
    scopes = {"POST": "write"}
    parser_classes = [JsonLinesParser, CsvParser]

    @operation(
        "memories_import",
        {200: ImportOutput},
        request={
            FILE_CONTENT_TYPES[name]: OpenApiRequest(OpenApiTypes.STR, examples=[OpenApiExample("Two memories", file)])
            for name, file in _FILES.items()
        },
    )
    @idempotent_in_steps
    def post(self, request: Request) -> Response:
        """Store each line of a file (JSON Lines or CSV, by Content-Type) as `POST memories` would.

        A file has at most 8 MiB and 10,000 memories. Lines that are not valid are reported and the others kept; a
        repetition finds every memory existing. Vectors follow in the worker.
        """
        self.query(EmptyInput)
        if not isinstance(request.data, dict) or "text" not in request.data:
            raise InvalidInput("required", "Send the file as the body.", "file")
        place = partial(writable_partition, self.key)
        read = ImportFile(request.data["text"], request.data["type"], key=self.key, now=self.now, place=place)
        report = read.store(tenant=self.key.tenant, reach=self.key.partition_prefix, by=self.actor, now=self.now)
        return Response(ImportOutput(report).data)
