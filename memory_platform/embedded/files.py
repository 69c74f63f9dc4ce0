"""Files and folders of a DATA_DIR: private ones, and sockets whose path must stay short."""

import hashlib
import os
import secrets
import shutil
from pathlib import Path

from memory_platform.embedded.errors import StartError

# macOS allows 103 bytes, Linux 107; Redis cuts what is longer without a word.
SOCKET_PATH_MAX_BYTES = 103
LONGEST_SOCKET_NAME = "postgres/.s.PGSQL.5432"
PASSWORD_BYTES = 24


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step; only its owner can ever read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    partial.replace(path)


def read_or_create_secret(data_dir: Path, name: str, size_bytes: int = PASSWORD_BYTES) -> str:
    """The password kept under this name, made up on first use."""
    path = data_dir / "secrets" / name
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_private(path, secrets.token_urlsafe(size_bytes) + "\n")
    return path.read_text().strip()


def socket_folder(data_dir: Path) -> Path:
    """DATA_DIR/run, or a short private folder under /tmp where that would make a socket's path too long."""
    folder = data_dir / "run"
    if len(os.fsencode(folder / LONGEST_SOCKET_NAME)) > SOCKET_PATH_MAX_BYTES:
        digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:12]
        folder = Path("/tmp") / f"memory-platform-{os.geteuid()}-{digest}"  # noqa: S108 - ownership is checked below
    folder.mkdir(parents=True, exist_ok=True, mode=0o711)
    if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
        raise StartError(f"{folder} belongs to somebody else: remove it, or set DATA_DIR to a shorter path.")
    return folder


def remove_short_socket_folder(data_dir: Path) -> None:
    """After a clean stop nothing of ours stays in /tmp."""
    folder = socket_folder(data_dir)
    if data_dir not in folder.parents:
        shutil.rmtree(folder, ignore_errors=True)
