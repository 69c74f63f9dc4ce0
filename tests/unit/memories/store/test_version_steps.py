"""What each version changed in the preceding one."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from memories.services.store.text_diff import DiffPiece
from memories.services.store.version_steps import FieldChange, field_changes, version_steps


@dataclass(frozen=True)
class Row:
    version: int
    content: str = "Tea."
    kind: str = "fact"
    confidence: float = 0.8
    pinned: bool = False
    expires_at: Any = None
    created_at: Any = None
    partition_path: str = ""
    source_id: str = ""
    session: str = ""
    position: int | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def recorded_from(self) -> datetime:
        return datetime(2026, 6, self.version, tzinfo=UTC)


def test_fields_and_metadata_that_differ_are_reported() -> None:
    before = Row(1, metadata={"a": 1, "b": 2})
    after = Row(2, kind="episode", pinned=True, metadata={"b": 3, "c": 4})
    assert field_changes(before, after) == [
        FieldChange("kind", "fact", "episode"),
        FieldChange("pinned", False, True),
        FieldChange("metadata a", 1, None),
        FieldChange("metadata b", 2, 3),
        FieldChange("metadata c", None, 4),
    ]


def test_each_version_is_compared_with_the_one_before() -> None:
    first, second, third = Row(1), Row(2, content="Coffee."), Row(3, content="Coffee.", pinned=True)
    steps = version_steps(third, [second, first], {second.recorded_from: "olga"})
    assert [step.row.version for step in steps] == [3, 2, 1]
    assert [step.has_new_text for step in steps] == [False, True, False]
    assert [step.by for step in steps] == ["", "olga", ""]
    assert (steps[0].is_current, steps[2].is_first) == (True, True)
    assert steps[1].pieces == [DiffPiece("removed", "Tea"), DiffPiece("added", "Coffee"), DiffPiece("same", ".")]


def test_oldest_row_of_a_cut_history_is_left_out() -> None:
    steps = version_steps(Row(9), [Row(8), Row(7)], {})
    assert [step.row.version for step in steps] == [9, 8]
    assert [step.row.version for step in version_steps(Row(3), [], {})] == [3]
