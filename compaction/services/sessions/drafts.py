"""Messages before they are appended: their fields, and everything that may be wrong with one or with several together.

Fields are named as an append names them: `messages[3].tool_call_id`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from compaction.services.sessions.tool_calls import CallError, call_ids_of, canonical_calls
from memories.services.store.content import ContentError, check_metadata
from memories.services.store.drafts import FieldProblem

_SYSTEM, USER, ASSISTANT_ROLE, TOOL_ROLE = ROLES = ("system", "user", "assistant", "tool")
APPEND_MESSAGES_MAX = 500
CONTENT_BYTES_MAX = 256 * 1024
MESSAGE_NAME_CHARACTERS_MAX = 128
LABEL_CHARACTERS_MAX = 255
#: Clocks of callers differ; more than a day ahead is a mistake.
AHEAD_MAX = timedelta(days=1)


@dataclass(frozen=True)
class NewMessage:
    """A message to append. `created_at` None is now; `tool_calls` in the shape of chat completions."""

    role: str
    content: str = ""
    name: str = ""
    tool_calls: Sequence[Mapping[str, Any]] = ()
    tool_call_id: str = ""
    pinned: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source_id: str = ""
    created_at: datetime | None = None

    @property
    def content_fields(self) -> tuple[object, ...]:
        """What makes two messages of one `source_id` the same message."""
        return (self.role, self.content, self.name, canonical_calls(self.tool_calls), self.tool_call_id)


def new_message_problems(rows: Sequence[NewMessage], *, now: datetime) -> list[FieldProblem]:
    """Everything wrong with the messages by themselves; nothing when only the session can refuse them."""
    if not 1 <= len(rows) <= APPEND_MESSAGES_MAX:
        return [FieldProblem("messages", "bad_length", f"An append has 1 to {APPEND_MESSAGES_MAX} messages.")]
    return [
        FieldProblem(f"messages[{index}].{name}", code, detail)
        for index, row in enumerate(rows)
        for name, code, detail in _problems_of(row, now)
    ]


def tool_call_problems(
    rows: Mapping[int, NewMessage], *, called: Collection[str], answered: Collection[str]
) -> list[FieldProblem]:
    """What is wrong with calls and results in the session they are appended to; `rows` by their place, in order.

    `called` and `answered` are ids of calls and results that stand there already: a call's id occurs once in a session,
    a result follows its call, and there is one for each.
    """
    problems: list[FieldProblem] = []
    calls, results = set(called), set(answered)
    for index, row in rows.items():
        for place, call_id in enumerate(call_ids_of(row.tool_calls)):
            if call_id in calls:
                name = f"messages[{index}].tool_calls[{place}].id"
                problems.append(FieldProblem(name, "call_id_taken", "The session has a call of this id already."))
            calls.add(call_id)
        if row.role != TOOL_ROLE:
            continue
        name = f"messages[{index}].tool_call_id"
        if row.tool_call_id not in calls:
            problems.append(FieldProblem(name, "unknown_tool_call", "No earlier message makes a call of this id."))
        elif row.tool_call_id in results:
            problems.append(FieldProblem(name, "call_already_answered", "This call has its result already."))
        results.add(row.tool_call_id)
    return problems


def text_problem(value: object, *, bytes_max: int = CONTENT_BYTES_MAX) -> tuple[str, str] | None:
    """Why `value` is no text that can be stored, as code and detail."""
    if not isinstance(value, str):
        return "not_text", "A string is needed."
    if "\x00" in value:
        return "null_character", "The text holds a NUL character."
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError:
        return "lone_surrogate", "The text holds half of a surrogate pair."
    return ("too_long", f"The text has more than {bytes_max:,} bytes.") if size > bytes_max else None


def _problems_of(row: NewMessage, now: datetime) -> Iterator[tuple[str, str, str]]:
    if row.role not in ROLES:
        yield "role", "not_a_choice", f"One of these is needed: {', '.join(ROLES)}."
    if problem := text_problem(row.content):
        yield "content", *problem
    yield from _problems_of_tools(row)
    for name, most in (("name", MESSAGE_NAME_CHARACTERS_MAX), ("tool_call_id", LABEL_CHARACTERS_MAX)):
        if problem := _label_problem(getattr(row, name), most):
            yield name, *problem
    if problem := _source_problem(row.source_id):
        yield "source_id", *problem
    try:
        check_metadata(dict(row.metadata))
    except ContentError as error:
        yield "metadata", error.code, error.detail
    if not isinstance(row.pinned, bool):
        yield "pinned", "not_a_boolean", "true or false is needed."
    if row.created_at is not None:
        yield from _problems_of_time(row.created_at, now)


def _problems_of_tools(row: NewMessage) -> Iterator[tuple[str, str, str]]:
    try:
        calls = canonical_calls(row.tool_calls)
    except CallError as error:
        yield f"tool_calls{error.place}", error.code, error.detail
        return
    if calls and row.role != ASSISTANT_ROLE:
        yield "tool_calls", "only_the_assistant_calls", "Only a message of the assistant makes tool calls."
    if not row.content and not calls:
        yield "content", "blank", "The content may be empty only beside tool_calls."
    if row.role == TOOL_ROLE and not row.tool_call_id:
        yield "tool_call_id", "required", "A message of a tool names the call that it answers."
    if row.role != TOOL_ROLE and row.tool_call_id:
        yield "tool_call_id", "only_a_tool_answers", "Only a message of a tool answers a call."


def _label_problem(value: object, most: int) -> tuple[str, str] | None:
    """Names and ids stand on one line of a context's text."""
    if not isinstance(value, str):
        return "not_text", "A string is needed."
    if len(value) > most:
        return "too_long", f"At most {most} characters are stored."
    return None if value.isprintable() else ("bad_characters", "Only printable characters of one line are stored.")


def _source_problem(value: object) -> tuple[str, str] | None:
    if isinstance(value, str) and len(value) > LABEL_CHARACTERS_MAX:
        return "too_long", f"At most {LABEL_CHARACTERS_MAX} characters are stored."
    return text_problem(value)


def _problems_of_time(value: datetime, now: datetime) -> Iterator[tuple[str, str, str]]:
    if value.utcoffset() is None:
        yield "created_at", "no_offset", "A time needs its offset from UTC, such as 2026-05-08T13:56:00Z."
    elif value > now + AHEAD_MAX:
        yield "created_at", "too_far_ahead", "The time lies more than a day ahead."
