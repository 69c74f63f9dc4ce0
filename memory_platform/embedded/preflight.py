"""What is looked at before anything starts, each with one sentence that says what to do."""

import fcntl
import os
import socket
import tempfile
from pathlib import Path
from typing import IO

from memory_platform.embedded.errors import StartError


def check_data_dir(data_dir: Path) -> None:
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        (data_dir / "run").mkdir(exist_ok=True, mode=0o711)
        with tempfile.TemporaryFile(dir=data_dir):
            pass
    except OSError as error:
        raise StartError(
            f"{data_dir} cannot be written ({error.strerror}): set DATA_DIR to a folder of yours."
        ) from error


def take_lock(data_dir: Path) -> IO[str]:
    """Held until this process ends, however it ends."""
    lock = (data_dir / "run" / "lock").open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        holder = lock.read().strip() or "?"
        lock.close()
        raise StartError(
            f"Process {holder} already runs on {data_dir}: stop it with Ctrl-C or `kill {holder}`,"
            " or set DATA_DIR to another folder."
        ) from None
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


def check_port(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except PermissionError:
            raise StartError(f"Port {port} needs more rights than yours: use another one, such as PORT=8000.") from None
        except socket.gaierror:
            raise StartError(f"HOST {host} is no address of this machine: use 127.0.0.1, or 0.0.0.0 for all.") from None
        except OSError as error:
            raise StartError(
                f"Port {port} of {host} cannot be used ({error.strerror}): choose another one, such as PORT={port + 1}."
            ) from error
