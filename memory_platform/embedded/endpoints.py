"""Where the running servers of a DATA_DIR are: written at start, read by settings, gone after a clean stop."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from memory_platform.embedded.files import write_private


@dataclass(frozen=True)
class ServerUrls:
    """Every URL with its password, so the file is readable by its owner only. "" where no such server is known."""

    database_url: str
    database_owner_url: str
    database_superuser_url: str
    broker_url: str
    cache_url: str


def endpoints_file(data_dir: Path) -> Path:
    return data_dir / "run" / "endpoints.json"


def read_endpoints(data_dir: Path) -> ServerUrls | None:
    """None when nothing runs on this DATA_DIR, or when the file belongs to another user."""
    try:
        stored = json.loads(endpoints_file(data_dir).read_text())
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    return ServerUrls(**{field.name: str(stored.get(field.name, "")) for field in fields(ServerUrls)})


def write_endpoints(data_dir: Path, endpoints: ServerUrls) -> None:
    write_private(endpoints_file(data_dir), json.dumps(asdict(endpoints), indent=2) + "\n")


def delete_endpoints(data_dir: Path) -> None:
    endpoints_file(data_dir).unlink(missing_ok=True)
