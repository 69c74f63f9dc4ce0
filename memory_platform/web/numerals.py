"""Counted nouns, minus signs and names of versions."""

MINUS = "\N{MINUS SIGN}"
_ABBREVIATIONS = {"api": "API", "id": "ID", "ids": "IDs", "url": "URL"}


def counted(number: int, one: str, many: str) -> str:
    """Return the number with its noun: "1 memory", "1,200 memories"."""
    return with_minus_sign(f"{number:,} {one if number == 1 else many}")


def versioned_name(name: str, version: int | str) -> str:
    """Return the displayed name of a version of a profile: "recall version 2"; version 0 is built-in."""
    return f"{name} version {version}" if int(version) else f"{name} (built-in)"


def version_label(version_id: str) -> str:
    """Return the displayed name of a version with this id: "recall 2" -> "recall version 2"; of others, the id."""
    name, _, version = version_id.rpartition(" ")
    return versioned_name(name, version) if name and version.isdecimal() else version_id


def spaced_name(name: str) -> str:
    """Return the words of a stored name, abbreviations in capitals: "api_key" -> "API key"."""
    return " ".join(_ABBREVIATIONS.get(word, word) for word in name.split("_"))


def with_minus_sign(text: str) -> str:
    """Return the text with a minus sign, which is as wide as a plus and read aloud as minus: -72 -> −72."""
    return text.replace("-", MINUS, 1) if text.startswith("-") else text


def whole_number(text: str | None) -> int:
    """Return the number that `text` spells, -1 for any other text."""
    return int(text) if text and text.isdecimal() and len(text) < 10 else -1
