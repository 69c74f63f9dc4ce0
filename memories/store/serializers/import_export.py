"""Export and import of memories as files, for REST and the console."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from rest_framework import serializers

from memories.embeddings.indexer import embed_ahead
from memories.models import ApiKey, Memory, Tenant
from memories.services.partitions.paths import PartitionPath
from memories.services.store.content import normalise_content
from memories.services.store.import_export_files import (
    CSV,
    FILE_TYPES,
    IMPORT_EXPORT_FIELDS,
    IMPORT_LINES_MAX,
    JSONL,
    ImportFileError,
    csv_header,
    csv_rows,
    memory_line,
)
from memories.store.actions.imports import IMPORT_BATCH_ROWS
from memories.store.actions.store import store_memories
from memories.store.serializers.answers import FieldErrorOutput, MemoryTextOutput
from memories.store.serializers.inputs import CheckedRows, ConditionalMemoryInput
from memories.store.store_results import StoreResult
from memories.tenancy.audit import Actor
from memories.tenancy.exceptions import InvalidInput
from memories.tenancy.scopes import tenant_scope
from memories.tenancy.serializers.partitions import PartitionFilterInput, exact_field
from memory_platform.rest.fields import StrictChoiceField, StrictDateTimeField
from memory_platform.rest.request_errors import RestError
from memory_platform.rest.strict_json import parse_strict_json

_ROWS_PER_READ = 500
FILE_CONTENT_TYPES = {JSONL: "application/x-ndjson", CSV: "text/csv"}


class ExportInput(PartitionFilterInput):
    """The query parameters of an export."""

    exact = exact_field(takes_text=True)
    type = StrictChoiceField(choices=FILE_TYPES, default=JSONL, help_text="`jsonl` (JSON Lines) or `csv`.")


class ExportedMemory(MemoryTextOutput):
    """A memory as files contain it."""

    valid_from = serializers.DateTimeField()


class ImportedMemoryInput(ConditionalMemoryInput):
    """A line of a file: a new memory, since when it is true, and the condition under which it is stored."""

    valid_from = StrictDateTimeField(is_past=True, allow_null=True, default=None)


def memory_lines(rows: Iterable[Memory], file_type: str) -> Iterator[str]:
    """Yield the line of each memory, without a header."""
    describe = ExportedMemory().to_representation
    for row in rows:
        values = describe(row)
        yield memory_line({name: values[name] for name in IMPORT_EXPORT_FIELDS}, file_type)


def export_lines(tenant_id: UUID, rows: Any, file_type: str) -> Iterator[str]:
    """Yield the lines of a file with the memories of `rows`, oldest first; opens a short scope for each batch."""
    if file_type == CSV:
        yield csv_header()
    after: tuple[datetime, UUID] | None = None
    while True:
        with tenant_scope(tenant_id):
            batch: list[Memory] = list(rows.page("created_at", after=after, count=_ROWS_PER_READ))
        yield from memory_lines(batch, file_type)
        if len(batch) < _ROWS_PER_READ:
            return
        after = (batch[-1].created_at, batch[-1].pk)


class ImportedLineOutput(serializers.Serializer[Any]):
    """The result of one line."""

    line = serializers.IntegerField(help_text="Line number in the file, from 1.")
    status = serializers.ChoiceField(choices=["created", "updated", "existing", "invalid"])
    id = serializers.UUIDField(allow_null=True)
    errors = FieldErrorOutput(many=True)  # type: ignore[assignment]


class ImportOutput(serializers.Serializer[Any]):
    """How many lines had each result, and the result of every line."""

    created = serializers.IntegerField()
    updated = serializers.IntegerField()
    existing = serializers.IntegerField()
    invalid = serializers.IntegerField()
    lines = ImportedLineOutput(many=True)


class ImportFile:
    """A file of memories: its valid rows and the faults of the others, by line. Raises `InvalidInput` as a whole.

    With `part`, only the rows with these places, counted from 0, are checked and kept; `count` is that of all.
    """

    def __init__(
        self,
        text: str,
        file_type: str,
        *,
        key: ApiKey | None = None,
        now: datetime,
        place: Callable[[PartitionPath | None], PartitionPath],
        part: range = range(IMPORT_LINES_MAX),
    ) -> None:
        self.count = 0
        checked = CheckedRows(ImportedMemoryInput, place, key=key, now=now)
        self.rows, self.faults = checked.valid, checked.faults
        #: The texts of invalid lines that have one.
        self.faulty_texts: dict[int, str] = {}
        try:
            for line, values in _lines(text, file_type):
                if self.count >= IMPORT_LINES_MAX:
                    raise ImportFileError("too_many", f"A file has at most {IMPORT_LINES_MAX:,} memories.")
                if self.count in part:
                    self._check(checked, line, values)
                self.count += 1
        except ImportFileError as error:
            raise InvalidInput(error.code, error.detail, "file") from error
        if not self.count:
            raise InvalidInput("blank", "The file contains no memories.", "file")

    def _check(self, checked: CheckedRows, line: int, values: Any) -> None:
        if isinstance(values, RestError):
            checked.add_fault(line, values)
            return
        checked.add(line, values)
        if line in self.faults:
            self.faulty_texts[line] = str(values.get("content", "")).encode(errors="replace").decode()

    def store(self, *, tenant: Tenant, reach: str = "", by: Actor, now: datetime) -> dict[str, Any]:
        """Store the valid rows; return the values of an `ImportOutput`. Opens a scope for each batch."""
        rows, results = list(self.rows.values()), list[StoreResult]()
        for start in range(0, len(rows), IMPORT_BATCH_ROWS):
            batch = rows[start : start + IMPORT_BATCH_ROWS]
            ahead = embed_ahead(tenant.pk, (normalise_content(row.content) for row in batch))
            with tenant_scope(tenant.pk):
                results += store_memories(tenant=tenant, rows=batch, ahead=ahead, reach=reach, by=by, now=now)
        return self.report(results)

    def report(self, results: Iterable[StoreResult]) -> dict[str, Any]:
        """Return the values of an `ImportOutput`; `results` are those of the valid rows, in their order."""
        lines: list[dict[str, Any]] = [
            {"line": line, "status": "invalid", "id": None, "errors": faults} for line, faults in self.faults.items()
        ]
        for line, result in zip(self.rows, results, strict=True):
            memory_id = result.memory and result.memory.pk
            lines.append({"line": line, "status": result.status, "id": memory_id, "errors": result.problems})
        counts = Counter(str(row["status"]) for row in lines)
        names = ("created", "updated", "existing", "invalid")
        return {**{name: counts[name] for name in names}, "lines": sorted(lines, key=lambda row: row["line"])}


def _lines(text: str, file_type: str) -> Iterator[tuple[int, Any]]:
    """Yield the values of each line by its number, or the error of a line that is not JSON."""
    if file_type == CSV:
        yield from csv_rows(text)
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                value = parse_strict_json(line.encode(), is_line=True)
                is_object = isinstance(value, Mapping)
                yield number, value if is_object else RestError("not_an_object", "Must be a JSON object.")
            except RestError as error:
                yield number, error
