"""What is installed is what is named: pinned requirements, their licences, and no secret in the repository."""

import re
import subprocess
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bin.list_licences import installed_licences, listed_licences

ROOT = Path(__file__).resolve().parents[4]
SOURCES = {
    "requirements.txt": ["requirements.in"],
    "requirements-dev.txt": ["requirements.in", "requirements-dev.in"],
    "requirements-audit.txt": ["requirements-audit.in"],
}
#: Formats of credentials; whatever looks like one is either a leak or has to be written differently.
SECRETS = {
    "private key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----\s+[A-Za-z0-9+/=\s]{40}",
    "AWS": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "GitHub": r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{60})",
    "Google": r"\bAIza[0-9A-Za-z_-]{35}\b",
    "OpenAI or Anthropic": r"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}",
    "Slack": r"\bxox[abeoprs]-[0-9A-Za-z-]{20,}",
    "Stripe": r"\b[rs]k_live_[0-9A-Za-z]{20,}",
    "JSON web token": r"\beyJ[A-Za-z0-9_-]{15,}\.eyJ[A-Za-z0-9_-]{15,}\.[A-Za-z0-9_-]{15,}",
    "key of the platform": r"\b[A-Za-z0-9]{8}\.(?=[A-Za-z]*\d)(?=[a-z0-9]*[A-Z])[A-Za-z0-9]{32}\b",
}


#: Larger files are tables of tokens, pictures and styles.
SCANNED_BYTES_MAX = 200_000


@dataclass(frozen=True)
class Pin:
    """One pinned package; `hashes` are those of its files."""

    name: str
    version: str
    marker: Marker | None
    hashes: frozenset[str]


def pins_of(name: str) -> list[Pin]:
    """Return the pins of a compiled file, some packages with one for each Python."""
    blocks = re.split(r"\n(?=\S)", (ROOT / name).read_text())
    return [_pin(block) for block in blocks if block.strip()]


def _pin(block: str) -> Pin:
    requirement = Requirement(block.partition(" \\\n")[0])
    (version,) = [each.version for each in requirement.specifier]
    hashes = frozenset(re.findall(r"--hash=sha256:([0-9a-f]{64})\b", block))
    return Pin(canonicalize_name(requirement.name), version, requirement.marker, hashes)


def named_in(name: str) -> list[Requirement]:
    lines = (ROOT / name).read_text().splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def is_here(marker: Marker | None, extra: str = "") -> bool:
    return marker is None or marker.evaluate({"extra": extra})


def installed_closure(roots: list[Requirement]) -> dict[str, str]:
    """Return the version of each package that the roots need in this environment, by the metadata of what is there."""
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    waiting: list[tuple[Requirement, str]] = [(root, extra) for root in roots for extra in ("", *root.extras)]
    while waiting:
        requirement, extra = waiting.pop()
        name = canonicalize_name(requirement.name)
        if (name, extra) in seen or (not extra and not is_here(requirement.marker)):
            continue
        seen.add((name, extra))
        package = distribution(name)
        found[name] = package.version
        needed = [each for each in map(Requirement, package.requires or []) if is_here(each.marker, extra)]
        for each in needed:
            each.marker = None
            waiting += [(each, own) for own in ("", *each.extras)]
    return found


@pytest.mark.parametrize("name", SOURCES)
def test_every_pin_has_hashes(name: str) -> None:
    pins = pins_of(name)
    assert len(pins) > 20
    assert [pin.name for pin in pins if not pin.hashes] == []


@pytest.mark.parametrize("name", SOURCES)
def test_pins_satisfy_what_they_were_compiled_from(name: str) -> None:
    pins = pins_of(name)
    for requirement in [each for source in SOURCES[name] for each in named_in(source)]:
        versions = [pin.version for pin in pins if pin.name == canonicalize_name(requirement.name)]
        assert versions, requirement
        assert all(requirement.specifier.contains(version) for version in versions), requirement


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_pins_are_exactly_what_is_needed_here(name: str) -> None:
    """Compiled again, the file would be the same: nothing that is needed is missing, and nothing else is pinned."""
    needed = installed_closure([each for source in SOURCES[name] for each in named_in(source)])
    pinned = {pin.name: pin.version for pin in pins_of(name) if is_here(pin.marker)}
    assert needed == pinned


def test_development_has_the_packages_of_the_program() -> None:
    of_development = {(pin.name, pin.version): pin.hashes for pin in pins_of("requirements-dev.txt")}
    assert {
        (pin.name, pin.version): pin.hashes for pin in pins_of("requirements.txt")
    }.items() <= of_development.items()


def test_notices_list_the_licence_of_every_package() -> None:
    listed, installed = listed_licences(ROOT), installed_licences(ROOT)
    assert listed.keys() == {pin.name for pin in pins_of("requirements.txt")}
    assert {name: listed[name] for name in installed} == installed
    assert [name for name, licence in listed.items() if re.search(r"\bA?GPL|unknown", licence)] == []


def tracked_texts() -> list[Path]:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = [ROOT / name for name in names.split("\0") if name]
    return [path for path in paths if path.is_file() and path.stat().st_size < SCANNED_BYTES_MAX]


def secrets_in(text: str) -> list[str]:
    return [name for name, pattern in SECRETS.items() if re.search(pattern, text)]


def test_repository_contains_no_secret() -> None:
    found: dict[str, Any] = {}
    for path in tracked_texts():
        text = path.read_bytes().decode("utf-8", "ignore")
        if names := secrets_in(text):
            found[str(path.relative_to(ROOT))] = names
    assert found == {}


@pytest.mark.parametrize(
    "secret",
    [
        "AKIA" + "ABCDEFGHIJKLMNOP",
        "ghp_" + "a1" * 18,
        "sk-proj-" + "aB3" * 16,
        "Ab3dEf7h." + "aB3dE6gH" * 4,
        "-----BEGIN " + "PRIVATE KEY-----\n" + "MIIEvQIBADANBgkq" * 4,
    ],
)
def test_secret_scan_sees_a_secret(secret: str) -> None:
    assert secrets_in(f"key = '{secret}'")
