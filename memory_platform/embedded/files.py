"""Files of a DATA_DIR: secrets, sockets, and the URLs of the running servers, which settings read."""

import hashlib
import json
import os
import secrets
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

# macOS allows 103 bytes, Linux 107; Redis truncates a longer path silently.
SOCKET_PATH_MAX_BYTES = 103
LONGEST_SOCKET_NAME = "postgres/.s.PGSQL.5432"
PASSWORD_BYTES = 24


class StartError(Exception):
    """An error whose message explains to the person at the terminal what is wrong and what to do."""


@dataclass(frozen=True)
class ServerUrls:
    """Every URL with its password, so only the owner can read the file. "" if there is no such server."""

    database_url: str = ""
    database_owner_url: str = ""
    database_superuser_url: str = ""
    broker_url: str = ""
    cache_url: str = ""
    database_console_url: str = ""
    database_maintenance_url: str = ""


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step; only its owner can ever read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    partial.replace(path)


def read_or_create_secret(data_dir: Path, name: str, size_bytes: int = PASSWORD_BYTES) -> str:
    """Return the password stored under this name, created on first use."""
    path = data_dir / "secrets" / name
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_private(path, secrets.token_urlsafe(size_bytes) + "\n")
    return path.read_text().strip()


def socket_folder(data_dir: Path) -> Path:
    """Return DATA_DIR/run, or a short private folder under /tmp if a socket's path would be too long."""
    folder = data_dir / "run"
    if len(os.fsencode(folder / LONGEST_SOCKET_NAME)) > SOCKET_PATH_MAX_BYTES:
        digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:12]
        folder = Path("/tmp") / f"memory-platform-{os.geteuid()}-{digest}"  # noqa: S108 - ownership is checked below
    folder.mkdir(parents=True, exist_ok=True, mode=0o711)
    if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
        raise StartError(f"{folder} belongs to another user: remove it, or set DATA_DIR to a shorter path.")
    return folder


def remove_short_socket_folder(data_dir: Path) -> None:
    """Delete the folder under /tmp, if there is one."""
    folder = socket_folder(data_dir)
    if data_dir not in folder.parents:
        shutil.rmtree(folder, ignore_errors=True)


def endpoints_file(data_dir: Path) -> Path:
    """Return the file of the servers' URLs; a clean stop deletes it."""
    return data_dir / "run" / "endpoints.json"


def read_endpoints(data_dir: Path) -> ServerUrls | None:
    """Return the URLs; None if no server runs on this DATA_DIR or the file belongs to another user."""
    try:
        return ServerUrls(**json.loads(endpoints_file(data_dir).read_text()))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None


def write_endpoints(data_dir: Path, endpoints: ServerUrls) -> None:
    """Store the URLs of the running servers."""
    write_private(endpoints_file(data_dir), json.dumps(asdict(endpoints), indent=2) + "\n")
