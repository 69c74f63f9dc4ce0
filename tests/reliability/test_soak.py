"""`make soak` ends, even if no request succeeds; no platform runs in this test."""

from argparse import Namespace
from typing import Any, cast

import pytest

from tests.integration.memory_platform.embedded.test_embedded_start import Start
from tests.reliability import platform_under_load, soak
from tests.servers import unused_port


class LoadWithoutPlatform:
    """Has clients whose number of contexts grows by `step` whenever a bulk request is sent."""

    def __init__(self, step: int) -> None:
        self.step, self.reads, self.bulks, self.is_over = step, 0, 0, False
        self.statuses, self.durations = {200: 1}, [0.1]

    def start(self, clients: int) -> None:
        pass

    def store_in_bulk(self, randomness: Any) -> None:
        self.bulks, self.reads = self.bulks + 1, self.reads + self.step

    def end(self) -> None:
        self.is_over = True


def run(monkeypatch: pytest.MonkeyPatch, load: LoadWithoutPlatform, **options: Any) -> int:
    for name, value in {
        "Load": lambda *_: load,
        "new_key": lambda _: "key",
        "python_megabytes": lambda _: 100.0,
        "largest_web_process": lambda _: 50.0,
        "SAMPLE_SECONDS": 0.001,
        "STALLED_SECONDS": 0.05,
    }.items():
        monkeypatch.setattr(soak, name, value)
    start = cast(Start, Namespace(port=1))
    return soak.run(start, Namespace(**{"clients": 1, "contexts": 10, "bulks": 10, "seconds": 60.0, **options}))


def test_soak_succeeds_when_the_contexts_are_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    load = LoadWithoutPlatform(step=1)
    assert run(monkeypatch, load) == 0
    assert (load.reads, load.is_over) == (10, True)


def test_soak_without_contexts_ends_with_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    load = LoadWithoutPlatform(step=0)
    assert run(monkeypatch, load) == 1
    assert "failed: only 0 of 10 contexts" in capsys.readouterr().out
    assert load.is_over


def test_soak_whose_contexts_take_too_long_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, LoadWithoutPlatform(step=1), contexts=1_000, bulks=1_000, seconds=0.03) == 1


def test_soak_by_time_ends_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, LoadWithoutPlatform(step=1), contexts=0, seconds=0.03) == 0


def test_soak_without_a_session_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform_under_load, "SESSIONS_SECONDS", 0.01)
    load = platform_under_load.Load(port=unused_port(), key="key")
    with pytest.raises(RuntimeError, match="no sessions can be created"):
        load.start(clients=1)
