"""What people call a session: a title that came with it, else how the user began, else the beginning of its id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Keys of a session's metadata that hold a name, the first one that does.
NAME_KEYS = ("title", "name", "subject")
SESSION_TITLE_CHARACTERS_MAX = 70
_ID_CHARACTERS_SHOWN = 8


def session_title(metadata: Mapping[str, Any], first_said: str, session_id: object) -> str:
    """One line, cut at a word; `first_said` is how the user's first message begins, "" where it is not known."""
    named = (metadata.get(key) for key in NAME_KEYS)
    given = next((value for value in named if isinstance(value, str) and value.strip()), "")
    line = " ".join((given or first_said).split())
    return _cut(line) if line else f"Session {str(session_id)[:_ID_CHARACTERS_SHOWN]}"


def _cut(line: str) -> str:
    if len(line) <= SESSION_TITLE_CHARACTERS_MAX:
        return line
    head = line[: SESSION_TITLE_CHARACTERS_MAX - 1]
    words, _, rest = head.rpartition(" ")
    return f"{(words if len(rest) < SESSION_TITLE_CHARACTERS_MAX // 3 and words else head).rstrip(' ,;:.-')}…"
