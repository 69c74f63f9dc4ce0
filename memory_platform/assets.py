"""Static files as they are served: hashed, compressed, and of Tabler's stylesheet only what the pages can use."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from whitenoise.storage import CompressedManifestStaticFilesStorage

STYLESHEET = "vendor/tabler/tabler.min.css"
#: Where names of classes are spelled: templates, scripts, and the few that Python gives to widgets.
SPELLED_IN = (
    *("templates/**/*.html", "static/**/*.js", "memory_platform/**/*.py"),
    *("*/forms.py", "*/views/*.py", "*/templatetags/*.py"),
)
_WORD = re.compile(r"[A-Za-z0-9_-]+")
_VALUE, _TAG = re.compile(r"{{.*?}}", re.DOTALL), re.compile(r"{%.*?%}", re.DOTALL)
_JOINED = re.compile(r"[A-Za-z0-9_-]*-\0[A-Za-z0-9_-]*|\0-[A-Za-z0-9_-]+")
_CLASS = re.compile(r"\.(-?[_A-Za-z](?:[\w-]|\\.)*)")
_NESTING = ("@media", "@supports", "@container", "@layer")


class PageAssets(CompressedManifestStaticFilesStorage):
    """What `collectstatic` fills. Of the vendored stylesheet a quarter is served; the source stays whole."""

    def post_process(self, paths: dict[str, Any], dry_run: bool = False, **options: Any) -> Iterator[Any]:
        """Trim before the files get their hashed names; always from the source, never what was trimmed before."""
        if STYLESHEET in paths and not dry_run:
            source, path = paths[STYLESHEET]
            with source.open(path) as file:
                trimmed = trim(file.read().decode(), spelled_names(settings.BASE_DIR))
            Path(self.path(STYLESHEET)).write_text(trimmed)
            paths = paths | {STYLESHEET: (self, STYLESHEET)}
        yield from super().post_process(paths, dry_run, **options)


class Names:
    """Every word that may be the name of a class; one that a template joins to a value stands for all that fit."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._words: set[str] = set()
        joined: set[str] = set()
        for text in texts:
            self._words.update(_WORD.findall(text))
            joined.update(_JOINED.findall(_TAG.sub(" ", _VALUE.sub("\0", text))))
        patterns = "|".join("[A-Za-z0-9_-]+".join(map(re.escape, name.split("\0"))) for name in sorted(joined))
        self._joined = re.compile(patterns or r"(?!)")

    def __contains__(self, name: str) -> bool:
        return name in self._words or self._joined.fullmatch(name) is not None


def spelling_files(root: Path) -> list[Path]:
    """The sources below `root` that spell names of classes: where one changes, another stylesheet is served."""
    return sorted({path for pattern in SPELLED_IN for path in root.glob(pattern)})


def spelled_names(root: Path) -> Names:
    """Of those sources."""
    return Names(path.read_text() for path in spelling_files(root))


def trim(css: str, names: Names) -> str:
    """The stylesheet without the rules that need a class which nothing is named by; all else as it was."""
    return "".join(_kept(re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL), names))


def _kept(css: str, names: Names) -> Iterator[str]:
    for head, body in _rules(css):
        if body is None:
            yield head
        elif head.startswith(_NESTING):
            if inner := "".join(_kept(body, names)):
                yield f"{head}{{{inner}}}"
        elif head.startswith("@"):
            yield f"{head}{{{body}}}"
        elif selectors := [one for one in _apart(head) if _can_match(one, names)]:
            yield f"{','.join(selectors)}{{{body}}}"


def _rules(css: str) -> Iterator[tuple[str, str | None]]:
    """Head and body of every rule; a statement such as @charset has no body."""
    start = 0
    while found := re.compile(r"[{;]").search(css, start):
        head = css[start : found.start()].strip()
        if found[0] == ";":
            yield f"{head};", None
            start = found.end()
        else:
            end = _end_of_block(css, found.end())
            yield head, css[found.end() : end]
            start = end + 1


def _end_of_block(css: str, start: int) -> int:
    """Where the brace closes that opened before `start`; braces in quotes do not count."""
    depth = 1
    for found in re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[{}]").finditer(css, start):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return found.start()
    raise ValueError("the stylesheet ends inside a rule")


def _apart(head: str) -> list[str]:
    """The selectors of a rule; a comma in parentheses or brackets separates none."""
    return re.findall(r"(?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\]]*\]|[^,(\[])+", head)


def _can_match(selector: str, names: Names) -> bool:
    """Whether each class that the selector needs may exist; what stands in :not(), :is() or [...] is no need."""
    plain = re.sub(r"\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\]]*\]", "", selector)
    return all(re.sub(r"\\(.)", r"\1", name) in names for name in _CLASS.findall(plain))
