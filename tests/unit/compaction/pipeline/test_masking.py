"""Which tool outputs are replaced with a placeholder."""

from dataclasses import replace

import pytest

from compaction.services.pipeline.masking import PLACEHOLDER, messages_to_mask
from compaction.services.sessions.turns import COMPACTED, MASKED
from context.services.profiles.compaction_policy import CompactionPolicy
from tests.unit.conversations import call, plain, tool_result_turn

LONG = tool_result_turn(1, "a", 200, content="x" * 513)


def test_placeholder_reads_as_specified():
    assert PLACEHOLDER == "[TOOL OUTPUT ARCHIVED - search history for details]"


def test_default_size_is_that_of_the_policy():
    assert CompactionPolicy().mask_over_bytes == 512


@pytest.mark.parametrize(
    ("turn", "is_masked"),
    [
        (LONG, True),
        (replace(LONG, content="x" * 512), False),
        # 171 characters of three bytes each
        (replace(LONG, content="語" * 171), True),
        (replace(LONG, content="語" * 170), False),
        (replace(LONG, pinned=True), False),
        (replace(LONG, state=MASKED), False),
        (replace(LONG, state=COMPACTED), False),
        (replace(LONG, tokens=12), False),
        (replace(LONG, content="\ud800" * 200), True),
        (plain(1, 900), False),
        (plain(1, 900, role="assistant"), False),
        (plain(1, 900, role="system"), False),
    ],
)
def test_only_long_live_tool_outputs_that_are_not_pinned_are_masked(turn, is_masked):
    assert messages_to_mask([turn], 1, 512) == ((turn.id,) if is_masked else ())


def test_only_outputs_before_the_preserved_ones_are_masked_in_their_order():
    turns = [
        call(0, "a", "b"),
        tool_result_turn(1, "a", 300),
        tool_result_turn(2, "b", 300),
        plain(3),
        call(4, "c"),
        tool_result_turn(5, "c", 300),
    ]
    assert messages_to_mask(turns, 4, 512) == (1, 2)
    assert messages_to_mask(turns, 0, 512) == ()
    assert messages_to_mask(turns, 6, 5000) == ()
