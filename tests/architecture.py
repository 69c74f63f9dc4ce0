"""The rules of the house as functions over source text, so that a test can show each of them failing."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
APPS = ("memory_platform", "memories", "context", "compaction")

QUERY_WORDS = {
    "filter", "exclude", "annotate", "aggregate", "raw", "extra", "select_related", "prefetch_related", "order_by",
    "values", "values_list", "in_bulk", "bulk_create", "bulk_update", "get_or_create", "update_or_create", "cursor",
}  # fmt: skip
# A queryset's words that dictionaries, forms and serializers use too: counted only behind `.objects`.
MANAGER_WORDS = QUERY_WORDS | {"get", "create", "update", "delete", "count", "exists", "first", "last", "all"}
CLOCKS = {"now", "utcnow", "today", "time", "monotonic"}


def product_files(*names: str) -> list[Path]:
    """Python files of the apps (not migrations), optionally only those named or lying in a folder named so."""
    files = [path for app in APPS for path in sorted((ROOT / app).rglob("*.py")) if "migrations" not in path.parts]
    if not names:
        return files
    return [path for path in files if path.stem in names or set(names) & set(path.relative_to(ROOT).parts[:-1])]


def calls(source: str) -> Iterator[tuple[str, str, int]]:
    """Every call of a method: (name of what it is called on, method, line)."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            receiver = node.func.value
            name = receiver.attr if isinstance(receiver, ast.Attribute) else getattr(receiver, "id", "")
            yield name, node.func.attr, node.lineno


def queries_in(source: str) -> list[int]:
    """Lines that spell a query instead of calling a named method of a queryset."""
    return [
        line
        for receiver, method, line in calls(source)
        if (receiver == "objects" and method in MANAGER_WORDS)
        or (method in QUERY_WORDS - {"values", "cursor"} and receiver not in {"functools", "template"})
        or (method == "cursor" and receiver.startswith("connection"))
    ]


def clock_reads_in(source: str) -> list[int]:
    """Lines that read the system's clock."""
    return [
        line
        for receiver, method, line in calls(source)
        if method in CLOCKS and receiver in {"timezone", "datetime", "date", "time"}
    ]


def early_enqueues_in(source: str) -> list[int]:
    """Lines that hand a task to the broker before the transaction committed."""
    return [line for _, method, line in calls(source) if method in {"delay", "apply_async", "send_task"}]


def asserts_in(source: str) -> list[int]:
    """Lines with a bare assert, which `python -O` removes."""
    return [node.lineno for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assert)]


def broad_excepts_in(source: str) -> list[int]:
    """Lines that catch everything."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or getattr(node.type, "id", "") in {"Exception", "BaseException"})
    ]


def loose_verbs_in(source: str) -> list[str]:
    """Public functions of an actions module that are not keyword-only, lack `by` or are not atomic."""
    return [
        node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not _is_a_verb(node)
    ]


def _is_a_verb(node: ast.FunctionDef) -> bool:
    decorators = " ".join(ast.unparse(decorator) for decorator in node.decorator_list)
    return not node.args.args and "by" in {a.arg for a in node.args.kwonlyargs} and "atomic" in decorators


def overridden_saves_in(source: str) -> list[int]:
    """Lines that override save() or delete(), or connect a signal. An endpoint's delete() takes a request."""
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
