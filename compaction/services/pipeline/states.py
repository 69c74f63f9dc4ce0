"""The states of a compaction and the actions that change them (ADR-0071)."""

from collections.abc import Mapping

COMPACTION_STATES = PENDING, PROPOSED, APPLIED, REJECTED, SUPERSEDED, ROLLED_BACK, _FAILED = (
    *("pending", "proposed", "applied", "rejected", "superseded", "rolled_back", "failed"),
)
#: States that await a decision.
UNDECIDED_STATES = (PENDING, _FAILED)
#: Actions of the pipeline ...
PROPOSE, APPLY_ACTION, FAIL = "propose", "apply", "fail"
#: ... and decisions of people.
DECISION_ACTIONS = APPROVE, REJECT, EDIT, STRIKE, REGENERATE, ROLL_BACK, RETRY, REOPEN, MARK_REVIEWED = (
    *("approve", "reject", "edit", "strike", "regenerate", "rollback", "retry", "reopen", "mark_reviewed"),
)
#: Offered next to EDIT if a summary lost facts; not a separate transition.
APPEND_MISSING = "append_missing"
#: Offered next to EDIT: remove a statement, add a candidate, or both; not a separate transition.
SWAP = "swap"

TRANSITIONS: Mapping[tuple[str, str], str] = {
    (PENDING, PROPOSE): PROPOSED,
    (PENDING, APPLY_ACTION): APPLIED,
    (PENDING, FAIL): _FAILED,
    (PROPOSED, APPROVE): APPLIED,
    (PROPOSED, REJECT): REJECTED,
    (PROPOSED, EDIT): PROPOSED,
    (PROPOSED, STRIKE): PROPOSED,
    (PROPOSED, REGENERATE): SUPERSEDED,
    (APPLIED, EDIT): APPLIED,
    (APPLIED, STRIKE): APPLIED,
    (APPLIED, ROLL_BACK): ROLLED_BACK,
    (APPLIED, MARK_REVIEWED): APPLIED,
    (_FAILED, RETRY): PENDING,
    (REJECTED, REOPEN): PROPOSED,
    (SUPERSEDED, REOPEN): PROPOSED,
    (ROLLED_BACK, REOPEN): PROPOSED,
}


class TransitionError(Exception):
    """An action that the state of a compaction does not allow."""

    code = "conflict"

    def __init__(self, state: str, action: str) -> None:
        allowed = ", ".join(state_actions(state)) or "nothing"
        detail = f"A compaction that is {state.replace('_', ' ')} allows {allowed}, not {action}."
        super().__init__(f"{detail} Wait until it has finished." if state == PENDING else detail)
        self.state = state
        self.action = action


def next_state(state: str, action: str) -> str:
    """Return the state after `action`. Raises `TransitionError`, or `ValueError` for an unknown state or action."""
    if state not in COMPACTION_STATES or action not in {known for _, known in TRANSITIONS}:
        raise ValueError(f"no such state or action: {state!r}, {action!r}")
    if (state, action) not in TRANSITIONS:
        raise TransitionError(state, action)
    return TRANSITIONS[state, action]


def state_actions(state: str) -> tuple[str, ...]:
    """Return what people may decide about a compaction in `state`."""
    return tuple(action for action in DECISION_ACTIONS if (state, action) in TRANSITIONS)
