"""The wheel that pyproject.toml describes: its contents, its metadata, and the one version number."""

import re
import shutil
import subprocess
import sys
from email.message import Message
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.test import Client
from django.urls import reverse
from packaging.requirements import Requirement
from rest_framework.test import APIClient

import memory_platform

ROOT = Path(__file__).resolve().parents[4]
PACKAGES = ["memory_platform", "memories", "context", "compaction"]
SOURCES = ["pyproject.toml", "requirements.in", "requirements-dev.in", "README.md", "LICENSE", "THIRD_PARTY_NOTICES.md"]
BUILD = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"


def requirements(name: str) -> list[Requirement]:
    lines = (ROOT / name).read_text().splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    """Return the wheel, built from a copy, because setuptools writes next to the sources."""
    copy = tmp_path_factory.mktemp("sources")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in SOURCES:
        shutil.copy(ROOT / name, copy)
    subprocess.run([sys.executable, "-c", BUILD, str(copy)], cwd=copy, check=True, capture_output=True)
    return ZipFile(next(copy.glob("*.whl")))


@pytest.fixture(scope="module")
def metadata(wheel: ZipFile) -> Message:
    name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def test_wheel_depends_on_what_the_requirements_name(metadata: Message) -> None:
    named = [Requirement(line) for line in metadata.get_all("Requires-Dist", [])]
    without_extra = [each for each in named if "extra" not in str(each.marker)]
    assert {str(each) for each in without_extra} == {str(each) for each in requirements("requirements.in")}
    development = {each.name for each in named if 'extra == "dev"' in str(each.marker)}
    assert development == {each.name for each in requirements("requirements-dev.in")}


def test_wheel_contains_every_module_data_file_and_licence(wheel: ZipFile, metadata: Message) -> None:
    inside = set(wheel.namelist())
    sources = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in inside if ".dist-info/" not in name} == sources
    assert metadata["License-Expression"] == "MIT"
    assert metadata.get_all("License-File") == ["LICENSE", "THIRD_PARTY_NOTICES.md"]


def test_package_api_page_and_changelog_share_one_version(metadata: Message, admin_client: Client) -> None:
    document = APIClient().get("/api/schema/", headers={"Accept": "application/vnd.oai.openapi+json"}).json()
    page = admin_client.get(reverse("health")).content.decode()
    shown = re.search(r"Version ([\w.]+)\.<", page)
    newest = re.search(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    versions = [metadata["Version"], document["info"]["version"], shown and shown[1], newest and newest[1]]
    assert versions == [memory_platform.__version__] * 4
