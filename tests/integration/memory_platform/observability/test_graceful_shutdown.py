"""On SIGTERM, a web process or worker finishes its current work and returns the rest."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import pytest

from memory_platform.celery import app
from memory_platform.embedded.config import PROJECT
from memory_platform.embedded.supervisor import web_command
from tests import servers

REQUESTS = 6
APPLICATION = """
import time
def application(environ, start_response):
    if environ["PATH_INFO"] == "/slow":
        open({folder!r} + "/" + environ["QUERY_STRING"], "w").close()
        time.sleep(0.5)
    start_response("200 OK", [("Content-Length", "4")])
    return [b"done"]
"""
QUEUE = "shutdown"
SLOW_TASKS = """
import time
from pathlib import Path
from celery import shared_task

@shared_task(name="slow")
def slow(folder, number):
    (Path(folder) / f"begun {number}").touch()
    while not (Path(folder) / "go on").exists():
        time.sleep(0.02)
    (Path(folder) / f"done {number}").touch()
"""


def test_no_request_is_cut_when_the_web_process_ends(tmp_path: Path) -> None:
    folder = tmp_path / "begun"
    folder.mkdir()
    (tmp_path / "slow_application.py").write_text(APPLICATION.format(folder=str(folder)))
    port = servers.unused_port()
    command = web_command(f"127.0.0.1:{port}", processes=1)
    command = [each.replace("memory_platform.wsgi", "slow_application") for each in command]
    command[command.index("--graceful-timeout") + 1] = "60"  # `make run` waits less long
    path = os.pathsep.join([str(tmp_path), str(PROJECT)])
    process = subprocess.Popen([sys.executable, *command], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path})
    answers: list[bytes] = []

    def ask(number: int) -> None:
        with urlopen(f"http://127.0.0.1:{port}/slow?{number}", timeout=60) as answer:
            answers.append(answer.read())

    try:
        wait_for(lambda: answers_at(port))
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(REQUESTS)]
        for thread in threads:
            thread.start()
        wait_for(lambda: len(list(folder.iterdir())) == REQUESTS)
        process.terminate()
        for thread in threads:
            thread.join(60)
        assert answers == [b"done"] * REQUESTS
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def test_worker_finishes_its_task_and_gives_the_others_back(tmp_path: Path) -> None:
    (tmp_path / "slow_tasks.py").write_text(SLOW_TASKS)
    command = [sys.executable, "-m", "celery", "-A", "memory_platform", "worker", "--concurrency", "1"]
    command += ["--queues", QUEUE, "--include", "slow_tasks", "--without-gossip", "--without-mingle"]
    path = os.pathsep.join([str(tmp_path), str(PROJECT)])
    process = subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path})
    with app.connection_for_write() as broker, broker.SimpleQueue(QUEUE) as queue:
        queue.clear()
        try:
            app.send_task("slow", [str(tmp_path), 1], queue=QUEUE, countdown=3600)
            for number in (0, 2):
                app.send_task("slow", [str(tmp_path), number], queue=QUEUE)
            wait_for(lambda: (tmp_path / "begun 0").exists())
            assert queue.qsize() == 1, "it has taken the task that is to run later"
            process.terminate()
            (tmp_path / "go on").touch()
            assert process.wait(60) == 0
            assert {each.name for each in tmp_path.glob("* [0-9]")} == {"begun 0", "done 0"}
            assert queue.qsize() == 2
        finally:
            process.kill()
            process.wait()
            queue.clear()


def wait_for(condition: Callable[[], bool]) -> None:
    """The deadline only ends a test that would never end."""
    deadline = time.monotonic() + 120
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail("it does not happen")
        time.sleep(0.02)


def answers_at(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
