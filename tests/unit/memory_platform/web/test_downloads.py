"""Files that are streamed."""

from collections.abc import Iterator

import pytest

from memory_platform.web import downloads


def test_download_that_takes_too_long_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    def lines() -> Iterator[str]:
        yield "one\n"
        monkeypatch.setattr(downloads, "monotonic", lambda: end + 1)
        yield "two\n"

    end = downloads.monotonic() + downloads.DOWNLOAD_SECONDS
    content = iter(downloads.download(lines(), "a.txt", "text/plain"))
    assert next(content) == b"one\n"
    with pytest.raises(TimeoutError):
        next(content)
