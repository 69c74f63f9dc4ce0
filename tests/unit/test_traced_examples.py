"""Coverage measures the first generated inputs of a test, and the code after the test."""

import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.timing import TRACED_EXAMPLES, few_traced_examples


def test_only_the_first_generated_inputs_are_traced() -> None:
    traced: list[bool] = []

    @settings(max_examples=2 * TRACED_EXAMPLES, database=None)
    @given(st.integers())
    def remember(_: int) -> None:
        traced.append(sys.gettrace() is not None)

    former = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        with few_traced_examples(remember):
            remember()
        is_traced_again = sys.gettrace() is not None
    finally:
        sys.settrace(former)
    assert is_traced_again
    assert traced == [True] * TRACED_EXAMPLES + [False] * (len(traced) - TRACED_EXAMPLES)
    assert len(traced) > TRACED_EXAMPLES
