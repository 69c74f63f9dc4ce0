"""The file of a backup: two lines of JSON, then what pg_dump wrote; with a passphrase, the second part is encrypted.

Without a passphrase, `tail -n +3 FILE | pg_restore` works without this project.
"""

import base64
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.core.management.base import CommandError

FORMAT = "memory-platform-backup 1"
CHUNK_BYTES = 1024 * 1024
HEADER_BYTES_MAX = 64 * 1024 * 1024
#: The parameters of scrypt: one guess takes 128 MiB and about half a second (ADR-0133).
SCRYPT = {"n": 2**17, "r": 8, "p": 1}
SCRYPT_BYTES_MAX = 256 * 1024 * 1024
SALT_BYTES = KEY_BYTES = 32
COUNTER_BYTES = 11
TAG_BYTES = 16


class BackupError(CommandError):
    """An error whose message is one sentence for the person who runs the command."""


class Reader(Protocol):
    """A stream from which a restore reads."""

    def read(self, size: int, /) -> bytes: ...


@contextmanager
def new_private_file(path: Path) -> Iterator[BinaryIO]:
    """Write a file that only its owner can read and that appears when it is complete. Raises `BackupError`."""
    if path.exists():
        raise BackupError(f"{path} exists: name another file.")
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
    except OSError as error:
        raise BackupError(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        partial.unlink(missing_ok=True)


def write_backup(file: BinaryIO, manifest: dict[str, Any], dump: Reader, *, passphrase: str = "") -> None:
    """Write header, manifest and dump, one chunk at a time."""
    header: dict[str, Any] = {"format": FORMAT}
    salt = os.urandom(SALT_BYTES)
    if passphrase:
        header["encryption"] = {"cipher": "AES-256-GCM", "kdf": "scrypt", **SCRYPT}
        header["encryption"]["salt"] = base64.b64encode(salt).decode()
    file.write(_line(header))
    if not passphrase:
        file.write(_line(manifest))
        while chunk := dump.read(CHUNK_BYTES):
            file.write(chunk)
        return
    cipher = AESGCM(_key(passphrase, salt, SCRYPT))
    for number, (chunk, is_last) in enumerate(_chunks(_Joined(_line(manifest), dump))):
        file.write(cipher.encrypt(_nonce(number, is_last=is_last), chunk, None))


def read_backup(file: BinaryIO, *, passphrase: Callable[[], str]) -> tuple[dict[str, Any], Reader]:
    """Return the manifest and the dump; requests the passphrase only if one is needed. Raises `BackupError`."""
    header = _parse(file.readline(HEADER_BYTES_MAX))
    if header.get("format") != FORMAT:
        raise BackupError("This file is not a backup of this version.")
    encryption = header.get("encryption")
    if not encryption:
        return _parse(file.readline(HEADER_BYTES_MAX)), file
    cost = {name: min(int(encryption[name]), value) for name, value in SCRYPT.items()}
    payload = _Decrypted(file, AESGCM(_key(passphrase(), base64.b64decode(encryption["salt"]), cost)))
    return _parse(payload.readline(HEADER_BYTES_MAX)), payload


class _Joined:
    """A stream of the manifest followed by the dump."""

    def __init__(self, first: bytes, then: Reader) -> None:
        self._first, self._then = BytesIO(first), then

    def read(self, size: int, /) -> bytes:
        chunk = self._first.read(size)
        return chunk + self._then.read(size - len(chunk))


class _Decrypted:
    """Reads the chunks of an encrypted file; each is authenticated with its number and whether it is the last."""

    def __init__(self, file: BinaryIO, cipher: AESGCM) -> None:
        self._file, self._cipher, self._number, self._plain, self._is_over = file, cipher, 0, b"", False

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes. Raises `BackupError` if the file was truncated or changed."""
        while not self._plain and not self._is_over:
            self._plain = self._next_chunk()
        chunk, self._plain = self._plain[:size], self._plain[size:]
        return chunk

    def readline(self, limit: int) -> bytes:
        """Return one line with its end."""
        line = bytearray()
        while len(line) < limit and not self._is_over and b"\n" not in self._plain:
            line += self._plain
            self._plain = self._next_chunk()
        rest, end, self._plain = self._plain.partition(b"\n")
        return bytes(line + rest + end)

    def _next_chunk(self) -> bytes:
        sealed = self._file.read(CHUNK_BYTES + TAG_BYTES)
        for is_last in (False, True):
            try:
                plain = self._cipher.decrypt(_nonce(self._number, is_last=is_last), sealed, None)
            except InvalidTag:
                continue
            self._number, self._is_over = self._number + 1, is_last
            return plain
        if self._number == 0:
            raise BackupError("The passphrase is wrong, or the file was changed.")
        raise BackupError("The file is incomplete or was changed.")


def _chunks(source: Reader) -> Iterator[tuple[bytes, bool]]:
    chunk = source.read(CHUNK_BYTES)
    while True:
        following = source.read(CHUNK_BYTES)
        yield chunk, not following
        if not following:
            return
        chunk = following


def _nonce(number: int, *, is_last: bool) -> bytes:
    return number.to_bytes(COUNTER_BYTES, "big") + bytes([is_last])


def _key(passphrase: str, salt: bytes, cost: dict[str, int]) -> bytes:
    return hashlib.scrypt(passphrase.encode(), salt=salt, **cost, maxmem=SCRYPT_BYTES_MAX, dklen=KEY_BYTES)


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def _parse(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise BackupError("This file is not a backup of this version.")
    return value
