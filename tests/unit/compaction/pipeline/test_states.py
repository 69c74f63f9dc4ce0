"""The transitions between the states of a compaction."""

import pytest

from compaction.services.pipeline.states import (
    COMPACTION_STATES,
    DECISION_ACTIONS,
    TRANSITIONS,
    TransitionError,
    next_state,
    state_actions,
)

ACTIONS = sorted({action for _, action in TRANSITIONS})


@pytest.mark.parametrize(
    ("state", "action", "after"),
    [
        ("pending", "propose", "proposed"),
        ("pending", "apply", "applied"),
        ("pending", "fail", "failed"),
        ("proposed", "approve", "applied"),
        ("proposed", "reject", "rejected"),
        ("proposed", "edit", "proposed"),
        ("proposed", "strike", "proposed"),
        ("proposed", "regenerate", "superseded"),
        ("applied", "edit", "applied"),
        ("applied", "strike", "applied"),
        ("applied", "rollback", "rolled_back"),
        ("applied", "mark_reviewed", "applied"),
        ("failed", "retry", "pending"),
        ("rejected", "reopen", "proposed"),
        ("superseded", "reopen", "proposed"),
        ("rolled_back", "reopen", "proposed"),
    ],
)
def test_every_transition_leads_where_it_should(state, action, after):
    assert next_state(state, action) == after


def test_there_are_no_other_transitions():
    assert len(TRANSITIONS) == 16
    for state in COMPACTION_STATES:
        for action in ACTIONS:
            if (state, action) not in TRANSITIONS:
                with pytest.raises(TransitionError, match=action):
                    next_state(state, action)


@pytest.mark.parametrize("action", ["approve", "reject", "regenerate"])
def test_a_second_decision_is_a_conflict(action):
    decided = next_state("proposed", action)
    for again in ("approve", "reject", "regenerate"):
        with pytest.raises(TransitionError) as caught:
            next_state(decided, again)
        assert caught.value.code == "conflict"
        assert (caught.value.state, caught.value.action) == (decided, again)


def test_rolling_back_twice_is_a_conflict():
    with pytest.raises(TransitionError, match="rolled back allows reopen, not rollback"):
        next_state(next_state("applied", "rollback"), "rollback")


def test_people_see_only_what_they_may_decide():
    allowed = {state: state_actions(state) for state in COMPACTION_STATES}
    assert {state: actions for state, actions in allowed.items() if actions} == {
        "proposed": ("approve", "reject", "edit", "strike", "regenerate"),
        "applied": ("edit", "strike", "rollback", "mark_reviewed"),
        "failed": ("retry",),
        "rejected": ("reopen",),
        "superseded": ("reopen",),
        "rolled_back": ("reopen",),
    }
    assert set(DECISION_ACTIONS) == {action for actions in allowed.values() for action in actions}


def test_no_state_is_final():
    assert {before for before, _ in TRANSITIONS} == set(COMPACTION_STATES)


@pytest.mark.parametrize(("state", "action"), [("lost", "approve"), ("proposed", "burn")])
def test_unknown_words_are_nonsense(state, action):
    with pytest.raises(ValueError, match="no such state or action"):
        next_state(state, action)
