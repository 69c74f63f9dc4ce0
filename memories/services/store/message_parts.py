"""The content of a chat-completions message as one text: text parts joined, a placeholder for every other part."""

from collections.abc import Mapping

from memories.services.store.content import ContentError

PARTS_MAX = 500
_TEXT_PARTS = ("text", "refusal")
_PLACEHOLDERS = {"image_url": "[image]", "input_audio": "[audio]", "file": "[file]"}
#: The types of parts. A part has its type and one value, under the name of the type.
PARTS = (*_TEXT_PARTS, *_PLACEHOLDERS)


def content_text(content: object) -> object:
    """Return `content`, a list of parts as one text with a line for each. Raises `ContentError` for a part.

    Images, audio and files are not stored.
    """
    if not isinstance(content, list):
        return content
    if len(content) > PARTS_MAX:
        raise ContentError("too_many", f"A message has at most {PARTS_MAX} parts.")
    return "\n".join(_part_text(part, f"Part {place}") for place, part in enumerate(content))


def _part_text(part: object, name: str) -> str:
    if not isinstance(part, Mapping):
        raise ContentError("not_an_object", f"{name} is not a JSON object.")
    kind = part.get("type")
    if not isinstance(kind, str) or kind not in PARTS:
        raise ContentError("unknown_part", f"{name} needs a type, one of {', '.join(PARTS)}.")
    if set(part) != {"type", kind}:
        raise ContentError("bad_part", f"{name} needs exactly the fields type and {kind}.")
    value = part[kind]
    if not isinstance(value, str if kind in _TEXT_PARTS else Mapping):
        raise ContentError("bad_part", f"{name} has a {kind} of the wrong type.")
    return str(value) if kind in _TEXT_PARTS else _PLACEHOLDERS[kind]
