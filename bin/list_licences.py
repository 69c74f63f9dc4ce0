"""Write the licences of the packages of requirements.txt, as their metadata states them, into THIRD_PARTY_NOTICES.md.

A package that is not installed here, because it is for another system, keeps its line.

    python bin/list_licences.py
"""

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

_PIN = re.compile(r"^([a-z0-9][\w.-]*)(?:\[[\w,-]+\])?==", re.MULTILINE | re.IGNORECASE)
_HEAD = "| package | licence |\n|---|---|\n"
_TABLE = re.compile(re.escape(_HEAD) + r"((?:\|[^\n]*\|\n)*)")
_LICENCE_CHARACTERS_MAX = 60
UNKNOWN = "unknown"


def installed_licences(root: Path) -> dict[str, str]:
    """Return the licence of each pinned package that is installed, by name."""
    found = {}
    for name in _pinned(root):
        try:
            found[name] = _licence(distribution(name))
        except PackageNotFoundError:
            continue
    return found


def listed_licences(root: Path) -> dict[str, str]:
    """Return the licence of each package that THIRD_PARTY_NOTICES.md lists, by name."""
    table = _TABLE.search((root / "THIRD_PARTY_NOTICES.md").read_text())
    rows = [line.strip("|").split("|") for line in table[1].splitlines()] if table else []
    return {name.strip(): licence.strip() for name, licence in rows}


def _pinned(root: Path) -> list[str]:
    return sorted(set(_PIN.findall((root / "requirements.txt").read_text())))


def _licence(package: Distribution) -> str:
    """Return the SPDX expression, else the classifiers, else the first line of the licence."""
    values = package.metadata
    if "License-Expression" in values:
        return values["License-Expression"]
    classifiers = [
        each.rpartition(" :: ")[2] for each in values.get_all("Classifier", []) if each.startswith("License")
    ]
    if classifiers:
        return ", ".join(classifiers)
    line = next(iter(values["License"].strip().splitlines()), "") if "License" in values else ""
    return line[:_LICENCE_CHARACTERS_MAX] or UNKNOWN


def main() -> None:
    """Rewrite the table."""
    root = Path(__file__).resolve().parent.parent
    notices = root / "THIRD_PARTY_NOTICES.md"
    licences = dict.fromkeys(_pinned(root), UNKNOWN) | listed_licences(root) | installed_licences(root)
    rows = "".join(f"| {name} | {licences[name]} |\n" for name in _pinned(root))
    notices.write_text(_TABLE.sub(lambda _: _HEAD + rows, notices.read_text()))


if __name__ == "__main__":
    main()
