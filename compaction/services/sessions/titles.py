"""The title of a session: from its metadata, else from the user's first message, else the beginning of its id."""

from collections.abc import Mapping
from typing import Any

#: Keys of a session's metadata that may contain a title; the first one that does counts.
NAME_KEYS = ("title", "name", "subject")
SESSION_TITLE_CHARACTERS_MAX = 70
_ID_CHARACTERS_SHOWN = 8


def session_title(metadata: Mapping[str, Any], first_user_text: str, session_id: object) -> str:
    """Return one line, cut at a word; `first_user_text` is how the user's first message begins, "" where unknown."""
    named = (metadata.get(key) for key in NAME_KEYS)
    given = next((value for value in named if isinstance(value, str) and value.strip()), first_user_text)
    line = " ".join(given.split()) or f"Session {str(session_id)[:_ID_CHARACTERS_SHOWN]}"
    if len(line) <= SESSION_TITLE_CHARACTERS_MAX:
        return line
    head = line[: SESSION_TITLE_CHARACTERS_MAX - 1]
    words, _, rest = head.rpartition(" ")
    return f"{(words if len(rest) < SESSION_TITLE_CHARACTERS_MAX // 3 and words else head).rstrip(' ,;:.-')}…"
