"""Tests that walk the house: each rule holds everywhere, and each check is shown to fail on a line that breaks it."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import architecture
from tests.architecture import APPS, ROOT, product_files

DOORS = ("api", "views", "admin", "commands", "authentication")

RULES = [
    (
        "doors spell no queries",
        architecture.queries_in,
        (*DOORS, "tasks"),
        "rows = Memory.objects.filter(pinned=True)",
    ),
    ("templates' tags spell no queries", architecture.queries_in, ("templatetags",), "Memory.objects.all()"),
    (
        "only doors read the clock",
        architecture.clock_reads_in,
        ("services", "models", "querysets", "actions", "assembly", "retrieval", "indexer", "forms", "serializers"),
        "expired = row.expires_at < timezone.now()",
    ),
    ("tasks are enqueued on commit", architecture.early_enqueues_in, (), "embed_memory.delay(memory.pk)"),
    ("no bare assert in the product", architecture.asserts_in, (), "assert total == 1"),
    (
        "retry rules name their exceptions",
        architecture.broad_excepts_in,
        ("tasks", "actions", "services", "querysets", "models"),
        "try:\n    run()\nexcept Exception:\n    pass",
    ),
    (
        "verbs are keyword-only, atomic and know who asked",
        architecture.loose_verbs_in,
        ("actions",),
        "def archive_memory(memory, by):\n    memory.save()",
    ),
    (
        "rows change in actions, not in save() or signals",
        architecture.overridden_saves_in,
        (),
        "class Memory(Model):\n    def save(self):\n        pass",
    ),
]


# The one injected clock of services has the system's clock as its default.
EXEMPT = {("only doors read the clock", "context/services/scorer.py")}


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize(("rule", "check", "rooms", "breach"), RULES, ids=[rule[0] for rule in RULES])
def test_rule_holds_in_every_file_and_fails_when_broken(
    rule: str, check: Callable[[str], list[object]], rooms: tuple[str, ...], breach: str
) -> None:
    assert check(breach), f"the check of {rule!r} does not see a breach"
    files = product_files(*rooms)
    breaches = {name: found for path in files if (found := check(path.read_text())) and (name := _name(path))}
    assert not {name: found for name, found in breaches.items() if (rule, name) not in EXEMPT}


def _pure_modules() -> list[str]:
    files = product_files("services")
    return [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in files]


FORBIDDEN_IN_PURE_MODULES = ("django", "rest_framework", "celery", "psycopg", "pgvector", "redis", "openai")
#: Imports each module of its arguments as if it were the first, with nothing of the apps loaded; prints what is broken.
IMPORTS_EACH = f"""
import importlib, json, sys
class Refuser:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {FORBIDDEN_IN_PURE_MODULES}:
            raise ImportError("imports " + name)
sys.meta_path.insert(0, Refuser())
broken = {{}}
for module in sys.argv[1:]:
    for name in [name for name in sys.modules if name.partition(".")[0] in {APPS}]:
        del sys.modules[name]
    try:
        importlib.import_module(module)
    except Exception as error:
        broken[module] = repr(error)
print(json.dumps(broken))
"""


def _broken_imports(modules: list[str], folder: Path) -> dict[str, str]:
    command = [sys.executable, "-c", IMPORTS_EACH, *modules]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def test_pure_modules_import_one_by_one_without_django() -> None:
    modules = _pure_modules()
    assert len(modules) > 100
    assert _broken_imports(modules, ROOT) == {}


def test_check_of_pure_imports_sees_a_breach(tmp_path: Path) -> None:
    services = tmp_path / "memories" / "services"
    services.mkdir(parents=True)
    (services / "pure.py").write_text("import re\n")
    (services / "impure.py").write_text("from django.db import models\n")
    (services / "through.py").write_text("from memories.services import impure\n")
    # one that imports only after another has been imported
    (services / "second.py").write_text("import sys\nassert 'memories.services.pure' in sys.modules\n")
    names = ["pure", "impure", "through", "second"]
    broken = _broken_imports([f"memories.services.{name}" for name in names], tmp_path)
    assert sorted(broken) == [f"memories.services.{name}" for name in ("impure", "second", "through")]


def _templates() -> list[Path]:
    return sorted((ROOT / "templates").rglob("*.html"))


FORBIDDEN_IN_TEMPLATES = {
    "inline script": r"<script(?![^>]*\bsrc=)[^>]*>",
    "inline style": r"<style\b|\sstyle=",
    "inline handler": r"\son[a-z]+=",
    "asset from elsewhere": r"(?:src|href)=[\"'](?:https?:)?//",
    "unescaped value": r"\|\s*safe\b|autoescape off",
    "script in a link": r"javascript:",
}


@pytest.mark.parametrize("path", _templates(), ids=lambda path: str(path.relative_to(ROOT)))
def test_template_holds_under_the_content_security_policy(path: Path) -> None:
    text = re.sub(r"{%\s*comment.*?endcomment\s*%}|{#.*?#}", "", path.read_text(), flags=re.DOTALL)
    found = [name for name, pattern in FORBIDDEN_IN_TEMPLATES.items() if re.search(pattern, text)]
    assert not found


@pytest.mark.parametrize(
    ("name", "breach"),
    [
        ("inline script", "<script>alert(1)</script>"),
        ("inline style", '<p style="color:red">'),
        ("inline handler", '<a onclick="x()">'),
        ("asset from elsewhere", '<script src="//cdn.example/x.js">'),
        ("unescaped value", "{{ text|safe }}"),
        ("script in a link", '<a href="javascript:x()">'),
    ],
)
def test_template_check_sees_a_breach(name: str, breach: str) -> None:
    assert re.search(FORBIDDEN_IN_TEMPLATES[name], breach)


def _wrong_only_to_the_eye(text: str) -> list[str]:
    """Fields that are shown as wrong without being said to be."""
    plain = re.sub(r"{%.*?%}|{{.*?}}", lambda tag: re.sub("[<>]", "", tag[0]), text)
    fields = re.findall(r"<[^<>]*>", plain)
    return [field for field in fields if "is-invalid" in field and 'aria-invalid="true"' not in field]


@pytest.mark.parametrize("path", _templates(), ids=lambda path: str(path.relative_to(ROOT)))
def test_field_marked_as_wrong_says_so(path: Path) -> None:
    assert _wrong_only_to_the_eye(path.read_text()) == []


def test_field_check_sees_a_breach() -> None:
    field = '<input class="form-control{% if form.name.errors %} is-invalid{% endif %}" value="{{ a|default:">" }}">'
    assert len(_wrong_only_to_the_eye(f"<p>{field}</p>")) == 1
    said = field.replace(" value", '{% if form.name.errors %} aria-invalid="true"{% endif %} value')
    assert _wrong_only_to_the_eye(said) == []


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("memories/services/breach.py", "import django"),
        ("memories/breach.py", "import context.models"),
        ("context/receipts/queries.py", "import context.assembly.orchestrator"),
    ],
)
def test_import_contracts_fail_when_an_arrow_points_up(tmp_path: Path, room: str, line: str) -> None:
    for app in APPS:
        shutil.copytree(ROOT / app, tmp_path / app, ignore=shutil.ignore_patterns("__pycache__", "data"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / room).open("a") as file:
        file.write(f"\n{line}\n")
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0
    assert "BROKEN" in done.stdout


@pytest.mark.parametrize("path", product_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_file_fits_its_room(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_compiled_requirements_carry_hashes_and_no_address(name: str) -> None:
    text = (ROOT / name).read_text()
    pins = re.findall(r"^[a-z0-9][\w.\[\],-]*==", text, flags=re.MULTILINE | re.IGNORECASE)
    assert len(pins) > 30
    assert text.count("--hash=sha256:") >= len(pins)
    assert not re.search(r"https?://|--(?:extra-)?index-|--find-", text)


@pytest.mark.parametrize("name", ["requirements.in", "requirements-dev.in"])
def test_every_dependency_says_what_it_is_for(name: str) -> None:
    lines = (ROOT / name).read_text().splitlines()
    named = [n for n, line in enumerate(lines) if line and not line.startswith("#")]
    assert named
    assert [lines[n] for n in named if not lines[n - 1].startswith("# ")] == []
