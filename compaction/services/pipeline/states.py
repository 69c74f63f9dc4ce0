"""What may become of a compaction, and who decides it (ADR-0071)."""

from __future__ import annotations

from collections.abc import Mapping

PENDING = "pending"
PROPOSED = "proposed"
APPLIED = "applied"
REJECTED = "rejected"
SUPERSEDED = "superseded"
ROLLED_BACK = "rolled_back"
FAILED = "failed"
STATES = (PENDING, PROPOSED, APPLIED, REJECTED, SUPERSEDED, ROLLED_BACK, FAILED)

#: What the machinery does ...
PROPOSE = "propose"
APPLY = "apply"
FAIL = "fail"
#: ... and what people decide.
APPROVE = "approve"
REJECT = "reject"
EDIT = "edit"
REGENERATE = "regenerate"
ROLL_BACK = "rollback"
RETRY = "retry"
REOPEN = "reopen"
DECISIONS = (APPROVE, REJECT, EDIT, REGENERATE, ROLL_BACK, RETRY, REOPEN)

TRANSITIONS: Mapping[tuple[str, str], str] = {
    (PENDING, PROPOSE): PROPOSED,
    (PENDING, APPLY): APPLIED,
    (PENDING, FAIL): FAILED,
    (PROPOSED, APPROVE): APPLIED,
    (PROPOSED, REJECT): REJECTED,
    (PROPOSED, EDIT): PROPOSED,
    (PROPOSED, REGENERATE): SUPERSEDED,
    (APPLIED, EDIT): APPLIED,
    (APPLIED, ROLL_BACK): ROLLED_BACK,
    (FAILED, RETRY): PENDING,
    (REJECTED, REOPEN): PROPOSED,
    (SUPERSEDED, REOPEN): PROPOSED,
}


class Conflict(Exception):
    """An action that a compaction's state does not allow: somebody decided before, or it is too early."""

    code = "conflict"

    def __init__(self, state: str, action: str) -> None:
        allowed = ", ".join(allowed_actions(state)) or "nothing"
        super().__init__(f"A compaction that is {state.replace('_', ' ')} allows {allowed}, not {action}.")
        self.state = state
        self.action = action


def next_state(state: str, action: str) -> str:
    """The state that `action` leads to.

    Raises `Conflict` where the state does not allow it, `ValueError` for a state or action that there is not.
    """
    if state not in STATES or action not in {known for _, known in TRANSITIONS}:
        raise ValueError(f"no such state or action: {state!r}, {action!r}")
    if (state, action) not in TRANSITIONS:
        raise Conflict(state, action)
    return TRANSITIONS[state, action]


def allowed_actions(state: str) -> tuple[str, ...]:
    """What people may decide about a compaction in `state`."""
    return tuple(action for action in DECISIONS if (state, action) in TRANSITIONS)
