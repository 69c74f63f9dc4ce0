"""The division of the budget among sections: their own share, and what remains for the next one."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from context.services.assembly.section_budgets import SectionAllocation

ORDER = ("memo", "summaries", "focus", "memories")
settings = st.dictionaries(
    st.sampled_from([*ORDER, "elsewhere"]),
    st.one_of(
        st.builds(lambda n: {"tokens": n}, st.integers(0, 5000)), st.builds(lambda s: {"share": s}, st.floats(0, 1))
    ),
)


def section_budgets(total: int, sections: dict[str, Any], uses: dict[str, int]) -> list[int]:
    """Return the budget of each section in turn, while each takes what it uses of it."""
    allotment = SectionAllocation(total, ORDER, sections)
    found = []
    for section in ORDER:
        found.append(allotment.available_for(section))
        allotment.take(section, max(min(uses.get(section, 0), found[-1]), 0))
    return found


def test_shares_may_be_of_a_larger_whole() -> None:
    allotment = SectionAllocation(
        250, ("memo", "memories"), {"memories": {"share": 0.2}, "memo": {"share": 0.5}}, shares_of=1000
    )
    assert allotment.available_for("memo") == 250
    allotment.take("memo", 0)
    assert (
        SectionAllocation(250, ("memories",), {"memories": {"share": 0.2}}, shares_of=1000).available_for("memories")
        == 200
    )


def test_without_settings_each_section_may_use_what_is_left() -> None:
    assert section_budgets(1000, {}, {"memo": 100, "focus": 250}) == [1000, 900, 900, 650]


def test_share_is_of_the_whole_budget_and_tokens_are_absolute() -> None:
    sections = {"memo": {"share": 0.1}, "summaries": {"tokens": 300}}
    assert section_budgets(1000, sections, {"memo": 100, "summaries": 300}) == [100, 300, 600, 600]


def test_unused_tokens_go_to_the_next() -> None:
    sections = {"memo": {"tokens": 200}, "summaries": {"tokens": 300}}
    assert section_budgets(1000, sections, {"memo": 50, "summaries": 450})[:2] == [200, 450]


def test_tokens_of_later_sections_are_reserved() -> None:
    assert section_budgets(1000, {"memories": {"share": 0.5}}, {"memo": 5000}) == [500, 0, 0, 500]


def test_own_budget_limits_a_section_even_if_more_is_left() -> None:
    assert section_budgets(1000, {"memories": {"tokens": 300}}, {}) == [700, 700, 700, 300]


def test_shares_that_sum_to_more_than_one_are_served_in_order() -> None:
    sections = {"memo": {"share": 0.8}, "memories": {"share": 0.8}}
    assert section_budgets(1000, sections, {"memo": 800}) == [800, 0, 0, 200]


def test_budget_too_small_for_the_fence_leaves_every_section_empty() -> None:
    assert section_budgets(-14, {"memories": {"share": 0.5}}, {}) == [-14, -14, -14, -14]


@given(st.integers(-50, 5000), settings, st.dictionaries(st.sampled_from(ORDER), st.integers(0, 6000)))
def test_sections_together_never_take_more_than_the_whole(
    total: int, sections: dict[str, Any], uses: dict[str, int]
) -> None:
    found = section_budgets(total, sections, uses)
    taken = [max(min(uses.get(section, 0), available), 0) for section, available in zip(ORDER, found, strict=True)]
    assert sum(taken) <= max(total, 0)
    assert all(0 <= available <= total for available in found) or total < 0


@given(st.integers(0, 5000), settings)
def test_last_section_keeps_its_budget_whatever_the_others_use_unless_too_much_is_promised(
    total: int, sections: dict[str, Any]
) -> None:
    own = sections.get("memories")
    promised = sum(
        min(setting.get("tokens", total * setting.get("share", 0)), total)
        for name, setting in sections.items()
        if name in ORDER
    )
    if own is None or promised > total:
        return
    expected = min(own["tokens"], total) if "tokens" in own else int(total * own["share"])
    assert section_budgets(total, sections, dict.fromkeys(ORDER, 10_000))[-1] >= expected
