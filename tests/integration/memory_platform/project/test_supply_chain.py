"""Installed packages are those listed: pinned requirements, their licences, and no secret in the repository."""

import json
import re
import subprocess
from dataclasses import dataclass
from datetime import date, timedelta
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bin.audit import audit, missing_data
from bin.list_licences import installed_licences, listed_licences
from bin.scan_secrets import main as scan_secrets

DAY = date(2026, 11, 27)
ROOT = Path(__file__).resolve().parents[4]
SOURCES = {
    "requirements.txt": ["requirements.in"],
    "requirements-dev.txt": ["requirements.in", "requirements-dev.in"],
    "requirements-audit.txt": ["requirements-audit.in"],
}


@dataclass(frozen=True)
class Pin:
    """One pinned package; `hashes` are those of its files."""

    name: str
    version: str
    marker: Marker | None
    hashes: frozenset[str]


def pins_of(name: str) -> list[Pin]:
    """Return the pins of a compiled file; some packages have one per Python version."""
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
    """Return the version of each package that the roots need in this environment, from the installed metadata."""
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
    """Compiling again would give the same file: no required package is missing, and no other is pinned."""
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
def test_secret_scan_sees_a_secret(secret: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "settings.txt").write_text(f"key = '{secret}'")
    (tmp_path / "other.txt").write_text("nothing")
    for command in (["init", "--quiet"], ["add", "."]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    assert scan_secrets(tmp_path) == 1
    output = capsys.readouterr().err
    assert "settings.txt" in output
    assert "other.txt" not in output
    assert secret not in output


@pytest.mark.parametrize(("is_optional", "code"), [(True, 0), (False, 1)])
def test_audit_without_data_reports_this_and_fails_only_if_it_was_requested(
    is_optional: bool, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    without: dict[str, Any] = {
        "find_missing_data": lambda: missing_data(f"file://{tmp_path}/absent"),
        "passed": tmp_path / "passed",
    }
    assert audit(is_optional=is_optional, today=DAY, run=lambda: pytest.fail("ran"), **without) == code
    assert "NOT CHECKED for every package, because file:///" in capsys.readouterr().err
    assert not (tmp_path / "passed").exists()


@pytest.mark.parametrize(
    ("text", "reason"), [("<html>", "has no data"), ("{}", "has no data"), ('{"vulnerabilities": []}', "")]
)
def test_index_without_data_is_not_taken_for_one_without_vulnerabilities(
    text: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "answer").write_text(text)
    message = missing_data(f"file://{tmp_path}/answer")
    assert reason in message
    assert bool(message) == bool(reason)


CLEAN = {"name": "safe", "version": "1", "vulns": []}


@pytest.mark.parametrize(
    ("packages", "message", "codes"),
    [
        ([CLEAN, {"name": "old", "version": "2", "vulns": [{"id": "PYSEC-1"}]}], "old 2 has PYSEC-1", (1, 1)),
        ([CLEAN, {"name": "own", "skip_reason": "not found"}], "no answer for own", (0, 1)),
        ([], "no report", (0, 1)),
    ],
)
def test_audit_reports_vulnerable_and_unchecked_packages(
    packages: list[dict[str, Any]], message: str, codes: tuple[int, int], tmp_path: Path, capsys: Any
) -> None:
    report = json.dumps({"dependencies": packages}) if packages else ""
    with_data: dict[str, Any] = {"find_missing_data": lambda: "", "run": lambda: report, "passed": tmp_path / "passed"}
    assert tuple(audit(is_optional=optional, today=DAY, **with_data) for optional in (True, False)) == codes
    assert message in capsys.readouterr().err
    assert not (tmp_path / "passed").exists()


def test_audit_that_passed_is_repeated_on_the_next_day(tmp_path: Path) -> None:
    reports = [json.dumps({"dependencies": [CLEAN]})] * 2
    with_data: dict[str, Any] = {"find_missing_data": lambda: "", "run": reports.pop, "passed": tmp_path / "passed"}
    for day, left in [(DAY, 1), (DAY, 1), (DAY + timedelta(days=1), 0)]:
        assert audit(is_optional=True, today=day, **with_data) == 0
        assert len(reports) == left
