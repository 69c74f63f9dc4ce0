"""Every action that someone requests leaves an audit entry."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture import ROOT

#: Actions whose entry a function of another module records, and what it does.
RECORDED_ELSEWHERE = {
    "regenerate_compaction": "open_compaction",
    "request_compaction": "open_compaction",
    "keep_budget": "save_budget_profile",
}
#: Actions on what only the operator sees: which of the first steps are done.
NOT_RECORDED = {"record_receipt_opened", "dismiss_first_steps", "show_first_steps"}


def action_files() -> Iterator[Path]:
    for app in ("memories", "context", "compaction", "memory_platform"):
        for path in (ROOT / app).rglob("actions*"):
            yield from [path] if path.suffix == ".py" else path.rglob("*.py")


def functions_called(function: ast.FunctionDef) -> set[str]:
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    return {call.id if isinstance(call, ast.Name) else getattr(call, "attr", "") for call in calls}


def is_recording(function: ast.FunctionDef, recording: set[str]) -> bool:
    """Whether a function calls one that records an entry, such as `record_audit`, or one of `recording`."""
    return any("audit" in name or name in {"record_of_account", *recording} for name in functions_called(function))


def unrecorded_actions(source: str) -> set[str]:
    """Return the public functions with an argument `by` that record no entry, directly or by one of the module."""
    functions = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    recording: set[str] = set()
    while grown := {name for name, node in functions.items() if is_recording(node, recording)} - recording:
        recording |= grown
    actions = {
        name
        for name, node in functions.items()
        if not name.startswith("_") and "by" in {argument.arg for argument in node.args.kwonlyargs}
    }
    elsewhere = {name for name in actions if RECORDED_ELSEWHERE.get(name, "") in functions_called(functions[name])}
    return actions - recording - elsewhere


def test_every_action_records_who_did_it() -> None:
    sources = [path.read_text() for path in action_files()]
    assert len(sources) > 20
    assert set().union(*map(unrecorded_actions, sources)) == NOT_RECORDED


def test_action_without_an_entry_is_found() -> None:
    source = "def archive(*, by): _record()\ndef _record(): record_audit()\ndef erase(*, by): delete()\n"
    assert unrecorded_actions(source) == {"erase"}
