"""Files of memories: JSON Lines or CSV with one memory per line. A round trip preserves every value."""

import base64
import csv
import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from memories.services.store.content import CodedError

FILE_TYPES = JSONL, CSV = ("jsonl", "csv")
IMPORT_LINES_MAX = 10_000
#: The fields of a line, in the order of the columns.
IMPORT_EXPORT_FIELDS = (
    *("content", "kind", "partition", "confidence", "pinned", "metadata", "created_at", "expires_at", "valid_from"),
    *("source_id", "session", "position"),
)
#: The fields that an import reads in addition.
IMPORT_FIELDS = (*IMPORT_EXPORT_FIELDS, "if_version")
_JSON_COLUMNS = ("confidence", "pinned", "metadata", "position", "if_version")
#: Spreadsheets run cells that begin with these, so an apostrophe precedes such cells, and those with one already.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_ESCAPED_FORMULA = re.compile(r"'+[=+\-@\t\r]")
#: Longer than any request body, so that a cell that is too long is an error of its line, not of the file.
CELL_CHARACTERS_MAX = 2**24
csv.field_size_limit(CELL_CHARACTERS_MAX)


class ImportFileError(CodedError):
    """A file that cannot be read as a whole."""


def file_type_of(name: str, text: str) -> str:
    """Return the type of a file by its name; of a text without one by its first character."""
    suffix = name.lower().rpartition(".")[2]
    if suffix in FILE_TYPES:
        return suffix
    return JSONL if text.lstrip().startswith("{") else CSV


def pack_text(text: str) -> str:
    """Return a text compressed and in ASCII, so that a form field carries it unchanged and small."""
    return base64.b64encode(zlib.compress(text.encode())).decode()


def unpack_text(packed: str, bytes_max: int) -> str:
    """Return the text of `pack_text`. Raises `ImportFileError` for anything else and for more than `bytes_max`."""
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode(packed, validate=True), bytes_max + 1)
        if unpacker.eof and len(data) <= bytes_max:
            return data.decode()
    except (ValueError, zlib.error):  # neither ASCII, base64 nor UTF-8, or not compressed
        pass
    raise ImportFileError("malformed", "The previewed file is incomplete. Select it again.")


def csv_header() -> str:
    """Return the first line of a CSV file."""
    return csv_line(IMPORT_EXPORT_FIELDS)


def memory_line(values: Mapping[str, Any], file_type: str) -> str:
    """Return the line of a memory, with its line end."""
    if file_type == JSONL:
        return json.dumps(values, ensure_ascii=False) + "\n"
    return csv_line([_cell(name, values.get(name)) for name in IMPORT_EXPORT_FIELDS])


def csv_rows(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of the first line of each row, and its values; empty cells are absent.

    Columns are separated by commas, or by semicolons, which spreadsheets write if the comma is the decimal separator.
    Raises `ImportFileError`: `malformed_csv`, `unknown_field` or `required` for the header.
    """
    first = text.partition("\n")[0]
    delimiter = ";" if ";" in first and "," not in first else ","
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
    try:
        header = next(reader, [])
        if unknown := [name for name in header if name not in IMPORT_FIELDS]:
            count = f"{len(unknown)} column{' is' if len(unknown) == 1 else 's are'} unknown"
            detail = f"{count}; known: {', '.join(IMPORT_FIELDS)}."
            raise ImportFileError("unknown_field", detail)
        if "content" not in header or len(set(header)) < len(header):
            raise ImportFileError("required", "The first line must name each column once, including content.")
        line = reader.line_num + 1
        for row in reader:
            if row:
                yield line, _csv_values(header, row)
            line = reader.line_num + 1
    except csv.Error as error:
        raise ImportFileError("malformed_csv", f"Line {reader.line_num} is not CSV.") from error


def csv_line(cells: Iterable[Any]) -> str:
    """Return cells as a line of CSV, with its line end."""
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    text = json.dumps(value, ensure_ascii=False) if name in _JSON_COLUMNS else str(value)
    return f"'{text}" if name not in _JSON_COLUMNS and _FORMULA.match(text) else text


def _csv_values(header: Sequence[str], row: Sequence[str]) -> dict[str, Any]:
    """Return the values by name; a row of another length has a field that no memory has."""
    values: dict[str, Any] = {}
    for name, cell in zip(header, row, strict=False):
        if name in _JSON_COLUMNS and cell:
            # A spreadsheet writes true as TRUE.
            values[name] = _json(cell.lower() if name == "pinned" else cell)
        elif cell or name in ("content", "partition"):
            values[name] = cell[1:] if _ESCAPED_FORMULA.match(cell) else cell
    return values if len(row) == len(header) else values | {"(cells)": len(row)}


def _json(cell: str) -> Any:
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return cell  # the error of its field describes what is wrong with a text
