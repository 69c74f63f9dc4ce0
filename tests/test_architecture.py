"""The architecture rules hold in every file, and each check fails on a line that breaks its rule."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests import architecture
from tests.architecture import APPS, ENTRY_POINTS, ROOT, product_files

#: (rule, check, the names of the modules and folders that it applies to (none: all), a line that breaks it)
RULES = [
    (
        "entry points build no queries",
        architecture.queries_in,
        ENTRY_POINTS,
        "rows = Memory.objects.filter(pinned=True)",
    ),
    ("tasks are enqueued on commit", architecture.early_enqueues_in, (), "embed_memory.delay(memory.pk)"),
    ("no bare assert in the product", architecture.asserts_in, (), "assert total == 1"),
    (
        "retry rules name their exceptions",
        architecture.broad_excepts_in,
        ("tasks", "actions", "services", "queries", "models"),
        "try:\n    run()\nexcept Exception:\n    pass",
    ),
    (
        "actions are keyword-only, atomic and know the actor",
        architecture.invalid_actions_in,
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


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _breaches(check: Callable[[str], list[object]], files: Iterable[Path]) -> dict[str, list[object]]:
    return {_name(path): found for path in files if (found := check(path.read_text()))}


@pytest.mark.parametrize(("rule", "check", "names", "breach"), RULES, ids=[rule[0] for rule in RULES])
def test_every_file_follows_the_rule_and_a_breach_fails(
    rule: str, check: Callable[[str], list[object]], names: tuple[str, ...], breach: str
) -> None:
    assert check(breach), f"the check of {rule!r} does not see a breach"
    assert all(product_files(name) for name in names or [""] if name), "a name that no file has"
    assert _breaches(check, product_files(*names)) == {}


#: Modules besides `queries` that send statements of their own; each was read for values in the text of a statement.
RAW_SQL_MODULES = {
    "memories/search/vector_index.py": "builds indexes as the owner",
    "memories/tenancy/row_scope_tokens.py": "stores the key of the scopes as the owner",
    "memories/tenancy/scopes.py": "sets the scope",
    "memory_platform/backup/database.py": "backs up and restores as the superuser",
    "memory_platform/backup/tenant_files.py": "copies the columns of every table of a tenant",
    "memory_platform/console/health.py": "asks the database for its state",
    "memory_platform/postgres/distribution.py": "reads the catalogue",
    "memory_platform/postgres/grants.py": "grants rights as the owner",
    "memory_platform/embedded/postgres.py": "waits for the server",
    "memory_platform/embedded/provision.py": "makes roles and the database as the superuser",
}


def test_statements_are_written_in_queries_and_a_few_named_modules() -> None:
    """Ruff's S608 refuses values in the text of a statement everywhere."""
    for breach in ("connection.cursor()", "rows.raw('SELECT 1')", "RawSQL('now()', [])", "psycopg.connect(url)"):
        assert architecture.raw_sql_in(breach)
    assert not architecture.raw_sql_in("signal.connect(receiver)")
    assert set(_breaches(architecture.raw_sql_in, product_files(besides=["queries"]))) == set(RAW_SQL_MODULES)


#: By module, statements that are built of more than literals, and of what; each was read for values in its text.
BUILT_SQL = {
    "compaction/erasure/queries.py": ("a quoted table",),
    "compaction/sessions/queries.py": ("a quoted table",),
    "memories/hygiene/queries.py": ("rules and statements of this module", "statements of Django with placeholders"),
    "memories/management/command.py": ("no statement: arguments of a command",),
    "memories/partitions/queries/changes.py": ("statements of Django with placeholders",),
    "memories/partitions/queries/tree.py": ("a statement of Django with placeholders, names of columns",),
    "memories/search/queries/ranking.py": (
        "an argument: callers are of this module",
        "parts of this module, a quoted name of a model",
    ),
    "memories/search/queries/shared_results.py": ("an argument: callers are checked",),
    "memories/search/vector_index.py": ("an identifier made of a number", "parts of psycopg"),
    "memories/store/queries/candidates.py": ("parts of this module",),
    "memories/store/queries/texts.py": ("the name of the table",),
    "memories/tenancy/queries/insertions.py": ("an argument: callers are checked", "two statements of its callers"),
    "memories/tenancy/queries/rows.py": ("names of columns", "an argument: callers are checked"),
    "memories/tenancy/queries/prepared.py": ("an argument: callers are checked",),
    "memory_platform/backup/tenant_files.py": ("parts of psycopg",),
    "memory_platform/console/health.py": ("a number", "an argument: callers pass literals"),
    "memory_platform/embedded/provision.py": ("parts of psycopg",),
    "memory_platform/postgres/base.py": ("quoted names of Django",),
    "memory_platform/postgres/distribution.py": ("a definition from the catalogue", "parts of psycopg"),
    "memory_platform/postgres/grants.py": ("names of rights and functions", "parts of psycopg"),
    "memory_platform/postgres/pipelines.py": ("an argument: callers are checked",),
}
#: How many there are in these modules together: one more has to be read, too.
BUILT_STATEMENTS = 44

BUILT_BREACHES = [
    'cursor.execute(f"SELECT {column} FROM rows")',
    'cursor.execute("SELECT * FROM rows WHERE name = " + name)',
    "cursor.execute(\"SELECT * FROM rows WHERE name = '%s'\" % name)",
    'cursor.execute("SELECT * FROM {}".format(table))',
    'cursor.execute("SELECT " + ", ".join(columns))',
    'statement = "SELECT 1"\nstatement += f" FROM {table}"\ncursor.execute(statement)',
    "def run(statement):\n    execute_prepared(statement, [])",
    "sql.SQL(name).format()",
    'RawSQL(f"{name} + 1", [])',
    'Memory.objects.raw("SELECT " + name)',
]
WRITTEN = [
    'cursor.execute("SELECT %s", [name])',
    '_LIVE = "archived_at IS NULL"\n_FIND = f"SELECT 1 WHERE {_LIVE}"\ncursor.execute(_FIND if is_all else "SELECT 2")',
    'cursor.execute(sql.SQL("SELECT {}").format(sql.Identifier(name)))',
    'for statement in ("SELECT 1", "SELECT 2"):\n    cursor.execute(statement)',
]


def test_statements_with_more_than_literals_in_their_text_are_named() -> None:
    assert [breach for breach in BUILT_BREACHES if not architecture.built_sql_in(breach)] == []
    assert [text for text in WRITTEN if architecture.built_sql_in(text)] == []
    found = _breaches(architecture.built_sql_in, product_files())
    assert set(found) == set(BUILT_SQL)
    assert sum(map(len, found.values())) == BUILT_STATEMENTS, found


@pytest.mark.parametrize(
    ("check", "names"),
    [
        (architecture.clock_reads_in, ("services", "models", "queries", "actions", "forms", "serializers")),
        (architecture.wall_clock_reads_in, ("memories", "context", "compaction")),
    ],
)
def test_only_entry_points_read_the_clock(check: Callable[[str], list[object]], names: tuple[str, ...]) -> None:
    assert check("expired = row.expires_at < timezone.now()")
    files = product_files(*names, besides=ENTRY_POINTS)
    assert len(files) > 200
    # The one injected clock of services has the system's clock as its default; tokens may contain the time.
    assert set(_breaches(check, files)) <= {"context/services/scorer.py", "memories/tenancy/row_scope_tokens.py"}


@pytest.mark.parametrize("name", ["api", "views"])
def test_rules_walk_the_entry_points_of_every_capability(name: str) -> None:
    found = {
        path
        for app in ("memories", "context", "compaction")
        for pattern in (f"*/{name}.py", f"*/{name}/*.py")
        for path in (ROOT / app).glob(pattern)
    }
    assert len({path.relative_to(ROOT).parts[:2] for path in found}) > 5
    assert found <= set(product_files(*ENTRY_POINTS))


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
def test_template_complies_with_the_content_security_policy(path: Path) -> None:
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
def test_field_marked_as_wrong_has_aria_invalid(path: Path) -> None:
    assert _wrong_only_to_the_eye(path.read_text()) == []


def test_field_check_sees_a_breach() -> None:
    field = '<input class="form-control{% if form.name.errors %} is-invalid{% endif %}" value="{{ a|default:">" }}">'
    assert len(_wrong_only_to_the_eye(f"<p>{field}</p>")) == 1
    marked = field.replace(" value", '{% if form.name.errors %} aria-invalid="true"{% endif %} value')
    assert _wrong_only_to_the_eye(marked) == []


#: (module that is added or extended, line, what the report of the import contracts says about it)
IMPORT_BREACHES = [
    (
        "memory_platform/web/breach.py",
        "import memories.models",
        "memory_platform.web is not allowed to import memories",
    ),
    ("memories/store/actions/breach.py", "import context.models", "memories is not allowed to import context"),
    ("context/receipts/breach.py", "import compaction.models", "context is not allowed to import compaction"),
    ("memories/breach/__init__.py", "", "- memories.breach"),
    ("context/breach.py", "", "- context.breach"),
    ("memory_platform/breach.py", "", "- memory_platform.breach"),
    ("compaction/review/loose.py", "", "- compaction.review.loose"),
    (
        "memories/embeddings/providers/breach.py",
        "import memories.search.retrieval",
        "memories.embeddings is not allowed to import memories.search",
    ),
    (
        "context/receipts/queries.py",
        "import context.assembly.orchestrator",
        "context.receipts is not allowed to import context.assembly",
    ),
    (
        "compaction/pipeline/plans.py",
        "import compaction.sessions.context",
        "compaction.pipeline is not allowed to import compaction.sessions",
    ),
    (
        "memories/hygiene/queries.py",
        "import memories.hygiene.actions",
        "memories.hygiene.queries is not allowed to import memories.hygiene.actions",
    ),
    (
        "context/workbench/preview.py",
        "import context.workbench.forms",
        "context.workbench.preview is not allowed to import context.workbench.forms",
    ),
    (
        "memory_platform/console/heartbeats.py",
        "import memory_platform.console.jobs",
        "memory_platform.console.heartbeats is not allowed to import memory_platform.console.jobs",
    ),
    (
        "memories/store/recall.py",
        "import memories.tenancy.api.etags",
        "memories.store.recall -> memories.tenancy.api.etags",
    ),
    ("memories/store/recall.py", "import memories.tasks", "memories.store.recall -> memories.tasks"),
    (
        "memories/partitions/queries/breach.py",
        "import memories.models",
        "memories.partitions.queries is not allowed to import memories.models",
    ),
    ("memories/services/breach.py", "import django", "memories.services is not allowed to import django"),
    ("context/services/breach.py", "import random", "context.services is not allowed to import random"),
]


@pytest.fixture(scope="module")
def import_report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the import contracts say about a copy of the apps with every one of `IMPORT_BREACHES`."""
    copy = tmp_path_factory.mktemp("apps")
    for app in APPS:
        shutil.copytree(ROOT / app, copy / app, ignore=shutil.ignore_patterns("__pycache__", "data", "tiktoken"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    for module, line, _ in IMPORT_BREACHES:
        (copy / module).parent.mkdir(exist_ok=True)
        with (copy / module).open("a") as file:
            file.write(f"\n{line}\n")
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, env={**os.environ, "COLUMNS": "400"})
    assert done.returncode != 0
    return done.stdout


@pytest.mark.parametrize(("module", "line", "reported"), IMPORT_BREACHES, ids=[row[2] for row in IMPORT_BREACHES])
def test_import_contracts_report_a_breach(import_report: str, module: str, line: str, reported: str) -> None:
    assert reported in import_report


def test_every_module_that_a_contract_names_exists() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layered = [contract for contract in contracts if contract["type"] == "layers" and "containers" in contract]
    assert len(layered) > 5
    for contract in layered:
        for name in re.findall(r"\w+", " ".join(contract["layers"])):
            places = [ROOT.joinpath(*container.split("."), name) for container in contract["containers"]]
            assert any(place.is_dir() or place.with_suffix(".py").is_file() for place in places), name


@pytest.mark.parametrize("path", product_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_file_is_not_too_long(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_compiled_requirements_carry_hashes_and_no_address(name: str) -> None:
    text = (ROOT / name).read_text()
    pins = re.findall(r"^[a-z0-9][\w.\[\],-]*==", text, flags=re.MULTILINE | re.IGNORECASE)
    assert len(pins) > 30
    assert text.count("--hash=sha256:") >= len(pins)
    assert not re.search(r"https?://|--(?:extra-)?index-|--find-", text)


@pytest.mark.parametrize("name", ["requirements.in", "requirements-dev.in"])
def test_every_dependency_states_its_purpose(name: str) -> None:
    lines = (ROOT / name).read_text().splitlines()
    named = [n for n, line in enumerate(lines) if line and not line.startswith("#")]
    assert named
    assert [lines[n] for n in named if not lines[n - 1].startswith("# ")] == []
