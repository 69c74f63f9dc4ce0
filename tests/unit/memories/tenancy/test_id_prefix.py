"""Which texts may be the beginning of an id."""

from uuid import UUID

import pytest

from memories.services.tenancy.id_prefix import id_prefix_bounds

WHOLE = UUID("0192f3a4-5b6c-7d8e-9f01-23456789abcd")


@pytest.mark.parametrize("text", [str(WHOLE), WHOLE.hex, f"  {str(WHOLE).upper()} "])
def test_a_whole_id_is_itself(text: str) -> None:
    assert id_prefix_bounds(text) == (WHOLE, WHOLE)


@pytest.mark.parametrize("text", ["0192f3a4-…", "0192f3a4-", "0192F3A4", "0192f3a45", "0192"])
def test_the_beginning_of_an_id_is_found(text: str) -> None:
    bounds = id_prefix_bounds(text)
    assert bounds
    first, last = bounds
    assert first <= WHOLE <= last
    assert not first <= UUID(int=WHOLE.int + (1 << 112)) <= last


@pytest.mark.parametrize("text", ["", "019", "wheel", "-0192f3a4", f"{WHOLE}0", "0192 f3a4", "ERR_4012"])
def test_other_texts_are_no_ids(text: str) -> None:
    assert id_prefix_bounds(text) is None
