"""What may be decided about a compaction now, beyond what its state says. Called inside a scope."""

from compaction.models import Compaction
from compaction.services.pipeline import states


def allowed_review_actions(compaction: Compaction) -> list[str]:
    """The actions that a review takes, in their order; read with its session."""
    actions = list(states.state_actions(compaction.state))
    is_applied = compaction.state == Compaction.State.APPLIED
    is_current = compaction.session.current_id == compaction.pk
    if states.EDIT in actions and (not compaction.summary_text or (is_applied and not is_current)):
        actions.remove(states.EDIT)
    if states.ROLL_BACK in actions and not _is_latest(compaction):
        actions.remove(states.ROLL_BACK)
    if states.EDIT in actions and (compaction.retention or {}).get("missing"):
        actions.insert(actions.index(states.EDIT) + 1, states.APPEND_MISSING)
    return actions


def _is_latest(compaction: Compaction) -> bool:
    rows = Compaction.objects.for_tenant(compaction.tenant_id).of_session(compaction.session_id)
    latest = rows.last_applied_first().first()
    return latest is not None and latest.pk == compaction.pk
