"""The names that a refactoring changed: fields, codes, paths and texts, each from the old name to the new one."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

#: In a path of the file, a segment in braces matches any one segment.
_PLACEHOLDER = re.compile(r"\\\{\w*\\\}")


@dataclass(frozen=True)
class Names:
    """The four tables; empty ones change nothing."""

    fields: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    def path(self, text: str) -> str:
        """Return `text` with every renamed path replaced, the longest old path first; the rest stays."""
        return self._rename_paths(text)

    def text(self, text: str) -> str:
        """Return `text` with renamed paths and reworded texts replaced."""
        renamed = self._rename_paths(text)
        for old in sorted(self.texts, key=len, reverse=True):
            renamed = renamed.replace(old, self.texts[old])
        return renamed

    def value(self, value: Any) -> Any:
        """Return a JSON value with fields, codes, paths and texts replaced at any depth."""
        if isinstance(value, dict):
            return {self.fields.get(key, key): self.value(below) for key, below in value.items()}
        if isinstance(value, list):
            return [self.value(each) for each in value]
        if isinstance(value, str):
            return self.codes[value] if value in self.codes else self.text(value)
        return value

    def request(self, value: Any) -> Any:
        """Return a request body with fields and codes replaced; texts are data and stay unchanged."""
        if isinstance(value, dict):
            return {self.fields.get(key, key): self.request(below) for key, below in value.items()}
        if isinstance(value, list):
            return [self.request(each) for each in value]
        return self.codes.get(value, value) if isinstance(value, str) else value

    def _rename_paths(self, text: str) -> str:
        pattern, rules = _path_rules(tuple(self.paths.items()))
        return pattern.sub(lambda match: _renamed(match, rules), text) if rules else text


def read_names(path: Path | None) -> Names:
    """Return the tables of a JSON file, or empty ones without a file. Raises `ValueError` for an unknown table."""
    if path is None:
        return Names()
    tables = json.loads(path.read_text())
    if unknown := set(tables) - {"fields", "codes", "paths", "texts"}:
        raise ValueError(f"{path}: unknown tables {', '.join(sorted(unknown))}")
    return Names(**tables)


@lru_cache(maxsize=8)
def _path_rules(paths: tuple[tuple[str, str], ...]) -> tuple[re.Pattern[str], list[tuple[re.Pattern[str], str]]]:
    """Return one pattern that finds any old path, the longest first, and for each its own pattern with its new path."""
    rules = [
        (_PLACEHOLDER.sub(r"([^/?#\\s\"]+)", re.escape(old)), new)
        for old, new in sorted(paths, key=lambda pair: len(pair[0]), reverse=True)
    ]
    anywhere = "|".join(pattern.replace("(", "(?:") for pattern, _ in rules)
    return re.compile(rf"(?<!\w)(?:{anywhere})(?=[/?#\s\"]|$)"), [(re.compile(old), new) for old, new in rules]


def _renamed(match: re.Match[str], rules: list[tuple[re.Pattern[str], str]]) -> str:
    for pattern, new in rules:
        if found := pattern.fullmatch(match.group()):
            return re.sub(r"\{\w*\}", partial(_next, iter(found.groups())), new)
    return match.group()


def _next(segments: Iterator[str], _: re.Match[str]) -> str:
    return next(segments)
