"""Report known vulnerabilities of all pinned packages, with pip-audit in a separate environment.

python bin/audit.py               fails unless there is data about every package (`make audit`)
python bin/audit.py --optional    at most once a day; reports missing data and passes (`make check`)
"""

import hashlib
import json
import re
import subprocess
import sys
import venv
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = ROOT / ".venv" / "audit"
REQUIREMENTS = "requirements-dev.txt"
#: The URL that pip-audit requests from the index for each package; mirrors often lack it.
DATA_URL = "https://pypi.org/pypi/{name}/{version}/json"
PROBE_TIMEOUT_SECONDS, AUDIT_TIMEOUT_SECONDS = 3, 300
_PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes")
_AUDIT = ("-m", "pip_audit", "--require-hashes", "--disable-pip", "--progress-spinner=off", "--format=json")


def missing_data(url: str = "") -> str:
    """Return why there is no data about the first pinned package, "" if there is."""
    if not url:
        name, version = re.findall(r"^([a-z0-9.-]+)==([^ ;]+)", (ROOT / REQUIREMENTS).read_text(), re.MULTILINE)[0]
        url = DATA_URL.format(name=name, version=version)
    try:
        with urlopen(url, timeout=PROBE_TIMEOUT_SECONDS) as answer:  # noqa: S310 - no URL of a user
            has_data = "vulnerabilities" in json.load(answer)
    except ValueError:
        has_data = False
    except OSError as error:
        return f"{url} gives no answer ({getattr(error, 'reason', error)})"
    return "" if has_data else f"{url} has no data about vulnerabilities"


def run_pip_audit() -> str:
    """Return pip-audit's JSON report, "" if it wrote none."""
    if not (ENVIRONMENT / "bin" / "pip-audit").exists():
        sys.stderr.write("Installing pip-audit into .venv/audit (once, about 15 s).\n")
        venv.create(ENVIRONMENT, clear=True, with_pip=True)
    python = str(ENVIRONMENT / "bin" / "python")
    try:
        subprocess.run([python, *_PIP, "--requirement", "requirements-audit.txt"], cwd=ROOT, check=True)
        command = [python, *_AUDIT, "--requirement", REQUIREMENTS]
        done = subprocess.run(
            command, cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True, timeout=AUDIT_TIMEOUT_SECONDS
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def audit(
    *,
    is_optional: bool,
    today: date,
    find_missing_data: Callable[[], str] = missing_data,
    run: Callable[[], str] = run_pip_audit,
    passed: Path = ENVIRONMENT / "passed",
) -> int:
    """Return the exit code; an optional audit that passed is not repeated on the same day with the same pins."""
    done = f"{today} {hashlib.sha256((ROOT / REQUIREMENTS).read_bytes()).hexdigest()}"
    if is_optional and passed.is_file() and passed.read_text() == done:
        sys.stdout.write("Known vulnerabilities: none, checked today.\n")
        return 0
    reason, packages = find_missing_data(), list[dict[str, Any]]()
    if not reason:
        report = run()
        packages = json.loads(report)["dependencies"] if report else []
        unanswered = [package["name"] for package in packages if "skip_reason" in package]
        reason = f"the index has no answer for {', '.join(unanswered)}" if unanswered else ""
        reason = reason if packages else "pip-audit wrote no report"
    vulnerable = [package for package in packages if package.get("vulns")]
    for package in vulnerable:
        ids = ", ".join(each["id"] for each in package["vulns"])
        sys.stderr.write(f"Known vulnerabilities: {package['name']} {package['version']} has {ids}.\n")
    if reason:
        sys.stderr.write(f"Known vulnerabilities: NOT CHECKED for every package, because {reason}.\n")
    if vulnerable or (reason and not is_optional):
        return 1
    if not reason:
        sys.stdout.write(f"Known vulnerabilities: none in {len(packages)} packages.\n")
        passed.parent.mkdir(parents=True, exist_ok=True)
        passed.write_text(done)
    return 0


if __name__ == "__main__":
    sys.exit(audit(is_optional="--optional" in sys.argv[1:], today=datetime.now(UTC).date()))
