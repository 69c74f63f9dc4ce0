"""The states of a compaction and the actions that change them (ADR-0071)."""

from __future__ import annotations

from collections.abc import Mapping

PENDING = "pending"
PROPOSED = "proposed"
APPLIED = "applied"
REJECTED = "rejected"
SUPERSEDED = "superseded"
ROLLED_BACK = "rolled_back"
_FAILED = "failed"
COMPACTION_STATES = (PENDING, PROPOSED, APPLIED, REJECTED, SUPERSEDED, ROLLED_BACK, _FAILED)

#: What the machinery does ...
PROPOSE = "propose"
APPLY_ACTION = "apply"
FAIL = "fail"
#: ... and what people decide.
APPROVE = "approve"
REJECT = "reject"
EDIT = "edit"
#: Offered beside EDIT while a summary lost facts; no transition of its own.
APPEND_MISSING = "append_missing"
REGENERATE = "regenerate"
ROLL_BACK = "rollback"
RETRY = "retry"
REOPEN = "reopen"
DECISION_ACTIONS = (APPROVE, REJECT, EDIT, REGENERATE, ROLL_BACK, RETRY, REOPEN)

TRANSITIONS: Mapping[tuple[str, str], str] = {
    (PENDING, PROPOSE): PROPOSED,
    (PENDING, APPLY_ACTION): APPLIED,
    (PENDING, FAIL): _FAILED,
    (PROPOSED, APPROVE): APPLIED,
    (PROPOSED, REJECT): REJECTED,
    (PROPOSED, EDIT): PROPOSED,
    (PROPOSED, REGENERATE): SUPERSEDED,
    (APPLIED, EDIT): APPLIED,
    (APPLIED, ROLL_BACK): ROLLED_BACK,
    (_FAILED, RETRY): PENDING,
    (REJECTED, REOPEN): PROPOSED,
    (SUPERSEDED, REOPEN): PROPOSED,
}


class TransitionError(Exception):
    """An action that a compaction's state does not allow: it was decided on before, or it is too early."""

    code = "conflict"

    def __init__(self, state: str, action: str) -> None:
        allowed = ", ".join(state_actions(state)) or "nothing"
        super().__init__(f"A compaction that is {state.replace('_', ' ')} allows {allowed}, not {action}.")
        self.state = state
        self.action = action


def next_state(state: str, action: str) -> str:
    """The state that `action` leads to.

    Raises `TransitionError` where the state does not allow it, `ValueError` for a state or action that there is not.
    """
    if state not in COMPACTION_STATES or action not in {known for _, known in TRANSITIONS}:
        raise ValueError(f"no such state or action: {state!r}, {action!r}")
    if (state, action) not in TRANSITIONS:
        raise TransitionError(state, action)
    return TRANSITIONS[state, action]


def state_actions(state: str) -> tuple[str, ...]:
    """What people may decide about a compaction in `state`."""
    return tuple(action for action in DECISION_ACTIONS if (state, action) in TRANSITIONS)
