"""The architecture rules as functions over source text, so that a test can show each of them failing."""

import ast
from collections.abc import Collection, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
APPS = ("memory_platform", "memories", "context", "compaction")
#: Modules and packages of these names translate between the outside and the code below them.
ENTRY_POINTS = ("api", "views", "admin", "management", "tasks", "templatetags", "urls", "api_urls")

QUERY_WORDS = {
    "filter", "exclude", "annotate", "aggregate", "raw", "extra", "select_related", "prefetch_related", "order_by",
    "values", "values_list", "in_bulk", "bulk_create", "bulk_update", "get_or_create", "update_or_create", "cursor",
}  # fmt: skip
# Methods that dictionaries, forms and serializers have too: counted only after `.objects`.
MANAGER_WORDS = QUERY_WORDS | {"get", "create", "update", "delete", "count", "exists", "first", "last", "all"}
WALL_CLOCKS = {"now", "utcnow", "today", "time"}
CLOCKS = WALL_CLOCKS | {"monotonic"}


def product_files(*names: str, besides: Collection[str] = ()) -> list[Path]:
    """Return Python files of the apps, without migrations.

    With `names`, only modules of these names and modules in folders of these names; never those named in `besides`.
    """
    files = [path for app in APPS for path in sorted((ROOT / app).rglob("*.py")) if "migrations" not in path.parts]
    parts = {path: {path.stem, *path.relative_to(ROOT).parts[:-1]} for path in files}
    chosen = [path for path in files if not names or parts[path] & set(names)]
    return [path for path in chosen if not parts[path] & set(besides)]


def calls(source: str) -> Iterator[tuple[str, str, int]]:
    """Yield every call of a method: (name of its object, method, line)."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            receiver = node.func.value
            name = receiver.attr if isinstance(receiver, ast.Attribute) else getattr(receiver, "id", "")
            yield name, node.func.attr, node.lineno


def queries_in(source: str) -> list[int]:
    """Return the lines that build a query instead of calling a named method of a queryset."""
    return [
        line
        for receiver, method, line in calls(source)
        if (receiver == "objects" and method in MANAGER_WORDS)
        or (method in QUERY_WORDS - {"values", "cursor"} and receiver not in {"functools", "template"})
        or (method == "cursor" and receiver.startswith("connection"))
    ]


#: Ways past the ORM, as methods and as functions.
RAW_SQL_WORDS = {"cursor", "prepared_cursor", "raw", "extra", "RawSQL", "execute_prepared", "send_prepared", "connect"}


def raw_sql_in(source: str) -> list[int]:
    """Return the lines that send a statement of their own to the database."""
    functions = (
        (node.func.id, node.lineno)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    )
    methods = ((word, line) for receiver, word, line in calls(source) if word != "connect" or receiver == "psycopg")
    return sorted(line for word, line in (*functions, *methods) if word in RAW_SQL_WORDS)


def clock_reads_in(source: str, clocks: Collection[str] = frozenset(CLOCKS)) -> list[int]:
    """Return the lines that read one of the system's clocks."""
    return [
        line
        for receiver, method, line in calls(source)
        if method in clocks and receiver in {"timezone", "datetime", "date", "time"}
    ]


def wall_clock_reads_in(source: str) -> list[int]:
    """Return the lines that read the time of day, not those that measure how long something takes."""
    return clock_reads_in(source, WALL_CLOCKS)


def early_enqueues_in(source: str) -> list[int]:
    """Return the lines that enqueue a task before the transaction commits."""
    return [line for _, method, line in calls(source) if method in {"delay", "apply_async", "send_task"}]


def asserts_in(source: str) -> list[int]:
    """Return the lines with a bare assert, which `python -O` removes."""
    return [node.lineno for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assert)]


def broad_excepts_in(source: str) -> list[int]:
    """Return the lines that catch every exception."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or getattr(node.type, "id", "") in {"Exception", "BaseException"})
    ]


def invalid_actions_in(source: str) -> list[str]:
    """Return public functions of an actions module that are not keyword-only, lack `by` or are not atomic."""
    return [
        node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not _is_action(node)
    ]


def _is_action(node: ast.FunctionDef) -> bool:
    decorators = " ".join(ast.unparse(decorator) for decorator in node.decorator_list)
    return not node.args.args and "by" in {a.arg for a in node.args.kwonlyargs} and "atomic" in decorators


def overridden_saves_in(source: str) -> list[int]:
    """Return the lines that override save() or delete() or connect a signal. An endpoint's delete() takes a request."""
    tree = ast.parse(source)
    methods = [
        child.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for child in node.body
        if isinstance(child, ast.FunctionDef)
        and child.name in {"save", "delete"}
        and "request" not in {argument.arg for argument in child.args.args}
    ]
    signals = [node.lineno for node in ast.walk(tree) if "receiver" in _decorator_names(node)]
    return methods + signals


def _decorator_names(node: ast.AST) -> set[str]:
    decorators = getattr(node, "decorator_list", [])
    return {getattr(d.func if isinstance(d, ast.Call) else d, "id", "") for d in decorators}
