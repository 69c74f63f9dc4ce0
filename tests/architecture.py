"""The architecture rules as functions over source text, so that tests can show that each of them fails."""

import ast
from collections.abc import Collection, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
APPS = ("memory_platform", "memories", "context", "compaction")
#: Modules and packages with these names are entry points: they translate between clients and the code below them.
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
RAW_SQL_WORDS = {
    *("cursor", "prepared_cursor", "raw", "extra", "RawSQL"),
    *("execute_prepared", "send_prepared", "send_shared", "connect"),
}


def raw_sql_in(source: str) -> list[int]:
    """Return the lines that send their own SQL to the database."""
    functions = (
        (node.func.id, node.lineno)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    )
    methods = ((word, line) for receiver, word, line in calls(source) if word != "connect" or receiver == "psycopg")
    return sorted(line for word, line in (*functions, *methods) if word in RAW_SQL_WORDS)


#: Functions and methods whose first argument is the text of a statement, or a part of it.
SQL_SENDERS = {
    "execute",
    "executemany",
    "execute_prepared",
    "send_prepared",
    "send_shared",
    "send_select",
    "raw",
    "extra",
    "RawSQL",
    "SQL",
}


def built_sql_in(source: str) -> list[str]:
    """Return each statement that is built of more than literals, as the source writes it.

    Constants of other modules, in capitals, are literals, and what psycopg's `sql` composes is quoted.
    """
    tree = ast.parse(source)
    texts = _Texts(tree)
    calls_made = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    named = [(getattr(node.func, "attr", getattr(node.func, "id", "")), node.args[0]) for node in calls_made]
    return [ast.unparse(text) for name, text in named if name in SQL_SENDERS and not texts.are_written(text)]


class _Texts:
    """The expressions of a module that consist of literals, whatever values the program has."""

    def __init__(self, tree: ast.AST) -> None:
        self._values: dict[str, list[ast.expr]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                targets, values = node.targets, [node.value]
            elif isinstance(node, ast.For | ast.comprehension):
                targets, values = [node.target], getattr(node.iter, "elts", [node.iter])
            elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value:
                targets, values = [node.target], [node.value]
            else:
                continue
            for target in targets:
                if isinstance(target, ast.Name):
                    self._values.setdefault(target.id, []).extend(values)

    def are_written(self, node: ast.AST, followed: frozenset[str] = frozenset()) -> bool:
        """Return whether it is a literal or composed of literals; a name counts as what the module assigns to it."""
        if isinstance(node, ast.Name):
            if node.id not in self._values:
                return node.id.isupper()
            values = [] if node.id in followed else self._values[node.id]
            return all(self.are_written(value, followed | {node.id}) for value in values)
        if isinstance(node, ast.Call):
            return self._is_composed(node, followed)
        parts = (ast.JoinedStr, ast.FormattedValue, ast.BinOp, ast.IfExp)
        if not isinstance(node, parts):
            return isinstance(node, ast.Constant | ast.operator)
        chosen = (node.body, node.orelse) if isinstance(node, ast.IfExp) else ast.iter_child_nodes(node)
        return all(self.are_written(part, followed) for part in chosen)

    def _is_composed(self, node: ast.Call, followed: frozenset[str]) -> bool:
        if not isinstance(node.func, ast.Attribute):
            return False
        receiver = node.func.value
        if getattr(receiver, "id", "") == "sql" or (isinstance(receiver, ast.Call) and _is_sql(receiver)):
            return True
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        return node.func.attr == "format" and all(self.are_written(each, followed) for each in (receiver, *arguments))


def _is_sql(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "sql"


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
