"""`make css`: write static/css/tabler.css, the rules of Tabler's stylesheet that the pages can use.

A rule is omitted if each of its selectors needs a class that no template, script, form or view names (ADR-0092).
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WHOLE = ROOT / "static/vendor/tabler/tabler.min.css"
TRIMMED = ROOT / "static/css/tabler.css"
#: Files that name classes: templates, scripts, and the few Python files that give classes to widgets.
SPELLED_IN = (
    *("templates/**/*.html", "static/**/*.js", "memory_platform/**/*.py"),
    *(
        f"{app}/**/{files}"
        for app in ("memories", "context", "compaction")
        for files in ("forms.py", "views.py", "views/*.py", "templatetags/*.py")
    ),
)
_WORD = re.compile(r"[A-Za-z0-9_-]+")
_VALUE, _TAG = re.compile(r"{{.*?}}", re.DOTALL), re.compile(r"{%.*?%}", re.DOTALL)
_JOINED = re.compile(r"[A-Za-z0-9_-]*-\0[A-Za-z0-9_-]*|\0-[A-Za-z0-9_-]+")
_CLASS = re.compile(r"\.(-?[_A-Za-z](?:[\w-]|\\.)*)")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_TOKEN = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[{};]")
_GROUP = r"\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\]]*\]"
_NESTING = ("@media", "@supports", "@container", "@layer")

IsNamed = Callable[[str], bool]


def trimmed() -> str:
    """Return the stylesheet to commit."""
    paths = {path for pattern in SPELLED_IN for path in ROOT.glob(pattern)}
    return trim(WHOLE.read_text(), names_in(path.read_text() for path in sorted(paths))) + "\n"


def names_in(texts: Iterable[str]) -> IsNamed:
    """Return whether `texts` may name a class: as a word, or as a word that a template joins to a value."""
    words: set[str] = set()
    joined: set[str] = set()
    for text in texts:
        words.update(_WORD.findall(text))
        joined.update(_JOINED.findall(_TAG.sub(" ", _VALUE.sub("\0", text))))
    patterns = "|".join("[A-Za-z0-9_-]+".join(map(re.escape, name.split("\0"))) for name in sorted(joined))
    fits = re.compile(patterns or r"(?!)").fullmatch
    return lambda name: name in words or fits(name) is not None


def trim(css: str, is_named: IsNamed) -> str:
    """Return `css` without the rules that need a class that is not named."""
    return "".join(_kept(_COMMENT.sub("", css), is_named))


def _kept(css: str, is_named: IsNamed) -> Iterator[str]:
    for head, body in _rules(css):
        if head.startswith(_NESTING) and body:
            if inner := "".join(_kept(body, is_named)):
                yield f"{head}{{{inner}}}"
        elif head.startswith("@"):
            yield f"{head};" if body is None else f"{head}{{{body}}}"
        elif selectors := [one for one in _selectors(head) if _can_match(one, is_named)]:
            yield f"{','.join(selectors)}{{{body}}}"


def _rules(css: str) -> Iterator[tuple[str, str | None]]:
    """Yield head and body of every rule; a statement such as @charset has no body. Braces in quotes do not count."""
    start = opened = depth = 0
    for token in _TOKEN.finditer(css):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if token[0] == "{" and depth == 1:
            opened = token.end()
        elif token[0] in ("}", ";") and depth == 0:
            is_block = token[0] == "}"
            head = css[start : opened - 1 if is_block else token.start()]
            yield head.strip(), css[opened : token.start()] if is_block else None
            start = token.end()
    if depth:
        raise ValueError("the stylesheet ends inside a rule")


def _selectors(head: str) -> list[str]:
    """Return the selectors of a rule; commas in parentheses or brackets separate none."""
    return re.findall(rf"(?:{_GROUP}|[^,(\[])+", head)


def _can_match(selector: str, is_named: IsNamed) -> bool:
    """Return whether each class that the selector needs may exist; :not(), :is() and [...] need none."""
    return all(is_named(re.sub(r"\\(.)", r"\1", name)) for name in _CLASS.findall(re.sub(_GROUP, "", selector)))


if __name__ == "__main__":
    TRIMMED.write_text(trimmed())
