"""Compare the database schemas of two checkouts, object by object.

    python -m benchmarks.schema_dumps BEFORE.sql                in one checkout: migrate an empty database, dump it
    python -m benchmarks.schema_dumps AFTER.sql                 in the other
    python -m benchmarks.schema_dumps BEFORE.sql AFTER.sql      compare; exits with 1 if they differ

The order of columns and rows is ignored, and so are the numbers in rows that depend on it.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

from benchmarks.database import throwaway_database
from memory_platform.embedded.files import read_or_create_secret
from memory_platform.embedded.postgres import PROGRAMS, SUPERUSER

HEADER = re.compile(r"^-- (?:Data for )?Name: (?P<name>.+?); Type: (?P<type>.+?); Schema: .*$", re.MULTILINE)
UNORDERED = {"TABLE", "TABLE DATA"}
ROW_NUMBER = re.compile(r"(?<=[(, ])\d+(?=[,)])")


def dump(path: Path) -> None:
    """Write pg_dump's text of an empty migrated database: schema, policies, grants and shipped rows."""
    with throwaway_database():
        password = quote(read_or_create_secret(Path(os.environ["DATA_DIR"]), "postgres_superuser"), safe="")
        server = os.environ["DATABASE_URL"].partition("?")[2]
        url = f"postgres://{SUPERUSER}:{password}@/memory?{server}"
        command = [str(PROGRAMS / "pg_dump"), url, "--inserts", "--restrict-key=none", f"--file={path}"]
        subprocess.run(command, check=True)


def objects(text: str) -> set[str]:
    """Return one entry for each object of a dump: kind, name and statements."""
    headers = list(HEADER.finditer(text))
    ends = [header.start() for header in headers[1:]] + [len(text)]
    return {entry(header, text[header.end() : end]) for header, end in zip(headers, ends, strict=True)}


def entry(header: re.Match[str], text: str) -> str:
    if header["type"] == "TABLE DATA":
        text = ROW_NUMBER.sub("n", text)
    lines = [line.rstrip().rstrip(",") for line in text.splitlines() if line.strip() and not line.startswith("--")]
    ordered = sorted(lines) if header["type"] in UNORDERED else lines
    return "\n    ".join([f"{header['type']} {header['name']}", *ordered])


def compare(before: Path, after: Path) -> bool:
    """Print the objects that only one of the dumps has; return whether there are any."""
    old, new = (objects(path.read_text(encoding="utf-8")) for path in (before, after))
    for sign, entries in (("-", old - new), ("+", new - old)):
        sys.stdout.writelines(f"{sign} {each}\n" for each in sorted(entries))
    return old != new


def main() -> int:
    paths = [Path(argument).resolve() for argument in sys.argv[1:]]
    if len(paths) == 1:
        dump(paths[0])
        return 0
    return int(compare(*paths))


if __name__ == "__main__":
    sys.exit(main())
