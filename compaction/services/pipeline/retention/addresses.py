"""Code spans, URLs, e-mail addresses, paths and identifiers."""

import re
from collections.abc import Iterator

from compaction.services.pipeline.retention.matches import FactMatch

CODE_CHARACTERS_MAX = 200
#: Longer names are not repeated in conversations, so they are not counted.
ADDRESS_CHARACTERS_MAX = 400
_CODE = re.compile(rf"(?<!`)(`{{1,2}})(?!`)([^`\n]{{1,{CODE_CHARACTERS_MAX}}})\1(?!`)")
_URL = re.compile(
    r"(?<![\w@.-])(?:(?:https?|ftp|wss?|postgres(?:ql)?|redis|s3)://[^\s<>\"'`|{}]++"
    r"|www\.[^\s<>\"'`|{}]++"
    r"|(?:[A-Za-z0-9-]{1,63}\.){1,4}(?:com|org|net|io|dev|edu|gov|ai|co|uk|de|app)(?![\w.@-][\w@-]|[\w@])(?:/[^\s<>\"'`|{}]*+)?)"
)
_EMAIL = re.compile(r"(?<![\w.+%-])[\w.+%-]{1,64}+@[A-Za-z0-9-]{1,63}+(?:\.[A-Za-z0-9-]{1,63}+){1,5}")
#: Marks that end a sentence or close a bracket after an address are not part of it.
_TRAILING = ".,;:!?…*_"
_BRACKETS = {")": "(", "]": "["}
_RUN = re.compile(r"[^\s,;()\[\]<>\"'“”‘’`{}|=\ufffc]++")
_EXTENSIONS = (
    "py js ts tsx jsx json yaml yml toml ini cfg conf env md rst txt csv tsv xml html css scss sql sh bash zip tar gz"
    " tgz pdf doc docx xls xlsx ppt pptx png jpg jpeg gif svg mp3 mp4 wav mov log lock rs go java kt rb php c h cpp hpp"
    " cs swift ipynb parquet db sqlite exe dll so whl bak pem key crt service"
)
_EXTENSION = rf"\.(?:{'|'.join(sorted(_EXTENSIONS.split(), key=len, reverse=True))})"
_SEGMENT = r"[\w.@+%~$*-]+"
_PATH = re.compile(
    rf"(?:~|\.{{1,2}}|\$\w+)?(?:/{_SEGMENT})+/?"  # from the root, the home folder or the current folder
    rf"|{_SEGMENT}(?:/{_SEGMENT})*/[\w.@+%~$*-]*{_EXTENSION}"  # from a folder to a file
    rf"|{_SEGMENT}(?:/{_SEGMENT})*/"  # a folder
    rf"|[\w@+%-][\w.@+%-]*{_EXTENSION}"  # a file
    rf"|[A-Za-z]:[\\/][^:*?]*|\\\\[^\\/]+(?:\\[^\\/]+)+"  # on Windows
)
#: A slash before one word alone is as often "and/or" cut in two as a path.
_ROOTS = {"tmp", "etc", "var", "usr", "opt", "home", "srv", "dev", "proc", "root", "bin", "mnt", "data", "app", "run"}
_PATH_HINT = re.compile(r"[/\\]|\.\w")
_IDENTIFIER_HINT = re.compile(r"[\d_]|[A-Za-z][A-Z]|\(\)")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_HASH = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}|0x[0-9a-f]{2,64}", re.IGNORECASE)
_VERSION = re.compile(
    r"[vV]\d+(?:\.\d+)*(?:[-+.]?(?:a|b|rc|alpha|beta|dev|post)[.]?\d*)?|\d+(?:\.\d+){2,4}(?:[-+.]?[a-z]+[.]?\d*)?"
)
_SNAKE = re.compile(r"_{0,2}[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+_{0,2}|__?[A-Za-z]\w+")
_CAMEL = re.compile(
    r"[a-z]{1,30}+(?:[A-Z][a-z0-9]*)+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[A-Z]{2,8}[a-z]{2,}(?:[A-Z][a-z0-9]+)*"
)
_DASHED = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9.]+)+")
_MIXED = re.compile(r"[A-Za-z]{1,12}\d[A-Za-z0-9]*")
_CALL = re.compile(r"[A-Za-z_][\w.]*")
_SERIAL = re.compile(r"#\d{1,12}|\d{5,20}|\+?\d{1,4}(?:-\d{2,4}){2,4}")
_NUMBERED_VERSION = re.compile(r"\b(?:[Vv]ersion|[Rr]elease|[A-Z][A-Za-z]{2,20}) (\d{1,4}\.\d{1,4})(?![\w%]|\.\d)")
#: Ordinary words with a number: "mid-20s".
_NO_SERIES = {
    *("mid", "pre", "post", "top", "under", "over", "non", "sub"),
    *("age", "aged", "early", "late", "sixty", "grade"),
}
#: Surnames with two capitals, degrees, and abbreviations with an ending.
_NO_CAMEL = re.compile(r"(?:Mc|Mac|De|La|Le|Van|Fitz)[A-Z][a-z]+|[A-Z]{2,8}s|(?:Ph|Ed)Ds?|[A-Z]{2,}(?:ing|ed)")


def find_code(text: str) -> Iterator[FactMatch]:
    """Yield text between backticks in one line, with single spaces."""
    for match in _CODE.finditer(text) if "`" in text else ():
        if code := " ".join(match[2].split()):
            yield FactMatch(match.start(), match[0], code)


def find_urls(text: str) -> Iterator[FactMatch]:
    """Yield URLs and domains; the host in lower case, without a slash at the end."""
    for match in _URL.finditer(text) if "." in text or "://" in text else ():
        written = _without_trailing(match[0])
        if len(written.partition("://")[2] or written) > 3:
            yield FactMatch(match.start(), written, normalised_url(written))


def find_emails(text: str) -> Iterator[FactMatch]:
    """Yield e-mail addresses, without case."""
    for match in _EMAIL.finditer(text) if "@" in text else ():
        written = match[0].lstrip(".")
        if not written.startswith("@"):
            start = match.end() - len(written)
            written = written.rstrip("-")
            yield FactMatch(start, written, written.casefold())


def find_paths(text: str) -> Iterator[FactMatch]:
    """Yield paths of files and folders, and names of files; without a leading `./` and a slash at the end."""
    for start, written in unbroken_runs(text) if _PATH_HINT.search(text) else ():
        if any(mark in written for mark in "/\\.") and _PATH.fullmatch(written) and not _is_no_path(written):
            yield FactMatch(start, written, normalised_path(written))


def find_identifiers(text: str) -> Iterator[FactMatch]:
    """Yield identifiers: error codes, article numbers, variables, UUIDs, hashes, versions."""
    if not _IDENTIFIER_HINT.search(text):
        return
    for match in _NUMBERED_VERSION.finditer(text):
        yield FactMatch(match.start(1), match[1], match[1])
    for start, written in unbroken_runs(text):
        is_call = text.startswith("()", start + len(written)) and len(written) > 2 and _CALL.fullmatch(written)
        if is_call or _is_identifier(written):
            yield FactMatch(start, written, normalised_identifier(written))


def _is_identifier(written: str) -> bool:
    if len(written) < 2 or (written.isalpha() and (written.islower() or written.istitle() or written.isupper())):
        return False
    if any(pattern.fullmatch(written) for pattern in (_UUID, _VERSION, _SNAKE, _SERIAL, _HASH)):
        return True
    if written.isalpha():
        return bool(_CAMEL.fullmatch(written)) and not _NO_CAMEL.fullmatch(written)
    if _DASHED.fullmatch(written):  # a name in a series: SKU-8, eu-west-1, gpt-4o
        first, _, rest = written.partition("-")
        return any(map(str.isdigit, rest)) and first.lower() not in _NO_SERIES
    return bool(_MIXED.fullmatch(written) or _CAMEL.fullmatch(written))


def normalised_identifier(written: str) -> str:
    """Return an identifier in comparable form: without case, a version without its v, an issue without its #."""
    folded = written.casefold()
    if _VERSION.fullmatch(written):
        return folded.lstrip("v")
    return folded.lstrip("#+") if _SERIAL.fullmatch(written) else folded


def normalised_url(written: str) -> str:
    """Return a URL in comparable form: scheme and host in lower case, no slash at the end, no `www.`."""
    scheme, mark, rest = written.rpartition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme.casefold()}{mark}{host.casefold().removeprefix('www.')}{slash}{path}".rstrip("/")


def normalised_path(written: str) -> str:
    """Return a path in comparable form."""
    return written.replace("\\", "/").removeprefix("./").rstrip("/") or "/"


def unbroken_runs(text: str) -> Iterator[tuple[int, str]]:
    """Yield where each run without white space, brackets and quotes begins, and the run without marks around it."""
    for match in _RUN.finditer(text):
        written = match[0].rstrip(".,:!?…*-–—&")
        bare = written.lstrip("*:!?–—&-")
        if 0 < len(bare) <= ADDRESS_CHARACTERS_MAX:
            yield match.start() + len(written) - len(bare), bare


def _without_trailing(written: str) -> str:
    """Return an address without punctuation of the sentence around it; brackets that it opens itself may close."""
    extra = {closing: written.count(closing) - written.count(opening) for closing, opening in _BRACKETS.items()}
    end = len(written)
    while end:
        last = written[end - 1]
        if last not in _TRAILING and extra.get(last, 0) <= 0:
            break
        if last in extra:
            extra[last] -= 1
        end -= 1
    return written[:end]


def _is_no_path(written: str) -> bool:
    parts = [part for part in re.split(r"[\\/]", written) if part]
    if written.startswith("/") and len(parts) == 1 and "." not in parts[0]:
        return parts[0] not in _ROOTS
    return all(part.replace(".", "").isdigit() for part in parts) or written.strip("./~") == ""
