"""LICENSE, third-party notices and the configuration of contributors' tools agree with the project."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[4]
NOTICES = (ROOT / "THIRD_PARTY_NOTICES.md").read_text()
VENDORED = [ROOT / "static/vendor/README.md", ROOT / "tests/e2e/vendor/README.md"]
ROW = re.compile(
    r"^\| (?:`(?P<file>[^`]+)` \| )?(?P<package>\S+) \| (?P<version>[\d.]+) \| (?P<licence>[\w.-]+)", re.MULTILINE
)


def rows(text: str) -> set[tuple[str, str, str]]:
    return {(row["package"], row["version"], row["licence"]) for row in ROW.finditer(text)}


def test_notices_name_every_vendored_package_with_its_version_and_licence() -> None:
    vendored = set().union(*(rows(path.read_text()) for path in VENDORED))
    assert len(vendored) > 5
    assert rows(NOTICES) == vendored


def test_every_file_that_the_notices_link_exists() -> None:
    linked = re.findall(r"\]\((?!https:)([^)]+)\)", NOTICES)
    assert linked
    assert [name for name in linked if not (ROOT / name).is_file()] == []


def test_every_vendored_file_states_the_version_that_is_listed() -> None:
    stated = {
        "tabler": r"Tabler v([\d.]+)",
        "uplot": r"\(v([\d.]+)\)",
        "axe": r"axe v([\d.]+)",
        "htmx": r'version:"([\d.]+)"',
    }
    listed = "\n".join(path.read_text() for path in VENDORED)
    for folder, pattern in stated.items():
        text = next(text for text in _scripts_and_styles(folder) if re.search(pattern, text))
        assert re.search(rf"^\| `{folder}/.* \| {re.search(pattern, text)[1]} \|", listed, re.MULTILINE), folder


def _scripts_and_styles(folder: str) -> list[str]:
    files = [path for vendor in VENDORED for path in (vendor.parent / folder).glob("*.*")]
    return [path.read_text() for path in files if path.suffix in {".js", ".css"}]


def test_hooks_run_the_tools_of_the_environment_and_fetch_nothing() -> None:
    repos = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [repo["repo"] for repo in repos] == ["local"]
    hooks = repos[0]["hooks"]
    assert {hook["id"] for hook in hooks} == {"ruff-check", "ruff-format", "djade"}
    assert all(hook["language"] == "system" and hook["entry"].startswith(".venv/bin/") for hook in hooks)


def test_workflow_runs_what_ci_runs_on_every_supported_python_without_a_secret() -> None:
    text = (ROOT / ".github/workflows/ci.yml").read_text()
    workflow = yaml.safe_load(text)
    steps = workflow["jobs"]["test"]["steps"]
    assert ".ci/run" in [step.get("run") for step in steps]
    assert workflow["jobs"]["test"]["strategy"]["matrix"]["python-version"] == ["3.11", "3.12"]
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"]) for step in steps if "uses" in step)
    assert "secrets." not in text
