"""New messages before they are appended: fields and validation. Fields have names such as `messages[3].name`."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from compaction.services.sessions.tool_calls import CallError, call_ids_of, canonical_calls
from memories.services.store.content import ContentError, check_metadata
from memories.services.store.drafts import MAX_AHEAD, FieldProblem

_SYSTEM, _DEVELOPER, USER, ASSISTANT_ROLE, TOOL_ROLE = ROLES = ("system", "developer", "user", "assistant", "tool")
#: The roles of instructions: `developer` is what newer models call `system`.
INSTRUCTING_ROLES = (_SYSTEM, _DEVELOPER)
APPEND_MESSAGES_MAX = 500
CONTENT_BYTES_MAX = 256 * 1024
MESSAGE_NAME_CHARACTERS_MAX = 128
LABEL_CHARACTERS_MAX = 255
#: Callers' clocks differ; a time further ahead than this is an error.


@dataclass(frozen=True)
class NewMessage:
    """A message to append. `created_at` None is now; `tool_calls` have the form of chat completions."""

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
        """The fields in which two messages with one `source_id` must be equal."""
        return (self.role, self.content, self.name, canonical_calls(self.tool_calls), self.tool_call_id)


def new_message_problems(rows: Sequence[NewMessage], *, now: datetime) -> list[FieldProblem]:
    """Return everything wrong with the messages by themselves, independent of the session."""
    if not 1 <= len(rows) <= APPEND_MESSAGES_MAX:
        return [FieldProblem("messages", "bad_length", f"An append must have 1 to {APPEND_MESSAGES_MAX} messages.")]
    return [
        FieldProblem(f"messages.{index}.{name}", code, detail)
        for index, row in enumerate(rows)
        for name, code, detail in _problems_of(row, now)
    ]


def tool_call_problems(
    rows: Mapping[int, NewMessage], *, called: Collection[str], answered: Collection[str]
) -> list[FieldProblem]:
    """Return the problems of calls and results in their session; `rows` by their index, in order.

    `called` and `answered` are ids of calls and results that the session has already. A call's id occurs once in a
    session, a result follows its call, and there is one for each.
    """
    problems: list[FieldProblem] = []
    calls, results = set(called), set(answered)
    for index, row in rows.items():
        for place, call_id in enumerate(call_ids_of(row.tool_calls)):
            if call_id in calls:
                name = f"messages.{index}.tool_calls.{place}.id"
                problems.append(FieldProblem(name, "call_id_taken", "The session already has a call with this id."))
            calls.add(call_id)
        if row.role != TOOL_ROLE:
            continue
        name = f"messages.{index}.tool_call_id"
        if row.tool_call_id not in calls:
            problems.append(FieldProblem(name, "unknown_tool_call", "No earlier message makes a call with this id."))
        elif row.tool_call_id in results:
            problems.append(FieldProblem(name, "call_already_answered", "This call already has a result."))
        results.add(row.tool_call_id)
    return problems


def text_problem(value: object, *, bytes_max: int = CONTENT_BYTES_MAX) -> tuple[str, str] | None:
    """Return code and detail of why `value` cannot be stored as text; None if it can."""
    if not isinstance(value, str):
        return "not_text", "Must be a string."
    if "\x00" in value:
        return "null_character", "The text contains a NUL character."
    try:
        size = len(value.encode("utf-8"))
    except UnicodeEncodeError:
        return "lone_surrogate", "The text contains an unpaired surrogate."
    return ("too_long", f"The text has more than {bytes_max:,} bytes.") if size > bytes_max else None


def _problems_of(row: NewMessage, now: datetime) -> Iterator[tuple[str, str, str]]:
    if row.role not in ROLES:
        yield "role", "invalid_choice", f"Must be one of: {', '.join(ROLES)}."
    if problem := text_problem(row.content):
        yield "content", *problem
    yield from _problems_of_tools(row)
    limits = {"name": MESSAGE_NAME_CHARACTERS_MAX} | dict.fromkeys(("tool_call_id", "source_id"), LABEL_CHARACTERS_MAX)
    for name, most in limits.items():
        value = getattr(row, name)
        if len(value) > most:
            yield name, "too_long", f"At most {most} characters are stored."
        elif name == "source_id" and (problem := text_problem(value)):
            yield name, *problem
        elif name != "source_id" and not value.isprintable():  # names and ids are on one line of a context's text
            yield name, "bad_characters", "Only printable characters of one line are stored."
    try:
        check_metadata(dict(row.metadata))
    except ContentError as error:
        yield "metadata", error.code, error.detail
    if row.created_at is not None and row.created_at.utcoffset() is None:
        yield "created_at", "no_offset", "The time must have a UTC offset, such as 2026-05-08T13:56:00Z."
    elif row.created_at is not None and row.created_at > now + MAX_AHEAD:
        yield "created_at", "too_far_ahead", "The time is more than a day ahead."


def _problems_of_tools(row: NewMessage) -> Iterator[tuple[str, str, str]]:
    try:
        calls = canonical_calls(row.tool_calls)
    except CallError as error:
        yield f"tool_calls.{error.place}".rstrip("."), error.code, error.detail
        return
    if calls and row.role != ASSISTANT_ROLE:
        yield "tool_calls", "only_the_assistant_calls", "Only an assistant message can make tool calls."
    if not row.content and not calls:
        yield "content", "blank", "The content may be empty only if the message makes tool calls."
    if row.role == TOOL_ROLE and not row.tool_call_id:
        yield "tool_call_id", "required", "A tool message requires the id of the call that it answers."
    if row.role != TOOL_ROLE and row.tool_call_id:
        yield "tool_call_id", "only_a_tool_answers", "Only a tool message can answer a call."
