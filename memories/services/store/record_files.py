"""Lines of files that people download: CSV for spreadsheets, or JSON Lines."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from memories.services.store.import_export_files import CSV, csv_line


def record_header(columns: Iterable[str], file_type: str) -> str:
    """Return what precedes the lines of a file: the names of the columns in CSV, else nothing."""
    return csv_line(columns) if file_type == CSV else ""


def record_line(values: Mapping[str, Any], file_type: str) -> str:
    """Return the line of one record, with its line end."""
    if file_type == CSV:
        return csv_line(map(_cell, values.values()))
    return json.dumps(values, ensure_ascii=False) + "\n"


def _cell(value: Any) -> Any:
    """Return a value for a spreadsheet: lists joined, objects as JSON, and what would be a formula marked as text."""
    text = " ".join(value) if isinstance(value, list) else value
    text = json.dumps(text, ensure_ascii=False) if isinstance(text, dict) else text
    return f"'{text}" if isinstance(text, str) and text[:1] in {"=", "+", "-", "@", "\t", "\r"} else text
